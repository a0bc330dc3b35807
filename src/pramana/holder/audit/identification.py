"""Invariant releases: paper 2's two intruders, who know a person's true value, at work on the law and on the file.

The first sees how many records show that value and picks one of them. The second sees every count, and picks among
the value whose records are likeliest to be the person's. One release has too few rare people to count on, so the
law is thrown again under keys of the audit. In the file one person of every block of values is looked for, of its
rarest value: blocks exchange nothing, so their tries are independent, each right with a chance of at most the
claimed one, whatever the counts. A release of few blocks has few tries there, and the law thrown again tells more;
of many, the file tells whether it follows the law.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pramana.errors import PramanaError
from pramana.holder.audit.attacked import Attacked
from pramana.holder.audit.linkage import LinkedTable
from pramana.holder.audit.verdict import CHANCE_OF_FALSE_ALARM, Attack, NotRun, Outcome, at_most, clopper_pearson
from pramana.mechanisms.channel import Channel
from pramana.mechanisms.table import ChannelGroup, Exchange
from pramana.notions.method_notions import EveryCountBound, IdentificationBound
from pramana.randomness.key import Key
from pramana.randomness.samplers import ONE, Codes, code_dtype

_LARGEST = 1 << 10  # values of a group whose matrix is written out
_LARGEST_WITHHELD = 1 << 8  # values of a group for which blocks are planned again and again
_DRAWS, _MOST_RUNS = 4_000_000, 2000
_DRAWS_WITHHELD, _MOST_RUNS_WITHHELD = 1_000_000, 200
_LEAST_RUNS = 50
_RARE = 3  # values, the rarest ones, of which people are looked for
_INTRUDERS = ("own count", "every count")
WITHHELD = "identification, matrix estimated from the file"
Numbers = NDArray[np.int64]
Matrix = NDArray[np.float64]
Planned = Callable[[tuple[str, ...], Numbers], Channel]  # the rule's channel for these columns and counts


def identified(attacked: Attacked, table: LinkedTable, law: Exchange) -> list[Outcome]:
    """The intruders of an invariant release: on its law, in its file, and without its matrix."""
    plan, true = attacked.traced.plan, attacked.traced.true
    own, every = attacked.number(IdentificationBound.notion), attacked.number(EveryCountBound.notion)
    xi, xi_all = (1.0 if claim is None else claim for claim in (own, every))
    beyond = min(1.0, xi_all + (attacked.number(EveryCountBound.notion, "left_out") or 0.0))
    outcomes = [*identification_attacks(law, true, xi, xi_all), *identified_in_file(table, xi, beyond)]
    return [*outcomes, withheld_matrix(law, true, beyond, plan.channel_by_rule)] if plan.withheld else outcomes


def identified_in_file(table: LinkedTable, xi: float, xi_all_counts: float) -> list[Outcome]:
    """`xi_all_counts` includes the chance of outcomes that the bound does not cover."""
    names = [f"identification in the file, {intruder}" for intruder in _INTRUDERS]
    law = table.law
    groups = _groups(law, _LARGEST) if isinstance(law, Exchange) else []
    tried = [pick for group in groups for pick in _picked(table, group)]
    if not tried:
        return [NotRun(name, "no group of columns has few enough values, and more than one") for name in names]
    outcomes: list[Outcome] = []
    for name, claimed, picks in zip(names, (xi, xi_all_counts), zip(*tried, strict=True), strict=True):
        tries = sum(pick is not None for pick in picks)
        what = "one person of the rarest value of every block, and a record of the file for each"
        right = sum(pick is True for pick in picks)
        outcomes.append(
            at_most(name, claimed, right, tries, what) if tries else NotRun(name, "no value was shown")
        )
    return outcomes


def _picked(table: LinkedTable, group: ChannelGroup) -> list[list[bool | None]]:
    """Of every block, whether each of the two intruders was right; None where nobody shows what they look for."""
    law = table.law
    assert isinstance(law, Exchange)
    size = group.channel.size
    true = law.joined(group, table.true).astype(np.int64)
    shown = np.empty_like(true)
    shown[table.order] = law.joined(group, table.published)
    matrix = group.channel.weights / ONE
    seen, counts = np.bincount(shown, minlength=size), np.bincount(true, minlength=size)
    rng = np.random.default_rng(20)
    picks = []
    for block in blocks_of(matrix):
        members = [int(v) for v in block if counts[v]]
        if len(members) < 2:
            continue
        value = min(members, key=lambda v: counts[v])
        target = int(rng.choice(np.flatnonzero(true == value)))
        [best] = _likeliest(matrix[[value]], seen)
        right = [bool(shown[target] == v and rng.random() * seen[v] < 1) for v in (value, best)]
        picks.append([hit if seen[v] else None for hit, v in zip(right, (value, best), strict=True)])
    return picks


def blocks_of(matrix: Matrix) -> list[Numbers]:
    """Values that are exchanged for each other, directly or through others."""
    from scipy.sparse.csgraph import connected_components

    count, block = connected_components((matrix > 0).astype(np.int8), directed=False)
    return [np.flatnonzero(block == number) for number in range(count)]


def _groups(law: Exchange, largest: int) -> list[ChannelGroup]:
    return [group for group in law.groups if 1 < group.channel.size <= largest]


def _likeliest(rows: Matrix, seen: Numbers) -> Numbers:
    """For each row of a matrix, the shown value whose records are likeliest to be of the row's true one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(seen > 0, rows / seen, 0.0).argmax(1), np.int64)


# ---------------------------------------------------------------- the law thrown again


def identification_attacks(
    law: Exchange, true: Mapping[str, Codes], xi: float, xi_all_counts: float
) -> list[Outcome]:
    names = [f"identification, {intruder}" for intruder in _INTRUDERS]
    records = len(next(iter(true.values())))
    runs = min(_MOST_RUNS, _DRAWS // max(records, 1))
    if runs < _LEAST_RUNS:
        return [NotRun(name, f"{records:,} records are too many to throw the law again") for name in names]
    groups = _groups(law, _LARGEST)
    if not groups:
        return [
            NotRun(name, f"every group of columns has more than {_LARGEST:,} values, or one") for name in names
        ]

    def picks(group: ChannelGroup, rare: Numbers, seen: Numbers) -> Sequence[Numbers]:
        return rare, _likeliest(group.channel.weights[rare] / ONE, seen)

    rates = np.concatenate([_tried(law, group, true, runs, picks) for group in groups], axis=1)
    outcomes: list[Outcome] = []
    for name, claimed, own in zip(names, (xi, xi_all_counts), rates.tolist(), strict=True):
        alpha = CHANCE_OF_FALSE_ALARM / len(own)
        shares = [(clopper_pearson(right, tries, alpha), right / tries, tries) for right, tries in own if tries]
        if not shares:
            outcomes.append(NotRun(name, "no value was ever shown"))
            continue
        interval, share, tries = max(shares)
        what = f"right {share:.4g} in {tries:,} runs for the value most at risk; claimed at most {claimed:.4g}"
        outcomes.append(Attack(name, claimed, share, interval[0] <= claimed, what, interval))
    return outcomes


def _tried(
    law: Exchange,
    group: ChannelGroup,
    true: Mapping[str, Codes],
    runs: int,
    picks: Callable[[ChannelGroup, Numbers, Numbers], Sequence[Numbers]],
) -> NDArray[np.int64]:
    """Right picks and tries of two intruders, for each of the rarest values: rates[intruder, value].

    `picks` says which shown value each intruder picks from for these values, by the published counts.
    """
    size = group.channel.size
    own = law.joined(group, true).astype(code_dtype(size))
    counts = np.bincount(own, minlength=size)
    rare = np.array([v for v in np.argsort(counts, kind="stable") if counts[v]][:_RARE], np.int64)
    people = [np.flatnonzero(own == value) for value in rare]
    rng, key = np.random.default_rng(20), Key.from_seed(20)
    rates, shown = np.zeros((2, len(rare), 2), np.int64), np.empty_like(own)
    for run in range(runs):
        words = key.stream("value", f"audit {run}", group.columns[0]).words(0, len(own))
        group.channel.publish(words, own, shown)
        seen = np.bincount(shown, minlength=size)
        picked = picks(group, rare, seen)
        for r, owners in enumerate(people):
            target, draw = rng.choice(owners), rng.random()
            for intruder, values in enumerate(picked):
                value = values[r]
                if seen[value]:
                    rates[intruder, r] += int(shown[target] == value and draw * seen[value] < 1), 1
    return rates


# What a withheld certificate gives away: an intruder without the matrix makes one from what is published.
#
# Frequencies stay on average, so the published counts stand for the true ones, and the rule by which blocks
# are made is public: whoever runs it on the published counts has a matrix that is nearly the holder's. The
# bound on anyone who sees every count is meant for intruders who have the true one; so it must hold of this
# one, too, and what the certificate withholds is worth the difference between the two.


def withheld_matrix(law: Exchange, true: Mapping[str, Codes], claimed: float, planned: Planned) -> Outcome:
    """The law thrown again and again; each time the intruder plans blocks from the counts and picks by them."""
    records = len(next(iter(true.values())))
    runs = min(_MOST_RUNS_WITHHELD, _DRAWS_WITHHELD // max(records, 1))
    groups = _groups(law, _LARGEST_WITHHELD)
    if runs < _LEAST_RUNS or not groups:
        return NotRun(
            WITHHELD, "the table has too many records, or its columns too many values, to plan again and again"
        )

    def picks(group: ChannelGroup, rare: Numbers, seen: Numbers) -> Sequence[Numbers]:
        estimated = np.eye(group.channel.size)  # where the rule finds no blocks, everything is taken for kept
        shape = [law.sizes[name] for name in group.columns]
        with contextlib.suppress(PramanaError):
            estimated = planned(group.columns, seen.reshape(shape)).weights / ONE
        return _likeliest(estimated[rare], seen), _likeliest(group.channel.weights[rare] / ONE, seen)

    tried = np.concatenate([_tried(law, group, true, runs, picks) for group in groups], axis=1)
    rates = [
        (int(right), int(tries), known) for (right, tries), known in zip(*tried.tolist(), strict=True) if tries
    ]
    if not rates:
        return NotRun(WITHHELD, "no value was ever shown")
    alpha = CHANCE_OF_FALSE_ALARM / len(rates)
    right, tries, known = max(rates, key=lambda rate: clopper_pearson(rate[0], rate[1], alpha))
    interval = clopper_pearson(right, tries, alpha)
    share, with_it = right / tries, known[0] / max(known[1], 1)
    what = (
        f"right {share:.4g} in {tries:,} runs for the value most at risk, {with_it:.4g} with the matrix itself; "
        f"claimed at most {claimed:.4g} either way"
    )
    return Attack(WITHHELD, claimed, share, interval[0] <= claimed, what, interval, {"with_the_matrix": with_it})
