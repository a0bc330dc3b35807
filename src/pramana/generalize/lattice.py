"""Optimal full-domain generalisation: every attribute at one level, the best node of the lattice of levels.

The search is exact. A node is *open* while it may still be better than the best found; its entry in `bounds` is
what it costs at least, infinity once settled. The cheapest open node is taken, and the chain of open nodes above
it is halved until the border between nodes that hold and nodes that fail is found (Incognito's monotonicity,
searched as by Flash). What is learnt spreads at once over whole sub-lattices:

  * a node that fails settles all its specialisations;
  * a node that holds settles the question for all its generalisations, which then only need their cost;
  * the classes of a node bound the cost of what lies above it, its suppressed rows the cost of what lies below.

A second condition that is not monotone is asked only of nodes that hold, the cheapest first, so that the first to
pass is the best; it settles no other node.

Classes are rolled up from the smallest table at hand that is finer, not from the rows. Before a large table is
rolled up, its rare rows are: all rows with the rarest labels of one attribute, which no class of a node leaves as
long as the attribute is not at its top. Where too many of them fail, the node fails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from pramana.errors import RecipeError, UnreachableError
from pramana.generalize.classes import Classes, Layout, Levels
from pramana.generalize.conditions import Condition
from pramana.generalize.measures import Measure
from pramana.randomness import joint_codes

MOST_NODES = 1 << 24
SMALL_TABLE = 256  # rolling up this few classes costs less than looking for fewer
LARGE_TABLE = 1 << 14  # from here on rare rows are asked first
MOST_PROBES = 16
TABLE_BYTES = 1 << 28  # memory for tables kept to roll up from


@dataclass(frozen=True, eq=False)
class Solution:
    """The best node, its classes, which of them are published, and what the search did."""

    classes: Classes
    held: NDArray[np.bool_]
    cost: float
    nodes: int
    checked: int

    @property
    def levels(self) -> Levels:
        return self.classes.levels

    @property
    def suppressed(self) -> int:
        """Rows in classes that are not published."""
        return int(self.classes.sizes[~self.held].sum(dtype=np.int64))


def search(
    base: Classes,
    condition: Condition,
    measure: Measure,
    limit: int = 0,
    also: Callable[[Levels], bool] | None = None,
) -> Solution:
    """The cheapest node at which at most `limit` rows lie in classes that fail the condition.

    `also` is asked of nodes that satisfy the condition, cheapest first, and need not be monotone: its answer tells
    nothing of other nodes. Nothing may be suppressed with it.
    """
    if also is not None and limit:
        raise ValueError("a search with a second condition suppresses nothing")
    layout = base.layout
    nodes = int(np.prod(np.array(layout.heights, dtype=object)))
    if nodes > MOST_NODES:
        raise RecipeError(
            f"A lattice of levels must have at most {MOST_NODES} nodes",
            f"{nodes}",
            'Use fewer levels or attributes, or algorithm = "mondrian".',
        )
    return _Search(base, condition, measure, limit, also).run()


def down(levels: Levels) -> tuple[slice, ...]:
    """All specialisations of a node, itself included, as an index of an array over the lattice."""
    return tuple(slice(0, level + 1) for level in levels)


def up(levels: Levels) -> tuple[slice, ...]:
    """All generalisations of a node, itself included."""
    return tuple(slice(level, None) for level in levels)


class _Search:
    def __init__(
        self,
        base: Classes,
        condition: Condition,
        measure: Measure,
        limit: int,
        also: Callable[[Levels], bool] | None,
    ) -> None:
        self.layout: Layout = base.layout
        self.also = also
        self.condition, self.measure, self.limit = condition, measure, limit
        self.anchor = condition.anchor
        # without suppression, and for conditions that survive any merging, failing spreads down and holding up
        self.monotone = limit == 0 or self.anchor is condition
        self.bounds = measure.prior().astype(np.float64)
        self.holding = np.zeros(self.layout.heights, np.bool_)
        self.tables = _Tables(base)
        self.probes = _probes(base, limit) if self.monotone else []
        self.best = np.inf
        self.found: tuple[Classes, NDArray[np.bool_]] | None = None
        self.checked = 0

    def run(self) -> Solution:
        while True:
            place = int(self.bounds.argmin())
            if not self.bounds.flat[place] < self.best:
                break
            node = self._levels(place)
            if self.also is not None and self.holding[node]:
                self._ask(node, self.also)
            elif not self.monotone or self.holding[node]:
                self._check(node)
            else:
                self._halve(self._chain(node))
        if self.found is None:
            raise self._nothing()
        classes, held = self.found
        return Solution(classes, held, float(self.best), self.bounds.size, self.checked)

    def _levels(self, place: int) -> Levels:
        return tuple(int(i) for i in np.unravel_index(place, self.layout.heights))

    def _chain(self, node: Levels) -> list[Levels]:
        """From the node upwards, the cheapest open step each time, as long as there is one."""
        chain = [node]
        while True:
            steps = []
            for a, level in enumerate(node):
                if level + 1 < self.layout.heights[a]:
                    higher = (*node[:a], level + 1, *node[a + 1 :])
                    if self.bounds[higher] < self.best and not self.holding[higher]:
                        steps.append((float(self.bounds[higher]), higher))
            if not steps:
                return chain
            node = min(steps)[1]
            chain.append(node)

    def _halve(self, chain: list[Levels]) -> None:
        low, high = 0, len(chain) - 1
        # with a good solution at hand most open nodes fail, and the failure of the highest settles the whole chain
        first = high if self.best < np.inf else (low + high) // 2
        while low <= high:
            middle = first if first >= 0 else (low + high) // 2
            first = -1
            settled = not self.bounds[chain[middle]] < self.best  # by what was learnt since the chain was made
            if settled or self._check(chain[middle]):
                high = middle - 1
            else:
                low = middle + 1

    def _check(self, node: Levels) -> bool:
        self.checked += 1
        if self.tables.costly(node) and self._rare_rows_fail(node):
            self.bounds[down(node)] = np.inf
            return False
        classes = self.tables.at(node)
        held = self.condition.held(classes.counts)
        if _lost(classes, held) > self.limit:
            self._fail(node, classes)
            return False
        if not self.measure.known:
            above = self.bounds[up(node)]
            np.maximum(above, self.measure.above(classes), out=above)
        if self.also is not None:  # the node stays open until it is the cheapest and asked
            self.holding[up(node)] = True
            return True
        cost = self.measure.cost(classes, held)
        if cost < self.best:
            self.best, self.found = cost, (classes, held)
        self.bounds[node] = np.inf
        if self.monotone:
            self.holding[up(node)] = True
            self._raise_below(node, classes, held)
        return True

    def _ask(self, node: Levels, also: Callable[[Levels], bool]) -> None:
        self.checked += 1
        self.bounds[node] = np.inf
        if also(node):
            classes = self.tables.at(node)
            held = np.ones(len(classes), np.bool_)
            cost = self.measure.cost(classes, held)
            if cost < self.best:
                self.best, self.found = cost, (classes, held)

    def _raise_below(self, node: Levels, classes: Classes, held: NDArray[np.bool_]) -> None:
        raised = self.measure.below(classes, held)
        if raised is not None:
            below = self.bounds[down(node)]
            np.maximum(below, raised, out=below)

    def _fail(self, node: Levels, classes: Classes) -> None:
        if self.monotone:
            self.bounds[down(node)] = np.inf
            return
        self.bounds[node] = np.inf
        if self.anchor is not None and _lost(classes, self.anchor.held(classes.counts)) > self.limit:
            self.bounds[down(node)] = np.inf

    def _rare_rows_fail(self, node: Levels) -> bool:
        for place, probe in enumerate(self.probes):
            if all(node[a] < self.layout.heights[a] - 1 for a in probe.attributes):
                classes = probe.tables.at(node)
                if _lost(classes, self.condition.held(classes.counts)) > self.limit:
                    # what failed one node likely fails its neighbours: ask it first next time
                    self.probes.insert(0, self.probes.pop(place))
                    return True
        return False

    def _nothing(self) -> UnreachableError:
        top = self.tables.at(self.layout.top)
        return UnreachableError(
            f"Some generalisation must satisfy the conditions with at most {self.limit} rows suppressed",
            f"none, not even the top of every hierarchy, which makes {len(top)} class of {top.rows} rows",
            "Lower k, l or c, raise t, or allow more suppression.",
        )


def _lost(classes: Classes, held: NDArray[np.bool_]) -> int:
    """Rows in classes that do not hold."""
    return 0 if bool(held.all()) else int(classes.sizes[~held].sum(dtype=np.int64))


@dataclass(frozen=True, eq=False)
class _Probe:
    """The rows with the rarest labels of one or two attributes, at their highest level below the top."""

    attributes: tuple[int, ...]
    base: Classes
    rare: NDArray[np.bool_]

    @cached_property
    def tables(self) -> _Tables:
        """Made when it is asked: many a search ends before its last probe is."""
        base = self.base
        return _Tables(Classes(base.layout, base.levels, base.keys[self.rare], base.counts[self.rare]))


def _probes(base: Classes, limit: int) -> list[_Probe]:
    """The smallest sets of rare rows of which more than `limit` could fail."""
    if len(base) <= LARGE_TABLE:
        return []
    ladders = base.layout.ladders
    usable = [a for a, ladder in enumerate(ladders) if ladder.height > 1]
    # below the top there are few combinations left, and every label that is counted is one of theirs
    high, into = base.rolled_with_index(tuple(max(ladder.height - 2, 0) for ladder in ladders))
    labels = {a: high.codes(a) for a in usable}
    found = []
    for attributes in [(a,) for a in usable] + list(combinations(usable, 2)):
        codes = labels[attributes[0]]
        if len(attributes) == 2:
            codes = joint_codes(pair := [labels[a] for a in attributes], [int(c.max()) + 1 for c in pair])
        rare = _rare(codes, high.sizes, max(4 * limit, base.rows // 500))
        if rare is not None:
            found.append((rare, attributes))
    sized = [(int(np.count_nonzero(rare[into])), attributes, rare) for rare, attributes in found]
    smallest = sorted(sized, key=lambda f: f[:2])[:MOST_PROBES]
    return [_Probe(attributes, base, np.asarray(rare[into])) for _, attributes, rare in smallest]


def _rare(codes: NDArray[np.int64], sizes: NDArray[np.uint32], enough: int) -> NDArray[np.bool_] | None:
    """Which classes have the rarest codes, up to `enough` rows; None if even those are common."""
    share = np.bincount(codes, weights=sizes)
    order = np.argsort(share)
    order = order[share[order] > 0]
    chosen = order[: int(np.searchsorted(np.cumsum(share[order]), enough)) + 1]
    if share[chosen].sum() > share.sum() / 3:
        return None
    rare = np.zeros(len(share), np.bool_)
    rare[chosen] = True
    return np.asarray(rare[codes])


class _Tables:
    """Classes at nodes seen before, and for every node the smallest table it can be rolled up from."""

    def __init__(self, base: Classes) -> None:
        heights = base.layout.heights
        self.kept: list[Classes] = [base]
        self.source = np.zeros(heights, np.int32)
        self.size = np.full(heights, len(base), np.int64)
        self.bytes = 0

    def costly(self, node: Levels) -> bool:
        return bool(self.size[node] > LARGE_TABLE)

    def at(self, node: Levels) -> Classes:
        source = self.kept[int(self.source[node])]
        if source.levels == node:
            return source
        classes = source.rolled(node)
        worth = len(source) > SMALL_TABLE and len(classes) < 0.8 * len(source)
        if worth and self.bytes + classes.nbytes <= TABLE_BYTES:
            self._keep(node, classes)
        return classes

    def _keep(self, node: Levels, classes: Classes) -> None:
        self.bytes += classes.nbytes
        self.kept.append(classes)
        size, source = self.size[up(node)], self.source[up(node)]
        better = size > len(classes)
        size[better] = len(classes)
        source[better] = len(self.kept) - 1
