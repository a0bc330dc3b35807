"""Linkage, run: how often the strongest adversary of paper 1 is right about who is behind a published row.

The adversary has every true record, the law, and the published rows in the order of their file. Which row is
whose is used to count right links, and for nothing else. A smaller table has a smaller k by the same theorem,
so samples are held against the k of their own size. Rows that look alike are tried nearest place first: if the
order of the file tells anything, that finds it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pramana.audit.linkage.likelihood import (
    AttackedLaw,
    Floats,
    Table,
    expected_counts,
    pairwise_likelihoods,
    taken,
)
from pramana.audit.linkage.posterior import link_posteriors, most_likely_links
from pramana.audit.linkage.sampling import MIXED, sampled_posterior, shared_among_alike
from pramana.audit.verdict import Attack, NotRun, Outcome, at_most

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

    def likelihoods(self) -> Floats:
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
    away = np.abs(np.arange(n)[:, None] - np.arange(n)[None, :]) / n
    return np.asarray(linear_sum_assignment(gain - 1e-7 * away, maximize=True)[1], np.int64)


def sampled_linkage(table: LinkedTable) -> Outcome:
    """A Markov chain over permutations: every person's likeliest row is tried."""
    name, sample = "linkage, sampled posterior", _sample(table, _SAMPLED)
    likelihoods = sample.likelihoods()
    look = _looks(sample.published)
    same = np.logical_and.reduce([sample.true[n][:, None] == sample.published[n][None, :] for n in sample.true])
    found = sampled_posterior(likelihoods, same, best_matching(likelihoods))
    if not found.mixed:
        found = sampled_posterior(likelihoods, same, best_matching(likelihoods), _MORE_SWEEPS)
    if not found.mixed:
        return NotRun(name, f"the chain did not mix: R-hat {found.r_hat:.3g}, above {MIXED}")
    links = shared_among_alike(shared_among_alike(found.links, look).T, _looks(sample.true)).T
    n = sample.records
    near = np.abs(np.arange(n)[:, None] - np.arange(n)[None, :]) / n
    tried = (links - 1e-9 * near).argmax(1)
    right = int((sample.order[tried] == np.arange(n)).sum())
    return at_most(
        name, 1 / sample.k(n), right, n, f"the likeliest row of {n:,} people by a chain over permutations",
        {"k": sample.k(n), "records": n, "r_hat": found.r_hat, "largest_posterior": float(links.max())},
    )  # fmt: skip


def everyone_linked(table: LinkedTable) -> Attack:
    """People of the whole table, each by the value whose rows are likeliest to be theirs, counted by values."""
    look, shown_rows, _ = _distinct(table.published)
    shown = taken(table.published, shown_rows)
    expected = expected_counts(table.law, table.true, shown)
    most = min(_PEOPLE, max(_LEAST_PEOPLE, _PAIRS // len(shown_rows)))
    people = np.random.default_rng(20).permutation(np.sort(table.order))[:most]
    places = np.argsort(look, kind="stable")
    first = np.searchsorted(look[places], np.arange(len(shown_rows) + 1))
    rank = np.searchsorted(np.sort(table.order), people)
    right = 0
    for person, place in zip(people.tolist(), rank.tolist(), strict=True):
        own = {name: codes[person : person + 1] for name, codes in table.true.items()}
        value = int((pairwise_likelihoods(table.law, own, shown)[0] / expected).argmax())
        candidates = places[first[value] : first[value + 1]]
        nearest = candidates[np.abs(candidates - place).argmin()]
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


def _looks(table: Table) -> NDArray[np.int64]:
    return _distinct(table)[0]


def _distinct(table: Table) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The number of every row's combination, a row of each, and how often each occurs."""
    joint = np.zeros(len(next(iter(table.values()))), np.int64)
    for codes in table.values():  # numbered anew after every column: no product of sizes is ever formed
        joint = joint * (int(codes.max(initial=0)) + 1) + codes
        joint = np.unique(joint, return_inverse=True)[1].reshape(-1)
    _, first, number, times = np.unique(joint, return_index=True, return_inverse=True, return_counts=True)
    return number.reshape(-1).astype(np.int64), first.astype(np.int64), times.astype(np.int64)
