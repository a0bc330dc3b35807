"""The two intruders of an invariant release at work on the published file itself.

One person of every block of values is looked for, of its rarest value. Blocks exchange nothing, so their tries are
independent; each is right with a chance of at most the claimed one, whatever the counts. A release of few blocks
has few tries, and the law thrown again tells more; of many, this tells whether the file follows the law.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from pramana.errors import PramanaError
from pramana.holder.audit.linkage import LinkedTable
from pramana.holder.audit.verdict import CHANCE_OF_FALSE_ALARM, Attack, NotRun, Outcome, at_most, clopper_pearson
from pramana.mechanisms.channel import Channel
from pramana.mechanisms.table import ChannelGroup, Exchange
from pramana.randomness.key import Key
from pramana.randomness.samplers import ONE, Codes, code_dtype

_LARGEST = 1 << 10  # values of a group whose matrix is written out
_NAMES = ("identification in the file, own count", "identification in the file, every count")
Numbers = NDArray[np.int64]


def identified_in_file(table: LinkedTable, xi: float, xi_all_counts: float, left_out: float) -> list[Outcome]:
    """`left_out` is the chance of outcomes that the second bound does not cover."""
    law = table.law
    groups = [g for g in law.groups if 1 < g.channel.size <= _LARGEST] if isinstance(law, Exchange) else []
    tried = [pick for group in groups for pick in _picked(table, group)]
    outcomes: list[Outcome] = []
    for name, claimed, picks in zip(
        _NAMES, (xi, min(1.0, xi_all_counts + left_out)), zip(*tried, strict=True), strict=True
    ):
        right = sum(pick is True for pick in picks)
        tries = sum(pick is not None for pick in picks)
        what = "one person of the rarest value of every block, and a record of the file for each"
        outcomes.append(
            at_most(name, claimed, right, tries, what) if tries else NotRun(name, "no value was shown")
        )
    return outcomes or [
        NotRun(name, "no group of columns has few enough values, and more than one") for name in _NAMES
    ]


Pick = tuple[bool | None, bool | None]


def _picked(table: LinkedTable, group: ChannelGroup) -> list[Pick]:
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
    picks: list[Pick] = []
    for block in blocks_of(matrix):
        members = [int(v) for v in block if counts[v]]
        if len(members) < 2:
            continue
        value = min(members, key=lambda v: counts[v])
        target = int(rng.choice(np.flatnonzero(true == value)))
        with np.errstate(divide="ignore", invalid="ignore"):
            best = int(np.where(seen > 0, matrix[value] / seen, 0.0).argmax())
        own, every = (_right(shown, target, v, int(seen[v]), rng) for v in (value, best))
        picks.append((own, every))
    return picks


def _right(shown: Numbers, target: int, value: int, seen: int, rng: np.random.Generator) -> bool | None:
    draw = rng.random()
    return bool(shown[target] == value and draw * seen < 1) if seen else None


def blocks_of(matrix: NDArray[np.float64]) -> list[Numbers]:
    """Values that are exchanged for each other, directly or through others."""
    from scipy.sparse.csgraph import connected_components

    count, block = connected_components((matrix > 0).astype(np.int8), directed=False)
    return [np.flatnonzero(block == number) for number in range(count)]


# Invariant releases: paper 2's two intruders, who know a person's true value, run on the release's own law.
#
# The first sees how many records show that value and picks one of them. The second sees every count, and
# picks among the value whose records are likeliest to be the person's. The law is thrown again under keys of
# the audit: one release has too few rare people to count on.


_DRAWS = 4_000_000
_MOST_RUNS = 2000
_LEAST_RUNS = 50
_CATEGORIES = 3  # the rarest ones


def identification_attacks(
    law: Exchange, true: Mapping[str, Codes], xi: float, xi_all_counts: float
) -> list[Outcome]:
    names = ("identification, own count", "identification, every count")
    records = len(next(iter(true.values())))
    runs = min(_MOST_RUNS, _DRAWS // max(records, 1))
    if runs < _LEAST_RUNS:
        return [NotRun(name, f"{records:,} records are too many to throw the law again") for name in names]
    groups = [group for group in law.groups if 1 < group.channel.size <= _LARGEST]
    if not groups:
        return [
            NotRun(name, f"every group of columns has more than {_LARGEST:,} values, or one") for name in names
        ]
    tried = [_tried(law, group, true, runs) for group in groups]
    outcomes: list[Outcome] = []
    for place, (name, claimed) in enumerate(zip(names, (xi, xi_all_counts), strict=True)):
        rates = [rate for group in tried for rate in group[place]]
        alpha = CHANCE_OF_FALSE_ALARM / max(len(rates), 1)
        found = [(clopper_pearson(right, tries, alpha), right / tries, tries) for right, tries in rates if tries]
        if not found:
            outcomes.append(NotRun(name, "no value was ever shown"))
            continue
        interval, share, tries = max(found)
        what = f"right {share:.4g} in {tries:,} runs for the value most at risk; claimed at most {claimed:.4g}"
        outcomes.append(Attack(name, claimed, share, interval[0] <= claimed, what, interval))
    return outcomes


Rates = list[tuple[int, int]]


def _tried(law: Exchange, group: ChannelGroup, true: Mapping[str, Codes], runs: int) -> tuple[Rates, Rates]:
    """Right picks and runs of the two intruders, for each of the rarest values."""
    size = group.channel.size
    own = law.joined(group, true).astype(code_dtype(size))
    counts = np.bincount(own, minlength=size)
    rare = [int(v) for v in np.argsort(counts, kind="stable") if counts[v]][:_CATEGORIES]
    matrix = group.channel.weights / ONE
    rng, key = np.random.default_rng(20), Key.from_seed(20)
    right, tries = np.zeros((2, len(rare)), int), np.zeros((2, len(rare)), int)
    shown = np.empty_like(own)
    for run in range(runs):
        words = key.stream("value", f"audit {run}", group.columns[0]).words(0, len(own))
        group.channel.publish(words, own, shown)
        seen = np.bincount(shown, minlength=size)
        for r, value in enumerate(rare):
            target = rng.choice(np.flatnonzero(own == value))
            with np.errstate(divide="ignore", invalid="ignore"):
                best = int(np.where(seen > 0, matrix[value] / seen, 0.0).argmax())
            for intruder, picked in enumerate((value, best)):
                if seen[picked]:
                    tries[intruder, r] += 1
                    right[intruder, r] += int(shown[target] == picked and rng.random() * seen[picked] < 1)
    rates = [list(zip(right[i].tolist(), tries[i].tolist(), strict=True)) for i in (0, 1)]
    return rates[0], rates[1]


# What a withheld certificate gives away: an intruder without the matrix makes one from what is published.
#
# Frequencies stay on average, so the published counts stand for the true ones, and the rule by which blocks
# are made is public: whoever runs it on the published counts has a matrix that is nearly the holder's. The
# bound on anyone who sees every count is meant for intruders who have the true one; so it must hold of this
# one, too, and what the certificate withholds is worth the difference between the two.


_RUNS = 200
_DRAWS_WITHHELD = 1_000_000
_LARGEST_WITHHELD = 1 << 8  # values of a group for which blocks are planned again and again
NAME = "identification, matrix estimated from the file"
Planned = Callable[[ChannelGroup, NDArray[np.int64]], Channel]  # the rule's channel for these counts


def withheld_matrix(law: Exchange, true: Mapping[str, Codes], claimed: float, planned: Planned) -> Outcome:
    """The law thrown again and again; each time the intruder plans blocks from the counts and picks by them."""
    records = len(next(iter(true.values())))
    runs = min(_RUNS, _DRAWS_WITHHELD // max(records, 1))
    groups = [group for group in law.groups if 1 < group.channel.size <= _LARGEST_WITHHELD]
    if runs < _LEAST_RUNS or not groups:
        return NotRun(
            NAME, "the table has too many records, or its columns too many values, to plan again and again"
        )
    rates = [rate for group in groups for rate in _try_withheld(law, group, true, runs, planned)]
    told = [rate for rate in rates if rate[2]]
    if not told:
        return NotRun(NAME, "no value was ever shown")
    alpha = CHANCE_OF_FALSE_ALARM / len(told)
    right, known, tries = max(told, key=lambda rate: clopper_pearson(rate[0], rate[2], alpha))
    interval = clopper_pearson(right, tries, alpha)
    share, with_it = right / tries, known / tries
    what = (
        f"right {share:.4g} in {tries:,} runs for the value most at risk, {with_it:.4g} with the matrix itself; "
        f"claimed at most {claimed:.4g} either way"
    )
    return Attack(NAME, claimed, share, interval[0] <= claimed, what, interval, {"with_the_matrix": with_it})


def _try_withheld(
    law: Exchange, group: ChannelGroup, true: Mapping[str, Codes], runs: int, planned: Planned
) -> list[tuple[int, int, int]]:
    """For each of the rarest values: right picks with the estimated matrix, with the true one, and tries."""
    size = group.channel.size
    own = law.joined(group, true).astype(code_dtype(size))
    counts = np.bincount(own, minlength=size)
    rare = [int(v) for v in np.argsort(counts, kind="stable") if counts[v]][:_CATEGORIES]
    matrix = group.channel.weights / ONE
    rng, key = np.random.default_rng(20), Key.from_seed(20)
    right, known, tries = np.zeros((3, len(rare)), int)
    shown = np.empty_like(own)
    for run in range(runs):
        words = key.stream("value", f"audit {run}", group.columns[0]).words(0, len(own))
        group.channel.publish(words, own, shown)
        seen = np.bincount(shown, minlength=size)
        estimated = _estimated(group, seen, planned)
        for r, value in enumerate(rare):
            target, draw = rng.choice(np.flatnonzero(own == value)), rng.random()
            picked, best = (_likeliest(m, value, seen) for m in (estimated, matrix))
            tries[r] += 1
            right[r] += int(shown[target] == picked and draw * seen[picked] < 1)
            known[r] += int(shown[target] == best and draw * seen[best] < 1)
    return list(zip(right.tolist(), known.tolist(), tries.tolist(), strict=True))


def _estimated(group: ChannelGroup, seen: NDArray[np.int64], planned: Planned) -> NDArray[np.float64]:
    """Where the rule finds no blocks for such counts, everything is taken for kept."""
    try:
        return np.asarray(planned(group, seen).weights / ONE, np.float64)
    except PramanaError:
        return np.eye(group.channel.size)


def _likeliest(matrix: NDArray[np.float64], value: int, seen: NDArray[np.int64]) -> int:
    with np.errstate(divide="ignore", invalid="ignore"):
        return int(np.where(seen > 0, matrix[value] / seen, 0.0).argmax())
