"""Channels for smooth columns with smoothed estimates, beside retention with EM; and what no channel can beat.

    python -m benchmarks.smooth_channels [--adult CSV] [--turns N] [--into FOLDER]

The columns of `benchmarks.channels`, at the same epsilons. How many times less is the Wasserstein distance than
with retention and EM?

- *retention, smooth*: retention with the same smoothed estimate, for fairness.
- *EM*: the channel for the distribution function with EM, as `benchmarks.channels` stored it.
- *smooth*: the channel for smooth columns (`error_of = "smooth"`) with the smoothed estimate (`method="smooth"`).
- *at most, unbiased*: the root of how many times less than retention's the integrated squared error of the
  distribution function can be, by any channel of intervals, however many values it publishes, with estimates
  without bias, at the true shares of this table: the variance that Fisher's information leaves, less that of
  drawing the table itself. It is convex in the information, so linear programs bound it from below. A Wasserstein
  distance goes about with the root of that error. Up to 50 values. Estimates with a bias, which use that shares
  are not negative or that neighbours are alike, may go beyond it.
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


def most_without_bias(counts: Counts, ratio: float, rounds: int = 40) -> float:
    """How many times less any channel of intervals can err than retention, both without bias, at these shares."""
    size, records = len(counts), int(counts.sum())
    shares = np.maximum(counts, 0.5) / np.maximum(counts, 0.5).sum()
    levels = _patterns(size, ratio)
    scaled = levels / np.sqrt(shares @ levels)
    reached = np.cumsum(shares)[:-1]
    below = np.tril(np.ones((size, size)))[:-1] - reached[:, None]
    weight, drawn = below.T @ below, float((reached * (1 - reached)).sum()) / records
    theta = np.where((levels > 1).sum(axis=0) == 1, kept_or_redrawn(size, ratio)[0, 1], 0.0)

    def squares(information: Floats) -> tuple[float, Floats]:
        inverse = np.linalg.inv(records * information)
        return float(np.sum(weight * inverse)) - drawn, inverse

    information, bound = (scaled * theta) @ scaled.T, 0.0
    of_retention, _ = squares(information)
    for _ in range(rounds):
        value, inverse = squares(information)
        slopes = -records * np.einsum("ij,ij->j", scaled, (inverse @ weight @ inverse) @ scaled)
        program = optimize.linprog(slopes, A_eq=levels, b_eq=np.ones(size), method="highs-ds")
        bound = max(bound, value - float(slopes @ theta - program.fun))
        if bound > 0.96 * value:
            break
        other = (scaled * program.x) @ scaled.T
        step = optimize.minimize_scalar(
            lambda part, a=information, b=other: squares((1 - part) * a + part * b)[0],
            bounds=(0.0, 0.95), method="bounded", options={"maxiter": 20},
        ).x  # fmt: skip
        theta, information = (1 - step) * theta + step * program.x, (1 - step) * information + step * other
    return math.sqrt(of_retention / bound) if bound > 0 else math.inf


def stored_gains() -> dict[tuple[str, int, int], float]:
    """The Wasserstein column of the stored results of `benchmarks.channels`."""
    lines = (RESULTS / "channels.md").read_text("utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    gain, reached = rows[0].index("Wasserstein"), rows[0].index("reached")
    just_below = WANTED_DISTANCE * (1 - 1e-3)  # what is stored with three digits may look as if it were reached
    return {
        (r[0], int(r[1]), int(r[3])): min(float(r[gain]), just_below if "Wasserstein" in r[reached] else math.inf)
        for r in rows[2:]
    }


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
    gains = [gain for gain in (by_em, base / smoothed) if gain is not None]
    return {
        "attribute": name, "values": size, "records": records, "epsilon": epsilon,
        "k": float(k_of(Product({"x": kept}), around)), "k smooth": float(k_of(Product({"x": smooth}), around)),
        "retention, smooth": base / base_smoothed, "EM": "" if by_em is None else by_em, "smooth": base / smoothed,
        "at most, unbiased": most_without_bias(counts, float(ratio)) if size <= 50 else "",
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
        f"retention with EM). Times less Wasserstein distance than with that; wanted: {WANTED_DISTANCE:g}. "
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
