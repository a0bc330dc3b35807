"""What a withheld certificate gives away: an intruder without the matrix makes one from what is published.

Frequencies stay on average, so the published counts stand for the true ones, and the rule by which blocks are
made is public: whoever runs it on the published counts has a matrix that is nearly the holder's. The bound on
anyone who sees every count is meant for intruders who have the true one; so it must hold of this one, too, and
what the certificate withholds is worth the difference between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from pramana.audit.verdict import CHANCE_OF_FALSE_ALARM, Attack, NotRun, Outcome, clopper_pearson
from pramana.errors import PramanaError
from pramana.mechanisms import Channel, ChannelGroup, Exchange
from pramana.randomness import ONE, Codes, Key, code_dtype

_RUNS = 200
_LEAST_RUNS = 50
_DRAWS = 1_000_000
_CATEGORIES = 3  # the rarest ones
_LARGEST = 1 << 8  # values of a group for which blocks are planned again and again
NAME = "identification, matrix estimated from the file"
Planned = Callable[[ChannelGroup, NDArray[np.int64]], Channel]  # the rule's channel for these counts


def withheld_matrix(law: Exchange, true: Mapping[str, Codes], claimed: float, planned: Planned) -> Outcome:
    """The law thrown again and again; each time the intruder plans blocks from the counts and picks by them."""
    records = len(next(iter(true.values())))
    runs = min(_RUNS, _DRAWS // max(records, 1))
    groups = [group for group in law.groups if 1 < group.channel.size <= _LARGEST]
    if runs < _LEAST_RUNS or not groups:
        return NotRun(
            NAME, "the table has too many records, or its columns too many values, to plan again and again"
        )
    rates = [rate for group in groups for rate in _tried(law, group, true, runs, planned)]
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


def _tried(
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
