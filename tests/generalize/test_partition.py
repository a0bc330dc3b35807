"""Mondrian and the KL partition: every class holds, cuts are those of the method, and KL is what it minimises."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.counting.classes import Ladder
from pramana.errors import RecipeError, SchemaError, UnreachableError
from pramana.methods.cells import kl_cost, pdf_cells
from pramana.methods.generalize.conditions import DistinctDiverse
from pramana.methods.generalize.recoding import CUTS, Generalised, partition

from .tables import random_table


def cost(ladders: tuple[Ladder, ...], columns: list[np.ndarray], class_of: np.ndarray, classes: int) -> float:
    total = 0.0
    for ladder, column in zip(ladders, columns, strict=True):
        cells = pdf_cells(ladder, column, class_of, classes)
        total += kl_cost(cells, cells)
    return total


@settings(deadline=None, max_examples=80)
@given(st.integers(0, 10**6), st.integers(1, 20), st.sampled_from(sorted(CUTS)), st.booleans())
def test_every_class_has_at_least_k_rows_and_every_row_a_class(
    seed: int, k: int, mode: str, ordered: bool
) -> None:
    layout, columns = random_table(seed, rows=90)
    before = [column.copy() for column in columns]
    found = partition(layout.ladders, columns, k, mode, ordered=[ordered] * 3)
    assert found.sizes.min() >= k
    assert found.sizes.sum() == 90
    assert len(np.unique(found.class_of)) == found.classes
    assert all(np.array_equal(a, b) for a, b in zip(before, columns, strict=True))


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 10))
def test_strict_classes_are_boxes_that_do_not_overlap(seed: int, k: int) -> None:
    """Rows that agree on everything stay together, and no row lies in the box of another class."""
    layout, columns = random_table(seed, rows=90)
    found = partition(layout.ladders, columns, k, "mondrian")
    rows = np.stack(columns, axis=1)
    for number in range(found.classes):
        inside = rows[found.class_of == number]
        within = ((rows >= inside.min(axis=0)) & (rows <= inside.max(axis=0))).all(axis=1)
        assert set(found.class_of[within]) == {number}


def test_the_widest_attribute_is_cut_as_evenly_as_it_goes() -> None:
    wide = np.array([0, 0, 0, 1, 8, 9], np.uint8)
    narrow = np.array([0, 1, 0, 1, 0, 1], np.uint8)
    ladders = (Ladder.flat("narrow", 3), Ladder.flat("wide", 10))
    found = partition(ladders, [narrow, wide], 3)
    # wide spans 9 of 9, narrow 1 of 2; three rows lie below 1 and three from 1 on
    assert found.class_of.tolist() == [0, 0, 0, 1, 1, 1]


def test_relaxed_cuts_between_equal_values() -> None:
    column = np.zeros(8, np.uint8)
    column[-1] = 1
    ladders = (Ladder.flat("a", 2),)
    assert partition(ladders, [column], 4, "mondrian").classes == 1
    assert partition(ladders, [column], 4, "mondrian-relaxed").sizes.tolist() == [4, 4]


def test_hierarchical_cuts_follow_the_tree() -> None:
    ladder = Ladder("a", (np.arange(4), np.array([0, 1, 0, 1]), np.zeros(4, np.int64)))
    column = np.repeat(np.arange(4), 3).astype(np.uint8)
    found = partition((ladder,), [column], 6, "mondrian", ordered=[False])
    assert [set(column[found.class_of == c].tolist()) for c in range(2)] == [{0, 2}, {1, 3}]
    # one child with too few rows forbids the cut
    assert partition((ladder,), [column[:-1]], 6, "mondrian", ordered=[False]).classes == 1


def test_further_conditions_forbid_cuts() -> None:
    column = np.repeat(np.arange(2), 4).astype(np.uint8)
    ladders = (Ladder.flat("a", 2),)
    for sensitive, classes in (([0, 1] * 4, 2), ([0] * 4 + [1] * 4, 1)):
        codes = np.array(sensitive, np.uint8)
        for mode in CUTS:
            found = partition(ladders, [column], 2, mode, condition=DistinctDiverse(2), sensitive=(codes, 2))
            assert found.classes >= classes
            for c in range(found.classes):
                assert len(set(codes[found.class_of == c].tolist())) == 2
    with pytest.raises(UnreachableError, match="whole table"):
        partition(ladders, [column], 2, condition=DistinctDiverse(3), sensitive=(codes, 2))


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6))
def test_the_kl_cut_of_two_classes_is_near_the_best_of_all(seed: int) -> None:
    """Ten rows into two fives: against all 126 ways. The cut is greedy, not exact: never worse than any cut by one
    attribute at its values, and most often the best."""
    layout, columns = random_table(seed, rows=10, leaves=4)
    found = partition(layout.ladders, columns, 5, "kl")
    ours = cost(layout.ladders, columns, found.class_of, found.classes)
    best = np.inf
    for chosen in combinations(range(1, 10), 4):
        class_of = np.ones(10, np.int64)
        class_of[[0, *chosen]] = 0
        best = min(best, cost(layout.ladders, columns, class_of, 2))
    strict = partition(layout.ladders, columns, 5, "mondrian")
    assert best - 1e-9 <= ours <= cost(layout.ladders, columns, strict.class_of, strict.classes) + 1e-9


def test_the_kl_partition_costs_less_than_mondrian() -> None:
    for seed in range(5):
        layout, columns = random_table(seed, attributes=5, rows=2000, leaves=9)
        costs = {}
        for mode in ("mondrian", "kl"):
            found = partition(layout.ladders, columns, 10, mode)
            costs[mode] = cost(layout.ladders, columns, found.class_of, found.classes)
        assert costs["kl"] < costs["mondrian"]


def test_large_parts_are_cut_as_small_ones_are() -> None:
    """Two groups of rows that share no value: the first cut must part them, whatever their size."""
    for rows in (3000, 9000):  # below and above the size from which only cuts between values are priced
        rng = np.random.default_rng(rows)
        group = rng.integers(0, 2, rows)
        columns = [(group * 4 + rng.integers(0, 4, rows)).astype(np.uint8) for _ in range(3)]
        ladders = tuple(Ladder.flat(str(a), 8) for a in range(3))
        found = partition(ladders, columns, int(rows * 0.4), "kl")
        assert found.classes == 2
        assert all(len(set(group[found.class_of == c].tolist())) == 1 for c in range(2))


def test_one_common_value_in_a_large_part_is_still_cut() -> None:
    """No place between values leaves k rows on both sides; places within the common value do."""
    rng = np.random.default_rng(4)
    columns = [np.where(rng.random(9000) < 0.01, 1, 0).astype(np.uint8) for _ in range(2)]
    found = partition((Ladder.flat("a", 2), Ladder.flat("b", 2)), columns, 2000, "kl")
    assert found.classes >= 2
    assert found.sizes.min() >= 2000


def test_bad_input_is_one_clear_error() -> None:
    layout, columns = random_table(1)
    with pytest.raises(UnreachableError, match="k must be from 1 to the number of rows, 60, got 61"):
        partition(layout.ladders, columns, 61)
    with pytest.raises(RecipeError, match="mondrian, mondrian-relaxed, kl"):
        partition(layout.ladders, columns, 2, "loose")
    with pytest.raises(SchemaError, match="at most 65536 values"):
        partition((Ladder.flat("a", 70000),), [np.zeros(5, np.uint32)], 2)


@settings(deadline=None, max_examples=120)
@given(st.integers(0, 10**6), st.integers(1, 25), st.lists(st.booleans(), min_size=3, max_size=3), st.booleans())
def test_counts_of_combinations_give_the_classes_of_the_rows(
    seed: int, k: int, ordered: list[bool], diverse: bool
) -> None:
    """Lines that stand for several rows, in an order of their own: the same classes under the same numbers."""
    layout, columns = random_table(seed, rows=160)
    draw = np.random.default_rng(seed)
    values = draw.integers(0, 3, 160).astype(np.uint8)
    rows = np.stack([*columns, values] if diverse else columns, axis=1)
    lines, line_of_row, times = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    place = draw.permutation(len(lines))  # line i stands at place[i]
    moved = lines[np.argsort(place)].astype(np.uint16)
    condition = DistinctDiverse(2) if diverse else None

    def cut(table: np.ndarray, times: np.ndarray | None) -> Generalised:
        sensitive = (table[:, -1], 3) if diverse else None
        weights = {layout.ladders[0].name: 0.5}
        return partition(
            layout.ladders, [table[:, a] for a in range(3)], k, ordered=ordered, weights=weights,
            condition=condition, sensitive=sensitive, times=times,
        )  # fmt: skip

    by_rows, by_counts = cut(rows, None), cut(moved, times[np.argsort(place)].astype(np.uint32))
    assert by_counts.class_of[place[line_of_row.reshape(-1)]].tolist() == by_rows.class_of.tolist()
    assert by_counts.sizes.tolist() == by_rows.sizes.tolist()
    assert by_counts.classes == by_rows.classes


def test_lines_are_cut_between_values_alone() -> None:
    column, times = np.array([0, 1], np.uint8), np.array([4, 4], np.uint32)
    for mode in ("mondrian-relaxed", "kl"):
        with pytest.raises(RecipeError, match="cut between values"):
            partition((Ladder.flat("a", 2),), [column], 2, mode, times=times)
    with pytest.raises(UnreachableError, match="at most 4294967295 rows"):
        partition((Ladder.flat("a", 2),), [column], 2, times=np.array([2**32 - 1, 1], np.uint32))
