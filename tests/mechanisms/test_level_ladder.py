"""Levels of dense channels: only where the chain exists, and then collusion is useless too."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pramana.errors import MatrixError
from pramana.mechanisms.ladder import ChannelLadder
from pramana.randomness.key import Key
from pramana.randomness.samplers import ONE
from pramana.theory import levels

TOP = [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.0, 0.1, 0.9]]
STEP = [[0.9, 0.1, 0.0], [0.0, 0.8, 0.2], [0.3, 0.0, 0.7]]


def below(top: list[list[float]], step: list[list[float]]) -> list[list[float]]:
    product: Any = np.array(top) @ np.array(step)
    return [list(map(float, row)) for row in product]


def test_a_chain_is_found_and_its_rungs_are_the_wanted_channels() -> None:
    ladder = ChannelLadder.of([TOP, below(TOP, STEP)])
    for rung, wanted in zip(ladder.rungs, [TOP, below(TOP, STEP)], strict=True):
        assert np.allclose([[float(x) for x in row] for row in rung], wanted, atol=1e-12)
        assert all(sum(row) == 1 for row in rung)


def test_there_is_no_chain_upwards() -> None:
    with pytest.raises(MatrixError, match="further"):
        ChannelLadder.of([below(TOP, STEP), TOP])


def test_a_singular_level_ends_the_ladder() -> None:
    with pytest.raises(MatrixError, match="invertible"):
        ChannelLadder.of([[[0.5, 0.5], [0.5, 0.5]], [[0.6, 0.4], [0.4, 0.6]]])
    with pytest.raises(MatrixError):
        ChannelLadder(())


def test_collusion_is_useless_on_a_ladder() -> None:
    ladder = ChannelLadder.of([TOP, below(TOP, STEP)])
    prior = levels.uniform_law(3)
    step = [[Fraction(int(w), ONE) for w in row] for row in ladder.steps[1].weights]
    for high in range(3):
        alone = levels.posterior(prior, [ladder.rungs[0][x][high] for x in range(3)])
        for low in range(3):
            if step[high][low]:
                joint = [ladder.rungs[0][x][high] * step[high][low] for x in range(3)]
                assert levels.posterior(prior, joint) == alone


def test_versions_follow_the_chain() -> None:
    ladder, rows = ChannelLadder.of([TOP, below(TOP, STEP)]), 90_000
    streams = [Key.from_seed(3).stream("rung", draw=i) for i in range(2)]
    true = (np.arange(rows) % 3).astype(np.uint8)
    high, low = ladder.version(0, streams, true), ladder.version(1, streams, true)
    for given, seen, law in ((true, high, TOP), (high, low, STEP), (true, low, below(TOP, STEP))):
        for x in range(3):
            share = np.bincount(seen[given == x], minlength=3) / (given == x).sum()
            assert np.abs(share - law[x]).max() < 5 * 0.5 / np.sqrt((given == x).sum())
    assert np.array_equal(ladder.version(1, streams, true[500:], 500), low[500:])
    assert ladder.likelihood_ratio(0) is None and ladder.likelihood_ratio(1) is not None
    with pytest.raises(MatrixError):
        ladder.version(2, streams, true)
