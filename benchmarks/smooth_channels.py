"""Channels for smooth columns with smoothed estimates, beside retention with EM.

    python -m benchmarks.smooth_channels [--adult CSV] [--turns N] [--into FOLDER] [--picture FILE]

The columns of `benchmarks.channels`, at the same epsilons. How many times less is the Wasserstein distance than
with retention and EM? The same data, records, k and epsilon on both sides; ten times as many turns for retention,
whose maximum likelihood is quick.

- *retention, smooth*: retention with the same smoothed estimate, for fairness.
- *EM*: the channel for the distribution function with EM, as `benchmarks.channels` stored it.
- *smooth*: the channel for smooth columns (`error_of = "smooth"`) with the smoothed estimate (`method="smooth"`),
  the same for every row. Of incomes the recipe says `shape = "falling"`, which everybody knows of incomes.
- *+-*: its standard error, from both sides' turns. *reached* says yes where the gain is at least what was wanted.

What no channel and no estimate can reach: `benchmarks.channel_bounds`.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks import tables
from benchmarks.channels import EPSILONS, RESULTS, WANTED_DISTANCE, Counts, attributes, picture, published, shown
from pramana.mechanisms.channel import Channel, Retention
from pramana.mechanisms.guarantees import Circumstances, k_of
from pramana.mechanisms.table import Product
from pramana.methods.retention.ordered import Criterion, OrderedValues, Shape, ordered_channel
from pramana.recipient.law import PublishedTable
from pramana.recipient.likelihood import fit
from pramana.recipient.numbers import smooth_fit
from pramana.schema.domain import Axis
from pramana.schema.kind import Kind
from pramana.theory import rounding

HEADINGS = ("attribute", "values", "records", "epsilon", "shape", "k", "k smooth", "retention, smooth", "EM",
            "smooth", "+-", "reached")  # fmt: skip
FEW_VALUES = 50
Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True)
class Distances:
    """The mean of Wasserstein distances, and its relative standard error."""

    mean: float
    doubt: float

    @classmethod
    def of(cls, drawn: list[float]) -> Distances:
        mean = float(np.mean(drawn))
        return cls(mean, float(np.std(drawn, ddof=1)) / math.sqrt(len(drawn)) / mean)


def distances(channel: Channel, counts: Counts, turns: int, seed: int, smooth: bool) -> Distances:
    """By EM or, where asked for, smoothed."""
    truth, chance = counts / counts.sum(), np.random.default_rng(seed)
    axis = Axis.of_labels("x", [str(i) for i in range(len(counts))], kind=Kind.NUMBER)
    drawn = []
    for _ in range(turns):
        table = PublishedTable.of_counts([axis], published(channel, counts, chance), Product({"x": channel}))
        estimated = (smooth_fit(table) if smooth else fit(table)).values / counts.sum()
        drawn.append(float(np.abs(np.cumsum(estimated - truth))[:-1].mean()))
    return Distances.of(drawn)


def stored(name: str) -> list[dict[str, str]]:
    """The rows of a stored table of results."""
    lines = (RESULTS / name).read_text("utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [dict(zip(rows[0], row, strict=True)) for row in rows[2:]]


def stored_gains(column: str) -> dict[tuple[str, int, int], float]:
    """Of `benchmarks.channels`."""
    rows = stored("channels.md")
    return {(r["attribute"], int(r["values"]), int(r["epsilon"])): float(r[column]) for r in rows}


def draw_stored(target: Path) -> None:
    """Means as `benchmarks.channels` stored them, Wasserstein distances as this one did."""
    means = stored_gains("mean by inversion")
    rows: list[dict[str, object]] = []
    for r in stored("smooth_channels.md"):
        name, size, epsilon = r["attribute"], int(r["values"]), int(r["epsilon"])
        rows.append({"attribute": name, "values": size, "epsilon": epsilon, "Wasserstein": float(r["smooth"]),
                     "mean by inversion": means[name, size, epsilon]})  # fmt: skip
    picture(rows, target)


def shape_of(name: str) -> Shape:
    return "falling" if "income" in name else "even"


def row(name: str, counts: Counts, epsilon: int, turns: int, by_em: float | None) -> dict[str, object]:
    size, records = len(counts), int(counts.sum())
    ratio = rounding.exp_down(Fraction(epsilon))
    kept = Retention.at((ratio - 1) / (ratio - 1 + size), size)
    criterion = Criterion(np.arange(size, dtype=float), "smooth", records, shape_of(name))
    channel = ordered_channel(OrderedValues(criterion), ratio)
    of_retention = distances(kept, counts, 10 * turns, 1, False)
    kept_smooth = distances(kept, counts, turns, 1, True)
    smoothed = distances(channel, counts, turns, 4, True)
    gain = of_retention.mean / smoothed.mean
    around = Circumstances(records)
    return {
        "attribute": name, "values": size, "records": records, "epsilon": epsilon, "shape": shape_of(name),
        "k": float(k_of(Product({"x": kept}), around)), "k smooth": float(k_of(Product({"x": channel}), around)),
        "retention, smooth": of_retention.mean / kept_smooth.mean, "EM": by_em if by_em is not None else "",
        "smooth": gain, "+-": gain * math.hypot(of_retention.doubt, smoothed.doubt),
        "reached": "yes" if gain >= WANTED_DISTANCE else "no",
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.smooth_channels")
    parser.add_argument("--adult", type=Path, help="the Adult table as a CSV")
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--into", type=Path, default=RESULTS)
    parser.add_argument("--picture", type=Path, help="only draw what is stored")
    given = parser.parse_args()
    if given.picture is not None:
        draw_stored(given.picture)
        return
    by_em, rows = stored_gains("Wasserstein"), []
    for name, counts in attributes(given.adult):
        for epsilon in EPSILONS:
            turns = given.turns if len(counts) <= FEW_VALUES else given.turns // 3
            rows.append(row(name, counts, epsilon, turns, by_em.get((name, len(counts), epsilon))))
            print(" ".join(shown(rows[-1][h]) for h in HEADINGS), flush=True)
    lines = [
        "# Channels for smooth columns, with smoothed estimates",
        "",
        f"`python -m benchmarks.smooth_channels`, {tables.now()}, {given.turns} turns, a third of them with more "
        f"than {FEW_VALUES} values (ten times as many for retention with EM). Times less Wasserstein distance "
        f"than with that; wanted: {WANTED_DISTANCE:g}. "
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
