"""Three recipients, simulated: how far collusion and single versions depart from the theorems, and by chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.mechanisms.levels import KeyedLevels, LevelDesign, Uniform, Weighted
from pramana.randomness.key import Key
from pramana.randomness.samplers import Codes, code_dtype
from pramana.theory.levels import Level

Floats = NDArray[np.float64]
LEVELS = (Level.of("0.3"), Level.of("0.1"), Level.of("0.5"))  # Alice, Bob, Charlie
_BATCH = 1 << 22
_ENOUGH = 50  # simulations behind a distribution, below which its deviation says nothing


@dataclass(frozen=True)
class Worst:
    """The distribution furthest from the one it should be, among `compared`, and what chance explains.

    `by_chance` is the median of the largest deviation if the theorem holds, `at_most` its 99 % point.
    `independent` is the largest deviation of independent releases, in the same number of simulations.
    """

    place: tuple[int, ...]
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
            "at": " ".join(map(str, self.place)),
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
    together = _counts(law, simulations, seed, _one_process(size, seed))
    apart = _counts(law, simulations, seed, _independently(size, seed))
    unrelated = _collusion(apart, simulations)
    found = _collusion(together, simulations)
    return Trial(
        Worst(**{**vars(found), "independent": unrelated.deviation}), _equivalence(together, size, simulations)
    )


Versions = Callable[[Codes, int], list[Codes]]  # true codes and the number of the first -> a version for each


def _one_process(size: int, seed: int) -> Versions:
    design, key = LevelDesign({"x": Uniform(size)}), Key.from_seed(seed)

    def versions(true: Codes, first: int) -> list[Codes]:
        source = KeyedLevels(design, lambda purpose, column: key.stream(purpose, "together", column), first)
        return [source.version(level, {"x": true})["x"] for level in LEVELS]

    return versions


def _independently(size: int, seed: int) -> Versions:
    design, key = LevelDesign({"x": Uniform(size)}), Key.from_seed(seed)

    def one(level: Level, true: Codes, first: int) -> Codes:
        source = KeyedLevels(design, lambda purpose, column: key.stream(purpose, f"apart {level}", column), first)
        return source.version(level, {"x": true})["x"]

    return lambda true, first: [one(level, true, first) for level in LEVELS]


def _counts(law: Floats, simulations: int, seed: int, versions: Versions) -> NDArray[np.int64]:
    """F[x, ya, yb, yc]."""
    size = len(law)
    drawn, stream = Weighted.of([float(p) for p in law]), Key.from_seed(seed).stream("experiment", "truth")
    total = np.zeros(size**4, np.int64)
    for first in range(0, simulations, _BATCH):
        rows = min(_BATCH, simulations - first)
        true = np.empty(rows, code_dtype(size))
        _fill(true, drawn, stream.blocks(first, rows))
        code = true.astype(np.int64)
        for version in versions(true, first):
            code = code * size + version
        total += np.bincount(code, minlength=size**4)
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
    places = np.stack(np.unravel_index(np.arange(len(behind)), (size,) * 3), axis=1)
    return _worst(measured, expected, behind, places, simulations)


def _equivalence(counts: NDArray[np.int64], size: int, simulations: int) -> Worst:
    """Eq. 16 over all recipients and x: P(Y = y | X = x) against uniform perturbation."""
    measured, expected, behind, places = [], [], [], []
    for i, level in enumerate(LEVELS):
        others = tuple(axis for axis in (1, 2, 3) if axis != i + 1)
        pairs = counts.sum(axis=others)
        rho = float(level.retention)
        behind.append(pairs.sum(axis=1))
        measured.append(pairs / np.maximum(behind[-1], 1)[:, None])
        expected.append(np.full((size, size), (1 - rho) / size) + rho * np.eye(size))
        places += [(i, x) for x in range(size)]
    return _worst(
        np.concatenate(measured), np.concatenate(expected), np.concatenate(behind), np.array(places), simulations
    )


def _worst(
    measured: Floats, expected: Floats, behind: NDArray[np.int64], places: NDArray[np.int64], simulations: int
) -> Worst:
    told = behind >= _ENOUGH
    measured, expected, behind, places = measured[told], expected[told], behind[told], places[told]
    deviation = np.sqrt(((measured - expected) ** 2).sum(axis=1))
    at = int(deviation.argmax())
    by_chance, at_most = _largest_by_chance(expected, behind)
    place = tuple(int(p) for p in places[at])
    return Worst(
        place, measured[at], expected[at], float(deviation[at]), by_chance, at_most, len(behind), int(behind[at]),
        simulations,
    )  # fmt: skip


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
    found = [float(optimize.brentq(excess, low, high, args=(share,), xtol=1e-6)) for share in (0.5, 0.99)]
    return float(np.exp(found[0] / 2)), float(np.exp(found[1] / 2))
