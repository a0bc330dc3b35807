"""What a generalisation costs. Smaller is better; suppressed rows cost as much as anything can.

Two kinds. A separable measure is a sum over rows and attributes of a price of the published label, so its value
without suppression is known from the marginals alone, before any class is formed. A class measure looks at the
classes. Both give the search a bound that never falls when a node is generalised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from pramana.counting import _classes
from pramana.counting.classes import Classes, Ladder, Layout
from pramana.errors import RecipeError

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Factors = Mapping[str, float]  # by attribute, from 0 to 1: ARX's generalisation/suppression factor
EVEN = 0.5  # generalising and suppressing count the same
MEASURES = ("loss", "entropy", "precision", "discernibility", "class-size", "kl")
CLASSIFICATION = "classification"  # which has a target besides


@dataclass(frozen=True, eq=False)
class Measure:
    """A measure, of which nothing need be known before the classes are."""

    layout: Layout
    rows: int
    known: ClassVar[bool] = (
        False  # whether `prior` is all that `above` could say, and the cost of suppressing nothing
    )

    def prior(self) -> Floats:
        """For every node a bound that its cost and those of its generalisations cannot fall below."""
        return np.zeros(self.layout.heights)

    def cost(self, classes: Classes, held: Flags) -> float:
        raise NotImplementedError

    def floor(self, classes: Classes, held: Flags) -> float:
        """What a node costs at least where the others, and maybe more, are suppressed."""
        return self.cost(classes, held)

    def above(self, classes: Classes) -> float:
        """A bound on every generalisation of this node, itself included."""
        raise NotImplementedError

    def below(self, classes: Classes, held: Flags) -> Floats | None:
        """Bounds on all specialisations (an array of levels), if suppressed rows stay suppressed below."""
        del classes, held
        return None


# ------------------------------------------------------------------ separable measures


@dataclass(frozen=True, eq=False)
class Separable(Measure):
    """`totals[a][level]`: mean price over rows; `gaps[a][level][code]`: what suppressing a row adds per row.

    The value is the weighted sum of the totals, or, with `geometric`, the geometric mean of 1 + total, less 1.
    """

    totals: tuple[Floats, ...]
    gaps: tuple[tuple[Floats, ...], ...]
    weights: Floats
    geometric: bool
    # Where suppressing may cost less than generalising, a row costs the lesser of the two at least: bounds are
    # of that, with totals and gaps of their own.
    least: Separable | None = None
    plain: bool = True  # generalising and suppressing count in full
    known = True

    def prior(self) -> Floats:
        if self.least is not None:
            return self.least.prior()
        return self._outward(self._sum_over_levels(self.totals))

    def above(self, classes: Classes) -> float:
        if self.least is not None:
            return self.least.above(classes)
        return self.value([self.totals[a][level] for a, level in enumerate(classes.levels)])

    def cost(self, classes: Classes, held: Flags) -> float:
        extra = self._extra(classes, held)
        return self.value([self.totals[a][level] + extra[a] for a, level in enumerate(classes.levels)])

    def floor(self, classes: Classes, held: Flags) -> float:
        return self.cost(classes, held) if self.least is None else self.least.cost(classes, held)

    def below(self, classes: Classes, held: Flags) -> Floats | None:
        """A row suppressed here is suppressed below, where its label is finer and the gap no smaller."""
        if bool(held.all()):
            return None
        if self.least is not None:
            return self.least.below(classes, held)
        extra = self._extra(classes, held)
        share = int(classes.sizes[~held].sum(dtype=np.int64)) / self.rows
        raised = []
        for a, level in enumerate(classes.levels):
            least = np.array([gap.min() for gap in self.gaps[a][: level + 1]])
            raised.append(self.totals[a][: level + 1] + np.maximum(extra[a], share * least))
        return self._outward(self._sum_over_levels(raised))

    @cached_property
    def _gap_tables(self) -> tuple[tuple[NDArray[np.int64], ...], Floats]:
        """Every gap as a table for `tally`: per attribute the fields by level, and all tables in one array."""
        fields, tables, start = [], [], 0
        for (word, shift, bits), levels in zip(self.layout.fields, self.gaps, strict=True):
            lines = []
            for gap in levels:
                table = np.zeros(1 << bits)
                table[: len(gap)] = gap
                lines.append((word, shift, bits, start))
                tables.append(table)
                start += len(table)
            fields.append(np.array(lines, np.int64))
        return tuple(fields), np.concatenate(tables)

    def _extra(self, classes: Classes, held: Flags) -> Floats:
        """What suppressing the classes that do not hold adds to each attribute's total."""
        fields, tables = self._gap_tables
        lines = np.stack([field[level] for field, level in zip(fields, classes.levels, strict=True)])
        sums = np.empty(len(lines))
        columns = classes.counts.shape[1]
        _classes.tally(classes.keys, self.layout.words, classes.counts, columns, held, lines, tables, sums)
        return sums / self.rows

    def _inward(self, value: Floats | float) -> Floats:
        return np.asarray(np.log1p(value) if self.geometric else value)

    def _outward(self, value: Floats) -> Floats:
        return np.asarray(np.expm1(value) if self.geometric else value)

    def value(self, parts: Sequence[float]) -> float:
        """The measure of a table from its attributes' totals."""
        return float(self._outward(np.asarray(float(self.weights @ self._inward(np.array(parts))))))

    def _sum_over_levels(self, parts: Sequence[Floats]) -> Floats:
        """The weighted sum over attributes, for every combination of levels."""
        total: Floats = np.zeros(())
        for weight, part in zip(self.weights, parts, strict=True):
            total = total[..., None] + weight * self._inward(part)
        return total


def _normalised(layout: Layout, weights: Mapping[str, float] | None) -> Floats:
    given = weights or {}
    unknown = sorted(set(given) - {ladder.name for ladder in layout.ladders})
    if unknown:
        raise RecipeError("Weights must name quasi-identifying attributes", ", ".join(map(repr, unknown)))
    stated = np.array([float(given.get(ladder.name, 1.0)) for ladder in layout.ladders])
    if not np.isfinite(stated).all() or (stated < 0).any() or not stated.sum() > 0:
        raise RecipeError("Weights must be numbers of at least 0, not all 0", f"{stated.tolist()}")
    return np.asarray(stated / stated.sum())


def separable(
    kind: str, base: Classes, weights: Mapping[str, float] | None = None, factors: Factors | None = None
) -> Separable:
    """`loss`, `entropy` or `precision` of the table whose distinct rows are `base`."""
    layout = base.layout
    counts = [
        np.asarray(np.bincount(base.codes(a), base.sizes, ladder.leaves), np.float64)
        for a, ladder in enumerate(layout.ladders)
    ]
    prices, tops = [], []
    for ladder, leaf_counts in zip(layout.ladders, counts, strict=True):
        generalising, suppressing = _shares((factors or {}).get(ladder.name, EVEN))
        own = _PRICES[kind](ladder, leaf_counts)
        prices.append([generalising * price for price in own])
        tops.append(suppressing * own[-1])
    normal = _normalised(layout, weights)
    exact = replace(_priced(base, prices, tops, counts, normal, kind == "loss"), plain=not factors)
    if not any(float((p - top).max()) > 0 for own, top in zip(prices, tops, strict=True) for p in own):
        return exact
    least = [[np.minimum(p, top) for p in own] for own, top in zip(prices, tops, strict=True)]
    return replace(exact, least=_priced(base, least, tops, counts, normal, kind == "loss"))


def is_plain_loss(measure: Measure) -> bool:
    """Whether a measure is the loss of all attributes alike, by which equal costs are told apart."""
    return (
        isinstance(measure, Separable)
        and measure.plain
        and measure.geometric
        and bool((measure.weights == measure.weights[0]).all())
    )


def _priced(
    base: Classes,
    prices: Sequence[Sequence[Floats]],
    tops: Sequence[Floats],
    counts: Sequence[Floats],
    weights: Floats,
    geometric: bool,
) -> Separable:
    """From the price of every leaf at every level, and of every leaf that is suppressed."""
    totals, gaps = [], []
    for ladder, own, top, leaf_counts in zip(base.layout.ladders, prices, tops, counts, strict=True):
        totals.append(np.array([leaf_counts @ price for price in own]) / base.rows)
        gaps.append(tuple(_gap(ladder, i, own[i], top, leaf_counts) for i in range(ladder.height)))
    return Separable(base.layout, base.rows, tuple(totals), tuple(gaps), weights, geometric)


def _shares(factor: float) -> tuple[float, float]:
    """What generalising and suppressing count: both in full at one half, and one of them less on either side."""
    if not 0 <= factor <= 1:
        raise RecipeError("gs_factor must be a number from 0 to 1", f"{factor:g}")
    return (1.0, 2 * factor) if factor < EVEN else (2 * (1 - factor), 1.0)


def _gap(ladder: Ladder, level: int, price: Floats, top: Floats, leaf_counts: Floats) -> Floats:
    """Per code at `level`: the mean, over its rows, of the price of being suppressed less this level's."""
    codes = ladder.maps[level]
    n = np.bincount(codes, weights=leaf_counts, minlength=ladder.sizes[level])
    total = np.bincount(codes, weights=leaf_counts * (top - price), minlength=ladder.sizes[level])
    return np.asarray(total / np.maximum(n, 1))


def _loss(ladder: Ladder, leaf_counts: Floats) -> list[Floats]:
    """Leaves under the label over all leaves, from 0 for a leaf to 1 for all: the loss measure as ARX has it."""
    del leaf_counts
    if ladder.leaves == 1:
        return [np.zeros(1)] * ladder.height
    under = [np.bincount(codes)[codes] for codes in ladder.maps]
    return [(u - 1) / (ladder.leaves - 1) for u in under[:-1]] + [np.ones(ladder.leaves)]


def _entropy(ladder: Ladder, leaf_counts: Floats) -> list[Floats]:
    """Bits needed to name the leaf once the label is known (non-uniform entropy)."""
    bits = []
    for codes in ladder.maps:
        n = np.bincount(codes, weights=leaf_counts)[codes]
        ratio = np.divide(n, leaf_counts, out=np.ones_like(n), where=leaf_counts > 0)
        bits.append(np.log2(ratio))
    return bits


def _precision(ladder: Ladder, leaf_counts: Floats) -> list[Floats]:
    """The level over the highest level."""
    del leaf_counts
    top = max(ladder.height - 1, 1)
    return [np.full(ladder.leaves, level / top) for level in range(ladder.height)]


_PRICES = {"loss": _loss, "entropy": _entropy, "precision": _precision}
SEPARABLE = tuple(_PRICES)
FACTORED = ("loss", "precision")  # whose price is that of the label, whatever leaf a row has under it


# ------------------------------------------------------------------ measures of the classes


@dataclass(frozen=True, eq=False)
class Misclassified(Measure):
    """What it costs whoever learns a target column (Iyengar 2002): the share of rows that are suppressed, or whose
    target is not the commonest of their class.

    The commonest value of two classes together is no commoner than those of each: merging never costs less. The
    target's values are the last pairs of the classes.
    """

    def above(self, classes: Classes) -> float:
        return float(_others(classes).sum()) / self.rows

    def cost(self, classes: Classes, held: Flags) -> float:
        kept = classes.sizes[held].sum(dtype=np.int64)
        return (self.rows - int(kept) + float(_others(classes)[held].sum())) / self.rows

    def below(self, classes: Classes, held: Flags) -> Floats | None:
        """A row that is suppressed here is below, too, and costs one."""
        if bool(held.all()):
            return None
        lost = int(classes.sizes[~held].sum(dtype=np.int64)) / self.rows
        return np.full(tuple(level + 1 for level in classes.levels), lost)


def _others(classes: Classes) -> Floats:
    """By class: rows with another target than the commonest."""
    seen = classes.seen
    assert not isinstance(seen, np.ndarray), "a target is counted in pairs"
    most = np.zeros(len(classes))
    np.maximum.at(most, seen[-1].class_of, seen[-1].count)
    return np.asarray(classes.sizes - most, np.float64)


@dataclass(frozen=True, eq=False)
class Discernibility(Measure):
    """Each row costs the size of its class; a suppressed one the size of the table."""

    def above(self, classes: Classes) -> float:
        sizes = classes.sizes.astype(np.float64)
        return float(sizes @ sizes)

    def cost(self, classes: Classes, held: Flags) -> float:
        sizes = classes.sizes.astype(np.float64)
        kept = sizes[held]
        return float(kept @ kept) + self.rows * (self.rows - float(kept.sum()))


@dataclass(frozen=True, eq=False)
class AverageClassSize(Measure):
    """Rows over classes, the suppressed rows being one class."""

    def above(self, classes: Classes) -> float:
        return self.rows / len(classes)

    def cost(self, classes: Classes, held: Flags) -> float:
        del classes
        kept = int(held.sum())
        return self.rows / (kept + (kept < len(held)))


@dataclass(frozen=True, eq=False)
class KLCost(Measure):
    """KL cost of the utility-optimal cells (paper 4, Eqs. 1 and 2); suppressed rows under the whole's marginals.

    With E(u) the sum of c ln c over the classes of node u, the cost of attribute a is E(v) - E(v with a at its
    leaves): the classes of the latter are exactly the pairs of a class and a leaf.
    """

    base: Classes
    weights: Floats
    _last: list[tuple[Classes, Floats]] = field(default_factory=list)  # a node is asked for bound and cost in turn

    @classmethod
    def of(cls, base: Classes, weights: Mapping[str, float] | None = None) -> KLCost:
        normal = _normalised(base.layout, weights)
        return cls(base.layout, base.rows, base, normal * len(normal))

    def above(self, classes: Classes) -> float:
        return float(self._by_class(classes).sum())

    def cost(self, classes: Classes, held: Flags) -> float:
        by_class = self._by_class(classes)
        if bool(held.all()):
            return float(by_class.sum())
        return float(by_class[held].sum()) + self._suppressed(classes, held)

    def _by_class(self, classes: Classes) -> Floats:
        if not self._last or self._last[0][0] is not classes:
            self._last[:] = [(classes, self._computed(classes))]
        return self._last[0][1]

    def _computed(self, classes: Classes) -> Floats:
        sizes = classes.sizes.astype(np.float64)
        own = sizes * np.log(sizes)
        total = np.zeros(len(classes))
        for a, level in enumerate(classes.levels):
            if level == 0 or not self.weights[a]:
                continue
            finer = self.base.rolled((*classes.levels[:a], 0, *classes.levels[a + 1 :]))
            again, index = finer.rolled_with_index(classes.levels)
            parts = finer.sizes.astype(np.float64)
            inner = np.bincount(index, weights=parts * np.log(parts), minlength=len(again))
            total += self.weights[a] * (own - inner[_ranks(again, classes)])
        return np.maximum(total, 0.0)

    def _suppressed(self, classes: Classes, held: Flags) -> float:
        again, index = self.base.rolled_with_index(classes.levels)
        gone = ~held[_ranks(classes, again)][index]
        total = 0.0
        for a, ladder in enumerate(self.layout.ladders):
            codes, sizes = self.base.codes(a), self.base.sizes.astype(np.float64)
            whole = np.bincount(codes, weights=sizes, minlength=ladder.leaves)
            lost = np.bincount(codes[gone], weights=sizes[gone], minlength=ladder.leaves)
            there = lost > 0
            total -= self.weights[a] * float(lost[there] @ np.log(whole[there] / self.rows))
        return total


def _ranks(of: Classes, among: Classes) -> NDArray[np.int64]:
    """For each class of `among` its index in `of`; both have the same keys, in any order."""
    return np.asarray(np.lexsort(of.keys.T)[among.by_keys()[1]])


def measure_of(
    kind: str, base: Classes, weights: Mapping[str, float] | None = None, factors: Factors | None = None
) -> Measure:
    if factors and kind not in FACTORED:
        raise RecipeError(f"gs_factor must go with one of the measures {', '.join(FACTORED)}", repr(kind))
    if kind in _PRICES:
        return separable(kind, base, weights, factors)
    if kind == "kl":
        return KLCost.of(base, weights)
    if kind == CLASSIFICATION and not weights:
        return Misclassified(base.layout, base.rows)
    if kind not in (*MEASURES, CLASSIFICATION):
        raise RecipeError(f"The measure must be one of {', '.join(MEASURES)}", repr(kind))
    if weights:
        raise RecipeError(f"The measure {kind} takes no weights", hint="Use loss, entropy, precision or kl.")
    whole = Discernibility if kind == "discernibility" else AverageClassSize
    return whole(base.layout, base.rows)
