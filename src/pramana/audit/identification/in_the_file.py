"""The two intruders of an invariant release at work on the published file itself.

One person of every block of values is looked for, of its rarest value. Blocks exchange nothing, so their tries are
independent; each is right with a chance of at most the claimed one, whatever the counts. A release of few blocks
has few tries, and the law thrown again tells more; of many, this tells whether the file follows the law.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pramana.audit.linkage import LinkedTable
from pramana.audit.verdict import NotRun, Outcome, at_most
from pramana.mechanisms import ChannelGroup, Exchange
from pramana.randomness import ONE

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
