"""Round numbers to cut a column at: they look like what people would have chosen without the data."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pramana.holder.guesses import Look
from pramana.holder.inspect import Examined

Floats = NDArray[np.float64]
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_SKEWED = 8.0  # how far the upper end may lie above the middle before bins grow
OLDEST = 100


def round_bins(values: Floats, counts: NDArray[np.int64], about: int) -> list[float]:
    """About so many bins between the hundredths at both ends, open at the ends."""
    low, middle, high = (_quantile(values, counts, share) for share in (0.01, 0.5, 0.99))
    least, most = float(values.min()), float(values.max())
    if low > 0 and middle > 0 and high > _SKEWED * middle:
        inner = _growing(middle / 4, high)
    else:
        inner = _even(low, high, about)
    if len(inner) > 2 * about:
        inner = inner[:: math.ceil(len(inner) / about)]
    first = 0.0 if least >= 0 else -math.inf
    edges = [first, *(edge for edge in inner if edge > first), math.inf]
    return edges if len(edges) > 2 or most == least else [first, math.ceil(middle) or 1.0, math.inf]


def ages(width: int) -> list[float]:
    """Ages to 90 and above; with bins this wide nobody very old stands out."""
    return [*(float(age) for age in range(0, 91 - 90 % width, width)), math.inf]


def years(values: Floats) -> list[float]:
    """Decades."""
    first, last = math.floor(values.min() / 10) * 10, math.floor(values.max() / 10) * 10 + 10
    return [-math.inf, *(float(year) for year in range(first + 10, last, 10)), math.inf]


def _quantile(values: Floats, counts: NDArray[np.int64], share: float) -> float:
    order = np.argsort(values)
    total = np.cumsum(counts[order])
    return float(values[order][int(np.searchsorted(total, share * total[-1]))])


def _even(low: float, high: float, about: int) -> list[float]:
    rough = max(high - low, abs(high) * 1e-6, 1e-9) / max(about - 1, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in _STEPS if s * power >= rough * 0.999)
    first = math.floor(low / step) + 1
    return [_tidy(i * step) for i in range(first, math.floor(high / step) + 1)]


def _growing(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten."""
    edges = []
    for power in range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1):
        edges += [_tidy(m * 10.0**power) for m in (1, 2, 5)]
    return [edge for edge in edges if low <= edge <= high]


def _tidy(number: float) -> float:
    return float(f"{number:.10g}")


# Whose rows they are, by the look of a table: persons with several rows, and what is the same on all of them.


@dataclass(frozen=True, eq=False)
class PersonGuess:
    """A column that numbers persons, and the most rows that one of them has."""

    look: Look

    @property
    def rows(self) -> int:
        return int(self.look.column.counts.max())

    @property
    def people(self) -> int:
        return self.look.column.distinct

    def is_constant(self, other: Look) -> bool:
        """Whether every person has one value of a column."""
        person, column = self.look.column, other.column
        pairs = person.codes.astype(np.int64) * (column.distinct + 1) + column.codes
        return len(np.unique(pairs)) == person.size


def persons_in(examined: Examined) -> list[Look]:
    """The columns that may number persons, the finest first; one that is on one row only beside households."""
    looks = _repeated(examined)
    households = households_in(examined)
    persons = [look for look in looks if look not in households]
    return persons + ([look for look in examined.looks if _names_each_row(look)] if households else [])


def households_in(examined: Examined) -> list[Look]:
    return [look for look in _repeated(examined) if "household" in look.hints]


def person_of(examined: Examined) -> PersonGuess | None:
    """Who has several rows, if anyone seems to."""
    looks = persons_in(examined) or _repeated(examined)
    guess = PersonGuess(looks[0]) if looks else None
    return guess if guess is not None and guess.rows > 1 else None


def _repeated(examined: Examined) -> list[Look]:
    return sorted((examined.look(name) for name in examined.repeated), key=lambda look: -look.column.distinct)


def _names_each_row(look: Look) -> bool:
    """Whether a column numbers persons, one row each."""
    return look.is_near_unique and look.is_numbered and "identifier" in look.hints and not look.column.missing
