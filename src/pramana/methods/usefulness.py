"""What tables of a release are worth, in numbers that tell nothing beyond the release: usefulness.md has the sums.

The measure is the error of a share: the root of its mean squared error over the cells of a table, and over the
tables there could be, all taken as equally likely. Twice that is "known to within". A guess that ignores the data,
the same share for every cell, has an error of its own by the same measure; a table known no better is hopeless.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pramana.mechanisms.channel import Channel, Dense, Retention
from pramana.mechanisms.table import CoinGroups, Mechanism, RecordRetention
from pramana.mechanisms.table import Product as ProductMechanism
from pramana.methods.columns import joint_appearance
from pramana.theory import pk, rounding

# The error a recipient must expect in a table, known before any data is: for choosing between mechanisms.


def tables_that_matter(tables: Sequence[Sequence[str]], sizes: Mapping[str, int]) -> list[tuple[str, ...]]:
    """The tables a recipe names; where it names none, every pair of attributes (or the only attribute)."""
    randomised = [tuple(n for n in table if n in sizes) for table in tables]
    named = [table for table in randomised if table]
    if named:
        return named
    return list(combinations(sizes, 2)) if len(sizes) > 1 else [tuple(sizes)]


def variance_inflation(mechanism: Mechanism, table: Sequence[str], halves: bool = False) -> float:
    """h: the total variance of the unbiased estimate of a table of n records is n*(h - 1).

    `halves`: of two values a column, each half of the values, which are kept as often as each of them.
    """
    if isinstance(mechanism, RecordRetention):
        cells = 1 << min(len(table), 200) if halves else _product(mechanism.sizes[name] for name in table)
        return pk.variance_factor(float(mechanism.retention), cells)
    if isinstance(mechanism, ProductMechanism):
        return math.prod(channel_inflation(mechanism.channels[name], halves) for name in table)
    if isinstance(mechanism, CoinGroups):
        parts = ((part, [name for name in table if name in part.sizes]) for part in mechanism.parts)
        return math.prod(variance_inflation(part, own, halves) for part, own in parts if own)
    raise TypeError(f"no error is known for {type(mechanism).__name__}")


def channel_inflation(channel: Channel, halves: bool = False) -> float:
    if isinstance(channel, Retention):
        return pk.variance_factor(float(channel.retention), 2 if halves else channel.size)
    return math.inf if halves else pk.variance_factor_of_matrix(channel.weights)


def mean_ratio(matrix: Dense, values: int, records: int) -> float:
    """The error of the mean rank of a column's first `values` codes, in errors of a guess that ignores the data.

    The estimate adds up g(z) over the records, with A g = ranks: a record with the true value u adds the variance
    of g under row u of A, and all u are taken as equally likely. Over all tables of c values, all alike, the
    mean rank has the variance of the ranks divided by c + 1. A missing value counts as the middle rank.
    """
    channel = matrix.weights / matrix.weights[0].sum()
    ranks = np.arange(values, dtype=np.float64) - (values - 1) / 2
    wanted = np.concatenate([ranks, np.zeros(len(channel) - values)])
    try:
        g = np.linalg.solve(channel, wanted)
    except np.linalg.LinAlgError:
        return math.inf
    variance = float((channel @ g**2 - (channel @ g) ** 2).mean())
    return math.sqrt(max(0.0, variance) / records * (values + 1) / float((ranks**2).mean()))


def expected_error(mechanism: Mechanism, table: Sequence[str], records: int) -> float:
    """Expected L1 error of a table's proportions under inversion, by the normal approximation, cells alike."""
    cells = math.prod(mechanism.sizes[name] for name in table)
    inflation = variance_inflation(mechanism, table)
    return math.sqrt(2 / math.pi * cells * max(0.0, inflation - 1) / records)


MOST_SHOWN = 10
MOST_PAIRED = 60  # columns whose pairs are looked at, where no tables are named
MOST_ASKED = 1000
_MOST_CELLS = 1 << 200  # beyond, one number is as good as another
_TIMES = 2.0  # errors that an estimate stays within, some 95 times in a hundred
_DIGITS = 9  # significant ones that are kept, so that another machine's last digits change no word
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class TableWorth:
    """One table: the error of its shares, and that of a guess that ignores the data.

    `of` is "share" for tables of counts; "value" where single numbers are published, whose errors are told in
    standard deviations of their column. `cells` is None for those.
    """

    names: tuple[str, ...]
    cells: int | None
    error: float
    guess: float
    of: Literal["share", "value"] = "share"
    halves: float = math.inf  # the same ratio with each column in two halves, or of its mean, where that is told

    def __post_init__(self) -> None:
        object.__setattr__(self, "error", _kept(self.error))
        object.__setattr__(self, "guess", _kept(self.guess))

    @property
    def title(self) -> str:
        return " x ".join(self.names)

    @property
    def within(self) -> float:
        """A share, or a value in standard deviations, is known to within this; some 95 times in a hundred."""
        return _TIMES * self.error

    @property
    def blind(self) -> float:
        """The same of a guess that ignores the data."""
        return _TIMES * self.guess

    @property
    def l1(self) -> float:
        """The expected sum of absolute errors of all shares, by the normal approximation; of a value its error."""
        return self.error if self.cells is None else math.sqrt(2 / math.pi) * self.cells * self.error

    @property
    def ratio(self) -> float:
        """The error in errors of the guess: below 1 something is learnt."""
        if self.guess == 0:
            return 0.0 if self.error == 0 else math.inf
        return self.error / self.guess

    @property
    def hopeless(self) -> bool:
        """A table of one cell is known without any data."""
        return self.guess > 0 and self.ratio >= 1

    @property
    def barren(self) -> bool:
        """Hopeless even of halves, and of a mean: not so much as the share of half of the values is learnt."""
        return self.hopeless and self.halves >= 1

    @property
    def words(self) -> str:
        which = f"a value of {self.names[0]}"
        if len(self.names) > 1:
            which = f"a combination of {', '.join(self.names[:-1])} and {self.names[-1]}"
        what = f"the share of {which}" if self.of == "share" else which
        if self.error == 0:
            return f"{what} is known exactly"
        if self.hopeless:
            return f"nothing is learnt of {what}: a guess that ignores the data is as near"
        return f"{what} is known to within {self.shown(self.within)}"

    def shown(self, number: float) -> str:
        """An error in words; one beyond all shares is called so."""
        if self.of == "value":
            return f"{_percent(number)}% of its standard deviation"
        return "more than 100 points" if number > 1 else f"{_percent(number)} points"

    def to_json(self) -> dict[str, object]:
        return {
            "table": list(self.names),
            "cells": self.cells,
            "of": self.of,
            "within": self.within if math.isfinite(self.within) else None,
            "guess": self.blind,
            "hopeless": self.hopeless,
            "words": self.words,
        }


def _kept(error: float) -> float:
    return float(f"{error:.{_DIGITS}g}")


def _percent(share: float) -> str:
    return rounding.shown_up(100 * share, 2)


@dataclass(frozen=True)
class Usefulness:
    """What all tables that matter are worth: those that a recipe names; without, every column and every pair."""

    tables: tuple[TableWorth, ...] = ()
    named: bool = False  # whether the recipe named them

    @property
    def shown(self) -> tuple[TableWorth, ...]:
        """At most ten: in the order they are named; without, columns before pairs, and small before large."""
        if self.named:
            return self.tables[:MOST_SHOWN]
        return tuple(sorted(self.tables, key=lambda t: (len(t.names), t.cells or 0)))[:MOST_SHOWN]

    @property
    def hopeless(self) -> tuple[TableWorth, ...]:
        return tuple(table for table in self.tables if table.hopeless)

    @property
    def useless(self) -> bool:
        """Nothing can be learned: a guess is as near in every table that matters, and of halves of its values."""
        return bool(self.tables) and all(table.barren for table in self.tables)

    @property
    def best(self) -> TableWorth | None:
        """The table of which most is learnt."""
        return min(self.tables, key=lambda table: table.ratio, default=None)

    def sentences(self) -> list[str]:
        """A line for each table that is shown, and how many others there are."""
        lines = [f"{t.words[:1].upper()}{t.words[1:]}." for t in self.shown if not t.hopeless]
        if self.hopeless:
            few = [table.title for table in self.hopeless[:MOST_SHOWN]]
            more = len(self.hopeless) - len(few)
            listed = ", ".join(few) + (f" and {more} more" if more else "")
            lines.append(f"Hopeless, as a guess that ignores the data is as near: {listed}.")
        return lines

    def to_json(self) -> dict[str, object]:
        return {
            "useless": self.useless,
            "tables": [table.to_json() for table in self.shown],
            "all_tables": len(self.tables),
            "hopeless": [list(table.names) for table in self.hopeless],
        }


def tables_asked(named: Sequence[Sequence[str]], changed: Sequence[str]) -> tuple[list[tuple[str, ...]], bool]:
    """The tables to speak of, and whether they were named; columns that pass unchanged are no question."""
    own = set(changed)
    parts = (tuple(name for name in table if name in own) for table in named[:MOST_ASKED])
    wanted = list(dict.fromkeys(table for table in parts if table))
    if wanted:
        return wanted, True
    paired = list(changed)[:MOST_PAIRED]
    return [*((name,) for name in changed), *combinations(paired, 2)], False


def _product(sizes: Iterable[int]) -> int:
    return min(math.prod(sizes), _MOST_CELLS)


def blind_error(cells: int) -> float:
    """The error of 1/c for each of c shares: (c-1)/(c(c+1)) is the mean of their summed squared errors."""
    return math.sqrt((cells - 1) / (cells + 1)) / cells


# ------------------------------------------------------------------ values that were drawn


def worth_of_law(
    mechanism: Mechanism | None,
    columns: Sequence[str],
    records: int,
    named: Sequence[Sequence[str]],
    ordered: Mapping[str, int] = MappingProxyType({}),
) -> Usefulness:
    """Of tables of `columns` estimated by a law: n(h - 1) is the total variance of n records' estimated counts.

    `ordered`: how many values each column in order has; by a matrix their mean may be known where no value is.
    """
    if not isinstance(mechanism, ProductMechanism | RecordRetention | CoinGroups) or records < 1:
        return Usefulness()
    inflations = {}
    if isinstance(mechanism, ProductMechanism):
        inflations = {name: channel_inflation(channel) for name, channel in mechanism.channels.items()}
    tables, is_named = tables_asked(named, columns)
    worth = []
    for names in tables:
        cells = _product(mechanism.sizes[name] for name in names)
        if inflations:
            inflation = math.prod(inflations[name] for name in names)
        else:
            inflation = variance_inflation(mechanism, names)
        half = 1 << min(len(names), 200)
        halves = _error(variance_inflation(mechanism, names, halves=True), records, half) / blind_error(half)
        if isinstance(mechanism, ProductMechanism) and len(names) == 1 and ordered.get(names[0], 0) > 1:
            channel = mechanism.channels[names[0]]
            if isinstance(channel, Dense):
                halves = min(halves, mean_ratio(channel, ordered[names[0]], records))
        worth.append(
            TableWorth(names, cells, _error(inflation, records, cells), blind_error(cells), halves=halves)
        )
    return Usefulness(tuple(worth), is_named)


def _error(inflation: float, records: int, cells: int) -> float:
    return math.sqrt(max(0.0, inflation - 1) / records / cells)


def worth_of_total(names: Sequence[str], cells: int, records: int, squares: float) -> TableWorth:
    """Of a table of counts whose squared errors sum up to `squares`."""
    return TableWorth(tuple(names), cells, math.sqrt(squares / cells) / records, blind_error(cells))


# ------------------------------------------------------------------ values that were made coarser


@dataclass(frozen=True, eq=False)
class CellLook:
    """What a published column looks like: by class, which of its cells it shows and how many leaves that has."""

    leaves: int
    cell: Ints
    width: Ints


def worth_of_cells(
    looks: Mapping[str, CellLook], sizes: Ints, left_out: int, named: Sequence[Sequence[str]], exact: bool
) -> Usefulness:
    """Of cells that are true, and leave open which of their leaves a record has.

    Records whose cells are the same form a group; of how it spreads over its m combinations of leaves nothing is
    known, or with `exact` cells, which tell how often each leaf occurs, only how the columns go together. Records
    that were left out are a group that may be anything. The guess is judged by what the groups tell of this table,
    where that is worse than it is for tables at large.
    """
    tables, is_named = tables_asked(named, list(looks))
    return Usefulness(tuple(_of_groups(names, looks, sizes, left_out, exact) for names in tables), is_named)


def _of_groups(
    names: tuple[str, ...], looks: Mapping[str, CellLook], sizes: Ints, left_out: int, exact: bool
) -> TableWorth:
    cells = _product(looks[name].leaves for name in names)
    group, first = joint_appearance([looks[name].cell for name in names], len(sizes))
    rows = np.bincount(group, sizes)
    total = float(rows.sum()) + left_out
    widths = [looks[name].width[first] for name in names]
    weights, spread = (rows / total) ** 2, np.prod(np.array(widths, np.float64), axis=0)
    squares, evenly = (_open(widths, exact) * weights).tolist(), (weights / spread).tolist()
    if left_out:
        share = (left_out / total) ** 2
        squares += (_open([np.array([cells], np.float64)], False) * share).tolist()
        evenly.append(share / cells)
    # sums that are the same in any order of the groups: a recipient finds them in another one
    left_open = math.fsum(squares)
    uneven = max(0.0, math.fsum(evenly) - 1 / cells)  # what the groups' own shares are away from the guess
    guess = max(blind_error(cells), math.sqrt((left_open + uneven) / cells))
    return TableWorth(names, cells, math.sqrt(left_open / cells), guess)


def _open(widths: Sequence[Ints | NDArray[np.float64]], exact: bool) -> NDArray[np.float64]:
    """Summed squared errors of shares over m leaves: 1/(m(m+1)) for each number that is left open."""
    m, known = np.ones(len(widths[0])), np.zeros(len(widths[0]))
    for width in widths:
        m = m * width.astype(np.float64)
        known += width - 1
    return np.asarray((m - 1 - (known if exact else 0)) / (m * (m + 1)))
