"""The collusion audit: Appendix 2 on a table, against exact fractions, and against releases that do leak."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.statistical.thresholds import SEPARATES_LEVEL_LAWS
from tests.theory.formulas import independent_posterior, reconstruction_probability

from pramana.holder.audit.collusion import (
    GroupValues,
    alone_posterior,
    chain_posterior,
    collusion,
    independent_posteriors,
)
from pramana.mechanisms.history import RecordedLevels
from pramana.mechanisms.levels import KeyedLevels, LevelDesign, Uniform, Weighted
from pramana.randomness.key import Key
from pramana.theory import levels
from pramana.theory.levels import Level

SKEWED = (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6))


def table(size: int, rows: int, seed: int = 3) -> Any:
    return np.minimum(np.random.default_rng(seed).geometric(0.4, rows) - 1, size - 1).astype(np.uint8)


def source_of(design: LevelDesign, seed: int) -> KeyedLevels:
    key = Key.from_seed(seed)
    return KeyedLevels(design, lambda purpose, column: key.stream(purpose, "", column))


@pytest.mark.parametrize("law", [Uniform(3), Weighted.of(SKEWED)], ids=["uniform", "skewed"])
def test_posteriors_equal_the_exact_ones_row_by_row(law: Any) -> None:
    design, rows = LevelDesign({"a": law}), 300
    true = {"a": table(3, rows)}
    prior = tuple(Fraction(int(n), rows) for n in np.bincount(true["a"], minlength=3))
    asked = [Level.of(p) for p in ("0.3", "0.1", "0.5")]
    versions = [source_of(design, 1).version(level, true)["a"] for level in asked]
    cells = GroupValues.of(design, ("a",), true)
    seen = [(level, cells.code({"a": v})) for level, v in zip(asked, versions, strict=True)]
    ordered = sorted(seen, key=lambda member: -member[0].steps)
    chain, alone = chain_posterior(cells, ordered), alone_posterior(cells, *ordered[0])
    apart = independent_posteriors(cells, seen)
    for i in range(rows):
        x = int(true["a"][i])
        held = {level.retention: int(v[i]) for level, v in zip(asked, versions, strict=True)}
        exact = levels.coalition_posterior(held, prior, law.law)[x]
        assert chain[i] == pytest.approx(float(exact), rel=1e-9)
        assert alone[i] == pytest.approx(float(exact), rel=1e-9)  # Theorem 1
        for m in (1, 2, 3):
            listed = list(held.items())[:m]
            want = independent_posterior(listed, prior, law.law)[x]
            assert apart[m - 1][i] == pytest.approx(float(want), rel=1e-9)


@pytest.mark.parametrize("joint", [False, True])
def test_a_coalition_knows_what_its_best_member_knows(joint: bool) -> None:
    design = LevelDesign({"a": Uniform(6), "b": Uniform(4)}, joint=joint)
    true = {"a": table(6, 8000), "b": table(4, 8000, 4)}
    for source in (source_of(design, 5), RecordedLevels(design, 8000)):
        versions = [(Level.of(p), source.version(Level.of(p), true)) for p in ("0.2", "0.5", "0.4", "0.1")]
        found = collusion(design, true, versions)
        assert found.together == pytest.approx(found.best_alone, abs=1e-12)
        assert found.useless and found.best_level == Level.of("0.5") and found.members == 4
        assert found.prior < found.best_alone < found.independent
        assert [m for m, _, _ in found.by_size] == [1, 2, 3, 4]


def test_independent_releases_are_caught_and_leak() -> None:
    design, rows = LevelDesign({"a": Uniform(6)}), 20_000
    true = {"a": table(6, rows)}
    versions = [
        (Level.of(p), source_of(design, seed).version(Level.of(p), true)) for seed, p in enumerate(("0.5", "0.4"))
    ]
    found = collusion(design, true, versions)
    assert not found.useless and found.p_value < SEPARATES_LEVEL_LAWS


def test_the_mean_is_what_theory_expects() -> None:
    design, rows = LevelDesign({"a": Uniform(5)}), 60_000
    true = {"a": table(5, rows)}
    prior = tuple(Fraction(int(n), rows) for n in np.bincount(true["a"], minlength=5))
    level = Level.of("0.3")
    found = collusion(design, true, [(level, source_of(design, 2).version(level, true))])
    expected = float(reconstruction_probability(level.retention, prior, design.laws["a"].law))
    assert found.together == pytest.approx(expected, abs=5 * 0.5 / np.sqrt(rows))


def test_levels_zero_and_one() -> None:
    design = LevelDesign({"a": Uniform(5)})
    true = {"a": table(5, 3000)}
    for p, want in (("0", None), ("1", 1.0)):
        level = Level.of(p)
        found = collusion(design, true, [(level, source_of(design, 2).version(level, true))] * 2)
        assert found.together == pytest.approx(found.prior if want is None else want)
    with pytest.raises(ValueError):
        collusion(design, true, [])


def test_values_that_occur_nowhere_in_the_table() -> None:
    design = LevelDesign({"a": Uniform(200)})
    true = {"a": np.zeros(500, np.uint8)}
    found = collusion(design, true, [(Level.of("0.2"), source_of(design, 2).version(Level.of("0.2"), true))])
    assert found.together == found.best_alone == 1.0  # whoever knows the frequencies knows all
