"""The largest delta over all neighbouring shuffled tables, in integers: what every bound is held against."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement

Channel = Sequence[Sequence[Fraction]]
Counts = tuple[int, ...]


def grr(rho: Fraction, size: int) -> list[list[Fraction]]:
    return [[rho * (u == v) + (1 - rho) / size for v in range(size)] for u in range(size)]


def joint(a: Channel, b: Channel) -> list[list[Fraction]]:
    return [[p * q for p in left for q in right] for left in a for right in b]


def true_deltas(channel: Channel, records: int, factors: Sequence[Fraction]) -> list[Fraction]:
    """For each e^epsilon the largest hockey-stick divergence between neighbours, over every table of that size."""
    denominator = math.lcm(*(entry.denominator for row in channel for entry in row))
    rows = [[int(entry * denominator) for entry in row] for row in channel]
    worst = [0] * len(factors)
    for others in combinations_with_replacement(range(len(rows)), records - 1):
        rest: dict[Counts, int] = {(0,) * len(rows[0]): 1}
        for other in others:
            rest = _with_record(rest, rows[other])
        laws = [_with_record(rest, row) for row in rows]
        for u, p in enumerate(laws):
            for v, q in enumerate(laws):
                if u != v:
                    for i, e in enumerate(factors):
                        gained = sum(max(0, e.denominator * p[x] - e.numerator * q.get(x, 0)) for x in p)
                        worst[i] = max(worst[i], gained)
    return [Fraction(w, e.denominator * denominator**records) for w, e in zip(worst, factors, strict=True)]


def _with_record(law: dict[Counts, int], row: Sequence[int]) -> dict[Counts, int]:
    """The law of the counts after one more record, in multiples of the common denominator's power."""
    grown: dict[Counts, int] = defaultdict(int)
    for counts, chance in law.items():
        for value, entry in enumerate(row):
            if entry:
                grown[(*counts[:value], counts[value] + 1, *counts[value + 1 :])] += chance * entry
    return dict(grown)
