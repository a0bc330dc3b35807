"""Optimal full-domain generalisation: every attribute at one level, the best node of the lattice of levels.

The search is exact. A node is *open* while it may still be better than the best found; its entry in `bounds` is
what it costs at least, infinity once settled. The cheapest open node is taken, and the chain of open nodes above
it is halved until the border between nodes that hold and nodes that fail is found (Incognito's monotonicity,
searched as by Flash). What is learnt spreads at once over whole sub-lattices:

  * a node that fails settles all its specialisations;
  * a node that holds settles the question for all its generalisations, which then only need their cost;
  * the classes of a node bound the cost of what lies above it, its suppressed rows the cost of what lies below.

Of nodes that cost the same the one with the least loss is taken, then the one with the lowest levels, attribute by
attribute: nothing is shown coarser than its cost asks for.

A second condition that is not monotone is asked only of nodes that hold, the cheapest first, so that the first to
pass is the best; it settles no other node. A condition on all classes together may leave out classes that hold by
themselves; unless it survives generalisation, it is asked of every node that could be the best, and settles it
alone.

Classes are rolled up from the smallest table at hand that is finer, not from the rows (`space`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pramana.counting.classes import Classes, Layout, Levels
from pramana.errors import RecipeError, UnreachableError
from pramana.methods.generalize.conditions import (
    Condition,
    Flags,
    KAnonymous,
    TableCondition,
    least_lost,
    least_rows,
    staying,
)
from pramana.methods.generalize.measures import Measure, is_plain_loss, separable
from pramana.methods.generalize.space import Probes, Tables, down, lost_rows, up

MOST_NODES = 1 << 24
_SAME = 1e-12  # of a cost; nearer ones are the same
_PART = 1e-6  # of a row; what sums of shares of rows are given


@dataclass(frozen=True, eq=False)
class Solution:
    """The best node, its classes, which of them are published, and what the search did."""

    classes: Classes
    held: Flags
    cost: float
    loss: float  # by which those that cost the same are told apart
    nodes: int = 0
    checked: int = 0

    @property
    def levels(self) -> Levels:
        return self.classes.levels

    def finer(self, other: Solution) -> bool:
        """By loss, and where that is the same by the levels in their order."""
        if abs(self.loss - other.loss) > _tie(other.loss):
            return self.loss < other.loss
        return self.classes.levels < other.classes.levels


def search(
    base: Classes,
    condition: Condition,
    measure: Measure,
    limit: int = 0,
    also: Callable[[Levels], bool] | None = None,
    table: TableCondition | None = None,
) -> Solution:
    """The cheapest node at which at most `limit` rows lie in classes that fail the condition.

    `table` is a condition on all published classes together, for which more of them may be left out.

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
    return _Search(base, condition, measure, limit, also, table).run()


class _Search:
    def __init__(
        self,
        base: Classes,
        condition: Condition,
        measure: Measure,
        limit: int,
        also: Callable[[Levels], bool] | None,
        table: TableCondition | None,
    ) -> None:
        self.layout: Layout = base.layout
        self.also, self.table = also, table
        self.beside = not bool((base.sizes > 0).all())  # a population, some of whose classes have no rows
        self.condition, self.measure, self.limit = condition, measure, limit
        self.anchor = condition.anchor
        # without suppression, and for conditions that survive any merging, failing spreads down and holding up;
        # else `holding` marks nodes that may hold, which do so only once they are checked themselves
        self.spreads = table is None or table.stays_up(limit)
        self.monotone = (limit == 0 or self.anchor is condition) and self.spreads
        self.bounds = measure.prior().astype(np.float64)
        self.holding = np.zeros(self.layout.heights, np.bool_)
        self.strides = [stride // self.bounds.itemsize for stride in self.bounds.strides]
        self.tables = Tables(base.bare)
        self.pairs = [Tables(table) for table in base.pairs]
        # with pairs the sizes of classes are asked first: how few rows a class can have and hold is known
        self.quick: Condition | None = KAnonymous(least_rows(condition)) if base.pairs else None
        probing = self.quick or (condition if self.monotone else None)
        self.probes = Probes(base.bare, probing, limit) if probing else None
        self.base = base.bare
        self.best = np.inf
        self.solution: Solution | None = None
        self.checked = 0

    def run(self) -> Solution:
        while True:
            node = self._levels(int(self.bounds.argmin()))
            if not self._open(node):
                break
            if self.also is not None and self.holding[node]:
                self._ask(node, self.also)
            elif self.holding[node]:
                self._check(node)
            else:
                self._halve(self._chain(node))
        if self.solution is None:
            raise self._nothing()
        return replace(self.solution, nodes=self.bounds.size, checked=self.checked)

    def _levels(self, offset: int) -> Levels:
        levels = []
        for stride in self.strides:
            level, offset = divmod(offset, stride)
            levels.append(level)
        return tuple(levels)

    def _open(self, node: Levels) -> bool:
        """Whether a node may still be better than the best, or as good and finer."""
        bound = float(self.bounds[node])
        return bound < np.inf and bound <= self.best + _tie(self.best)

    def _chain(self, node: Levels) -> list[Levels]:
        """From the node upwards, the cheapest open step each time, as long as there is one."""
        chain, levels = [node], list(node)
        bounds, holding, heights = (
            self.bounds.data.cast("B").cast("d"),
            self.holding.data.cast("B"),
            self.layout.heights,
        )
        most = self.best + _tie(self.best)
        offset = sum(level * stride for level, stride in zip(node, self.strides, strict=True))
        while True:
            least, step = most, -1
            for a, stride in enumerate(self.strides):
                if levels[a] + 1 < heights[a]:
                    bound = bounds[offset + stride]
                    # of equal ones that whose levels come first: a step of a later attribute
                    if bound <= least and bound < np.inf and not holding[offset + stride]:
                        least, step = bound, a
            if step < 0:
                return chain
            levels[step] += 1
            offset += self.strides[step]
            chain.append(tuple(levels))

    def _halve(self, chain: list[Levels]) -> None:
        low, high = 0, len(chain) - 1
        # with a good solution at hand most open nodes fail, and the failure of the highest settles the whole chain
        first = high if self.best < np.inf else (low + high) // 2
        while low <= high:
            middle = first if first >= 0 else (low + high) // 2
            first = -1
            settled = not self._open(chain[middle])  # by what was learnt since the chain was made
            if settled or (self._check if self.monotone else self._may)(chain[middle]):
                high = middle - 1
            else:
                low = middle + 1

    def _classes(self, node: Levels) -> Classes | None:
        """The classes of a node; None where it fails with all below it, by what is seen at once."""
        if self.probes is not None and self.tables.costly(node) and self.probes.fail(node):
            return None
        classes = self.tables.at(node)
        if self.beside:
            classes = classes.occupied
        if self.quick is not None and lost_rows(classes, self.quick.held(classes.counts)) > self.limit:
            return None
        if self.pairs:
            classes = replace(classes, pairs=tuple(table.at((*node, 0)) for table in self.pairs))
        return classes

    def _may(self, node: Levels) -> bool:
        """Whether a node, or one below it, may hold: what must be lost there must be lost below, and more."""
        self.checked += 1
        classes = self._classes(node)
        if classes is None or float(least_lost(self.condition, classes.seen).sum()) > self.limit + _PART:
            self.bounds[down(node)] = np.inf
            return False
        self.holding[up(node)] = True
        if self.anchor is not None:
            self._raise_below(node, classes, self.anchor.held(classes.seen))
        return True

    def _check(self, node: Levels) -> bool:
        self.checked += 1
        classes = self._classes(node)
        if classes is None:
            self.bounds[down(node)] = np.inf
            return False
        if not self.monotone and self._too_dear(node, classes):
            return False
        alone, held = staying(self.condition, classes, self.table)
        if lost_rows(classes, held) > self.limit:
            self.bounds[down(node) if self.monotone else node] = np.inf
            return False
        if not self.measure.known:
            above = self.bounds[up(node)]
            np.maximum(above, self.measure.above(classes), out=above)
        if self.also is not None:  # the node stays open until it is the cheapest and asked
            self.holding[up(node)] = True
            return True
        self._take(classes, held)
        self._settle(node, classes, alone, held)
        return True

    def _too_dear(self, node: Levels, classes: Classes) -> bool:
        """What does not even have the anchor is lost here and below: that alone may cost too much."""
        if self.anchor is None:
            return False
        held = self.anchor.held(classes.seen)
        self._raise_below(node, classes, held)
        if self.measure.floor(classes, held) > self.best + _tie(self.best):
            self.bounds[node] = np.inf
            return True
        return False

    def _settle(self, node: Levels, classes: Classes, alone: Flags, held: Flags) -> None:
        """`alone`: which classes hold by themselves; a row of another is lost at every node below."""
        # every generalisation costs as much at least, and is no finer
        if bool(held.all()) and self.spreads:
            self.bounds[up(node)] = np.inf
        self.bounds[node] = np.inf
        if self.monotone:
            self.holding[up(node)] = True
            self._raise_below(node, classes, alone)

    def _ask(self, node: Levels, also: Callable[[Levels], bool]) -> None:
        self.checked += 1
        self.bounds[node] = np.inf
        if also(node):
            classes = self.tables.at(node)
            self._take(classes, np.ones(len(classes), np.bool_))

    @cached_property
    def finest(self) -> Measure:
        return self.measure if is_plain_loss(self.measure) else separable("loss", self.base)

    def _take(self, classes: Classes, held: Flags) -> None:
        """The cheaper of this node and the best; of two that cost the same the finer, then the lower levels."""
        cost, room = self.measure.cost(classes, held), _tie(self.best)
        if cost > self.best + room:
            return
        solution = Solution(classes, held, cost, self.finest.cost(classes, held))
        if self.solution is None or self.solution.cost > cost + room or solution.finer(self.solution):
            self.solution = solution
        self.best = min(self.best, cost)

    def _raise_below(self, node: Levels, classes: Classes, held: Flags) -> None:
        raised = self.measure.below(classes, held)
        if raised is not None:
            below = self.bounds[down(node)]
            np.maximum(below, raised, out=below)

    def _nothing(self) -> UnreachableError:
        top = self.tables.at(self.layout.top)
        return UnreachableError(
            f"Some generalisation must satisfy the conditions with at most {self.limit} rows suppressed",
            f"none, not even the top of every hierarchy, which makes {len(top)} class of {top.rows} rows",
            "Lower k, l or c, raise t, or allow more suppression.",
        )


def _tie(cost: float) -> float:
    """Costs so near are one: what differs is how floats were added."""
    return _SAME * max(abs(cost), 1.0) if cost < np.inf else 0.0
