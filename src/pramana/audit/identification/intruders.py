"""Invariant releases: paper 2's two intruders, who know a person's true value, run on the release's own law.

The first sees how many records show that value and picks one of them. The second sees every count, and picks among
the value whose records are likeliest to be the person's. The law is thrown again under keys of the audit: one
release has too few rare people to count on.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pramana.audit.verdict import CHANCE_OF_FALSE_ALARM, Attack, NotRun, Outcome, clopper_pearson
from pramana.mechanisms import ChannelGroup, Exchange
from pramana.randomness import ONE, Codes, Key, code_dtype

_DRAWS = 4_000_000
_MOST_RUNS = 2000
_LEAST_RUNS = 50
_CATEGORIES = 3  # the rarest ones
_LARGEST = 1 << 10  # values of a group whose matrix is written out


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
