"""Channels for values in order beside retention: the error of means and distribution functions at one epsilon.

    python -m benchmarks.channels [--adult CSV] [--turns N] [--into FOLDER] [--picture FILE]

One attribute, randomised at a local epsilon by retention, by the channel for its mean and by the one for its
distribution function. k is that of 1 + (R-1)*AR, from the integers that would be sampled. Retention is estimated
by EM, its maximum likelihood, which it has in closed form (20 times as many turns); so are the others, and means
by inversion as well, which is what `Study.mean` does and whose squared error is known without any turn. Truth is
the table itself.

- The generated census has 18 bands of age and 12 of income. Here a person's year and amount are drawn evenly
  within the band (fixed seed), and cut into as many equal values as a row says.
- Adult's income has two classes, so hours per week take its place.
- *criterion, at most*: how many times less the criterion of the distribution function (a squared error, where all
  values are equally frequent) could be by any channel of intervals, whatever the number of published values: a
  bound from linear programs, for up to 50 values. It speaks of the criterion and not of these tables, whose gain
  may be larger; a Wasserstein distance goes about with the square root of it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks import tables
from pramana.datasets.adult import adult
from pramana.datasets.census import census
from pramana.mechanisms.channel import Channel, Retention
from pramana.mechanisms.guarantees import Circumstances, k_of
from pramana.mechanisms.table import Product
from pramana.methods.retention.ordered import (
    Criterion,
    OrderedValues,
    interval_design,
    kept_or_redrawn,
    ordered_channel,
)
from pramana.recipient.law import PublishedTable
from pramana.recipient.likelihood import fit
from pramana.schema.domain import Axis
from pramana.theory import rounding

RESULTS = Path(__file__).resolve().parent / "results"
EPSILONS = (1, 2, 4)
WANTED_MEAN, WANTED_DISTANCE = 3.0, 2.0
HEADINGS = ("attribute", "values", "records", "epsilon", "k", "k ordered", "mean", "mean by inversion",
            "Wasserstein", "criterion, at most", "reached", "s")  # fmt: skip
_AGES = [*range(0, 90, 5), 100]
_INCOMES = [-10_000, 0, 1, *range(5_000, 35_000, 5_000), 40_000, 50_000, 75_000, 100_000]
Counts = np.ndarray[tuple[int], np.dtype[np.int64]]


def spread_evenly(codes: Sequence[int], edges: Sequence[int], values: int, seed: int) -> Counts:
    """Counts of equal parts of the line, people drawn evenly within their bands."""
    places, ends = np.asarray(codes, int), np.asarray(edges, float)
    drawn = ends[places] + np.random.default_rng(seed).random(len(places)) * np.diff(ends)[places]
    return np.histogram(drawn, bins=values, range=(max(0.0, ends[0]), ends[-1]))[0]


def attributes(adult_csv: Path | None) -> list[tuple[str, Counts]]:
    people = census(100_000, seed=11)
    codes = dict(zip(people.names, people.codes, strict=True))
    chosen = [(f"census, {name}", spread_evenly(codes[name].tolist(), edges, values, 5))
              for name, edges in (("age", _AGES), ("income", _INCOMES)) for values in (20, 50, 100)]  # fmt: skip
    if adult_csv is not None:
        table = adult(adult_csv)
        for name in ("age", "hours-per-week"):
            place = table.names.index(name)
            chosen.append((f"Adult, {name}", np.bincount(table.codes[place], minlength=len(table.labels[place]))))
    return chosen


def published(channel: Channel, counts: Counts, chance: np.random.Generator) -> Counts:
    """The sum of what the people of each value publish."""
    law = channel.weights / 2.0**62
    return sum(chance.multinomial(int(n), row / row.sum()) for n, row in zip(counts, law, strict=True))  # type: ignore[return-value]


def squared_error_by_inversion(channel: Channel, counts: Counts) -> float:
    """Of the mean, exactly: what each person's draw varies."""
    law, line = channel.weights / 2.0**62, np.linspace(0, 1, len(counts))
    return float(counts @ (law @ np.linalg.solve(law, line) ** 2 - line**2)) / int(counts.sum()) ** 2


def errors(channel: Channel, counts: Counts, turns: int, seed: int) -> tuple[float, float]:
    """Squared error of the mean, and Wasserstein distance, by EM."""
    line, truth = np.linspace(0, 1, len(counts)), counts / counts.sum()
    chance, drawn = np.random.default_rng(seed), []
    axis = Axis.of_labels("x", [str(i) for i in range(len(counts))])
    for _ in range(turns):
        table = PublishedTable.of_counts([axis], published(channel, counts, chance), Product({"x": channel}))
        shares = fit(table).values / counts.sum()
        distance = np.abs(np.cumsum(shares - truth))[:-1] @ np.diff(line)
        drawn.append(((line @ (shares - truth)) ** 2, distance))
    mean, distance = np.mean(drawn, axis=0)
    return float(mean), float(distance)


def row(name: str, counts: Counts, epsilon: int, turns: int) -> dict[str, object]:
    size, records = len(counts), int(counts.sum())
    ratio = rounding.exp_down(Fraction(epsilon))
    kept = Retention.at((ratio - 1) / (ratio - 1 + size), size)
    start = time.perf_counter()
    line = np.arange(size, dtype=float)
    for_mean, for_distribution = (Criterion(line, of, records) for of in ("mean", "distribution"))
    channels = [ordered_channel(OrderedValues(c), ratio) for c in (for_mean, for_distribution)]
    spent = (time.perf_counter() - start) / 2
    plain = kept_or_redrawn(size, float(ratio))
    bound = interval_design(for_distribution, float(ratio)).bound if size <= 50 else 0.0
    possible = for_distribution.risk(for_distribution.information(plain)) / bound if bound > 0 else ""
    mean, distance = errors(kept, counts, 20 * turns, 1)
    mean_ordered, _ = errors(channels[0], counts, turns, 2)
    inverted = squared_error_by_inversion(channels[0], counts)
    _, distance_ordered = errors(channels[1], counts, turns, 3)
    around = Circumstances(records)
    ks = [float(k_of(Product({"x": c}), around)) for c in (kept, *channels)]
    gains = (mean / inverted, distance / distance_ordered)
    bars = {"mean": WANTED_MEAN, "Wasserstein": WANTED_DISTANCE}
    missed = [what for (what, bar), gain in zip(bars.items(), gains, strict=True) if gain < bar]
    return {
        "attribute": name, "values": size, "records": records, "epsilon": epsilon,
        "k": ks[0], "k ordered": min(ks[1:]),
        "mean": mean / mean_ordered, "mean by inversion": mean / inverted,
        "Wasserstein": gains[1], "criterion, at most": possible,
        "reached": "both" if not missed else "not " + ", not ".join(missed), "s": spent,
    }  # fmt: skip


def shown(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def picture(rows: list[dict[str, object]], target: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True)
    names = [f"{r['attribute']} ({r['values']})" for r in rows if r["epsilon"] == EPSILONS[0]][::-1]
    for axis, key, bar in zip(
        axes, ("mean by inversion", "Wasserstein"), (WANTED_MEAN, WANTED_DISTANCE), strict=True
    ):
        for place, epsilon in enumerate(EPSILONS):
            of = [r for r in rows if r["epsilon"] == epsilon][::-1]
            gains = [r[key] for r in of]
            axis.scatter(gains, range(len(of)), label=f"epsilon {epsilon}", marker="osD"[place])
        axis.axvline(bar, color="black", linewidth=0.8, linestyle="--")
        axis.axvline(1, color="grey", linewidth=0.6)
        axis.set_xscale("log")
        axis.set_yticks(range(len(names)), names, fontsize=8)
    axes[0].set_title("squared error of the mean: times less than retention", fontsize=9)
    axes[1].set_title("Wasserstein distance: times less than retention", fontsize=9)
    axes[1].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(target, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.channels")
    parser.add_argument("--adult", type=Path, help="the Adult table as a CSV")
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--into", type=Path, default=RESULTS)
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    rows = []
    for name, counts in attributes(given.adult):
        for epsilon in EPSILONS:
            rows.append(row(name, counts, epsilon, given.turns))
            print(" ".join(shown(rows[-1][h]) for h in HEADINGS), flush=True)
    host = tables.machine()
    lines = [
        "# Channels for values in order, beside retention",
        "",
        f"`python -m benchmarks.channels`, {tables.now()}, {given.turns} turns. {host['processor']}, "
        f"{host['cores']} cores. `mean` and `Wasserstein` say how many times less the error is than with "
        f"retention and EM; wanted are {WANTED_MEAN:g} (by inversion) and {WANTED_DISTANCE:g}. Columns: see "
        "`benchmarks/channels.py`.",
        "",
        "| " + " | ".join(HEADINGS) + " |",
        "|---" + "|---:" * (len(HEADINGS) - 1) + "|",
        *("| " + " | ".join(shown(r[h]) for h in HEADINGS) + " |" for r in rows),
    ]
    given.into.mkdir(parents=True, exist_ok=True)
    (given.into / "channels.md").write_text("\n".join(lines) + "\n", "utf-8")
    if given.picture is not None:
        picture(rows, given.picture)


if __name__ == "__main__":
    main()
