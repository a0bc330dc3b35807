"""Distributions over a junction tree: consistent by construction, fitted to low-order tables.

A clique is a variable with its parents, which stand together in an earlier clique. So the distribution is a
product of each variable given its parents, and every marginal of a clique comes from two passes over the tree.

The fit is iterative proportional fitting: a table within a clique is matched by scaling the clique, again and
again, until every table is. Where the tables are margins of some distribution, the limit has all of them and of
all that do the greatest entropy: the maximum-likelihood log-linear model. A tree of pairs is matched in one
round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError
from pramana.recipient.law import Array, Keep, Matrix, PublishedTable, TableLaw
from pramana.recipient.likelihood import fit

Tables = Callable[[Sequence[tuple[int, ...]]], list[PublishedTable]]  # by variables, counted in one pass
MOST_PARENTS = 3
MOST_PAIR_CELLS = 1 << 20
MOST_CLIQUE_CELLS = 1 << 16
_AT_ONCE = 1 << 23  # cells of the tables that are counted in one pass
_RAKED = 1e-9
MOST_ROUNDS = 500
_IN_TURN = 30  # rounds after which tables that still disagree are taken together
_SETTLED = 1e-5  # the sum of absolute differences, as shares, that a round still makes
AGREES = 1e-6  # the largest sum of absolute differences, as shares, between a table and the model's


@dataclass(frozen=True)
class Clique:
    """A variable with its parents; `within` is an earlier clique that has all of them, None for a first one."""

    child: int
    parents: tuple[int, ...] = ()
    within: int | None = None

    @property
    def scope(self) -> tuple[int, ...]:
        return (*self.parents, self.child)


@dataclass(frozen=True)
class Junction:
    """Cliques in an order in which parents come first."""

    cliques: tuple[Clique, ...]

    def __post_init__(self) -> None:
        for index, clique in enumerate(self.cliques):
            inside = () if clique.within is None else self.cliques[clique.within].scope
            if not set(clique.parents) <= set(inside) or (clique.within or 0) > index:
                must = "The parents of a variable must be together in an earlier clique"
                raise InputError(must, f"{clique.parents} of clique {index}")

    def clique_with(self, scope: Sequence[int]) -> int | None:
        """A clique that has all these variables."""
        return next((i for i, c in enumerate(self.cliques) if set(scope) <= set(c.scope)), None)

    def conditionals(self, potentials: Sequence[Array]) -> list[Array]:
        """The log-probability of each child given its parents."""
        logs = [p.copy() for p in potentials]
        for index in range(len(self.cliques) - 1, -1, -1):
            clique, log = self.cliques[index], logs[index]
            message = _log_sum(log)
            logs[index] = _less(log, message)
            if clique.within is not None:
                logs[clique.within] += _aligned(message, clique.parents, self.cliques[clique.within].scope)
        return logs

    def marginals(self, conditionals: Sequence[Array]) -> list[Array]:
        """The probabilities of each clique's combinations."""
        tables: list[Array] = []
        for clique, log in zip(self.cliques, conditionals, strict=True):
            if clique.within is None:
                tables.append(np.exp(log))
            else:
                above = margin_of(tables[clique.within], self.cliques[clique.within].scope, clique.parents)
                tables.append(above[..., None] * np.exp(log))
        return tables


@dataclass(frozen=True, eq=False)
class Target:
    """A table of shares over some variables, to be matched."""

    scope: tuple[int, ...]
    shares: Array


@dataclass(frozen=True, eq=False)
class JunctionFit:
    """Log-probabilities of every variable given its parents; `apart`: the worst table's distance."""

    junction: Junction
    conditionals: tuple[Array, ...]
    apart: float
    rounds: int
    converged: bool
    parameters: int  # that the targets determine
    scopes: tuple[tuple[int, ...], ...]  # of the targets

    @property
    def tables(self) -> tuple[tuple[int, ...], ...]:
        """The targets that are margins of no other."""
        larger = [set(scope) for scope in self.scopes]
        return tuple(s for s in self.scopes if not any(set(s) < other for other in larger))

    def joint(self, sizes: Sequence[int]) -> Array:
        """The shares of all combinations of the variables, for few of them."""
        everything = tuple(range(len(sizes)))
        log = np.zeros(tuple(sizes))
        for clique, part in zip(self.junction.cliques, self.conditionals, strict=True):
            log = log + _aligned(part, clique.scope, everything)
        return np.asarray(np.exp(log))

    def marginals(self) -> list[Array]:
        return self.junction.marginals(self.conditionals)


def fit_junction(
    junction: Junction, targets: Sequence[Target], sizes: Sequence[int], most_rounds: int = MOST_ROUNDS
) -> JunctionFit:
    """The distribution over the tree that has these tables, each of which must lie within a clique."""
    potentials = [np.zeros([sizes[v] for v in clique.scope]) for clique in junction.cliques]
    indices = []
    for target in targets:
        index = junction.clique_with(target.scope)
        if index is None:
            raise InputError("A table must lie within a clique of its model", f"variables {target.scope}")
        indices.append(index)
    logs = junction.conditionals(potentials)
    apart, moved, rounds = np.inf, np.inf, 0
    while apart > AGREES and moved > _SETTLED and rounds < most_rounds:
        together = rounds >= _IN_TURN
        before = junction.marginals(logs)
        logs, apart = _scaled(junction, targets, indices, logs, together)
        after = junction.marginals(logs)
        moved = max(float(np.abs(a - b).sum()) for a, b in zip(before, after, strict=True)) if together else np.inf
        rounds += 1
    settled = apart <= AGREES or moved <= _SETTLED
    free = sum(math.prod(sizes[v] - 1 for v in target.scope) for target in targets)
    return JunctionFit(junction, tuple(logs), apart, rounds, settled, free, tuple(t.scope for t in targets))


def _scaled(
    junction: Junction, targets: Sequence[Target], indices: Sequence[int], logs: list[Array], together: bool
) -> tuple[list[Array], float]:
    """One round of proportional fitting, and how far the worst table was from its target.

    In turn, each table is matched before the next is looked at; together, all scale by their geometric mean, which
    settles between tables that no distribution can have at once.
    """
    apart, marginals = 0.0, junction.marginals(logs)
    for target, index in zip(targets, indices, strict=True):
        scope = junction.cliques[index].scope
        margin = margin_of(marginals[index], scope, target.scope)
        apart = max(apart, float(np.abs(margin - target.shares).sum()))
        scale = _log_ratio(target.shares, margin) / (len(targets) if together else 1)
        logs = [*logs]
        logs[index] = logs[index] + _aligned(scale, target.scope, scope)
        if not together:
            logs = junction.conditionals(logs)
            marginals = junction.marginals(logs)
    return (junction.conditionals(logs) if together else logs), apart


def _log_ratio(wanted: Array, got: Array) -> Array:
    """Where nothing is wanted, nothing is left; what has vanished stays so."""
    ratio = np.full(wanted.shape, -np.inf)
    both = (wanted > 0) & (got > 0)
    ratio[both] = np.log(wanted[both] / got[both])
    return ratio


def _log_sum(logs: Array) -> Array:
    top = logs.max(axis=-1)
    safe = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        return np.asarray(safe + np.log(np.exp(logs - safe[..., None]).sum(axis=-1)))


def _less(logs: Array, message: Array) -> Array:
    """logs - message, where minus infinity stays what it is."""
    safe = np.where(np.isneginf(message), 0.0, message)
    return np.asarray(logs - np.asarray(safe)[..., None])


def _aligned(table: Array, scope: Sequence[int], wide: Sequence[int]) -> Array:
    """A table over `scope`, shaped to be added to one over `wide`."""
    shared = [v for v in wide if v in scope]
    moved = np.transpose(table, [list(scope).index(v) for v in shared])
    return moved.reshape([moved.shape[shared.index(v)] if v in shared else 1 for v in wide])


def margin_of(table: Array, scope: Sequence[int], wanted: Sequence[int]) -> Array:
    """The margin of a table over `scope`, with the axes of `wanted` in their order."""
    others = tuple(i for i, v in enumerate(scope) if v not in wanted)
    shared = [v for v in scope if v in wanted]
    return np.transpose(table.sum(axis=others), [shared.index(v) for v in wanted])


# Which variables of a model hang together, as far as the noise lets it be seen, and the tables that say so.
#
# A dependence is tested on the published table: what a model without it predicts goes through the law of the
# release, and Pearson's statistic tells whether the published counts differ from it by more than chance. Of
# pairs that are not independent a maximum spanning tree is taken (Chow and Liu), weighted by the dependence
# that is left when the part of noise is taken off and its attenuation undone. Then variables get further
# parents, among those that stand in a clique with the parents they have, where the tree does not explain a
# pair, and at last tables of three are looked at.


SIGNIFICANT = 4.0  # standard deviations of the statistic under no dependence


@dataclass(frozen=True)
class Dependence:
    """Pearson's statistic of a published table against a model of it without a dependence."""

    statistic: float
    freedom: float
    deviation: float
    records: float
    attenuation: float

    @classmethod
    def of(cls, table: PublishedTable, without: Array, freedom: float) -> Dependence:
        """`without`: the shares of the true table under the model."""
        n = table.total
        expected = n * table.law.forward(without.reshape(table.counts.shape))
        seen = expected > 1e-9 * max(n, 1.0) / expected.size
        gap = table.counts[seen] - expected[seen]
        cells = float(seen.sum())
        # the variance of Pearson's statistic in a sparse table (Haldane)
        sparse = float((1 / expected[seen]).sum()) - (cells**2 + 2 * cells - 2) / n
        deviation = math.sqrt(max(2 * freedom + sparse, 1.0))
        return cls(float((gap**2 / expected[seen]).sum()), freedom, deviation, n, attenuation(table.law))

    @property
    def seen(self) -> bool:
        """Whether it is more than chance."""
        return self.statistic - self.freedom > SIGNIFICANT * self.deviation

    @property
    def signal(self) -> float:
        """The share of the statistic that chance does not explain."""
        return max(1 - self.freedom / max(self.statistic, 1e-300), 0.0)

    @property
    def strength(self) -> float:
        """Phi squared of the private table: what chance adds is taken off, what the law attenuated is undone."""
        return max(self.statistic - self.freedom, 0.0) / self.records / self.attenuation**2


def attenuation(law: TableLaw) -> float:
    """By what deviations from independence shrink on their way through a law."""
    whole = 1.0
    for factor in law.factors:
        if isinstance(factor, Keep):
            whole *= factor.retention
        elif isinstance(factor, Matrix):
            spread = factor.matrix - factor.matrix.mean(axis=0)
            whole *= math.sqrt(float((spread**2).sum()) / max(len(spread) - 1, 1))
    return max(whole, 1e-6)


# A junction tree learned from published tables: one-way tables first, then pairs, then cliques, then threes.


@dataclass
class Learner:
    """What is known so far: by variables, dependences that were seen, and the targets that were needed."""

    sizes: Sequence[int]
    tables: Tables
    single: list[Array] = field(default_factory=list)
    published: dict[tuple[int, ...], PublishedTable] = field(default_factory=dict)
    seen: dict[tuple[int, ...], Dependence] = field(default_factory=dict)
    targets: dict[tuple[int, ...], Array] = field(default_factory=dict)

    def learn(self) -> JunctionFit:
        count = len(self.sizes)
        self.single = [_reconstructed(t).ravel() for t in self.tables([(v,) for v in range(count)])]
        self._look_at_pairs()
        cliques = _tree(count, {(s[0], s[1]): dependence.strength for s, dependence in self.seen.items()})
        model = self._fitted(cliques)
        for parents in range(2, MOST_PARENTS + 1):
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
            if (dependence := self._dependence(pair, table, self._independent(pair))) is not None:
                self.published[pair], self.seen[pair] = table, dependence

    def _dependence(self, scope: tuple[int, ...], table: PublishedTable, without: Array) -> Dependence | None:
        """What a model without it does not explain of a table; None where that is no more than chance."""
        freedom = math.prod(_values(self.single[v]) - 1 for v in scope)
        dependence = Dependence.of(table, without, freedom) if freedom > 0 else None
        return dependence if dependence is not None and dependence.seen else None

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

    def _target(
        self, table: PublishedTable, scope: tuple[int, ...], without: Array, dependence: Dependence
    ) -> Array:
        """The reconstructed table, less the part of the difference from `without` that chance explains.

        Its margins are those of the model it is compared with, so that all tables agree on what they share.
        """
        shape = [self.sizes[v] for v in scope]
        shares = dependence.signal * _reconstructed(table).reshape(shape) + (1 - dependence.signal) * without
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
        for index, clique in enumerate(cliques):
            if len(clique.parents) != parents - 1:
                continue
            cells = math.prod(self.sizes[v] for v in clique.scope)
            best = 0.0
            for earlier in range(index):
                scope = cliques[earlier].scope
                if not set(clique.parents) <= set(scope):
                    continue
                for further in set(scope) - set(clique.parents):
                    pair = (min(further, clique.child), max(further, clique.child))
                    if pair not in self.seen or cells * self.sizes[further] > MOST_CLIQUE_CELLS:
                        continue
                    predicted = _pair_across(marginals, cliques, index, earlier, further)
                    if pair[0] == clique.child:
                        predicted = predicted.T
                    shape = predicted.shape
                    dependence = Dependence.of(self.published[pair], predicted, (shape[0] - 1) * (shape[1] - 1))
                    if dependence.seen and dependence.strength > best:
                        best = dependence.strength
                        grown[index] = Clique(clique.child, (*clique.parents, further), earlier)
        return grown

    def _with_threes(self, cliques: list[Clique], model: JunctionFit) -> JunctionFit:
        """Tables of three within the cliques, where pairs do not explain them."""
        inside: dict[tuple[int, ...], int] = {}
        for index, clique in enumerate(cliques):
            for three in combinations(sorted(clique.scope), 3):
                inside.setdefault(three, index)
        if not inside:
            return model
        marginals, more = model.marginals(), False
        for scope, table in self._counted(list(inside)):
            index = inside[scope]
            predicted = margin_of(marginals[index], cliques[index].scope, scope)
            if (dependence := self._dependence(scope, table, predicted)) is not None:
                self.targets[scope] = self._target(table, scope, predicted, dependence)
                more = True
        return self._fitted(cliques) if more else model


def _pair_across(marginals: list[Array], cliques: list[Clique], index: int, earlier: int, further: int) -> Array:
    """The model's table of a further variable and a child, which meet in the child's parents."""
    clique = cliques[index]
    joint = margin_of(marginals[earlier], cliques[earlier].scope, (further, *clique.parents))
    own = margin_of(marginals[index], clique.scope, clique.scope)
    above = own.sum(axis=-1)
    given = np.divide(own, above[..., None], out=np.zeros_like(own), where=above[..., None] > 0)
    flat = joint.reshape(len(joint), -1)
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
        for margin in margins:
            others = tuple(a for a in range(shares.ndim) if a not in margin)
            own, wanted = shares.sum(axis=others, keepdims=True), like.sum(axis=others, keepdims=True)
            apart = max(apart, float(np.abs(own - wanted).sum()))
            shares = shares * np.divide(wanted, own, out=np.zeros_like(own), where=own > 0)
        if apart < _RAKED:
            break
    return shares
