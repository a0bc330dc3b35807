"""A simulated intruder on published tables meets the exact risks, and a matrix with another theta is caught.

Keys and sizes are fixed, so the outcome is always the same. The statistic is a sum of squared standardised
differences over the counts a; its limits are those of a chi-square law at one in a million.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.statistical.thresholds import SEPARATES_INTRUDERS

from pramana.mechanisms.invariant import BlockInvariant, inverse_frequency
from pramana.methods.invariant.blocks import plan_blocks
from pramana.randomness.key import Key
from pramana.randomness.samplers import ONE
from pramana.theory import identification

COUNTS = [2, 106, 194, 205, 221, 230]
RUNS = 20_000


def published(channel: BlockInvariant, runs: int, seed: int) -> np.ndarray:
    """The table published `runs` times; the first record is the target. Returns runs x records codes."""
    table = np.repeat(np.arange(len(COUNTS)), COUNTS).astype(np.uint8)
    codes = np.tile(table, runs)
    words = Key.from_seed(seed).stream("value", "intruder").words(0, len(codes))
    out = np.empty_like(codes)
    channel.publish(words, codes, out)
    return out.reshape(runs, -1)


def statistic(channel: BlockInvariant, claimed: np.ndarray, seed: int) -> tuple[float, int]:
    """How far the share of targets among the a records of their category is from a R1(a,t), over a = 1 .. 5."""
    seen = published(channel, RUNS, seed)
    count, at_home = (seen == 0).sum(axis=1), seen[:, 0] == 0
    total, used = 0.0, 0
    for a in range(1, 6):
        runs = int((count == a).sum())
        chance = a * claimed[a - 1]  # that the target is among the a
        if runs * chance * (1 - chance) < 25:
            continue
        total += (int(at_home[count == a].sum()) - runs * chance) ** 2 / (runs * chance * (1 - chance))
        used += 1
    return total, used


def rejected(value: float, degrees: int) -> bool:
    return bool(stats.chi2.sf(value, degrees) < SEPARATES_INTRUDERS)


@pytest.mark.parametrize("rule", ["best", "paper"])
def test_the_intruder_meets_the_exact_risk(rule: str) -> None:
    channel = plan_blocks(COUNTS, "0.1", rule=rule).channel
    exact = identification.risks(channel.weights[:, 0] / ONE, COUNTS, 0, 5)
    value, degrees = statistic(channel, exact, seed=11)
    assert degrees >= 4
    assert not rejected(value, degrees)


@pytest.mark.parametrize("factor", [0.93, 1.07])
def test_a_wrong_theta_is_caught(factor: float) -> None:
    """The claim is made for theta, the table published with a smaller or a larger one."""
    theta = identification.theta_for_xi(2, 0.1)
    claimed = identification.risks(identification.inverse_frequency_matrix(COUNTS, theta)[:, 0], COUNTS, 0, 5)
    wrong = BlockInvariant(6, (inverse_frequency(COUNTS, range(6), factor * theta),))
    assert rejected(*statistic(wrong, claimed, seed=12))


def test_frequencies_are_kept_on_average_and_err_as_said() -> None:
    channel = plan_blocks(COUNTS, "0.1", rule="paper").channel
    seen = published(channel, RUNS, seed=13)
    counts = np.array([(seen == j).sum(axis=1) for j in range(6)], np.float64)
    exact = identification.squared_errors(channel.weights / ONE, COUNTS)
    off = (counts.mean(axis=1) - COUNTS) / np.sqrt(exact / RUNS)
    assert np.abs(off).max() < 5
    squares = (counts - np.array(COUNTS)[:, None]) ** 2
    spread = squares.std(axis=1) / np.sqrt(RUNS)
    assert np.abs((squares.mean(axis=1) - exact) / spread).max() < 5
    moved = BlockInvariant(6, (inverse_frequency(COUNTS, range(6), 1.07 * identification.theta_for_xi(2, 0.1)),))
    other = identification.squared_errors(moved.weights / ONE, COUNTS)
    assert np.abs((squares.mean(axis=1) - other) / spread).max() > 5


def test_overall_match_rate() -> None:
    """The paper's game played: pick one of the records in the target's category, in every run."""
    channel = plan_blocks(COUNTS, "0.1", rule="paper").channel
    seen = published(channel, RUNS, seed=14)
    count, at_home = (seen == 0).sum(axis=1), seen[:, 0] == 0
    gain = np.where(at_home, 1 / np.maximum(count, 1), 0.0)
    exact = identification.overall_match(channel.weights[:, 0] / ONE, COUNTS, 0)
    assert abs(gain.mean() - exact) < 5 * gain.std() / np.sqrt(RUNS)
    assert exact == pytest.approx(0.078489, abs=1e-6)
