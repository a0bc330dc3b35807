"""Channels for smooth columns with smoothed estimates, beside retention with EM; and what no channel can beat.

    python -m benchmarks.smooth_channels [--adult CSV] [--turns N] [--into FOLDER]

The columns of `benchmarks.channels`, at the same epsilons. How many times less is the Wasserstein distance than with
retention and EM?

- *retention, smooth*: retention with the same smoothed estimate, for fairness.
- *EM*: the channel for the distribution function with EM, as `benchmarks.channels` stored it.
- *smooth*: the channel for smooth columns (`error_of = "smooth"`) with the smoothed estimate (`method="smooth"`).
- *at most, unbiased*: how many times less it can be by any channel of intervals, however many values it publishes, and
  any estimate without bias, at the true shares: sqrt(2/pi) times the sum of the standard deviations of the distribution
  function that Fisher's information leaves. That sum is convex in the information (1/v is concave for the variance v of
  one number, and t -> t^(-1/2) convex and falling), so linear programs bound it from below. Up to 50 values. Estimates
  that use that shares are not negative, or that neighbours are alike, may go beyond it.
"""

from __future__ import annotations

import argparse
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy import optimize

from benchmarks import tables
from benchmarks.channels import EPSILONS, RESULTS, WANTED_DISTANCE, Counts, attributes, published, shown
from pramana.calibration.ordered import Criterion, OrderedValues, ordered_channel
from pramana.calibration.ordered.design import _patterns
from pramana.calibration.ordered.families import kept_or_redrawn
from pramana.estimate import Axis, PublishedTable, fit
from pramana.estimate.numbers import smooth_fit
from pramana.mechanisms import Channel, Circumstances, Product, Retention, k_of
from pramana.schema import Kind
from pramana.theory import rounding

HEADINGS = ("attribute", "values", "records", "epsilon", "k", "k smooth", "retention, smooth", "EM", "smooth",
            "at most, unbiased", "reached")  # fmt: skip
Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def distances(channel: Channel, counts: Counts, turns: int, seed: int, smooth: bool) -> tuple[float, float]:
    """Mean Wasserstein distances by EM and, where asked for, smoothed, of the same published tables."""
    truth, chance = counts / counts.sum(), np.random.default_rng(seed)
    axis = Axis.of_labels("x", [str(i) for i in range(len(counts))], kind=Kind.NUMBER)
    drawn = []
    for _ in range(turns):
        table = PublishedTable.of_counts([axis], published(channel, counts, chance), Product({"x": channel}))
        fits = [fit(table), smooth_fit(table) if smooth else None]
        drawn.append([_distance(f.values / counts.sum(), truth) if f is not None else math.nan for f in fits])
    by_em, smoothed = np.mean(drawn, axis=0)
    return float(by_em), float(smoothed)


def _distance(shares: Floats, truth: Floats) -> float:
    return float(np.abs(np.cumsum(shares - truth))[:-1].mean())


def least_unbiased(counts: Counts, ratio: float, rounds: int = 40) -> float:
    """A Wasserstein distance that no channel of intervals is below, without bias, at these shares."""
    size, records, shares = len(counts), int(counts.sum()), counts / counts.sum()
    shares = np.maximum(shares, 0.5 / records)
    shares /= shares.sum()
    levels = _patterns(size, ratio)
    scaled = levels / np.sqrt(shares @ levels)
    below = np.tril(np.ones((size, size)))[:-1] - np.cumsum(shares)[:-1, None]
    theta = np.where((levels > 1).sum(axis=0) == 1, kept_or_redrawn(size, ratio)[0, 1], 0.0)
    scale = math.sqrt(2 / math.pi) / (size - 1)

    def deviations(information: Floats) -> tuple[Floats, Floats]:
        reach = np.linalg.solve(records * information, below.T)
        return np.sqrt(np.einsum("ij,ji->i", below, reach)), reach

    information, bound = (scaled * theta) @ scaled.T, 0.0
    for _ in range(rounds):
        spread, reach = deviations(information)
        gradient = (reach * (scale / (2 * spread))) @ reach.T
        slopes = -records * np.einsum("ij,ij->j", scaled, gradient @ scaled)
        program = optimize.linprog(slopes, A_eq=levels, b_eq=np.ones(size), method="highs-ds")
        value = scale * float(spread.sum())
        bound = max(bound, value - float(slopes @ theta - program.fun))
        if bound > 0.98 * value:
            break
        other = (scaled * program.x) @ scaled.T
        step = optimize.minimize_scalar(
            lambda part, a=information, b=other: float(deviations((1 - part) * a + part * b)[0].sum()),
            bounds=(0.0, 0.95), method="bounded", options={"maxiter": 20},
        ).x  # fmt: skip
        theta, information = (1 - step) * theta + step * program.x, (1 - step) * information + step * other
    return bound


def stored_gains() -> dict[tuple[str, int, int], float]:
    """The Wasserstein column of the stored results of `benchmarks.channels`."""
    lines = (RESULTS / "channels.md").read_text("utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    heading = rows[0].index("Wasserstein")
    return {(r[0], int(r[1]), int(r[3])): float(r[heading]) for r in rows[2:]}


def row(name: str, counts: Counts, epsilon: int, turns: int, by_em: float | None) -> dict[str, object]:
    size, records = len(counts), int(counts.sum())
    ratio = rounding.exp_down(Fraction(epsilon))
    kept = Retention.at((ratio - 1) / (ratio - 1 + size), size)
    criterion = Criterion(np.arange(size, dtype=float), "smooth", records)
    smooth = ordered_channel(OrderedValues(criterion), ratio)
    base, _ = distances(kept, counts, 20 * turns, 1, False)
    _, base_smoothed = distances(kept, counts, turns, 1, True)
    _, smoothed = distances(smooth, counts, turns, 2, True)
    around = Circumstances(records)
    bound = least_unbiased(counts, float(ratio)) if size <= 50 else 0.0
    gains = [gain for gain in (by_em, base / smoothed) if gain is not None]
    return {
        "attribute": name, "values": size, "records": records, "epsilon": epsilon,
        "k": float(k_of(Product({"x": kept}), around)), "k smooth": float(k_of(Product({"x": smooth}), around)),
        "retention, smooth": base / base_smoothed, "EM": "" if by_em is None else by_em, "smooth": base / smoothed,
        "at most, unbiased": base / bound if bound > 0 else "",
        "reached": "yes" if max(gains) >= WANTED_DISTANCE else "no",
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.smooth_channels")
    parser.add_argument("--adult", type=Path, help="the Adult table as a CSV")
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--into", type=Path, default=RESULTS)
    given = parser.parse_args()
    stored, rows = stored_gains(), []
    for name, counts in attributes(given.adult):
        for epsilon in EPSILONS:
            rows.append(row(name, counts, epsilon, given.turns, stored.get((name, len(counts), epsilon))))
            print(" ".join(shown(rows[-1][h]) for h in HEADINGS), flush=True)
    lines = [
        "# Channels for smooth columns, with smoothed estimates",
        "",
        f"`python -m benchmarks.smooth_channels`, {tables.now()}, {given.turns} turns ({20 * given.turns} for "
        f"retention with EM). Times less Wasserstein distance than retention with EM; wanted is {WANTED_DISTANCE:g}. "
        "Columns: see `benchmarks/smooth_channels.py`.",
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "|---" + "|---:" * (len(HEADINGS) - 1) + "|",
        *("| " + " | ".join(shown(r[h]) for h in HEADINGS) + " |" for r in rows),
    ]
    given.into.mkdir(parents=True, exist_ok=True)
    (given.into / "smooth_channels.md").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
