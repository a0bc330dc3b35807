"""Paper 3, section 7: Figures 5 to 8.

Figures 5 and 6 simulate three recipients at .3, .1 and .5 and look for the worst case among all combinations
of values. A worst case among thousands is large by chance alone: beside each stands the largest deviation that
sampling would bring if the theorems hold, and the one that independent releases show. The paper's Adult table
is replaced by the generated earners, which have its attributes and its domain sizes for salary and occupation.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.datasets.census import salaries
from pramana.experiments.outputs import Outputs
from pramana.holder.audit.collusion import (
    GroupValues,
    Holding,
    alone_posterior,
    independent_posteriors,
    independent_versions,
)
from pramana.mechanisms.history import History, RecordedLevels
from pramana.mechanisms.levels import KeyedLevels, LevelDesign, Uniform, Weighted
from pramana.pages.figures import Panel, Picture, Series
from pramana.pages.results import coalition_picture
from pramana.randomness.key import Key
from pramana.randomness.samplers import Codes, code_dtype, joint_codes
from pramana.theory import levels
from pramana.theory.levels import Level

Floats = NDArray[np.float64]
LEVELS = (Level.of("0.3"), Level.of("0.1"), Level.of("0.5"))  # Alice, Bob, Charlie
_BATCH = 1 << 22
_ENOUGH = 50  # simulations behind a distribution, below which its deviation says nothing


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
    followed: int  # rows whose history is followed through every level
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
    position = (np.arange(size) - (size - 1) / 2) / (size / 6)
    law = np.exp(-(position**2) / 2)
    return np.asarray(law / law.sum(), np.float64)


def shares(codes: Codes, size: int) -> NDArray[np.float64]:
    counts = np.bincount(codes, minlength=size)
    return np.asarray(counts / counts.sum(), np.float64)


def retentions(count: int) -> list[Level]:
    """Drawn uniformly from the paper's range, all different."""
    words = Key.from_seed(SEED).stream("experiment", "retentions").words(0, 4 * count)
    share = words.astype(np.float64) / 2.0**64
    drawn = dict.fromkeys(Level.of(f"{LOWEST + (HIGHEST - LOWEST) * x:.9f}") for x in share)
    return list(drawn)[:count]


# ---------------------------------------------------------------- Figures 5 and 6


def figure_5(outputs: Outputs, trials: dict[str, Trial]) -> None:
    """Collusion of Alice (.3), Bob (.1) and Charlie (.5) against Charlie alone."""
    worst = {f"{name}: y = {', '.join(map(str, t.collusion.position))}": t.collusion for name, t in trials.items()}
    names = ("all three together", "Charlie alone")
    _draw_worst(outputs, "5: the most dissimilar pair of distributions", worst, names, ("x", "P(X = x | seen)"))


def figure_6(outputs: Outputs, trials: dict[str, Trial]) -> None:
    """Each recipient's version against uniform perturbation."""
    worst = {}
    for name, trial in trials.items():
        recipient, x = trial.equivalence.position
        worst[f"{name}: recipient {'abc'[recipient]}, x = {x}"] = trial.equivalence
    names = ("measured", "uniform perturbation")
    _draw_worst(outputs, "6: the most erroneous version", worst, names, ("y", "P(Y = y | X = x)"))


def _draw_worst(
    outputs: Outputs, title: str, worst: Mapping[str, Worst], names: tuple[str, str], labels: tuple[str, str]
) -> None:
    """Figure and table `title`: of each law, by the title of its panel, what was measured and expected."""
    stem = f"levels-figure-{title[0]}"
    outputs.table([{"law": name.split(":")[0], **case.to_row()} for name, case in worst.items()], stem)
    panels = []
    for name, case in worst.items():
        values = [float(x) for x in range(len(case.measured))]
        laws = zip(names, (case.measured, case.expected), strict=True)
        series = [Series(words, values, list(map(float, law))) for words, law in laws]
        panels.append(Panel(series, name, *labels, from_zero=True))
    outputs.figure(Picture(panels, f"Figure {title}"), stem)


# ---------------------------------------------------------------- Figure 7


def figure_7(outputs: Outputs, salary: Codes, sizes: Sizes) -> None:
    """Mean reconstruction probability of a growing coalition, with retentions drawn from [.001, .5]."""
    design, true = LevelDesign({"salary": Uniform(50)}), {"salary": salary[: sizes.audited].copy()}
    cells, wanted = GroupValues.of(design, ("salary",), true), retentions(sizes.coalition)
    key = Key.from_seed(SEED)
    source = KeyedLevels(design, lambda purpose, column: key.stream(purpose, "figure 7", column))
    seen = [(level, cells.code(source.version(level, true))) for level in wanted]
    apart = independent_posteriors(cells, independent_versions(cells, true, [level for level, _ in seen]))
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
    wanted = retentions(sizes.levels + 1)
    *earlier, fresh = wanted
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

    panel = partial(Panel, x_label="versions issued before", log_x=True, from_zero=True)
    space = [line(name, name, "entries per row") for name in ORDERS]
    pace = [line(name, name, "multi-pert ms") for name in ORDERS]
    pace.append(line("keyed process", "random", "process ms"))
    panels = [
        panel(space, title="a. history(t) of multi-pert", y_label="entries per row"),
        panel(pace, title=f"b. CPU time, {timed:,} rows", y_label="ms"),
    ]
    return Picture(panels, "Figure 8: overhead")


def _overhead(
    name: str, order: list[Level], fresh: Level, marks: list[int], salary: Codes, sizes: Sizes
) -> list[dict[str, Any]]:
    design = LevelDesign({"salary": Uniform(50)})
    true = {"salary": np.resize(salary, sizes.followed)}
    source = RecordedLevels(design, sizes.followed)
    key, rows = Key.from_seed(SEED), []
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
        rows.append(
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
    return rows


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
    spent = []
    for _ in range(times):
        start = time.process_time()
        work()
        spent.append(1000 * (time.process_time() - start))
    return min(spent)


# ---------------------------------------------------------------- three recipients, simulated


@dataclass(frozen=True)
class Worst:
    """The distribution furthest from the one it should be, among `compared`, and what chance explains.

    `by_chance` is the median of the largest deviation if the theorem holds, `at_most` its 99 % point.
    `independent` is the largest deviation of independent releases, in the same number of simulations.
    """

    position: tuple[int, ...]
    measured: Floats
    expected: Floats
    deviation: float
    by_chance: float
    at_most: float
    compared: int
    behind: int
    simulations: int
    independent: float | None = None

    def to_row(self) -> dict[str, Any]:
        row: dict[str, Any] = {
            "simulations": self.simulations,
            "distributions": self.compared,
            "largest deviation": self.deviation,
            "at": " ".join(map(str, self.position)),
            "simulations behind it": self.behind,
            "by chance (median)": self.by_chance,
            "by chance (99 %)": self.at_most,
            "within chance": bool(self.deviation <= self.at_most),
        }
        if self.independent is not None:
            row["independent releases"] = self.independent
        return row


@dataclass(frozen=True)
class Trial:
    """The worst case of Figure 5 and that of Figure 6."""

    collusion: Worst
    equivalence: Worst


def simulate(law: Floats, simulations: int, seed: int) -> Trial:
    """Values drawn from `law`, versions for the three, and all s^4 combinations counted."""
    size = len(law)
    together = _counts(law, simulations, seed, independent=False)
    apart = _counts(law, simulations, seed, independent=True)
    collusion = replace(_collusion(together, simulations), independent=_collusion(apart, simulations).deviation)
    return Trial(collusion, _equivalence(together, size, simulations))


def _version(size: int, seed: int, context: str, level: Level, true: Codes, first: int) -> Codes:
    design, key = LevelDesign({"x": Uniform(size)}), Key.from_seed(seed)
    source = KeyedLevels(design, lambda purpose, column: key.stream(purpose, context, column), first)
    return source.version(level, {"x": true})["x"]


def _counts(law: Floats, simulations: int, seed: int, independent: bool) -> NDArray[np.int64]:
    """F[x, ya, yb, yc], of versions of one process or of independent ones."""
    size = len(law)
    contexts = {level: f"apart {level}" if independent else "together" for level in LEVELS}
    drawn, stream = Weighted.of([float(p) for p in law]), Key.from_seed(seed).stream("experiment", "truth")
    total = np.zeros(size**4, np.int64)
    for first in range(0, simulations, _BATCH):
        rows = min(_BATCH, simulations - first)
        true = np.empty(rows, code_dtype(size))
        _fill(true, drawn, stream.blocks(first, rows))
        versions = [_version(size, seed, context, level, true, first) for level, context in contexts.items()]
        total += np.bincount(joint_codes([true, *versions], (size,) * 4), minlength=size**4)
    return total.reshape((size,) * 4)


def _fill(out: Codes, law: Weighted, blocks: NDArray[np.uint64]) -> None:
    law.draw(lambda _rows, _attempt: blocks, np.arange(len(out), dtype=np.uint32), out)


def _collusion(counts: NDArray[np.int64], simulations: int) -> Worst:
    """Eq. 15 over all ya, yb, yc: the posterior of all three against that of Charlie."""
    size = len(counts)
    behind = counts.sum(axis=0).reshape(-1)
    measured = counts.reshape(size, -1).T / np.maximum(behind, 1)[:, None]
    alone = counts.sum(axis=(1, 2))
    expected = np.tile((alone / np.maximum(alone.sum(axis=0), 1)).T, (size * size, 1))
    positions = np.stack(np.unravel_index(np.arange(len(behind)), (size,) * 3), axis=1)
    return _worst(measured, expected, behind, positions, simulations)


def _equivalence(counts: NDArray[np.int64], size: int, simulations: int) -> Worst:
    """Eq. 16 over all recipients and x: P(Y = y | X = x) against uniform perturbation."""
    measured, expected, behind, positions = [], [], [], []
    for i, level in enumerate(LEVELS):
        others = tuple(axis for axis in (1, 2, 3) if axis != i + 1)
        pairs = counts.sum(axis=others)
        rho = float(level.retention)
        behind.append(pairs.sum(axis=1))
        measured.append(pairs / np.maximum(behind[-1], 1)[:, None])
        expected.append(np.full((size, size), (1 - rho) / size) + rho * np.eye(size))
        positions += [(i, x) for x in range(size)]
    return _worst(
        np.concatenate(measured),
        np.concatenate(expected),
        np.concatenate(behind),
        np.array(positions),
        simulations,
    )


def _worst(
    measured: Floats, expected: Floats, behind: NDArray[np.int64], positions: NDArray[np.int64], simulations: int
) -> Worst:
    known = behind >= _ENOUGH
    measured, expected, behind, positions = measured[known], expected[known], behind[known], positions[known]
    deviation = np.sqrt(((measured - expected) ** 2).sum(axis=1))
    at = int(deviation.argmax())
    by_chance, at_most = _largest_by_chance(expected, behind)
    position = tuple(int(p) for p in positions[at])
    worst = position, measured[at], expected[at], float(deviation[at])
    return Worst(*worst, by_chance, at_most, len(behind), int(behind[at]), simulations)


def _largest_by_chance(law: Floats, behind: NDArray[np.int64]) -> tuple[float, float]:
    """Median and 99 % point of the largest L2 distance between each law and as many draws from it.

    The squared distance is a sum of squared normals with the weights of (diag f - f f')/n; a shifted gamma law
    of the same three moments stands for it, and the cells are nearly independent.
    """
    from scipy import optimize, stats

    second, third, fourth = ((law**power).sum(axis=1) for power in (2, 3, 4))
    mean = (1 - second) / behind
    squares = (second - 2 * third + second**2) / behind.astype(np.float64) ** 2
    cubes = (third - 3 * fourth + 3 * second * third - second**3) / behind.astype(np.float64) ** 3
    deviation = np.sqrt(2 * squares)
    skewness = 8 * cubes / deviation**3
    shape, scale = 4 / skewness**2, deviation * skewness / 2
    shift = mean - shape * scale

    def excess(log_square: float, share: float) -> float:
        known = stats.gamma.logcdf(np.exp(log_square), shape, shift, scale)
        return max(float(known.sum() - np.log(share)), -1e12)

    low, high = float(np.log(mean.min())) - 5, float(np.log(mean.max())) + 8
    ends = [float(optimize.brentq(excess, low, high, args=(share,), xtol=1e-6)) for share in (0.5, 0.99)]
    return float(np.exp(ends[0] / 2)), float(np.exp(ends[1] / 2))
