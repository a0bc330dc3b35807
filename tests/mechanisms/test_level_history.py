"""multi-pert with the corrected history: its coins are exact, and nothing issued is ever forgotten."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from tests.statistical.thresholds import OF_A_POISSON_COUNT

from pramana.errors import MatrixError
from pramana.mechanisms import history
from pramana.mechanisms.history import History, RecordedLevels
from pramana.mechanisms.levels import LevelDesign, Uniform
from pramana.randomness.key import Key
from pramana.theory import levels
from pramana.theory.levels import GRID, Level

WORD = 1 << 64


# ---------------------------------------------------------------- exact coins


def test_coins_compare_with_every_bit_of_the_probability() -> None:
    """1/3 = 0.0101... in binary: equal first words are decided by the second, and so on."""
    third = WORD // 3
    given: Iterator[int] = iter([third - 1, third, third, third + 1, third, third - 1, third + 1])

    def words(count: int) -> Any:
        return np.array([next(given) for _ in range(count)], np.uint64)

    # four coins; two tie; of their second words one ties again and one is below; the third word is above
    assert history.coins(1, 3, 4, words).tolist() == [True, False, True, False]
    assert history.coins(3, 3, 2, words).tolist() == [True, True]
    zero = history.coins(0, 3, 2, lambda count: np.zeros(count, np.uint64))
    assert zero.tolist() == [False, False]


@pytest.mark.parametrize(("top", "bottom"), [(1, 2), (1, 3), (2, 3), (10**11, 10**12 - 1), (0, 5)])
def test_coins_in_units_of_the_first_word(top: int, bottom: int) -> None:
    digit, rest = divmod(top * WORD, bottom)
    assert Fraction(digit, WORD) + Fraction(rest, bottom * WORD) == Fraction(top, bottom)
    tries = [max(0, digit - 1), digit, min(WORD - 1, digit + 1)]
    low = history.coins(top, bottom, 3, lambda n: np.array(tries[:n] if n == 3 else [0] * n, np.uint64))
    assert low.tolist() == [digit > 0, rest > 0, False]


# ---------------------------------------------------------------- the law of the code that runs


class Branches:
    """Runs a procedure down every outcome of its coins and marks, keeping the probability of each path."""

    def __init__(self, law: levels.Law) -> None:
        self.law, self.place, self.probability = law, 0, Fraction(1)
        self.path: list[list[int]] = []

    def choose(self, chances: list[Fraction]) -> int:
        if self.place == len(self.path):
            self.path.append([0, len(chances)])
        chosen = self.path[self.place][0]
        self.place += 1
        self.probability *= chances[chosen]
        return chosen

    def paths(self) -> Iterator[None]:
        while True:
            self.place, self.probability = 0, Fraction(1)
            yield
            while self.path and self.path[-1][0] + 1 == self.path[-1][1]:
                self.path.pop()
            if not self.path:
                return
            self.path[-1][0] += 1

    def coins(self, top: int, bottom: int, count: int, _: Any) -> Any:
        chance = Fraction(top, bottom)
        return np.array([self.choose([1 - chance, chance]) == 1 for _ in range(count)], np.bool_)

    def marks(self, rows: Any) -> Any:
        return np.array([self.choose(list(self.law)) for _ in rows], np.uint8)


@pytest.mark.parametrize("law", [levels.uniform_law(2), levels.uniform_law(3), levels.uniform_law(5)], ids=len)
def test_joint_law_of_the_code_for_three_recipients(law: levels.Law, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [Level.of("0.3"), Level.of("0.1"), Level.of("0.5")]
    closed = levels.joint_law([level.retention for level in asked], law, 0)
    orders = list(permutations(range(3))) if len(law) < 5 else [(0, 1, 2), (2, 1, 0)]
    for order in orders:
        branches = Branches(law)
        monkeypatch.setattr(history, "coins", branches.coins)

        def drawn_twice(values: Any, _rows: Any, bottom: int, top: int, *_: Any, b: Branches = branches) -> Any:
            q = [b.law[value] for value in values]
            chance = [x / (x + (1 - x) * Fraction(bottom, top)) for x in q]
            return np.array([b.choose([1 - c, c]) == 1 for c in chance], np.bool_)

        monkeypatch.setattr(history, "_drawn_twice", drawn_twice)
        found: dict[tuple[int, ...], Fraction] = {}
        for _ in branches.paths():
            known, versions = History.empty(1, len(law)), {}
            for i in order:
                known, version = known.insert(asked[i], np.zeros(1, np.uint8), lambda n: n, branches.marks)  # type: ignore[arg-type,return-value]
                versions[i] = int(version[0])
            outcome = tuple(versions[i] for i in range(3))
            found[outcome] = found.get(outcome, Fraction(0)) + branches.probability
        assert {v: p for v, p in found.items() if p} == closed


def test_the_redraw_coin_round_by_round() -> None:
    """One round: heads iff the mark is the value; else tails iff the coin p_r/p_l shows heads; else again."""
    marks = iter([[2, 0], [1]])
    coins = iter([[WORD - 1], [0]])
    found = history._drawn_twice(
        np.array([2, 2], np.uint8),
        np.arange(2, dtype=np.uint32),
        1,
        4,
        lambda count: np.array(next(coins)[:count], np.uint64),
        lambda rows: np.array(next(marks)[: len(rows)], np.uint8),
    )
    assert found.tolist() == [True, False]


# ---------------------------------------------------------------- nothing is forgotten


def interleaving(rng: np.random.Generator, source: RecordedLevels, true: Any, steps: list[int]) -> None:
    issued: dict[int, bytes] = {}
    for _ in range(6):
        k = steps[int(rng.integers(len(steps)))]
        version = source.version(Level(k), {"a": true})["a"].tobytes()
        assert issued.setdefault(k, version) == version
    known = source.histories["a",]
    for k, version in issued.items():
        if k != GRID:
            assert known.look_up(Level(k)).tobytes() == version


def test_ten_thousand_interleavings_never_change_a_version() -> None:
    rng = np.random.default_rng(9)
    design, true = LevelDesign({"a": Uniform(2)}), np.arange(8, dtype=np.uint8) % 2
    pool = rng.integers(0, 1 << 63, 1 << 16).astype(np.uint64) * np.uint64(2)

    def words(count: int) -> Any:
        start = int(rng.integers(len(pool) - count))
        return pool[start : start + count]

    steps = [GRID * i // 12 for i in range(13)]
    for _ in range(10_000):
        interleaving(rng, RecordedLevels(design, len(true), words), true, steps)


def test_the_update_as_printed_forgets() -> None:
    """Entries at .9 and .3 agree, the one between differs: as printed, .3 then reads what .6 holds."""

    def printed(entries: list[tuple[float, int]], p: float, value: int) -> list[tuple[float, int]]:
        larger = [e for e in entries if e[0] > p]
        smaller = [e for e in entries if e[0] < p]
        if not larger or larger[-1][1] != value:
            larger.append((p, value))
        if smaller and smaller[0][1] == value:
            smaller.pop(0)
        return larger + smaller

    def read(entries: list[tuple[float, int]], p: float) -> int:
        return [v for q, v in entries if q >= p][-1]

    entries: list[tuple[float, int]] = []
    for p, value in [(0.9, 1), (0.3, 1), (0.6, 0)]:
        entries = printed(entries, p, value)
    assert read(entries, 0.3) == 0  # 1 was issued

    steps, counts = np.array([9, 3], np.uint64) * np.uint64(GRID // 10), np.array([1], np.uint16)
    right = History(steps, counts, np.zeros(1, np.uint32), np.ones(1, np.uint8))
    fixed = right._with(Level.of("0.6"), np.zeros(1, np.uint8), Level.of("0.3"), np.ones(1, np.uint8))
    assert [int(fixed.look_up(Level.of(p))[0]) for p in ("0.9", "0.6", "0.3")] == [1, 0, 1]
    assert fixed.counts.tolist() == [3]


def test_size_of_the_history_is_as_lemma_2_says() -> None:
    rows, size = 4000, 5
    rng = np.random.default_rng(2)
    stream, place = Key.from_seed(4).stream("test"), [0]

    def words(count: int) -> Any:
        place[0] += count
        return stream.words(place[0] - count, count)

    true = rng.integers(0, size, rows).astype(np.uint8)
    source = RecordedLevels(LevelDesign({"a": Uniform(size)}), rows, words)
    asked = np.unique(rng.integers(GRID // 100, GRID // 2, 400))
    rng.shuffle(asked)
    for k in asked:
        source.version(Level(int(k)), {"a": true})
    high, low = float(asked.max()) / GRID, float(asked.min()) / GRID
    dense = levels.history_size(high, low, size)
    mean = source.histories["a",].entries_per_row
    spread = OF_A_POISSON_COUNT * math.sqrt(dense / rows)
    assert dense - 0.1 - spread < mean < dense + spread


def test_histories_survive_being_kept() -> None:
    source = RecordedLevels(LevelDesign({"a": Uniform(300)}), 50)
    true = {"a": np.arange(50, dtype=np.uint16)}
    versions = {p: source.version(Level.of(p), true)["a"] for p in ("0.5", "0.2", "0.7")}
    kept = {group: History.from_columns(known.to_columns()) for group, known in source.histories.items()}
    again = RecordedLevels(source.design, 50, histories=kept)
    for p, version in versions.items():
        assert np.array_equal(again.version(Level.of(p), true)["a"], version)


def test_versions_are_drawn_from_entropy_and_no_two_histories_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    true = {"a": np.zeros(500, np.uint8)}
    made = [RecordedLevels(LevelDesign({"a": Uniform(3)}), 500).version(Level.of("0.5"), true) for _ in range(3)]
    assert len({version["a"].tobytes() for version in made}) == 3
    asked: list[int] = []

    def entropy(count: int) -> bytes:
        asked.append(count)
        return bytes(count)

    monkeypatch.setattr(os, "urandom", entropy)
    RecordedLevels(LevelDesign({"a": Uniform(3)}), 500).version(Level.of("0.5"), true)
    assert sum(asked) >= 8 * 500


def test_what_no_history_is() -> None:
    design = LevelDesign({"a": Uniform(3)})
    with pytest.raises(MatrixError):
        RecordedLevels(design, 5, histories={("a",): History.empty(4, 3)})
    with pytest.raises(MatrixError):
        RecordedLevels(design, 5).version(Level.of("0.5"), {"a": np.zeros(4, np.uint8)})
    with pytest.raises(MatrixError):
        History.from_columns({"levels": np.zeros(2, np.uint64)})
    with pytest.raises(MatrixError):
        History(np.ones(1, np.uint64), np.ones(2, np.uint16), np.zeros(1, np.uint32), np.zeros(1, np.uint8))
    with pytest.raises(MatrixError):
        History.empty(2, 3).look_up(Level.of("0.5"))
    with pytest.raises(MatrixError):
        RecordedLevels(LevelDesign({"a": Uniform(1 << 20), "b": Uniform(1 << 20)}, joint=True), 5)
