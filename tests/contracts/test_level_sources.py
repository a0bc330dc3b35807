"""One suite for everything that issues versions at levels: the keyed process and multi-pert with its history."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.statistical.thresholds import SEPARATES_LEVEL_LAWS

from pramana.mechanisms.history import RecordedLevels
from pramana.mechanisms.levels import KeyedLevels, LevelDesign, LevelSource, Uniform, Weighted
from pramana.randomness.key import Key
from pramana.randomness.samplers import code_dtype
from pramana.theory import levels
from pramana.theory.levels import Level

ROWS = 60_000
SKEWED = (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6))


def tape(key: Key) -> Callable[[int], np.ndarray[Any, Any]]:
    """Words one after another from one keyed stream, in place of entropy."""
    stream, place = key.stream("test"), 0

    def words(count: int) -> np.ndarray[Any, Any]:
        nonlocal place
        place += count
        return stream.words(place - count, count)

    return words


def keyed(design: LevelDesign, seed: int, rows: int) -> LevelSource:
    del rows
    key = Key.from_seed(seed)
    return KeyedLevels(design, lambda purpose, column: key.stream(purpose, design.digest, column))


def recorded(design: LevelDesign, seed: int, rows: int) -> LevelSource:
    return RecordedLevels(design, rows, tape(Key.from_seed(seed)))


Make = Callable[[LevelDesign, int, int], LevelSource]
both = pytest.mark.parametrize("make", [keyed, recorded])


def column(size: int, rows: int = ROWS, seed: int = 5) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(0, size, rows).astype(code_dtype(size))


def departure(source: LevelSource, asked: list[str], law: levels.Law, wanted: list[str]) -> float:
    """p-value of the versions' joint counts, per true value, against the closed form at the `wanted` levels."""
    size = len(law)
    true = column(size)
    versions = [source.version(Level.of(p), {"a": true})["a"] for p in asked]
    statistic, freedom = 0.0, 0
    for x in range(size):
        rows = true == x
        code = np.zeros(rows.sum(), np.int64)
        for version in versions:
            code = code * size + version[rows]
        seen = np.bincount(code, minlength=size ** len(asked))
        joint = levels.joint_law([Level.of(p).retention for p in wanted], law, x)
        expected = np.array([float(joint[v]) for v in product(range(size), repeat=len(asked))]) * rows.sum()
        statistic += float(((seen - expected) ** 2 / expected).sum())
        freedom += len(expected) - 1
    return float(stats.chi2.sf(statistic, freedom))


@both
@pytest.mark.parametrize(
    "law", [Uniform(2), Uniform(3), Uniform(5), Weighted.of(SKEWED)], ids=lambda x: str(x.size)
)
def test_joint_law_of_three_recipients(make: Make, law: Uniform | Weighted) -> None:
    """The true law passes; a stronger and a weaker one, in any of the three levels, are both rejected."""
    design, asked = LevelDesign({"a": law}), ["0.3", "0.1", "0.5"]
    assert departure(make(design, 11, ROWS), asked, law.law, asked) > SEPARATES_LEVEL_LAWS
    for wrong in (["0.33", "0.1", "0.5"], ["0.27", "0.1", "0.5"], ["0.3", "0.07", "0.5"], ["0.3", "0.1", "0.53"]):
        assert departure(make(design, 11, ROWS), asked, law.law, wrong) < SEPARATES_LEVEL_LAWS


@both
def test_independent_releases_would_be_caught(make: Make) -> None:
    class Independent:
        design = LevelDesign({"a": Uniform(3)})
        seed = 0

        def version(self, level: Level, codes: Any) -> Any:
            self.seed += 1
            return make(self.design, self.seed, ROWS).version(level, codes)

    asked = ["0.5", "0.3"]
    assert departure(Independent(), asked, levels.uniform_law(3), asked) < SEPARATES_LEVEL_LAWS


@both
def test_the_same_level_gives_the_same_bytes_in_any_order(make: Make) -> None:
    design = LevelDesign({"a": Uniform(7), "b": Uniform(300)})
    true = {"a": column(7, 500), "b": column(300, 500)}
    source = make(design, 3, 500)
    first: dict[str, bytes] = {}
    for p in ["0.4", "0.9", "0.2", "0", "0.4", "0.55", "1", "0.2", "0.41", "0.9", "0", "0.55", "1", "0.41"]:
        version = source.version(Level.of(p), true)
        found = b"".join(version[name].tobytes() for name in design.laws)
        assert first.setdefault(p, found) == found
    assert first["1"] == true["a"].tobytes() + true["b"].tobytes()


@both
def test_the_true_codes_are_left_alone(make: Make) -> None:
    true = column(5, 300)
    before = true.copy()
    version = make(LevelDesign({"a": Uniform(5)}), 1, 300).version(Level.of("0.2"), {"a": true})["a"]
    assert np.array_equal(true, before) and version.dtype == true.dtype and version.max() < 5


@both
def test_a_joint_domain_keeps_or_redraws_the_whole_record(make: Make) -> None:
    """Sizes so large that a redraw is seen: at each level both columns are the truth, or neither is."""
    design = LevelDesign({"a": Uniform(40_000), "b": Uniform(100_000)}, joint=True)
    rows = 20_000
    true = {"a": column(40_000, rows), "b": column(100_000, rows, 6)}
    source = make(design, 2, rows)
    for p in ("0.5", "0.25"):
        version = source.version(Level.of(p), true)
        kept = version["a"] == true["a"]
        assert ((version["b"] == true["b"]) ^ kept).sum() <= 5  # a redraw that hits by chance
        assert stats.binomtest(int(kept.sum()), rows, float(p) + 1 / 40_000).pvalue > SEPARATES_LEVEL_LAWS


@both
def test_separate_chains_are_independent(make: Make) -> None:
    design = LevelDesign({"a": Uniform(1000), "b": Uniform(1000)})
    rows = 40_000
    true = {"a": column(1000, rows), "b": column(1000, rows, 6)}
    version = make(design, 2, rows).version(Level.of("0.5"), true)
    table = np.zeros((2, 2))
    np.add.at(table, ((version["a"] == true["a"]).astype(int), (version["b"] == true["b"]).astype(int)), 1)
    assert stats.chi2_contingency(table, correction=False).pvalue > SEPARATES_LEVEL_LAWS


@both
def test_level_zero_tells_nothing(make: Make) -> None:
    true = column(4)
    source = make(LevelDesign({"a": Uniform(4)}), 8, ROWS)
    near = source.version(Level.of("0.000000000001"), {"a": true})["a"]
    zero = source.version(Level.of("0"), {"a": true})["a"]
    for other in (true, near):
        table = np.zeros((4, 4))
        np.add.at(table, (other, zero), 1)
        assert stats.chi2_contingency(table, correction=False).pvalue > SEPARATES_LEVEL_LAWS


@both
def test_empty_tables(make: Make) -> None:
    version = make(LevelDesign({"a": Uniform(4)}), 1, 0).version(Level.of("0.5"), {"a": np.zeros(0, np.uint8)})
    assert len(version["a"]) == 0
