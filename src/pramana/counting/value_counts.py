"""How often each class has each sensitive value: the pairs that occur, and what l and t ask of them.

A table of classes by values would be mostly noughts where values are many. Here are the pairs (class, value) that
occur, in any order, and everything is a sum over them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pramana.counting import _classes

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_EXACT = 1 << 53  # integers up to here are floats, and sums of them in any order the same
_ROOM = 1e-12  # relative; what distances are given where they are not exact


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """Counts of the pairs (class, value) that occur, each pair once, and the size of every class."""

    class_of: Ints
    value: Ints
    count: Floats
    sizes: Floats
    values: int
    people: Ints | None = None  # of a population, by class, where one is at hand

    @classmethod
    def of_table(cls, table: NDArray[np.uint32]) -> ValueCounts:
        """From a line for each class: its size, and its counts by value."""
        class_of, value = np.nonzero(table[:, 1:])
        count = table[class_of, value + 1].astype(np.float64)
        return cls(class_of, value, count, table[:, 0].astype(np.float64), table.shape[1] - 1)

    @cached_property
    def counted(self) -> Floats:
        """Rows of each class that have a value, which is all of them unless a caller counts only some."""
        return np.maximum(self.sums(self.count), 1.0)

    def sums(self, weights: Floats | None = None) -> Floats:
        return np.asarray(np.bincount(self.class_of, weights=weights, minlength=len(self.sizes)), np.float64)

    @property
    def totals(self) -> Ints:
        """How often each value occurs in all classes together."""
        return np.bincount(self.value, weights=self.count, minlength=self.values).astype(np.int64)

    def only(self, kept: NDArray[np.bool_]) -> ValueCounts:
        """Pairs of some classes; the others stay, and have none."""
        here = kept[self.class_of]
        return replace(self, class_of=self.class_of[here], value=self.value[here], count=self.count[here])

    # ------------------------------------------------------------------ by class

    @property
    def distinct(self) -> Floats:
        return self.sums()

    @property
    def entropies(self) -> Floats:
        """In nats."""
        return np.asarray(np.log(self.counted) - self.sums(self.count * np.log(self.count)) / self.counted)

    def most_and_tail(self, l: int) -> tuple[Floats, Floats]:  # noqa: E741 - the notion's own name
        """How often the commonest value occurs, and the l-th commonest with all rarer ones."""
        order = np.lexsort((-self.count, self.class_of))
        classes, counts = self.class_of[order], self.count[order]
        first = np.searchsorted(classes, np.arange(len(self.sizes)))
        rank = np.arange(len(classes)) - first[classes]
        tail = np.bincount(classes, weights=np.where(rank >= l - 1, counts, 0.0), minlength=len(self.sizes))
        most = np.zeros(len(self.sizes))
        most[classes[rank == 0]] = counts[rank == 0]
        return most, np.asarray(tail, np.float64)

    def distances(self, totals: Ints, parents: tuple[Ints, ...] | None = None) -> Floats:
        """Each class's distance from values that occur `totals` times, equal or along a hierarchy.

        Equal: half the sum of absolute differences, which is the sum of the positive ones. Hierarchical (Li, Li
        and Venkatasubramanian, 2007): moving mass between two leaves costs the height of their lowest common
        ancestor over the tree's height, that is one share of the height for each level at which their labels
        differ. So it is the mean of the equal distances at the levels below the top. Numerators are whole.
        """
        whole = float(totals.sum())
        own = self.counted
        above, at = np.zeros(len(self.sizes)), (self.class_of, self.value, self.count)
        steps = () if parents is None else parents[:-1]  # at the top there is one label
        for parent in (None, *steps):
            if parent is not None:
                totals = np.bincount(parent, weights=totals, minlength=int(parent.max()) + 1).astype(np.int64)
                at = _merged(at[0], parent[at[1]], at[2])
            class_of, value, count = at
            excess = np.maximum(count * whole - own[class_of] * totals[value], 0.0)
            above += np.bincount(class_of, weights=excess, minlength=len(above))
        found = above / (own * (whole * (len(steps) + 1)))
        exact = whole * float(own.max(initial=1.0)) * (len(steps) + 1) < _EXACT
        return np.asarray(found if exact else found * (1 + _ROOM))

    def ordered_distances(self, totals: Ints) -> Floats:
        """The same where values i and j are |i - j| apart, over the greatest difference."""
        occurs = totals > 0
        if not occurs.all():  # values that do not occur have no place in the order
            rank = np.cumsum(occurs) - 1
            shown = occurs[self.value]
            occurring = replace(
                self,
                class_of=self.class_of[shown],
                value=rank[self.value[shown]],
                count=self.count[shown],
                values=int(occurs.sum()),
            )
            return occurring.ordered_distances(totals[occurs])
        # shares are counts over sizes: all is multiplied by both sizes, so that it is whole and nothing is rounded
        below = np.cumsum(totals)
        whole = int(below[-1])
        area = np.concatenate([[0], np.cumsum(below)])  # sums of `below` over the values before
        order = np.lexsort((self.value, self.class_of))
        classes, value, count = self.class_of[order], self.value[order], self.count[order].astype(np.int64)
        first = np.searchsorted(classes, np.arange(len(self.sizes)))
        run = np.cumsum(count)
        own, size = run - (run - count)[first][classes], self.counted[classes].astype(np.int64)
        last = np.append(classes[1:] != classes[:-1], True)[: len(classes)]
        stop = np.where(last, self.values, np.append(value[1:], 0))
        # from `value` to before `stop` the class has `own`: above `below` first, and under it afterwards
        turn = np.clip(np.searchsorted(below / whole, own / size), value, stop)
        parts = own * whole * (2 * turn - value - stop) - size * (2 * area[turn] - area[value] - area[stop])
        here = np.append(True, classes[1:] != classes[:-1])[: len(classes)]
        parts[here] += (size * area[value])[here]  # before its first value a class has nothing
        found = np.bincount(classes, weights=parts, minlength=len(self.sizes))
        steps = max(self.values - 1, 1)
        exact = whole * float(self.counted.max(initial=1.0)) * steps < _EXACT
        distances = found / (self.counted * (float(whole) * steps))
        return np.asarray(distances if exact else distances * (1 + _ROOM))

    def ratios(self, totals: Ints) -> Floats:
        """The largest |log2| of a class's share of a value over that of `totals`; infinite where it lacks one."""
        share = self.count / self.counted[self.class_of]
        whole = totals[self.value] / float(totals.sum())
        found = np.zeros(len(self.sizes))
        with np.errstate(divide="ignore"):
            np.maximum.at(found, self.class_of, np.abs(np.log2(share) - np.log2(whole)))
        return np.where(self.sums() < int((totals > 0).sum()), np.inf, found)

    def gains(self, totals: Ints) -> Floats:
        """The largest gain of a value on its share of `totals`, relative to that; 0 where none gains."""
        found = np.zeros(len(self.sizes))
        np.maximum.at(found, self.class_of, self._gains(totals))
        return found

    def gains_within_entropy(self, totals: Ints) -> NDArray[np.bool_]:
        """Whether no value gains more than -ln of its share of `totals` times it."""
        with np.errstate(divide="ignore"):
            own = -np.log(totals[self.value] / float(totals.sum()))
        over = self._gains(totals) > own * (1 + _ROOM) + _ROOM
        return np.asarray(np.bincount(self.class_of[over], minlength=len(self.sizes)) == 0)

    def _gains(self, totals: Ints) -> Floats:
        """By pair. Numerators are whole numbers, and exact as floats up to 2^53."""
        expected = self.counted[self.class_of] * totals[self.value]
        with np.errstate(divide="ignore"):  # a value that `totals` lack gains without end
            return np.asarray((self.count * float(totals.sum()) - expected) / expected)


def _merged(class_of: Ints, value: Ints, count: Floats) -> tuple[Ints, Ints, Floats]:
    """Pairs that have become equal as one."""
    pairs = class_of.astype(np.uint64) << np.uint64(32) | value.astype(np.uint64)
    keys, counts = np.empty_like(pairs), np.empty(len(pairs), np.uint32)
    everything, none = np.array([2**64 - 1], np.uint64), np.zeros((0, 4), np.int64)
    given = count.astype(np.uint32)
    n = _classes.roll(pairs, given, 1, everything, none, np.zeros(1, np.uint64), keys, counts, None)
    kept = keys[:n]
    low = np.uint64(2**32 - 1)
    return (kept >> np.uint64(32)).astype(np.int64), (kept & low).astype(np.int64), counts[:n].astype(np.float64)
