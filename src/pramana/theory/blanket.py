"""The part of the law that all records share, and how two neighbours' laws lie over it. Proofs: shuffling.md.

A bound needs only the joint law of X = P_u/B and Y = P_v/B under the blanket B, and may use any larger law: one
for which E phi(aX - bY) is at least as large for all a, b >= 0 and convex phi. Independent attributes multiply,
and a larger law of one of them makes the product larger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pramana.theory import _grid
from pramana.theory.rounding import float_down

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
OWN = "the law's own privacy blanket (Balle et al. 2019)"
CLONES = "hiding among the clones (Feldman et al. 2021, Theorem 3.1)"
_MOST_CLASSES = 12_000  # classes of published records that are told apart
_ROUGH_NODES = 64
_FEW_CLASSES = 3  # of an attribute that is kept or redrawn
_NODES = 128  # values of each ratio where there are more classes, and of an envelope
_MIXER = np.int64(0x1E3779B97F4A7C15)  # odd, and without a pattern
LEAST_MASS = 1e-290  # a smaller chance is taken for this one, which is larger and which floats can hold
_MARGIN = 1 + 1e-9  # room above the envelope, far wider than its float errors


@dataclass(frozen=True)
class Blanket:
    """`first` and `second` are P_u/B and P_v/B on classes with probability `mass` under the blanket B.

    (u, v) is the pair of true records that is easiest to tell apart, or a law larger than every pair's.
    """

    weight: float
    first: Floats
    second: Floats
    mass: Floats
    statement: str = OWN

    def __post_init__(self) -> None:
        if not 0 < self.weight <= 1:
            raise ValueError(f"weight must lie above 0 and at most at 1, got {self.weight}")
        if not len(self.first) == len(self.second) == len(self.mass) > 0:
            raise ValueError("first, second and mass must have one entry for each class")


@dataclass(frozen=True)
class RowsOverBlanket:
    """ratios[x, y] = P_x(y)/B(y): a matrix over its own blanket, of which no pair of rows is known to be worst."""

    weight: float
    ratios: Floats
    mass: Floats
    statement: str = OWN

    def pair(self, u: int, v: int) -> Blanket:
        return Blanket(self.weight, self.ratios[u], self.ratios[v], self.mass, self.statement)


def blanket_of_retentions(
    retentions: Sequence[Fraction | float], least: Sequence[Fraction | int], statement: str = OWN
) -> Blanket:
    """Independent attributes, each kept with its retention and else redrawn.

    `least` is the chance of the least likely redrawn value, or the number of equally likely ones.
    """
    laws = [
        _retention(Fraction(rho), Fraction(1, chance) if isinstance(chance, int) else chance)
        for rho, chance in zip(retentions, least, strict=True)
        if chance != 1 and rho > 0
    ]
    return blanket_of_product(laws, statement)


def roughly_of_retentions(retentions: Sequence[float], sizes: Sequence[int]) -> Blanket:
    """A larger law than that of `blanket_of_retentions`, in less time: for searches, not for promises."""
    weight, first, second, mass = 1.0, np.ones(1), np.ones(1), np.ones(1)
    grid: _Grid | None = None
    for rho, size in zip(retentions, sizes, strict=True):
        law = _retention(Fraction(rho), Fraction(1, size))
        weight *= law.weight
        if grid is None:
            first, second = np.outer(first, law.first).reshape(-1), np.outer(second, law.second).reshape(-1)
            mass = np.outer(mass, law.mass).reshape(-1)
            grid = _Grid.of(first, second, mass, _ROUGH_NODES) if len(mass) > _ROUGH_NODES else None
        else:
            grid = grid.times(law)
    return Blanket(weight, *((first, second, mass) if grid is None else grid.classes()))


def blanket_of_product(laws: Sequence[Blanket], statement: str = OWN) -> Blanket:
    """Independent attributes: weights and ratios multiply."""
    weights = [law.weight.as_integer_ratio() for law in laws]
    weight = Fraction(math.prod(top for top, _ in weights), math.prod(bottom for _, bottom in weights))
    first, second, mass = np.ones(1), np.ones(1), np.ones(1)
    grid: _Grid | None = None
    for law in laws:
        if grid is not None and len(law.mass) <= _FEW_CLASSES:
            grid = grid.times(law)
            continue
        if grid is not None:
            first, second, mass = grid.classes()
        first = np.outer(first, law.first).reshape(-1)
        second = np.outer(second, law.second).reshape(-1)
        mass = np.maximum(np.outer(mass, law.mass).reshape(-1), LEAST_MASS)
        grid = None if len(mass) <= _MOST_CLASSES else _Grid.of(first, second, mass)
        if grid is None:
            first, second, mass = _merged(first, second, mass)
    if grid is not None:
        first, second, mass = grid.classes()
    return Blanket(float_down(weight), first, second, mass, statement)


def blanket_of_ratio(ratio: float) -> Blanket:
    """Any law of likelihood ratio p: everyone's contains the mean of the neighbours' two, with weight 1/p.

    Over that mean each of the two has ratios between 2/(p+1) and 2p/(p+1); the ends, half each, are largest.
    """
    high, low = 2 / (1 + 1 / ratio), 2 / (ratio + 1)
    both = np.array([high, low])
    return Blanket(math.nextafter(1 / ratio, 0), both, both[::-1].copy(), np.array([0.5, 0.5]), CLONES)


def rows_over_blanket(matrices: Sequence[Integers]) -> RowsOverBlanket:
    """Independent attributes with positive integer matrices, each row of the same sum: the joint matrix.

    The blanket is the smallest entry of every column; of a product it is the product (no other decomposition hides
    more: Su, Cheng and Wang 2025, arXiv 2504.07414).
    """
    weight, ratios, mass = Fraction(1), np.ones((1, 1)), np.ones(1)
    for matrix in matrices:
        smallest = matrix.min(axis=0)
        used = smallest > 0
        if (matrix[:, ~used] > 0).any():
            raise ValueError("a column of a matrix must be positive, or zero throughout")
        shared, total = sum(int(w) for w in smallest), sum(int(w) for w in matrix[0])
        weight *= Fraction(shared, total)
        scale = shared / total
        ratios = np.kron(ratios, matrix[:, used].astype(np.float64) / smallest[used] * scale)
        mass = np.kron(mass, smallest[used].astype(np.float64) / shared)
    return RowsOverBlanket(float_down(weight), ratios, mass)


def envelope_of_rows(rows: RowsOverBlanket) -> Blanket:
    """A law larger than every pair of rows': the join of all rows in convex order, against itself reversed.

    Exact for a retention. Kept on few nodes; masses in rationals, so that nothing cancels.
    """
    high = float(rows.ratios.max()) * (1 + 1e-12)
    low = float(rows.ratios.min()) * (1 - 1e-12)
    if not high > low * (1 + 1e-9):
        return Blanket(rows.weight, np.ones(1) * high, np.ones(1) * low, np.ones(1), rows.statement)
    nodes = np.geomspace(low, high, _NODES)
    nodes[0], nodes[-1] = low, high
    beyond = np.zeros(_NODES)  # the largest over rows of E(X - node)+
    for row in rows.ratios:
        tail = np.cumsum(split_between(nodes, row * (1 + 1e-13), rows.mass)[::-1])[::-1]
        steps = tail[1:] * np.diff(nodes)
        beyond[:-1] = np.maximum(beyond[:-1], np.cumsum(steps[::-1])[::-1])
    values, chances = _convex_hull([Fraction(t) for t in nodes], [Fraction(b) for b in beyond * _MARGIN])
    return Blanket(rows.weight, *_against_itself_reversed(values, chances), rows.statement)


def _convex_hull(nodes: list[Fraction], beyond: list[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
    """The law of mean 1 whose E(X - t)+ is the lower convex hull of the points, and its chances."""
    beyond[0], beyond[-1] = 1 - nodes[0], Fraction(0)
    kept: list[int] = []
    for i in range(len(nodes)):
        while len(kept) > 1 and (beyond[kept[-1]] - beyond[kept[-2]]) * (nodes[i] - nodes[kept[-1]]) >= (
            beyond[i] - beyond[kept[-1]]
        ) * (nodes[kept[-1]] - nodes[kept[-2]]):
            kept.pop()
        kept.append(i)
    slopes = [(beyond[b] - beyond[a]) / (nodes[b] - nodes[a]) for a, b in pairwise(kept)]
    rises = [right - left for left, right in zip([Fraction(-1), *slopes], [*slopes, Fraction(0)], strict=True)]
    return [nodes[i] for i in kept], rises


def _against_itself_reversed(values: list[Fraction], chances: list[Fraction]) -> tuple[Floats, Floats, Floats]:
    """(X, Y) of one law, X falling as Y rises: among all pairs of that law X and -Y are largest together."""
    first, second, mass = [], [], []
    up, down = 0, len(values) - 1
    left_up, left_down = chances[0], chances[-1]
    while True:
        part = min(left_up, left_down)
        if part > 0:
            first.append(float(values[down]))
            second.append(float(values[up]))
            mass.append(float(part))
        left_up, left_down = left_up - part, left_down - part
        if left_up == 0:
            up += 1
            if up == len(values):
                return np.array(first), np.array(second), np.array(mass)
            left_up = chances[up]
        if left_down == 0:
            down -= 1
            if down >= 0:
                left_down = chances[down]


def _retention(rho: Fraction, least: Fraction) -> Blanket:
    """Kept with probability rho, else redrawn: u and v are the least likely values, where both ratios are largest.

    A likelier u would have its ratio split less far from the mean of the same, which is smaller in convex order.
    """
    kept, of = rho.as_integer_ratio()
    chance, out_of = least.as_integer_ratio()
    # A quotient of integers is rounded once, as a Fraction's is, in a tenth of the time.
    other, own = (of - kept) / of, ((of - kept) * chance + kept * out_of) / (of * chance)
    either, rest = chance / out_of, (out_of - 2 * chance) / out_of
    classes = 3 if rest > 0 else 2
    first, second = np.array([own, other, other][:classes]), np.array([other, own, other][:classes])
    return Blanket(float_down(1 - rho), first, second, np.array([either, either, rest][:classes]))


def _merged(first: Floats, second: Floats, mass: Floats) -> tuple[Floats, Floats, Floats]:
    """Classes whose ratios agree to twelve digits as one, with the larger first and the smaller second of them.

    They are told apart by one number that mixes both ratios. If ever two classes had the same by chance, they
    would be taken for one in the same way, which is on the safe side.
    """
    digits = np.rint(np.log(np.stack([first, second])) * 1e12).astype(np.int64)
    with np.errstate(over="ignore"):
        keys = digits[0] * _MIXER + digits[1]
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=keys[order[0]] - 1))
    return (
        np.maximum.reduceat(first[order], starts),
        np.minimum.reduceat(second[order], starts),
        np.add.reduceat(mass[order], starts),
    )


@dataclass(frozen=True)
class _Grid:
    """Mass by first and second ratio, each on rising nodes from its lowest to its highest."""

    first: Floats
    second: Floats
    mass: Floats

    @classmethod
    def of(cls, first: Floats, second: Floats, mass: Floats, nodes: int = _NODES) -> _Grid:
        """Every class split between the four nodes around it with both means unchanged: larger in convex order."""
        columns, rows = _nodes(first.min(), first.max(), nodes), _nodes(second.min(), second.max(), nodes)
        grid = np.zeros((nodes, nodes))
        _grid.split(first, second, mass, columns, rows, grid)
        return cls(columns, rows, grid)

    def times(self, law: Blanket) -> _Grid:
        """With one attribute more, on nodes for the wider range. A class of the attribute moves the whole grid."""
        nodes = len(self.first)
        columns = _nodes(self.first[0] * law.first.min(), self.first[-1] * law.first.max(), nodes)
        rows = _nodes(self.second[0] * law.second.min(), self.second[-1] * law.second.max(), nodes)
        wider = np.zeros((nodes, nodes))
        _grid.times(self.mass, self.first, self.second, law.first, law.second, law.mass, columns, rows, wider)
        return _Grid(columns, rows, wider)

    def classes(self) -> tuple[Floats, Floats, Floats]:
        i, j = np.nonzero(self.mass)
        return self.first[i], self.second[j], np.maximum(self.mass[i, j], LEAST_MASS)


def _nodes(low: float, high: float, count: int) -> Floats:
    """In constant proportion, the ends to the last bit."""
    nodes = low * np.exp(_equal_parts(count) * math.log(high / low))
    nodes[0], nodes[-1] = low, high
    return nodes


@cache
def _equal_parts(count: int) -> Floats:
    return np.linspace(0.0, 1.0, count)


def split_between(nodes: Floats, values: Floats, mass: Floats) -> Floats:
    """The mass on each of the rising nodes when every value is split with its mean unchanged."""
    left = np.clip(nodes.searchsorted(values, "right") - 1, 0, len(nodes) - 2)
    share = np.clip((values - nodes[left]) / (nodes[left + 1] - nodes[left]), 0.0, 1.0)
    return np.asarray(
        np.bincount(left, mass * (1 - share), len(nodes)) + np.bincount(left + 1, mass * share, len(nodes)),
        np.float64,
    )
