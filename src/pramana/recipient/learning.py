"""A junction tree learned from published tables: one-way tables first, then pairs, then cliques, then threes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from pramana.recipient.junction import Clique, Dependence, Junction, JunctionFit, Target, fit_junction, margin_of
from pramana.recipient.law import Array, PublishedTable
from pramana.recipient.likelihood import fit

Tables = Callable[[Sequence[tuple[int, ...]]], list[PublishedTable]]  # by variables, counted in one pass
MOST_PARENTS = 3
MOST_PAIR_CELLS = 1 << 20
MOST_CLIQUE_CELLS = 1 << 16
_AT_ONCE = 1 << 23  # cells of the tables that are counted in one pass
_RAKED = 1e-9


@dataclass
class Learner:
    """What is known so far: by variables, dependences that were seen, and the targets that were needed."""

    sizes: Sequence[int]
    tables: Tables
    most_parents: int = MOST_PARENTS
    most_cells: int = MOST_CLIQUE_CELLS
    single: list[Array] = field(default_factory=list)
    published: dict[tuple[int, ...], PublishedTable] = field(default_factory=dict)
    seen: dict[tuple[int, ...], Dependence] = field(default_factory=dict)
    targets: dict[tuple[int, ...], Array] = field(default_factory=dict)

    def learn(self) -> JunctionFit:
        count = len(self.sizes)
        self.single = [_reconstructed(t).ravel() for t in self.tables([(v,) for v in range(count)])]
        self._look_at_pairs()
        cliques = _tree(count, {(s[0], s[1]): found.strength for s, found in self.seen.items()})
        model = self._fitted(cliques)
        for parents in range(2, self.most_parents + 1):
            grown = self._grown(cliques, model, parents)
            if grown == cliques:
                break
            cliques = grown
            model = self._fitted(cliques)
        return self._with_threes(cliques, model)

    def _look_at_pairs(self) -> None:
        sizes = self.sizes
        pairs = [p for p in combinations(range(len(sizes)), 2) if sizes[p[0]] * sizes[p[1]] <= MOST_PAIR_CELLS]
        for pair, table in self._counted(pairs):
            freedom = math.prod(_values(self.single[v]) - 1 for v in pair)
            if freedom > 0:
                found = Dependence.of(table, self._independent(pair), freedom)
                if found.seen:
                    self.published[pair], self.seen[pair] = table, found

    def _independent(self, pair: tuple[int, ...]) -> Array:
        return np.asarray(np.multiply.outer(self.single[pair[0]], self.single[pair[1]]))

    def _counted(self, scopes: Sequence[tuple[int, ...]]) -> Iterator[tuple[tuple[int, ...], PublishedTable]]:
        """Tables in turn, as many counted in a pass over the records as memory allows."""
        waiting: list[tuple[int, ...]] = []
        cells = 0
        for scope in scopes:
            size = math.prod(self.sizes[v] for v in scope)
            if waiting and cells + size > _AT_ONCE:
                yield from zip(waiting, self.tables(waiting), strict=True)
                waiting, cells = [], 0
            waiting.append(scope)
            cells += size
        yield from zip(waiting, self.tables(waiting), strict=True)

    def _target(self, table: PublishedTable, scope: tuple[int, ...], without: Array, found: Dependence) -> Array:
        """The reconstructed table, less the part of the difference from `without` that chance explains.

        Its margins are those of the model it is compared with, so that all tables agree on what they share.
        """
        shape = [self.sizes[v] for v in scope]
        shares = found.signal * _reconstructed(table).reshape(shape) + (1 - found.signal) * without
        shares *= _possible(table).reshape(shape)
        margins = [tuple(s for s in range(len(scope)) if s != left_out) for left_out in range(len(scope))]
        return _raked(shares, without, margins)

    def _fitted(self, cliques: list[Clique]) -> JunctionFit:
        junction = Junction(tuple(cliques))
        wanted = [Target((v,), shares) for v, shares in enumerate(self.single)]
        for pair in self.published:
            if junction.clique_with(pair) is not None and pair not in self.targets:
                without = self._independent(pair)
                self.targets[pair] = self._target(self.published[pair], pair, without, self.seen[pair])
        wanted += [Target(s, t) for s, t in self.targets.items() if junction.clique_with(s) is not None]
        return fit_junction(junction, wanted, self.sizes)

    def _grown(self, cliques: list[Clique], model: JunctionFit, parents: int) -> list[Clique]:
        """One parent more for each variable that has a pair with it that the model does not explain."""
        marginals, grown = model.marginals(), list(cliques)
        for place, clique in enumerate(cliques):
            if len(clique.parents) != parents - 1:
                continue
            cells = math.prod(self.sizes[v] for v in clique.scope)
            best = 0.0
            for earlier in range(place):
                scope = cliques[earlier].scope
                if not set(clique.parents) <= set(scope):
                    continue
                for further in set(scope) - set(clique.parents):
                    pair = (min(further, clique.child), max(further, clique.child))
                    if pair not in self.seen or cells * self.sizes[further] > self.most_cells:
                        continue
                    predicted = _pair_across(marginals, cliques, place, earlier, further)
                    if pair[0] == clique.child:
                        predicted = predicted.T
                    shape = predicted.shape
                    found = Dependence.of(self.published[pair], predicted, (shape[0] - 1) * (shape[1] - 1))
                    if found.seen and found.strength > best:
                        best = found.strength
                        grown[place] = Clique(clique.child, (*clique.parents, further), earlier)
        return grown

    def _with_threes(self, cliques: list[Clique], model: JunctionFit) -> JunctionFit:
        """Tables of three within the cliques, where pairs do not explain them."""
        inside: dict[tuple[int, ...], int] = {}
        for place, clique in enumerate(cliques):
            for three in combinations(sorted(clique.scope), 3):
                inside.setdefault(three, place)
        if not inside:
            return model
        marginals, more = model.marginals(), False
        for scope, table in self._counted(list(inside)):
            place = inside[scope]
            predicted = margin_of(marginals[place], cliques[place].scope, scope)
            freedom = math.prod(_values(self.single[v]) - 1 for v in scope)
            if freedom > 0:
                found = Dependence.of(table, predicted, freedom)
                if found.seen:
                    self.targets[scope] = self._target(table, scope, predicted, found)
                    more = True
        return self._fitted(cliques) if more else model


def _pair_across(marginals: list[Array], cliques: list[Clique], place: int, earlier: int, further: int) -> Array:
    """The model's table of a further variable and a child, which meet in the child's parents."""
    clique = cliques[place]
    beside = margin_of(marginals[earlier], cliques[earlier].scope, (further, *clique.parents))
    own = margin_of(marginals[place], clique.scope, clique.scope)
    above = own.sum(axis=-1)
    given = np.divide(own, above[..., None], out=np.zeros_like(own), where=above[..., None] > 0)
    flat = beside.reshape(len(beside), -1)
    return np.asarray(flat @ given.reshape(flat.shape[1], -1))


def _tree(count: int, strength: dict[tuple[int, int], float]) -> list[Clique]:
    """Prim's maximum spanning forest; each tree starts from its variable with the strongest links."""
    links = strength | {(b, a): w for (a, b), w in strength.items()}
    weight = [sum(w for (a, _), w in links.items() if a == v) for v in range(count)]
    cliques: list[Clique] = []
    placed: dict[int, int] = {}  # variable -> its clique
    while len(placed) < count:
        edges = [(w, -b, -a) for (a, b), w in links.items() if a in placed and b not in placed]
        if edges:
            _, minus_b, minus_a = max(edges)
            child, parent = -minus_b, -minus_a
            clique = Clique(child, (parent,), placed[parent])
        else:
            child = max((v for v in range(count) if v not in placed), key=lambda v: (weight[v], -v))
            clique = Clique(child)
        placed[child] = len(cliques)
        cliques.append(clique)
    return cliques


def _values(shares: Array) -> int:
    """How many values a variable has that can be told from none."""
    return int((shares > _RAKED).sum())


def _reconstructed(table: PublishedTable) -> Array:
    """The maximum-likelihood shares."""
    values = fit(table).values
    return np.asarray(values / max(float(values.sum()), 1e-300))


def _possible(table: PublishedTable) -> NDArray[np.bool_]:
    """The combinations from which some published record can have come; all others are structural zeros."""
    return np.asarray(table.law.backward((table.counts > 0).astype(np.float64)) > 0)


def _raked(shares: Array, like: Array, margins: Sequence[tuple[int, ...]], most: int = 200) -> Array:
    """Iterative proportional fitting to the margins of another table."""
    for _ in range(most):
        apart = 0.0
        for kept in margins:
            others = tuple(a for a in range(shares.ndim) if a not in kept)
            own, wanted = shares.sum(axis=others, keepdims=True), like.sum(axis=others, keepdims=True)
            apart = max(apart, float(np.abs(own - wanted).sum()))
            shares = shares * np.divide(wanted, own, out=np.zeros_like(own), where=own > 0)
        if apart < _RAKED:
            break
    return shares
