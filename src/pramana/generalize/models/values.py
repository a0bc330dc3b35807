"""How frequent sensitive values may be in a class, against the whole table: d-disclosure and b-likeness.

Both compare a class's shares with the table's, value by value. The shares of two classes together lie between
theirs, so both hold of a class made of classes that hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pramana.errors import RecipeError
from pramana.generalize.classes import SeenCounts
from pramana.generalize.conditions import Compared, Condition, DistinctDiverse, Flags, KAnonymous, values_in
from pramana.generalize.counts.value_counts import Ints

_DIGITS = 1e9  # both are certified rounded up at the ninth place, and compared so


def rounded_up(
    numbers: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """At the ninth place; what lies a float's rounding above one of its multiples is that multiple."""
    return np.asarray(np.ceil(numbers * _DIGITS * (1 - 4e-16)) / _DIGITS)


@dataclass(frozen=True, eq=False)
class Disclosing(Compared):
    """d-disclosure privacy (Brickell and Shmatikov 2008): every value's share within 2^-d and 2^d of the table's.

    A value that the table has and a class lacks is infinitely less frequent there: such a class does not hold.
    """

    d: float
    totals: Ints

    def __post_init__(self) -> None:
        if not self.d > 0:
            raise RecipeError("d_disclosure must be above 0", str(self.d))

    @property
    def anchor(self) -> Condition:
        """A class that holds has every value, and so has whatever it is merged into."""
        return DistinctDiverse(int((self.totals > 0).sum()))

    def held(self, counts: SeenCounts) -> Flags:
        return np.asarray(rounded_up(values_in(counts).ratios(self.totals)) <= self.d)


@dataclass(frozen=True, eq=False)
class Alike(Compared):
    """b-likeness (Cao and Karras 2012): no value gains more than b times its share of the table.

    Enhanced: nor more than -ln of its share times that, which bounds the gain of frequent values.
    """

    b: float
    totals: Ints
    enhanced: bool = False

    def __post_init__(self) -> None:
        if not self.b > 0:
            raise RecipeError("b_likeness must be above 0", str(self.b))

    @property
    def anchor(self) -> Condition | None:
        return KAnonymous(self.least) if self.least > 1 else None

    @cached_property
    def least(self) -> int:
        """The fewest rows that a class which holds can have: each of its values may be so many of them at most."""
        shares = self.totals[self.totals > 0] / self.totals.sum()
        gain = np.minimum(self.b, -np.log(shares)) if self.enhanced else np.full(len(shares), self.b)
        allowed = shares * (1 + gain) * (1 + 1e-9)
        for rows in range(1, int(min(self.totals.sum(), 10_000))):
            if float(np.floor(rows * allowed).sum()) >= rows:
                return rows
        return 1

    def held(self, counts: SeenCounts) -> Flags:
        values = values_in(counts)
        held = rounded_up(values.gains(self.totals)) <= self.b
        if self.enhanced:
            held &= values.gains_within_entropy(self.totals)
        return np.asarray(held)
