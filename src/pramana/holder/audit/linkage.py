"""Linkage, run: how often the strongest adversary of paper 1 is right about who is behind a published row.

The adversary has every true record, the law, and the published rows in the order of their file. Which row is
whose is used to count right links, and for nothing else. A smaller table has a smaller k by the same theorem,
so samples are held against the k of their own size. Rows that look alike are tried nearest place first: if the
order of the file tells anything, that finds it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pramana.holder.audit.verdict import Attack, NotRun, Outcome, at_most
from pramana.mechanisms.channel import Channel, Retention
from pramana.mechanisms.table import CoinGroups, Exchange, Product, RecordRetention
from pramana.randomness.samplers import ONE, Codes

# How likely every published record is for every true one, under a law.


Floats = NDArray[np.float64]
AttackedLaw = Product | RecordRetention | CoinGroups | Exchange
Table = Mapping[str, Codes]
Kind = TypeVar("Kind", bound=np.generic)
_NEVER = 1e-300  # instead of a count of zero, which nothing is divided by


def pairwise_likelihoods(law: AttackedLaw, true: Table, published: Table) -> Floats:
    """likelihoods[i, j] = P(publish record j | true record i)."""
    across = {name: codes[:, None].astype(np.int64) for name, codes in true.items()}
    down = {name: codes[None, :].astype(np.int64) for name, codes in published.items()}
    return likelihoods_of(law, across, down)


def likelihoods_of(
    law: AttackedLaw, true: Mapping[str, NDArray[np.int64]], published: Mapping[str, NDArray[np.int64]]
) -> Floats:
    """P(published | true), for codes of any shapes that fit each other."""
    if isinstance(law, CoinGroups):
        return np.asarray(math.prod(likelihoods_of(part, true, published) for part in law.parts), np.float64)
    if isinstance(law, RecordRetention):
        redrawn = law.bound / ONE / math.prod(law.sizes.values())
        alike = np.logical_and.reduce([true[name] == published[name] for name in law.sizes])
        return np.asarray(redrawn + np.where(alike, 1 - law.bound / ONE, 0.0))
    result: Floats = np.ones(())
    for columns, channel in _channels(law):
        one, other = _joined(law, columns, true), _joined(law, columns, published)
        if isinstance(channel, Retention):
            result = result * np.where(one == other, float(channel.diagonal), channel.step / ONE)
        else:
            result = result * (channel.weights[one, other] / ONE)
    return result


def _channels(law: Product | Exchange) -> list[tuple[tuple[str, ...], Channel]]:
    """The channels of a law, each with the columns whose joint values it takes."""
    if isinstance(law, Product):
        return [((name,), channel) for name, channel in law.channels.items()]
    return [(group.columns, group.channel) for group in law.groups]


def _joined(law: Product | Exchange, columns: tuple[str, ...], table: Mapping[str, NDArray[Any]]) -> Any:
    codes = [table[name].astype(np.int64, copy=False) for name in columns]
    return codes[0] if len(codes) == 1 else np.ravel_multi_index(codes, [law.sizes[name] for name in columns])


def expected_counts(law: AttackedLaw, true: Table, shown: Table) -> Floats:
    """How many rows are expected to show each of some records, with columns taken as independent of each other.

    An adversary's rule of thumb: the exact sum over all true records would need every pair of values.
    """
    records = len(next(iter(true.values())))
    if isinstance(law, CoinGroups):
        shares = [expected_counts(part, true, shown) / records for part in law.parts]
        return np.asarray(records * math.prod(shares), np.float64)
    if isinstance(law, RecordRetention):
        blind = math.prod(_share(true[name], v, records)[shown[name]] for name, v in law.sizes.items())
        redrawn = law.bound / ONE
        return np.asarray(records * (redrawn / math.prod(law.sizes.values()) + (1 - redrawn) * blind), np.float64)
    result: Floats = np.full(len(next(iter(shown.values()))), float(records))
    for columns, channel in _channels(law):
        share = _share(_joined(law, columns, true), channel.size, records)
        if isinstance(channel, Retention):
            drawn = channel.step / ONE + float(channel.retention) * share
        else:
            drawn = share @ (channel.weights / ONE)
        result = result * drawn[_joined(law, columns, shown)]
    return np.maximum(result, _NEVER)


def _share(codes: Codes, size: int, records: int) -> Floats:
    return np.bincount(codes, minlength=size) / records


def taken(table: Mapping[str, NDArray[Kind]], rows: NDArray[np.int64]) -> dict[str, NDArray[Kind]]:
    """Some rows of a table."""
    return {name: codes[rows] for name, codes in table.items()}


# The exact posterior of paper 1's strongest adversary, who knows every true record, the law, and all
# published.
#
# Every permutation is equally likely beforehand, so the chance that person i is behind published row j is
# A[x_i, y_j] times the permanent without that row and column, over the permanent. Permanents of small tables
# come by subsets of columns: n*2^n products, of fractions or, for many tables side by side, of arrays.


MOST_ROWS = 12


def link_posteriors(likelihoods: Any) -> Any:
    """P(person i is row j), exactly, of likelihoods[..., i, j] = P(publish row j | person i).

    Works on floats and on fractions (an array of objects); leading axes are tables side by side.
    """
    table = np.asarray(likelihoods)
    n = table.shape[-1]
    if table.shape[-2] != n or not 1 <= n <= MOST_ROWS:
        raise ValueError(f"exact posteriors are of square tables of at most {MOST_ROWS} rows")
    by_size: list[list[int]] = [[] for _ in range(n + 1)]
    for chosen in range(1 << n):
        by_size[chosen.bit_count()].append(chosen)
    one = table[..., 0, 0] * 0 + 1
    before: dict[int, Any] = {0: one}  # the first persons on a set of columns
    for i in range(n):
        for chosen in by_size[i + 1]:
            before[chosen] = sum(before[chosen ^ 1 << j] * table[..., i, j] for j in _bits(chosen))
    after: dict[int, Any] = {(1 << n) - 1: one}  # the others on the columns outside it
    for i in reversed(range(n)):
        for chosen in by_size[i]:
            left = _bits(~chosen & (1 << n) - 1)
            after[chosen] = sum(table[..., i, j] * after[chosen | 1 << j] for j in left)
    whole = before[(1 << n) - 1]
    posteriors = np.empty_like(table)
    for i in range(n):
        for j in range(n):
            sets = [chosen for chosen in by_size[i] if not chosen >> j & 1]
            ways = sum(before[chosen] * after[chosen | 1 << j] for chosen in sets)
            posteriors[..., i, j] = table[..., i, j] * ways / whole
    return posteriors


def _bits(number: int) -> Sequence[int]:
    return [j for j in range(number.bit_length()) if number >> j & 1]


def most_likely_links(posteriors: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of every table the one link that is likeliest: its person and its row."""
    n = posteriors.shape[-1]
    best = posteriors.reshape(*posteriors.shape[:-2], n * n).argmax(-1)
    return best // n, best % n


# The adversary's posterior on tables too large for permanents: a Markov chain over permutations.
#
# A sweep pairs all persons at random and exchanges the rows of each pair with the Metropolis chance. Chains
# start far apart; whether they forgot their starts is said by R-hat (Gelman and Rubin 1992) of the likelihood
# and of how many persons are on a row of their own value.


MIXED = 1.1  # R-hat at most


@dataclass(frozen=True, eq=False)
class SampledPosterior:
    """How often every person was on every row, over all chains, and the larger R-hat of the two."""

    links: Floats
    r_hat: float

    @property
    def mixed(self) -> bool:
        return self.r_hat <= MIXED


def sampled_posterior(
    likelihoods: Floats, same: NDArray[np.bool_], start: NDArray[np.int64], sweeps: int = 2000
) -> SampledPosterior:
    """Chains from the best matching, its reverse, and two random orders; the first half of each is thrown away.

    `same[i, j]` marks rows that show person i's own value.
    """
    rng = np.random.default_rng(20)
    n = len(start)
    with np.errstate(divide="ignore"):
        log = np.maximum(np.log(likelihoods), -1e4)
    chains = [start, start[::-1].copy(), rng.permutation(n), rng.permutation(n)]
    links = np.zeros((n, n))
    traces = np.zeros((len(chains), 2, sweeps // 2))
    for c, placed in enumerate(chains):
        for sweep in range(sweeps):
            _sweep(log, placed, rng)
            if (step := sweep - (sweeps - sweeps // 2)) >= 0:
                links[np.arange(n), placed] += 1
                traces[c, :, step] = log[np.arange(n), placed].sum(), same[np.arange(n), placed].sum()
    return SampledPosterior(links / links.sum(1, keepdims=True), max(r_hat(traces[:, t]) for t in (0, 1)))


def _sweep(log: Floats, placed: NDArray[np.int64], rng: np.random.Generator) -> None:
    order = rng.permutation(len(placed))
    half = len(order) // 2
    i, j = order[:half], order[half : 2 * half]
    gain = log[i, placed[j]] + log[j, placed[i]] - log[i, placed[i]] - log[j, placed[j]]
    going = np.log(rng.random(half)) < gain
    i, j = i[going], j[going]
    placed[i], placed[j] = placed[j], placed[i]


def r_hat(traces: Floats) -> float:
    """Gelman and Rubin's ratio of chains (rows): near 1 where they tell the same story."""
    length = traces.shape[1]
    within = float(traces.var(axis=1, ddof=1).mean())
    between = length * float(traces.mean(axis=1).var(ddof=1))
    if within == 0:
        return 1.0 if between == 0 else float("inf")
    return float(np.sqrt((length - 1) / length + between / (length * within)))


def shared_among_alike(links: Floats, look: NDArray[np.int64]) -> Floats:
    """Posteriors averaged over columns that look alike, for which they are equal."""
    sizes = np.bincount(look)
    sums = np.zeros((len(links), len(sizes)))
    for value in range(len(sizes)):
        sums[:, value] = links[:, look == value].sum(1) / max(sizes[value], 1)
    return sums[:, look]


_SMALL, _SMALL_TABLES = 8, 400
_MATCHED = 400
_SAMPLED = 300
_PEOPLE = 2000
_MORE_SWEEPS = 16_000  # where a chain has not mixed
_LEAST_PEOPLE = 200
_PAIRS = 1 << 24  # of people and published values that are compared


@dataclass(frozen=True, eq=False)
class LinkedTable:
    """A true table, what was published of it, the law that is claimed, and the true row of each published one."""

    law: AttackedLaw
    true: Table
    published: Table
    order: NDArray[np.int64]

    @property
    def records(self) -> int:
        return len(self.order)

    def k(self, records: int) -> float:
        """Paper 1, Theorem 3, of a table of so many records whose people the adversary knows."""
        return float(1 + (records - 1) * self.law.anonymity_ratio)

    def part(self, rows: NDArray[np.int64]) -> LinkedTable:
        """The people behind some published rows: true records in source order, published ones as in the file."""
        rows = np.sort(rows)
        people, order = np.unique(self.order[rows], return_inverse=True)
        return LinkedTable(self.law, taken(self.true, people), taken(self.published, rows), order.astype(np.int64))

    def by_person(self) -> dict[str, NDArray[np.int64]]:
        """The published codes in the order of the true rows."""
        shown = {name: np.empty(len(codes), np.int64) for name, codes in self.true.items()}
        for name, codes in self.published.items():
            shown[name][self.order] = codes
        return shown

    def likelihoods(self) -> Floats:
        """likelihoods[i, j] = P(publish record j | true record i)."""
        return pairwise_likelihoods(self.law, self.true, self.published)


def linkage_attacks(table: LinkedTable) -> list[Outcome]:
    """Exact posteriors on small tables, the best matching, a sampled posterior, and everyone by value."""
    if table.records < _SMALL:
        return [exact_linkage(table)]
    return [exact_linkage(table), matched_linkage(table), sampled_linkage(table), everyone_linked(table)]


def exact_linkage(table: LinkedTable) -> Attack:
    """Many small tables, each with its permanents: the likeliest link of each is tried."""
    size = min(_SMALL, table.records)
    rng = np.random.default_rng(20)
    groups = min(_SMALL_TABLES, table.records // size)
    parts = [table.part(rows) for rows in rng.permutation(table.records)[: groups * size].reshape(groups, size)]
    posteriors = link_posteriors(np.stack([part.likelihoods() for part in parts]))
    person, row = most_likely_links(posteriors)
    right = sum(int(part.order[j] == i) for part, i, j in zip(parts, person.tolist(), row.tolist(), strict=True))
    largest, claimed = float(posteriors.max()), 1 / table.k(size)
    attack = at_most(
        "linkage, exact posterior", claimed, right, groups,
        f"the likeliest link of {groups:,} tables of {size} records, by permanents",
        {"largest_posterior": largest, "k": table.k(size), "records": size},
    )  # fmt: skip
    if largest <= claimed * (1 + 1e-9):
        return attack
    return Attack(
        attack.name, claimed, largest, False, f"a posterior of {largest:.4g} is above 1/k", more=attack.more
    )


def matched_linkage(table: LinkedTable) -> Attack:
    """The likeliest way of all in which a sample's people can be behind its rows."""
    sample = _sample(table, _MATCHED)
    matched = best_matching(sample.likelihoods())
    right = int((sample.order[matched] == np.arange(sample.records)).sum())
    return at_most(
        "linkage, best matching", 1 / sample.k(sample.records), right, sample.records,
        f"the likeliest matching of {sample.records:,} people and rows",
        {"k": sample.k(sample.records), "records": sample.records},
    )  # fmt: skip


def best_matching(likelihoods: Floats) -> NDArray[np.int64]:
    """The row of every person in the assignment of the largest likelihood; among equal ones, nearest places."""
    from scipy.optimize import linear_sum_assignment

    n = len(likelihoods)
    with np.errstate(divide="ignore"):
        gain = np.maximum(np.log(likelihoods), -1e4)
    return np.asarray(linear_sum_assignment(gain - 1e-7 * _distances(n), maximize=True)[1], np.int64)


def _distances(n: int) -> Floats:
    """How far apart the positions of every person and every row are, as a share of all."""
    return np.asarray(np.abs(np.arange(n)[:, None] - np.arange(n)[None, :]) / n, np.float64)


def sampled_linkage(table: LinkedTable) -> Outcome:
    """A Markov chain over permutations: every person's likeliest row is tried."""
    name, sample = "linkage, sampled posterior", _sample(table, _SAMPLED)
    likelihoods = sample.likelihoods()
    look, people = distinct_rows(sample.published.values())[0], distinct_rows(sample.true.values())[0]
    same = np.logical_and.reduce([sample.true[n][:, None] == sample.published[n][None, :] for n in sample.true])
    start = best_matching(likelihoods)
    posterior = sampled_posterior(likelihoods, same, start.copy())
    if not posterior.mixed:
        posterior = sampled_posterior(likelihoods, same, start, _MORE_SWEEPS)
    if not posterior.mixed:
        return NotRun(name, f"the chain did not mix: R-hat {posterior.r_hat:.3g}, above {MIXED}")
    links = shared_among_alike(shared_among_alike(posterior.links, look).T, people).T
    n = sample.records
    tried = (links - 1e-9 * _distances(n)).argmax(1)
    right = int((sample.order[tried] == np.arange(n)).sum())
    return at_most(
        name, 1 / sample.k(n), right, n, f"the likeliest row of {n:,} people by a chain over permutations",
        {"k": sample.k(n), "records": n, "r_hat": posterior.r_hat, "largest_posterior": float(links.max())},
    )  # fmt: skip


def everyone_linked(table: LinkedTable) -> Attack:
    """People of the whole table, each by the value whose rows are likeliest to be theirs, counted by values."""
    look, shown_rows = distinct_rows(table.published.values())
    shown = taken(table.published, shown_rows)
    expected = expected_counts(table.law, table.true, shown)
    most = min(_PEOPLE, max(_LEAST_PEOPLE, _PAIRS // len(shown_rows)))
    people = np.random.default_rng(20).permutation(np.sort(table.order))[:most]
    places = np.argsort(look, kind="stable")
    first = np.searchsorted(look[places], np.arange(len(shown_rows) + 1))
    rank = np.searchsorted(np.sort(table.order), people)
    right = 0
    for person, position in zip(people.tolist(), rank.tolist(), strict=True):
        own = {name: codes[person : person + 1] for name, codes in table.true.items()}
        value = int((pairwise_likelihoods(table.law, own, shown)[0] / expected).argmax())
        candidates = places[first[value] : first[value + 1]]
        nearest = candidates[np.abs(candidates - position).argmin()]
        right += int(table.order[nearest] == person)
    k = table.k(table.records)
    return at_most(
        "linkage, everyone by value", 1 / k, right, len(people),
        f"{len(people):,} people of {table.records:,}, each with a row of the value that is likeliest theirs",
        {"k": k, "records": table.records},
    )  # fmt: skip


def _sample(table: LinkedTable, most: int) -> LinkedTable:
    if table.records <= most:
        return table
    return table.part(np.random.default_rng(20).permutation(table.records)[:most])


def distinct_rows(columns: Iterable[NDArray[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The number of every row's combination of codes, and a row of each."""
    joint: Any = 0
    for codes in columns:  # numbered anew after every column: no product of sizes is ever formed
        joint = joint * (int(codes.max(initial=0)) + 1) + codes.astype(np.int64)
        joint = np.unique(joint, return_inverse=True)[1].reshape(-1)
    _, first, number = np.unique(joint, return_index=True, return_inverse=True)
    return number.reshape(-1).astype(np.int64), first.astype(np.int64)
