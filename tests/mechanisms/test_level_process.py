"""The keyed process: its kernel draws exactly the integer chain, and its certificate is what it draws."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.errors import MatrixError
from pramana.mechanisms import _levels
from pramana.mechanisms.levels import AtLevel, KeyedLevels, LevelDesign, Uniform, Weighted
from pramana.mechanisms.stated import mechanism_from_json
from pramana.randomness.key import Key
from pramana.randomness.samplers import ONE
from pramana.theory import levels, pk
from pramana.theory.levels import GRID, Level

WORD = 1 << 64
SKEWED = (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6))


def one_event(word: int, place: int, bound: int, second: int = 0) -> tuple[int, int, int]:
    """(still going, place, events) of one row after one block."""
    rows, places, counts = np.zeros(1, np.uint32), np.array([place], np.uint64), np.zeros(1, np.uint16)
    going = _levels.advance(np.array([[word, second]], np.uint64), rows, places, counts, 1, bound)
    return going, int(places[0]), int(counts[0])


def word_for(value: int, place: int) -> int:
    """A word that the kernel turns into `value`, uniform below `place`."""
    return -(-(2 * value + 1) * WORD // (2 * place))


@pytest.mark.parametrize("place", [1, 2, 3, 7, 10**12 - 11, 10**12, 2**63 + 1])
def test_every_value_has_exactly_as_many_words(place: int) -> None:
    """Checked at the ends of each value's run of words: first word thrown away iff the run is one too long."""
    out = np.zeros(1, np.uint32) if place <= 1 << 32 else None
    for value in {0, 1 % place, place // 2, place - 1}:
        first, after = -(-value * WORD // place), -(-(value + 1) * WORD // place)
        surplus = after - first - WORD // place
        assert surplus in (0, 1)
        for word in {first, min(first + 1, after - 1), after - 1}:
            thrown = surplus == 1 and word == first
            if out is None:
                going, reached, count = one_event(word, place, 1, word)
                assert (going, reached, count) == (1, place, 0) if thrown else reached < place
            else:
                left = _levels.uniform(np.array([[word, word]], np.uint64), np.zeros(1, np.uint32), out, place)
                assert left == int(thrown) and (thrown or out[0] == value)


def events_of(words: list[int], grid: int, bound: int) -> int:
    """How many events the kernel counts for one row that reads these words, two to a block."""
    rows, places, counts = np.zeros(1, np.uint32), np.array([grid], np.uint64), np.zeros(1, np.uint16)
    padded = [*words, 0][: len(words) + len(words) % 2]
    for i in range(0, len(padded), 2):
        if not _levels.advance(np.array([padded[i : i + 2]], np.uint64), rows, places, counts, 1, bound):
            return int(counts[0])
    raise AssertionError("a chain that has reached 0 lies below every level")


@pytest.mark.parametrize("size", [2, 3, 5])
def test_joint_law_by_driving_the_kernel_through_every_path(size: int) -> None:
    """Three recipients at .3, .1, .5 on a grid of ten: each chain of events, fed to the kernel as words."""
    grid, asked = 10, [3, 1, 5]
    found: dict[tuple[int, ...], Fraction] = {}
    for choice in range(1 << (grid - 1)):
        chain = [v for v in range(grid - 1, 0, -1) if choice >> (v - 1) & 1] + [0]
        places = [grid, *chain]
        words = [word_for(v, place) for v, place in zip(chain, places, strict=False)]
        events = tuple(events_of(words, grid, bound) for bound in asked)
        probability = math.prod((Fraction(1, place) for place in places[:-1]), start=Fraction(1))
        found[events] = found.get(events, Fraction(0)) + probability
    # marks are independent of the events and uniform (above): spread them over the event counts
    law = levels.uniform_law(size)
    joint: dict[tuple[int, ...], Fraction] = {}
    for events, probability in found.items():
        distinct = sorted({e for e in events if e})
        for marks in np.ndindex(*(size,) * len(distinct)):
            value = {0: 0, **dict(zip(distinct, marks, strict=True))}
            versions = tuple(int(value[e]) for e in events)
            joint[versions] = joint.get(versions, Fraction(0)) + probability / size ** len(distinct)
    assert joint == levels.joint_law([Fraction(k, grid) for k in asked], law, 0)


def test_both_words_of_a_block_count_and_thrown_words_are_skipped() -> None:
    assert one_event(word_for(8, 10), 10, 3, word_for(5, 8)) == (1, 5, 2)
    assert one_event(word_for(8, 10), 10, 3, word_for(1, 8)) == (0, 1, 1)
    assert one_event(word_for(2, 10), 10, 3, word_for(1, 8)) == (0, 2, 0)
    assert one_event(0, 10, 3, word_for(7, 10)) == (1, 7, 1)  # 0 is one of the words that tip the balance


def test_marks_that_lose_both_words_draw_again() -> None:
    asked: list[tuple[list[int], int]] = []

    def blocks(rows: Any, attempt: int) -> Any:
        asked.append((rows.tolist(), attempt))
        words = np.full((len(rows), 2), WORD - 1, np.uint64)
        if attempt == 0:
            words[1] = 0
        return words

    out = np.zeros(4, np.uint8)
    Uniform(3).draw(blocks, np.array([0, 2, 3], np.uint32), out)
    assert asked == [([0, 2, 3], 0), ([2], 1)] and out.tolist() == [2, 0, 2, 2]


def key_streams(design: LevelDesign, seed: int = 1) -> Any:
    key = Key.from_seed(seed)
    return lambda purpose, column: key.stream(purpose, design.digest, column)


@given(st.integers(0, 200), st.integers(0, 10**6), st.integers(0, GRID), st.booleans(), st.integers(1, 60))
@settings(max_examples=60, deadline=None)
def test_rows_do_not_depend_on_the_batch(rows: int, first: int, steps: int, joint: bool, cut: int) -> None:
    design = LevelDesign({"a": Uniform(6), "b": Weighted.of(SKEWED)}, joint=joint)
    rng = np.random.default_rng(rows)
    codes = {"a": rng.integers(0, 6, rows).astype(np.uint8), "b": rng.integers(0, 3, rows).astype(np.uint8)}
    whole = KeyedLevels(design, key_streams(design), first).version(Level(steps), codes)
    cut = min(cut, rows)
    later = KeyedLevels(design, key_streams(design), first + cut)
    parts = later.version(Level(steps), {name: values[cut:] for name, values in codes.items()})
    for name in codes:
        assert np.array_equal(whole[name][cut:], parts[name])


def test_more_rows_never_change_a_past_version() -> None:
    design = LevelDesign({"a": Uniform(9)})
    codes = np.random.default_rng(1).integers(0, 9, 200_000).astype(np.uint8)
    source = KeyedLevels(design, key_streams(design))
    all_rows = source.version(Level.of("0.01"), {"a": codes})["a"]
    assert np.array_equal(source.version(Level.of("0.01"), {"a": codes[:70_001]})["a"], all_rows[:70_001])


def test_the_design_binds_the_coins() -> None:
    uniform = LevelDesign({"a": Uniform(9)})
    others = [
        LevelDesign({"a": Uniform(10)}),
        LevelDesign({"b": Uniform(9)}),
        LevelDesign({"a": Uniform(9)}, joint=True),
        LevelDesign({"a": Weighted.of([Fraction(1, 9)] * 9)}),
    ]
    digests = {design.digest for design in [uniform, *others]}
    assert len(digests) == 5
    for design in (uniform, others[-1]):
        version = AtLevel(design, Level.of("0.3"))
        again = mechanism_from_json(version.to_json())
        assert again == version
        assert isinstance(again, AtLevel) and again.design.digest == design.digest


@pytest.mark.parametrize("p", ["0", "0.1", "0.5", "0.999999999999"])
def test_the_certificate_is_the_law(p: str) -> None:
    level = Level.of(p)
    for law in (Uniform(5), Weighted.of(SKEWED)):
        ratio = pk.likelihood_ratio_of_redraw(level.retention, min(law.law))
        assert AtLevel(LevelDesign({"a": law}), level).likelihood_ratio == ratio
    pair = LevelDesign({"a": Uniform(2), "b": Uniform(3)})
    product = pk.likelihood_ratio_of_redraw(level.retention, min(levels.uniform_law(6)))
    assert LevelDesign(pair.laws, joint=True).likelihood_ratio(level) == product
    each = [pk.likelihood_ratio_of_redraw(level.retention, min(levels.uniform_law(s))) for s in (2, 3)]
    assert pair.likelihood_ratio(level) == each[0] * each[1]  # type: ignore[operator]


def test_infinite_and_trivial_certificates() -> None:
    assert LevelDesign({"a": Uniform(5)}).likelihood_ratio(Level.of(1)) is None
    assert LevelDesign({"a": Weighted((0, ONE))}).likelihood_ratio(Level.of("0.5")) is None
    assert LevelDesign({"a": Uniform(1)}).likelihood_ratio(Level.of(1)) == 1
    at_zero = AtLevel(LevelDesign({"a": Uniform(5)}), Level.of(0))
    assert at_zero.likelihood_ratio == 1 and at_zero.anonymity_ratio == 1 and at_zero.blankets


def test_wrong_designs() -> None:
    for wrong in (
        lambda: LevelDesign({}),
        lambda: Uniform(0),
        lambda: Weighted((1, 2)),
        lambda: Weighted.of([2.0]),
    ):
        with pytest.raises(MatrixError):
            wrong()
    with pytest.raises(MatrixError):
        mechanism_from_json({"coin": "levels", "level": "0.3", "laws": {"a": {"kind": "other"}}, "joint": False})


def test_kernel_refuses_what_does_not_fit() -> None:
    words, rows, places = np.zeros((2, 2), np.uint64), np.zeros(2, np.uint32), np.ones(2, np.uint64)
    counts = np.zeros(2, np.uint16)
    for call in (
        lambda: _levels.advance(words, rows, places, counts, 3, 1),
        lambda: _levels.advance(words, rows, places, counts, 2, 0),
        lambda: _levels.advance(words, rows + np.uint32(2), places, counts, 2, 1),
        lambda: _levels.advance(words, rows, places * np.uint64(0), counts, 2, 1),
        lambda: _levels.uniform(words, rows + np.uint32(9), np.zeros(2, np.uint8), 3),
        lambda: _levels.uniform(words, rows, np.zeros(2, np.uint64), 3),
        lambda: _levels.weighted(words, rows, np.zeros(2, np.uint8), np.zeros(3, np.uint64), 1),
    ):
        with pytest.raises(ValueError):
            call()
