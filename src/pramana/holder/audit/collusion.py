"""Collusion, tried on a table: what a coalition's versions tell together, against what its best member knows.

Posteriors are those of paper 3, Appendix 2, with the table's own frequencies as the prior of every record.
`independent` is what the same levels would have leaked had each version been drawn by itself. `measured` looks
at the versions themselves: among records that look alike to the best member, how often that member's value is
the true one must not depend on whether the others agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.mechanisms.levels import KeyedLevels, LevelDesign
from pramana.randomness.key import Key
from pramana.randomness.samplers import Codes, joint_codes, split_codes
from pramana.run.levels import issued_versions
from pramana.theory.levels import Level

Floats = NDArray[np.float64]
Version = tuple[Level, Mapping[str, Codes]]
Holding = tuple[Level, NDArray[np.int64]]  # a member's level, and the values it holds as places in `GroupValues`
_CERTAIN = 1e4  # stands for the logarithm of an infinite likelihood ratio


@dataclass(frozen=True)
class Collusion:
    """Mean reconstruction probabilities over all records, and whether the versions bear them out."""

    by_size: tuple[tuple[int, float, float], ...]  # members so far, together, had they been independent
    best_alone: float
    prior: float
    best_level: Level
    p_value: float

    @property
    def members(self) -> int:
        return self.by_size[-1][0]

    @property
    def together(self) -> float:
        return self.by_size[-1][1]

    @property
    def independent(self) -> float:
        return self.by_size[-1][2]

    @property
    def useless(self) -> bool:
        """Whether the coalition learned no more than its best member, on paper and in the versions."""
        return abs(self.together - self.best_alone) < 1e-9 and self.p_value > 1e-6

    def to_json(self) -> dict[str, Any]:
        return {
            "together": self.together,
            "best_alone": self.best_alone,
            "independent": self.independent,
            "prior": self.prior,
            "members": self.members,
            "best_level": str(self.best_level),
            "by_size": [
                {"members": m, "together": together, "independent": apart} for m, together, apart in self.by_size
            ],
            "measured": {"p_value": self.p_value, "useless": self.useless},
        }


def collusion(design: LevelDesign, true: Mapping[str, Codes], versions: Sequence[Version]) -> Collusion:
    """Audit a coalition that holds these versions of a table."""
    if not versions:
        raise ValueError("a coalition must hold at least one version")
    rows, sizes = len(next(iter(true.values()))), range(1, len(versions) + 1)
    alone, before = np.ones(rows), np.ones(rows)
    together, apart = [np.ones(rows) for _ in sizes], [np.ones(rows) for _ in sizes]
    strata: list[tuple[Floats, NDArray[np.bool_], NDArray[np.int64]]] = []
    for group in design.groups:
        cells = GroupValues.of(design, group, true)
        seen = [(level, cells.code(version)) for level, version in versions]
        drawn = independent_posteriors(cells, independent_versions(cells, true, [level for level, _ in seen]))
        for size, known, unrelated in zip(sizes, together, apart, strict=True):
            known *= chain_posterior(cells, _descending(seen[:size]))
            unrelated *= drawn[size - 1]
        best, *others = _descending(seen)
        alone *= alone_posterior(cells, *best)
        before *= cells.prior[cells.true]
        agreeing = sum(((code == best[1]).astype(np.int64) for _, code in others), np.zeros(rows, np.int64))
        strata.append((value_posterior(cells, *best), cells.true == best[1], agreeing))
    by_size = tuple((m, float(t.mean()), float(u.mean())) for m, t, u in zip(sizes, together, apart, strict=True))
    top = max(level for level, _ in versions)
    return Collusion(by_size, float(alone.mean()), float(before.mean()), top, _p_value(strata))


def _descending(seen: Sequence[Holding]) -> list[Holding]:
    return sorted(seen, key=lambda member: -member[0].steps)


def collude(
    ledger: str | Path, recipients: Sequence[str], *, dataset: str | None = None, key: str | Path | None = None
) -> Collusion:
    """Audit recipients of a ledger: all the versions they hold, made again from the source and the key.

    Args:
        ledger: The ledger.
        recipients: Who put their versions together.
        dataset: Which dataset; without it, the only one.
        key: The dataset's key file, where it is not at its place.

    Returns:
        How often values are guessed right from all versions, and from the best one alone.

    Raises:
        LedgerError: A recipient has no release in the ledger.
        RefusedError: The source or the key has changed.

    >>> import pramana
    >>> pramana.collude("releases.ledger", ["university", "newspaper"]).useless
    True
    """
    design, true, issued = issued_versions(ledger, list(dict.fromkeys(recipients)), dataset, key)
    return collusion(design, true, [(level, version) for _, level, version in issued])


# ---------------------------------------------------------------- a group of attributes as one column


@dataclass(frozen=True, eq=False)
class GroupValues:
    """The values of a group that occur, numbered; the table's frequencies; the replacement law at each."""

    sizes: tuple[int, ...]
    names: tuple[str, ...]
    true: NDArray[np.int64]
    values: NDArray[np.int64]
    prior: Floats
    design: LevelDesign

    @classmethod
    def of(cls, design: LevelDesign, group: tuple[str, ...], true: Mapping[str, Codes]) -> GroupValues:
        sizes = tuple(design.sizes[name] for name in group)
        values, places, counts = np.unique(_encoded(true, group, sizes), return_inverse=True, return_counts=True)
        return cls(sizes, group, places.reshape(-1), values, counts / counts.sum(), design)

    def code(self, version: Mapping[str, Codes]) -> NDArray[np.int64]:
        """Places among the values that occur in the truth; -1 for a value that occurs nowhere in it."""
        code = _encoded(version, self.names, self.sizes)
        position = np.minimum(np.searchsorted(self.values, code), len(self.values) - 1)
        return np.where(self.values[position] == code, position, -1)

    def replacement(self) -> Floats:
        """The chance of each occurring value as a replacement."""
        chance = np.ones(len(self.values))
        for name, codes in zip(self.names, split_codes(self.values, self.sizes), strict=True):
            chance *= np.array([float(q) for q in self.design.laws[name].law])[codes]
        return chance

    def log_ratio(self, level: Level) -> Floats:
        """ln P(y | X = y)/P(y | X != y) for each occurring y."""
        rho, chance = float(level.retention), self.replacement()
        if rho == 1:
            return np.full(len(chance), _CERTAIN)
        return np.array([math.log1p(rho / ((1 - rho) * q)) if q > 0 else _CERTAIN * (rho > 0) for q in chance])


def _encoded(columns: Mapping[str, Codes], group: tuple[str, ...], sizes: tuple[int, ...]) -> NDArray[np.int64]:
    if math.prod(sizes) > 1 << 62:
        raise ValueError("a joint domain must have at most 2^62 values to be audited")
    return joint_codes([columns[name] for name in group], sizes)


# ---------------------------------------------------------------- posteriors


def _gain(cells: GroupValues, level: Level, seen: NDArray[np.int64]) -> Floats:
    return cells.log_ratio(level)[np.maximum(seen, 0)]


def alone_posterior(cells: GroupValues, level: Level, seen: NDArray[np.int64]) -> Floats:
    """P(X = true value | y), for the member at this level: y multiplies the odds of X = y and nothing else."""
    known, prior = seen >= 0, cells.prior[cells.true]
    grown = np.exp(-_gain(cells, level, seen))  # all is divided by e^gain, which may be too large to write down
    share = np.where(known, cells.prior[np.maximum(seen, 0)], 0.0)
    total = grown * (1 - share) + share
    own = np.where(seen == cells.true, 1.0, grown) * prior
    return np.where(known, own / np.where(total > 0, total, 1.0), prior)


def value_posterior(cells: GroupValues, level: Level, seen: NDArray[np.int64]) -> Floats:
    """P(X = y | y): how far the member may believe the value it holds."""
    share = np.where(seen >= 0, cells.prior[np.maximum(seen, 0)], 0.0)
    grown = np.exp(-_gain(cells, level, seen))
    return np.where(seen >= 0, share / (share + (1 - share) * grown), 0.0)


def chain_posterior(cells: GroupValues, seen: Sequence[Holding]) -> Floats:
    """Appendix 2 for versions of one process: Lemma 1's chain, link by link, for X = true and for X = y1.

    A link p_i -> p_(i+1) has a probability that depends on y_i and y_(i+1) alone. It multiplies the weight of
    every x alike, which is Theorem 1; it is carried along here all the same, and cancels.
    """
    level, first = seen[0]
    links = np.zeros(len(first))
    chance = np.append(cells.replacement(), 1.0)  # a value outside the truth: any constant will do, for all x
    for (above, upper), (below, lower) in pairwise(seen):
        step = below.steps / above.steps if above.steps else 1.0
        link = np.where(upper == lower, step, 0.0) + (1 - step) * chance[lower]
        links += np.log(np.where(link > 0, link, 1.0))
    gain = _gain(cells, level, first)
    share = np.where(first >= 0, cells.prior[np.maximum(first, 0)], 0.0)
    top = links + np.where(first == cells.true, 0.0, -gain) + np.log(cells.prior[cells.true])
    with np.errstate(divide="ignore"):
        total = np.logaddexp(links + np.log(share), links - gain + np.log1p(-share))
    return np.where(first >= 0, np.exp(top - total), cells.prior[cells.true])


def independent_versions(cells: GroupValues, true: Mapping[str, Codes], levels: Sequence[Level]) -> list[Holding]:
    """Versions at these levels, each drawn by itself. Nobody sees them, so their keys need be no secret."""
    part = LevelDesign({name: cells.design.laws[name] for name in cells.names}, cells.design.joint)
    versions = []
    for member, level in enumerate(levels):
        key = Key.from_seed(member)
        source = KeyedLevels(part, lambda purpose, column, key=key: key.stream(purpose, "", column))  # type: ignore[misc]
        versions.append((level, cells.code(source.version(level, {name: true[name] for name in cells.names}))))
    return versions


def independent_posteriors(cells: GroupValues, seen: Sequence[Holding]) -> list[Floats]:
    """Appendix 2 for independent versions, after one member, two, ...: the likelihoods multiply.

    Only values that someone holds gain on the others: G(y) is the sum of ln ratio over the members who hold y.
    """
    rows = len(cells.true)
    members: list[tuple[NDArray[np.int64], Floats, NDArray[np.bool_]]] = []  # value, its G, the first to hold it
    own, posteriors = np.zeros(rows), []
    for level, code in seen:
        gain = np.where(code >= 0, _gain(cells, level, code), 0.0)
        mine, lead = gain.copy(), code >= 0
        for (other_level, _), (other, others_gain, _) in zip(seen, members, strict=False):
            same = other == code
            mine += np.where(same, _gain(cells, other_level, other), 0.0)
            others_gain += np.where(same, gain, 0.0)
            lead &= ~same
        members.append((code, mine, lead))
        own += np.where(code == cells.true, gain, 0.0)
        most = np.maximum(own, np.max([g for _, g, _ in members], axis=0))
        total, left = np.zeros(rows), np.ones(rows)
        for value, g, first in members:
            share = np.where(first, cells.prior[np.maximum(value, 0)], 0.0)
            total += share * np.exp(g - most)
            left -= share
        total += np.maximum(left, 0.0) * np.exp(-most)
        top = cells.prior[cells.true] * np.exp(own - most)
        posteriors.append(np.asarray(top / np.where(total > 0, total, 1.0), np.float64))
    return posteriors


# ---------------------------------------------------------------- what the versions themselves show


def _p_value(strata: Sequence[tuple[Floats, NDArray[np.bool_], NDArray[np.int64]]]) -> float:
    """Chi-square of hits against the best member's posterior, over how many of the others agree with it.

    Were the others to bring anything, hits would be more frequent where they agree than the posterior says.
    """
    from scipy import stats

    statistic, freedom = 0.0, 0
    for belief, hit, agreeing in strata:
        hits = np.bincount(agreeing, weights=hit)
        expected = np.bincount(agreeing, weights=belief)
        spread = np.bincount(agreeing, weights=belief * (1 - belief))
        counted = spread > 5
        statistic += float(((hits - expected)[counted] ** 2 / spread[counted]).sum())
        freedom += int(counted.sum())
    return float(stats.chi2.sf(statistic, freedom)) if freedom else 1.0
