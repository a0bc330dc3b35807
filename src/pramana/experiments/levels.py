"""Paper 3, section 7: Figures 5 to 8.

Figures 5 and 6 simulate three recipients at .3, .1 and .5 and look for the worst case among all combinations
of values. A worst case among thousands is large by chance alone: beside each stands the largest deviation that
sampling would bring if the theorems hold, and the one that independent releases show. The paper's Adult table
is replaced by the generated earners, which have its attributes and its domain sizes for salary and occupation.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.datasets.census import salaries
from pramana.experiments.level_simulation import Trial, simulate
from pramana.experiments.outputs import Outputs
from pramana.holder.audit.collusion import (
    GroupValues,
    Holding,
    alone_posterior,
    independent_posteriors,
    independent_versions,
)
from pramana.mechanisms.history import History, RecordedLevels
from pramana.mechanisms.levels import KeyedLevels, LevelDesign, Uniform
from pramana.pages.figures import Panel, Picture, Series
from pramana.pages.results import coalition_picture
from pramana.randomness.key import Key
from pramana.randomness.samplers import Codes
from pramana.theory import levels
from pramana.theory.levels import Level

SEED = 1
LOWEST, HIGHEST = 0.001, 0.5  # the paper's range of retentions
ROWS = 600_000
ORDERS = ("random", "ascending", "descending")


@dataclass(frozen=True)
class Sizes:
    """How much is run: a minute at most when quick, some ten minutes otherwise."""

    simulations: int
    coalition: int
    audited: int
    levels: int
    kept: int  # rows whose history is followed through every level
    timed: int  # rows a version is timed on


QUICK = Sizes(1_000_000, 30, 4_000, 200, 1_000, 20_000)
FULL = Sizes(200_000_000, 60, 60_000, 10_000, 20_000, ROWS)


def run(outputs: Outputs, quick: bool) -> None:
    sizes = QUICK if quick else FULL
    people = salaries(100_000 if quick else ROWS, SEED)
    laws = {
        "uniform": np.full(50, 1 / 50),
        "Gaussian": gaussian(50),
        "salary": shares(people.column("salary"), 50),
        "occupation": shares(people.column("occupation"), 27),
    }
    trials = {name: simulate(law, sizes.simulations, SEED + i) for i, (name, law) in enumerate(laws.items())}
    figure_5(outputs, trials)
    figure_6(outputs, trials)
    figure_7(outputs, people.column("salary"), sizes)
    figure_8(outputs, people.column("salary"), sizes)


def gaussian(size: int) -> NDArray[np.float64]:
    """Figure 4b: a bell over the domain, three standard deviations to each side."""
    place = (np.arange(size) - (size - 1) / 2) / (size / 6)
    law = np.exp(-(place**2) / 2)
    return np.asarray(law / law.sum(), np.float64)


def shares(codes: Codes, size: int) -> NDArray[np.float64]:
    counts = np.bincount(codes, minlength=size)
    return np.asarray(counts / counts.sum(), np.float64)


def retentions(count: int) -> list[Level]:
    """Drawn uniformly from the paper's range, all different."""
    words = Key.from_seed(SEED).stream("experiment", "retentions").words(0, 4 * count)
    share = words.astype(np.float64) / 2.0**64
    found = dict.fromkeys(Level.of(f"{LOWEST + (HIGHEST - LOWEST) * x:.9f}") for x in share)
    return list(found)[:count]


# ---------------------------------------------------------------- Figures 5 and 6


def figure_5(outputs: Outputs, trials: dict[str, Trial]) -> None:
    """Collusion of Alice (.3), Bob (.1) and Charlie (.5) against Charlie alone."""
    outputs.table([{"law": name, **trial.collusion.to_row()} for name, trial in trials.items()], "levels-figure-5")
    panels = []
    for name, trial in trials.items():
        worst = trial.collusion
        values = [float(x) for x in range(len(worst.measured))]
        title = f"{name}: y = {', '.join(map(str, worst.place))}"
        panels.append(
            Panel(
                [
                    Series("all three together", values, list(map(float, worst.measured))),
                    Series("Charlie alone", values, list(map(float, worst.expected))),
                ],
                title=title,
                x_label="x",
                y_label="P(X = x | seen)",
                from_zero=True,
            )
        )
    outputs.figure(Picture(panels, "Figure 5: the most dissimilar pair of distributions"), "levels-figure-5")


def figure_6(outputs: Outputs, trials: dict[str, Trial]) -> None:
    """Each recipient's version against uniform perturbation."""
    outputs.table(
        [{"law": name, **trial.equivalence.to_row()} for name, trial in trials.items()], "levels-figure-6"
    )
    panels = []
    for name, trial in trials.items():
        worst = trial.equivalence
        values = [float(y) for y in range(len(worst.measured))]
        panels.append(
            Panel(
                [
                    Series("measured", values, list(map(float, worst.measured))),
                    Series("uniform perturbation", values, list(map(float, worst.expected))),
                ],
                title=f"{name}: recipient {'abc'[worst.place[0]]}, x = {worst.place[1]}",
                x_label="y",
                y_label="P(Y = y | X = x)",
                from_zero=True,
            )
        )
    outputs.figure(Picture(panels, "Figure 6: the most erroneous version"), "levels-figure-6")


# ---------------------------------------------------------------- Figure 7


def figure_7(outputs: Outputs, salary: Codes, sizes: Sizes) -> None:
    """Mean reconstruction probability of a growing coalition, with retentions drawn from [.001, .5]."""
    design, true = LevelDesign({"salary": Uniform(50)}), {"salary": salary[: sizes.audited].copy()}
    cells, asked = GroupValues.of(design, ("salary",), true), retentions(sizes.coalition)
    key = Key.from_seed(SEED)
    source = KeyedLevels(design, lambda purpose, column: key.stream(purpose, "figure 7", column))
    seen = [(level, cells.code(source.version(level, true))) for level in asked]
    apart = independent_posteriors(cells, independent_versions(design, ("salary",), true, cells, seen))
    best = accumulate(seen, _more_trusted)
    together = [float(alone_posterior(cells, *member).mean()) for member in best]
    by_size = [(m + 1, t, float(a.mean())) for m, (t, a) in enumerate(zip(together, apart, strict=True))]
    outputs.table(
        [{"recipients": m, "one process": t, "independent": a} for m, t, a in by_size], "levels-figure-7"
    )
    outputs.figure(coalition_picture(by_size), "levels-figure-7")


def _more_trusted(known: Holding, new: Holding) -> Holding:
    return max(known, new, key=lambda member: member[0].steps)


# ---------------------------------------------------------------- Figure 8


def figure_8(outputs: Outputs, salary: Codes, sizes: Sizes) -> None:
    """Entries of history(t) and time of a new version against the number of versions issued before."""
    asked = retentions(sizes.levels + 1)
    *earlier, fresh = asked
    orders = {"random": earlier, "ascending": sorted(earlier), "descending": sorted(earlier, reverse=True)}
    marks = [m for m in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000) if m <= sizes.levels]
    rows = [row for name, order in orders.items() for row in _overhead(name, order, fresh, marks, salary, sizes)]
    outputs.table(rows, "levels-figure-8")
    outputs.figure(overhead_picture(rows, sizes.timed), "levels-figure-8")


def overhead_picture(rows: Sequence[Mapping[str, Any]], timed: int) -> Picture:
    """Figure 8 from its table."""

    def line(name: str, order: str, what: str) -> Series:
        of_order = [row for row in rows if row["order"] == order]
        return Series(name, [float(row["versions"]) for row in of_order], [float(row[what]) for row in of_order])

    space = Panel(
        [line(name, name, "entries per row") for name in ORDERS],
        title="a. history(t) of multi-pert",
        x_label="versions issued before",
        y_label="entries per row",
        log_x=True,
        from_zero=True,
    )
    pace = Panel(
        [
            *(line(name, name, "multi-pert ms") for name in ORDERS),
            line("keyed process", "random", "process ms"),
        ],
        title=f"b. CPU time, {timed:,} rows",
        x_label="versions issued before",
        y_label="ms",
        log_x=True,
        from_zero=True,
    )
    return Picture([space, pace], "Figure 8: overhead")


def _overhead(
    name: str, order: list[Level], fresh: Level, marks: list[int], salary: Codes, sizes: Sizes
) -> list[dict[str, Any]]:
    design = LevelDesign({"salary": Uniform(50)})
    true = {"salary": np.resize(salary, sizes.kept)}
    source = RecordedLevels(design, sizes.kept)
    key, found = Key.from_seed(SEED), []
    keyed = KeyedLevels(design, lambda purpose, column: key.stream(purpose, "figure 8", column))
    many = {"salary": np.resize(true["salary"], sizes.timed)}
    for m, level in enumerate(order, 1):
        source.version(level, true)
        if m not in marks:
            continue
        history = source.histories["salary",]
        spread = RecordedLevels(design, sizes.timed, histories={("salary",): _repeated(history, sizes.timed)})
        reached = order[:m]
        bound = levels.history_size(float(max(reached).retention), float(min(reached).retention), 50)
        found.append(
            {
                "order": name,
                "versions": m,
                "entries per row": history.entries_per_row,
                "Lemma 2": bound,
                "bytes per row": history.nbytes / history.rows,
                "multi-pert ms": _milliseconds(lambda s=spread: s.version(fresh, many), 1),
                "process ms": _milliseconds(lambda: keyed.version(fresh, many), 3),
                "process bytes": 0,
            }
        )
    return found


def _repeated(history: History, rows: int) -> History:
    """The history of the followed rows, over and over: as long as the timed table, the same to every step."""
    times = rows // history.rows
    return History(
        history.steps,
        np.tile(history.counts, times),
        np.tile(history.numbers, times),
        np.tile(history.values, times),
    )


def _milliseconds(work: Any, times: int) -> float:
    """CPU time, as the paper measures it; the best of a few."""
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(1000 * (time.process_time() - start))
    return min(found)
