"""The lattice search against exhaustive search, and against the levels peers choose on Adult."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.counting.classes import Classes, Layout, SeenCounts, grouped
from pramana.errors import RecipeError, UnreachableError
from pramana.methods.generalize import space as roll_ups
from pramana.methods.generalize.conditions import (
    All,
    Close,
    Condition,
    DistinctDiverse,
    EntropyDiverse,
    KAnonymous,
    On,
    RecursiveDiverse,
)
from pramana.methods.generalize.lattice import search
from pramana.methods.generalize.lines import with_sensitive
from pramana.methods.generalize.measures import MEASURES, measure_of

from .adult import SHARED, adult
from .tables import Columns, random_table, with_counts_of


def exhaustive(
    layout: Layout, columns: Columns, condition: Condition, kind: str, limit: int, extra: Columns
) -> list[tuple[float, float, tuple[int, ...]]]:
    """Cost, loss and levels of every node that holds, each grouped anew from the rows."""
    base, index = grouped(layout, columns)
    measure, loss = measure_of(kind, base), measure_of("loss", base)
    if extra:
        base = with_counts_of(base, index, extra[0], int(extra[0].max()) + 1)
    nodes = []
    for levels in itertools.product(*(range(h) for h in layout.heights)):
        classes = base.rolled(levels)
        held = staying(condition, classes.counts)
        if int(classes.sizes[~held].sum()) <= limit:
            nodes.append((measure.cost(classes, held), loss.cost(classes, held), levels))
    return nodes


def staying(condition: Condition, counts: np.ndarray) -> np.ndarray:
    """In rationals: what is not close to the source goes, then what is not close to the rest, and so on."""
    parts = condition.conditions if isinstance(condition, All) else (condition,)
    held: np.ndarray = np.ones(len(counts), bool)
    for part in parts:
        if not isinstance(part, Close):
            held &= part.held(counts)
    reference = counts
    for close in (part for part in parts if isinstance(part, Close)):
        while True:
            whole = [Fraction(int(n), int(reference[:, 1:].sum())) for n in reference[:, 1:].sum(axis=0)]
            near = [farness(line, whole) <= Fraction(str(close.t)) for line in counts]
            before, held = held, held & np.array(near)
            if not held.any() or (len(reference) < len(counts) and (before == held).all()) or held.all():
                return held
            reference = counts[held]
    return held


def farness(line: np.ndarray, whole: list[Fraction]) -> Fraction:
    size = int(line[1:].sum())
    return sum((abs(Fraction(int(n), size) - w) for n, w in zip(line[1:], whole, strict=True)), Fraction(0)) / 2


def best_of(nodes: list[tuple[float, float, tuple[int, ...]]]) -> tuple[int, ...]:
    """Of the cheapest nodes the finest by loss, of these the first by levels."""
    least = min(cost for cost, _, _ in nodes)
    cheapest = [(loss, levels) for cost, loss, levels in nodes if cost <= least + 1e-9 * max(least, 1)]
    finest = min(loss for loss, _ in cheapest)
    return min(levels for loss, levels in cheapest if loss <= finest + 1e-9)


@dataclass(frozen=True)
class ShareWithin:
    """A condition of the caller's own: the share of rows with the first sensitive value, as presence has it."""

    low: float
    high: float
    anchor = None

    def held(self, counts: SeenCounts) -> np.ndarray:
        assert isinstance(counts, np.ndarray)
        share: np.ndarray = counts[:, 1] / counts[:, 0]
        return np.asarray((share >= self.low) & (share <= self.high))


def conditions(k: int, whole: np.ndarray) -> list[Condition]:
    return [
        KAnonymous(k),
        All((KAnonymous(k), DistinctDiverse(2))),
        All((KAnonymous(k), EntropyDiverse(1.5))),
        All((KAnonymous(k), RecursiveDiverse(3.0, 2))),
        All((KAnonymous(k), Close(0.4, whole))),
        Close(0.3, whole),
        ShareWithin(0.1, 0.6),
        All((KAnonymous(k), ShareWithin(0.2, 0.5))),
    ]


@settings(deadline=None, max_examples=300)
@given(
    st.integers(0, 10**6),
    st.integers(1, 12),
    st.sampled_from(MEASURES),
    st.integers(0, 12),
    st.integers(0, 7),
    st.booleans(),
    st.booleans(),
)
def test_the_optimum_is_the_exhaustive_one(
    seed: int, k: int, kind: str, limit: int, which: int, probing: bool, sparse: bool
) -> None:
    layout, columns = random_table(seed)
    sensitive = np.random.default_rng(seed + 1).integers(0, 3, len(columns[0])).astype(np.uint8)
    base, index = grouped(layout, columns)
    base = dense = with_counts_of(base, index, sensitive, 3)
    whole = np.bincount(sensitive, minlength=3)
    condition = conditions(k, whole)[which]
    nodes = exhaustive(layout, columns, condition, kind, limit, [sensitive])
    if sparse and which < 6:  # the same counts as pairs that occur; a condition of the caller's own takes columns
        base = with_sensitive(grouped(layout, columns)[0], [(index, sensitive, 3, None)])
    with pytest.MonkeyPatch.context() as patch:
        if probing:  # small tables take the path of large ones
            patch.setattr(roll_ups, "LARGE_TABLE", 0)
            patch.setattr(roll_ups, "SMALL_TABLE", 0)
        if not nodes:
            with pytest.raises(UnreachableError):
                search(base, condition, measure_of(kind, dense), limit)
            return
        found = search(base, condition, measure_of(kind, dense), limit)
    assert found.cost == pytest.approx(min(cost for cost, _, _ in nodes), abs=1e-9)
    assert found.levels == best_of(nodes)
    assert roll_ups.lost_rows(found.classes, found.held) <= limit
    assert np.array_equal(found.held, staying(condition, dense.rolled(found.levels).counts))


@given(st.integers(0, 10**6), st.integers(0, 15))
@settings(deadline=None, max_examples=60)
def test_two_sensitive_columns_are_asked_each_by_its_own_condition(seed: int, limit: int) -> None:
    """The same counts side by side in one table, and as pairs of each column."""
    layout, columns = random_table(seed)
    rng = np.random.default_rng(seed + 1)
    first, second = rng.integers(0, 3, 60).astype(np.uint8), rng.integers(0, 5, 60).astype(np.uint8)
    base, index = grouped(layout, columns)
    tables = [with_counts_of(base, index, codes, size).counts for codes, size in ((first, 3), (second, 5))]
    counts = np.ascontiguousarray(np.concatenate([tables[0], tables[1][:, 1:]], axis=1))
    dense = Classes(layout, base.levels, base.keys, counts)
    sparse = with_sensitive(base, [(index, first, 3, None), (index, second, 5, None)])
    close = Close(0.4, np.bincount(second, minlength=5))
    condition = All((KAnonymous(2), On(DistinctDiverse(2), range(1, 4), 0), On(close, range(4, 9), 1)))
    found = []
    for table in (dense, sparse):
        try:
            solution = search(table, condition, measure_of("loss", base), limit)
            lost = roll_ups.lost_rows(solution.classes, solution.held)
            found.append((solution.levels, solution.cost, lost))
        except UnreachableError:
            found.append(((), np.inf, 0))
    assert found[0] == found[1]


@given(st.integers(0, 10**6))
@settings(deadline=None, max_examples=60)
def test_rolled_up_classes_are_those_counted_from_the_rows(seed: int) -> None:
    layout, columns = random_table(seed, attributes=4)
    rng = np.random.default_rng(seed)
    low = tuple(int(rng.integers(0, h)) for h in layout.heights)
    high = tuple(int(rng.integers(i, h)) for i, h in zip(low, layout.heights, strict=True))
    base, index = grouped(layout, columns)
    classes = base.rolled(low).rolled(high)
    rows = zip(
        *(ladder.maps[i][c] for ladder, i, c in zip(layout.ladders, high, columns, strict=True)), strict=True
    )
    expected = Counter(tuple(int(v) for v in row) for row in rows)
    shown = zip(*(classes.codes(a) for a in range(4)), strict=True)
    found = {tuple(int(v) for v in row): int(n) for row, n in zip(shown, classes.sizes, strict=True)}
    assert found == expected
    assert len(index) == len(columns[0])
    assert np.array_equal(np.bincount(index), base.sizes)


def test_keys_of_several_words() -> None:
    """Twelve attributes of 1000 values need 120 bits."""
    rng = np.random.default_rng(3)
    from pramana.counting.classes import Ladder

    layout = Layout(tuple(Ladder(f"q{a}", (np.arange(1000), np.arange(1000) // 500)) for a in range(12)))
    columns = [rng.choice([0, 499, 500, 999], 300).astype(np.uint16) for _ in range(12)]
    assert layout.words == 2
    base, _ = grouped(layout, columns)
    classes = base.rolled((1,) * 12)
    expected = Counter(zip(*((c // 500).tolist() for c in columns), strict=True))
    assert sorted(classes.sizes.tolist()) == sorted(expected.values())


@pytest.mark.parametrize("same", [0, 1], ids=["first word", "second word"])
def test_keys_that_differ_in_one_of_their_words_are_different(same: int) -> None:
    """So many of them that they meet in the table where classes are looked up."""
    from pramana.counting.classes import Ladder

    layout = Layout(tuple(Ladder(f"q{a}", (np.arange(1 << 16),)) for a in range(8)))
    assert layout.words == 2
    rows = np.arange(5_000, dtype=np.uint16)
    constant = np.zeros(5_000, np.uint16)
    fields = [word for word, _, _ in layout.fields]
    base, index = grouped(layout, [constant if word == same else rows for word in fields])
    assert len(base) == 5_000 and np.array_equal(np.sort(index), rows)


def test_errors_say_what_would_help() -> None:
    layout, columns = random_table(1)
    base, _ = grouped(layout, columns)
    with pytest.raises(UnreachableError, match="allow more suppression"):
        search(base, KAnonymous(len(columns[0]) + 1), measure_of("loss", base))
    with pytest.raises(RecipeError, match="measure must be one of"):
        measure_of("prettiness", base)
    with pytest.raises(RecipeError, match="Weights must name"):
        measure_of("loss", base, {"nobody": 1.0})
    with pytest.raises(RecipeError, match="at least 0"):
        measure_of("loss", base, {"q0": -1.0})


def test_a_weight_of_nought_lets_an_attribute_go() -> None:
    """With all the weight on q0, q0 stays as fine as k allows when the others are at their top."""
    layout, columns = random_table(11, rows=200)
    base, _ = grouped(layout, columns)
    found = search(base, KAnonymous(5), measure_of("loss", base, {"q0": 1.0, "q1": 0.0, "q2": 0.0}))
    alone = [
        level
        for level in range(layout.heights[0])
        if KAnonymous(5).held(base.rolled((level, *layout.top[1:])).counts).all()
    ]
    assert found.levels[0] == min(alone)


@pytest.mark.parametrize(
    ("k", "levels", "true_k"),
    [(5, (0, 4, 0, 2, 3, 2, 2, 1), 16), (10, (0, 4, 0, 2, 3, 2, 2, 1), 16), (50, (0, 4, 1, 1, 3, 2, 2, 1), 397)],
)
def test_adult_levels_are_those_arx_chooses(k: int, levels: tuple[int, ...], true_k: int) -> None:
    if not (SHARED / "adult.csv").exists():
        pytest.skip("the shared Adult table is not on this machine")
    layout, columns, _ = adult()
    base, _ = grouped(layout, columns)
    found = search(base, KAnonymous(k), measure_of("loss", base))
    assert base.rows == 30162
    assert found.nodes == 6480
    assert found.levels == levels
    assert int(found.classes.sizes.min()) == true_k
