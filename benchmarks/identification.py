"""Invariant matrices: risk and block choice for a large attribute, and publishing beside sdcMicro's construction.

    python benchmarks/identification.py [--records 10000000] [--categories 1000]

sdcMicro's construction is reimplemented from its description in NumPy: a two-stage matrix in floats, then the
records of each value drawn together. The R package itself publishes some 0.1 million values a second. Everything
runs in one process, on one thread, one after the other.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pramana.mechanisms.channel import Channel
from pramana.mechanisms.invariant import match_risk, two_stage
from pramana.methods.invariant.blocks import plan_blocks
from pramana.randomness.key import Key
from pramana.randomness.samplers import code_dtype


def timed(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    times, result = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return statistics.median(times), result


def frequencies(categories: int, records: int) -> Any:
    """A skewed attribute with rare categories: log-normal, scaled to the number of records."""
    raw = np.exp(np.random.default_rng(1).normal(6, 3.2, categories))
    counts = np.maximum(1, (raw * records / raw.sum()).astype(np.int64))
    counts[np.argmax(counts)] += records - counts.sum()
    return counts


def published(channel: Channel, codes: np.ndarray) -> np.ndarray:
    """As the engine does it: keystream and draws, a chunk at a time."""
    stream, out = Key.from_seed(1).stream("value"), np.empty_like(codes)
    words = np.empty(1 << 15, np.uint64)
    for start in range(0, len(codes), 1 << 15):
        part = codes[start : start + (1 << 15)]
        channel.publish(stream.fill(start, words[: len(part)]), part, out[start : start + (1 << 15)])
    return out


def described_by_sdcmicro(
    codes: np.ndarray, counts: np.ndarray, least: float = 0.8, alpha: float = 0.5
) -> np.ndarray:
    """A diagonal drawn between `least` and 1, its Bayes reversal, the mixture; then draws, value by value."""
    rng = np.random.default_rng(2)
    size = len(counts)
    diagonal = rng.uniform(least, 1, size)
    first = np.repeat(((1 - diagonal) / (size - 1))[:, None], size, axis=1)
    np.fill_diagonal(first, diagonal)
    reversal = (counts[:, None] * first / (counts @ first)).T
    matrix = alpha * first @ reversal + (1 - alpha) * np.eye(size)
    out = np.empty_like(codes)
    for value in range(size):
        rows = np.flatnonzero(codes == value)
        out[rows] = rng.choice(size, len(rows), p=matrix[value] / matrix[value].sum())
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--categories", type=int, default=1000)
    parser.add_argument("--xi", default="0.1")
    options = parser.parse_args()
    counts = frequencies(options.categories, options.records)
    rare = int((counts < 1 / float(options.xi)).sum())
    print(f"{options.categories} categories, {counts.sum():,} records, {rare} rare, xi {options.xi}")
    for rule in ("best", "paper"):
        spent, plan = timed(lambda rule=rule: plan_blocks(counts, options.xi, rule=rule))
        judged, risk = timed(lambda plan=plan: match_risk(plan.channel, counts), 1)
        print(
            f"  {rule:5}: blocks {spent:.3f} s, both intruders' risks {judged:.3f} s; "
            f"xi reached {plan.xi_reached:.6f}, seeing every count {float(risk.largest_all_counts):.4f}, "
            f"squared error {sum(risk.squared_error):.1f}"
        )
    codes = np.repeat(np.arange(len(counts)), counts).astype(code_dtype(len(counts)))
    np.random.default_rng(3).shuffle(codes)
    best = plan_blocks(counts, options.xi).channel
    spent, dense = timed(lambda: two_stage(counts, 0.8), 1)
    loose = match_risk(dense, counts) if len(counts) <= 200 else None
    error = "" if loose is None else f", squared error {sum(loose.squared_error):.1f}"
    print(f"  two-stage matrix in integers {spent:.3f} s{error}")
    rates = {}
    for name, work in {
        "blocks (ours)": lambda: published(best, codes),
        "two-stage (ours, exact, keyed)": lambda: published(dense, codes),
        "two-stage (as described, NumPy)": lambda: described_by_sdcmicro(codes, counts),
    }.items():
        work()
        spent, _ = timed(work, 3 if "ours" in name else 1)
        rates[name] = len(codes) / spent
        print(f"  publishing, {name}: {rates[name] / 1e6:.1f} million values/s")


if __name__ == "__main__":
    main()
