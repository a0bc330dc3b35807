"""Microaggregation beside brute force, a plain MDAV written from the published description, and direct sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.errors import SchemaError, UnreachableError
from pramana.methods.microaggregate import grouping
from pramana.methods.microaggregate.classes import NumberColumn
from pramana.methods.microaggregate.grouping import (
    Microaggregation,
    Numbers,
    class_medians,
    class_modes,
    information_loss,
    optimal_univariate,
    standardised_loss,
)

from .adult import SHARED, adult_numbers

Table = dict[str, np.ndarray]
Record = tuple[Any, ...]


def mdav(table: Table, k: int) -> Microaggregation:
    return grouping.mdav(list(table.values()), k)


def class_means(groups: Microaggregation, values: np.ndarray, decimals: int | None = None) -> Numbers:
    return NumberColumn("x", values).published(groups, "mean", decimals)


# ---------------------------------------------------------------- what the results are compared with


def variance(column: Sequence[float]) -> Fraction:
    exact = [Fraction(x) for x in column]
    mean = sum(exact, Fraction(0)) / len(exact)
    return sum(((x - mean) * (x - mean) for x in exact), Fraction(0)) / len(exact)


def plain_mdav(table: Table, k: int, number: Callable[[Any], Any], variant: str = "published") -> list[list[int]]:
    """MDAV row by row, as Domingo-Ferrer and Torra (2005) describe it; `number` is the arithmetic.

    Of rows at one distance the nearest has the smallest values, the farthest the largest; equal rows come in the
    table's order. The other variants are wrong on purpose.
    """
    columns = [column.tolist() for column in table.values()]
    weights = [number(1 / v) if (v := variance(column)) else number(0) for column in columns]
    rows: list[Record] = list(zip(*columns, strict=True))

    def distance(a: Record, b: Record) -> Any:
        total = number(0)
        for w, x, y in zip(weights, a, b, strict=True):
            gap = number(x) - number(y)
            total += w * (gap * gap)
        return total

    def average(of: Sequence[int]) -> Record:
        return tuple(number(sum(Fraction(rows[i][j]) for i in of) / len(of)) for j in range(len(columns)))

    def farthest(of: Sequence[int], point: Record) -> Record:
        return rows[max(of, key=lambda i: (distance(rows[i], point), rows[i]))]

    def nearest(of: Sequence[int], point: Record) -> list[int]:
        return sorted(of, key=lambda i: (distance(rows[i], point), rows[i], i))[:k]

    everyone = list(range(len(rows)))
    remaining, groups = everyone, []
    while len(remaining) >= 2 * k:
        centre = average(everyone if variant == "average of the whole table" else remaining)
        r = farthest(remaining, centre)
        s = farthest(remaining, centre if variant == "opposite of the average" else r)
        for point in (r, s) if len(remaining) >= 3 * k else (r,):
            groups.append(nearest(remaining, centre if variant == "nearest to the average" else point))
            remaining = [i for i in remaining if i not in set(groups[-1])]
    return [*groups, remaining] if remaining else groups


def members(groups: Microaggregation) -> list[list[int]]:
    return [np.flatnonzero(groups.class_of == number).tolist() for number in range(groups.classes)]


def contents(groups: Microaggregation, table: Table) -> list[Counter[Record]]:
    """The records of each class, in the order of the classes."""
    rows = list(zip(*(column.tolist() for column in table.values()), strict=True))
    return [Counter(rows[i] for i in group) for group in members(groups)]


def sse(values: Sequence[float], groups: Sequence[Sequence[int]]) -> Fraction:
    total = Fraction(0)
    for group in groups:
        exact = [Fraction(values[i]) for i in group]
        mean = sum(exact, Fraction(0)) / len(exact)
        total += sum(((x - mean) * (x - mean) for x in exact), Fraction(0))
    return total


@cache
def set_partitions(rows: int, k: int) -> list[list[tuple[int, ...]]]:
    """Every way to part 0..rows-1 into sets of at least k, of any size and with any members."""

    def parted(rest: tuple[int, ...]) -> Iterator[list[tuple[int, ...]]]:
        if not rest:
            yield []
        for size in range(k, len(rest) + 1):
            for others in combinations(rest[1:], size - 1):
                chosen = (rest[0], *others)
                for more in parted(tuple(i for i in rest if i not in chosen)):
                    yield [chosen, *more]

    return list(parted(tuple(range(rows))))


def compositions(rows: int, k: int) -> Iterator[list[int]]:
    """Every list of sizes from k to 2k - 1 that add up to `rows`."""
    if rows == 0:
        yield []
    for size in range(k, min(2 * k - 1, rows) + 1):
        for rest in compositions(rows - size, k):
            yield [size, *rest]


@st.composite
def integer_tables(draw: st.DrawFn) -> tuple[Table, int]:
    """Few different values, so that distances tie and rows repeat; constant columns occur."""
    rows, columns = draw(st.integers(1, 40)), draw(st.integers(1, 3))
    most = draw(st.integers(0, 9))
    cells = st.lists(st.integers(-most, most), min_size=rows, max_size=rows)
    return {f"c{j}": np.array(draw(cells)) for j in range(columns)}, draw(st.integers(1, min(rows, 7)))


@st.composite
def one_column(draw: st.DrawFn) -> tuple[np.ndarray, int]:
    k = draw(st.integers(2, 4))
    cell = draw(st.sampled_from([st.integers(-6, 6), st.integers(0, 10**6), st.floats(-1e9, 1e9, width=32)]))
    return np.array(draw(st.lists(cell, min_size=k, max_size=10))), k


# ---------------------------------------------------------------- MDAV


@settings(max_examples=150)
@given(integer_tables())
def test_mdav_is_the_published_algorithm_row_by_row(case: tuple[Table, int]) -> None:
    """Integers, with all their ties: the same doubles, so the same classes down to the row."""
    table, k = case
    assert members(mdav(table, k)) == [sorted(group) for group in plain_mdav(table, k, float)]


@pytest.mark.parametrize("k", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("columns", [1, 2, 5])
def test_mdav_is_the_published_algorithm_in_exact_arithmetic(k: int, columns: int) -> None:
    """Doubles in general position: no rounding in the kernel decides otherwise than exact fractions do."""
    rng = np.random.default_rng(100 * k + columns)
    table = {f"c{j}": rng.lognormal(size=70) * 10.0 ** (3 * j) for j in range(columns)}
    assert members(mdav(table, k)) == [sorted(group) for group in plain_mdav(table, k, Fraction)]


@pytest.mark.parametrize(
    "variant", ["average of the whole table", "opposite of the average", "nearest to the average"]
)
def test_a_wrong_variant_is_told_from_mdav(variant: str) -> None:
    rng = np.random.default_rng(5)
    for _ in range(10):
        table = {f"c{j}": rng.integers(0, 50, 60) for j in range(2)}
        wrong = plain_mdav(table, 3, float, variant)
        assert members(mdav(table, 3)) != [sorted(group) for group in wrong]


def test_mdav_beyond_one_block_of_records() -> None:
    """More records than the kernel measures at a time, and enough of them used up that places are given up."""
    rng = np.random.default_rng(11)
    table = {"a": rng.integers(0, 60, 2600), "b": rng.integers(0, 60, 2600)}
    assert len(set(zip(*(c.tolist() for c in table.values()), strict=True))) > 1024
    assert members(mdav(table, 40)) == [sorted(group) for group in plain_mdav(table, 40, float)]


def test_mdav_on_adult() -> None:
    if not SHARED.is_dir():
        pytest.skip("the shared Adult table is not on this machine")
    numbers = adult_numbers()
    first = {name: column[:1200] for name, column in numbers.items()}
    assert members(mdav(first, 5)) == [sorted(group) for group in plain_mdav(first, 5, float)]
    groups = mdav(numbers, 5)
    assert len(groups.class_of) == 30162
    assert groups.sizes[:-1].tolist() == [5] * (groups.classes - 1)
    assert groups.sizes[-1] == 30162 - 5 * (groups.classes - 1) <= 9
    order = np.random.default_rng(3).permutation(30162)
    shuffled = {name: column[order] for name, column in numbers.items()}
    assert contents(mdav(shuffled, 5), shuffled) == contents(groups, numbers)


@given(integer_tables(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(case: tuple[Table, int], random: Any) -> None:
    table, k = case
    order = list(range(len(table["c0"])))
    random.shuffle(order)
    shuffled = {name: column[order] for name, column in table.items()}
    before, after = mdav(table, k), mdav(shuffled, k)
    assert contents(before, table) == contents(after, shuffled)
    alone = {"c0": table["c0"]}
    best = optimal_univariate(table["c0"], k)
    assert contents(best, alone) == contents(optimal_univariate(shuffled["c0"], k), {"c0": shuffled["c0"]})
    rows = list(zip(*(c.tolist() for c in table.values()), strict=True))
    if len(set(rows)) == len(rows):
        assert before.class_of[order].tolist() == after.class_of.tolist()


@given(integer_tables())
def test_classes_have_k_to_2k_less_1_rows(case: tuple[Table, int]) -> None:
    table, k = case
    for groups in (mdav(table, k), optimal_univariate(table["c0"], k)):
        sizes = [len(group) for group in members(groups)]
        assert sizes == groups.sizes.tolist() and sum(sizes) == len(table["c0"])
        assert k <= min(sizes) and max(sizes) <= 2 * k - 1


def test_columns_count_by_their_standard_deviation() -> None:
    """Another unit changes nothing, not even one whose squares overflow; a constant column changes nothing."""
    rng = np.random.default_rng(8)
    table: Table = {"a": rng.integers(0, 30, 200), "b": rng.integers(0, 5, 200)}
    expected = mdav(table, 4).class_of.tolist()
    for factor in (2.0**10, 2.0**900, 2.0**-900):
        assert mdav({**table, "b": table["b"] * factor}, 4).class_of.tolist() == expected
    assert mdav({**table, "same": np.full(200, 7.5)}, 4).class_of.tolist() == expected
    assert mdav({"same": np.zeros(7)}, 3).sizes.tolist() == [3, 4]


# ---------------------------------------------------------------- the best classes of one column


@settings(max_examples=60)
@given(one_column())
def test_no_grouping_of_one_column_is_better(case: tuple[np.ndarray, int]) -> None:
    values, k = case
    ours = sse(values.tolist(), members(optimal_univariate(values, k)))
    cost = {
        group: sse(values.tolist(), [group])
        for size in range(k, len(values) + 1)
        for group in combinations(range(len(values)), size)
    }
    assert ours == min(sum(cost[group] for group in parted) for parted in set_partitions(len(values), k))


@settings(max_examples=60)
@given(st.lists(st.integers(0, 4), min_size=3, max_size=14), st.integers(2, 3))
def test_of_equally_good_groupings_the_last_class_is_smallest(values: list[int], k: int) -> None:
    column = np.array(values)
    ascending = sorted(values)

    def cost(sizes: list[int]) -> Fraction:
        ends = np.cumsum(sizes).tolist()
        return sse(ascending, [range(end - size, end) for end, size in zip(ends, sizes, strict=True)])

    best = min(compositions(len(values), k), key=lambda sizes: (cost(sizes), sizes[::-1]))
    groups = optimal_univariate(column, k)
    assert groups.sizes.tolist() == best
    assert (
        groups.class_of[np.argsort(column, kind="stable")].tolist() == np.repeat(range(len(best)), best).tolist()
    )


@given(integer_tables())
def test_mdav_never_beats_the_optimum_of_one_column(case: tuple[Table, int]) -> None:
    table, k = case
    values = table["c0"]
    best = sse(values.tolist(), members(optimal_univariate(values, k)))
    assert best <= sse(values.tolist(), members(mdav({"c0": values}, k)))


def test_the_optimum_does_not_round() -> None:
    """Two groupings whose costs differ by less than a double of their size can tell."""
    near = np.array([0, 2**52, 2**53 - 1])
    far = np.concatenate([near, near + 1, [-(2**53)]])
    ours = members(optimal_univariate(far, 2))
    assert sse(far.tolist(), ours) == min(sse(far.tolist(), parted) for parted in set_partitions(7, 2))


# ---------------------------------------------------------------- what is published, and what it costs


@given(integer_tables(), st.sampled_from([None, -1, 0, 2]))
def test_means_are_exact_and_rounded_once(case: tuple[Table, int], decimals: int | None) -> None:
    table, k = case
    groups = mdav(table, k)
    for values in (table["c0"], table["c0"] / 7):
        published = class_means(groups, values, decimals)
        assert published.dtype == (np.int64 if values.dtype.kind == "i" and decimals in (-1, 0) else np.float64)
        for group, mean in zip(members(groups), published.tolist(), strict=True):
            exact = sum((Fraction(values[i].item()) for i in group), Fraction(0)) / len(group)
            assert mean == float(exact if decimals is None else round(exact, decimals))


def test_halves_are_rounded_to_the_even_digit() -> None:
    groups = Microaggregation(np.array([0, 0, 1, 1, 2, 2], np.int32), 2)
    assert class_means(groups, np.array([0, 1, 1, 2, -1, 0]), 0).tolist() == [0, 2, 0]
    assert class_means(groups, np.array([10, 20, 20, 30, 30, 40]), -1).tolist() == [20, 20, 40]


def test_a_mean_does_not_depend_on_the_order_of_its_sum() -> None:
    for values in ([1e16, 1.0, -1e16], [1.0, 1e16, -1e16]):
        groups = Microaggregation(np.zeros(3, np.int32), 3)
        assert class_means(groups, np.array(values)).tolist() == [float(Fraction(1, 3))]


@given(integer_tables())
def test_medians_are_the_lower_middle(case: tuple[Table, int]) -> None:
    table, k = case
    groups = mdav(table, k)
    expected = [sorted(table["c0"][group].tolist())[(len(group) - 1) // 2] for group in members(groups)]
    assert class_medians(groups, table["c0"]).tolist() == expected
    assert class_medians(groups, table["c0"] / 4).tolist() == [x / 4 for x in expected]


@given(integer_tables(), st.integers(0, 10**6))
def test_modes_are_the_first_of_the_commonest(case: tuple[Table, int], seed: int) -> None:
    table, k = case
    groups = mdav(table, k)
    codes = np.random.default_rng(seed).integers(0, 4, len(table["c0"])).astype(np.uint8)
    modes = class_modes(groups, codes, 4)
    assert modes.dtype == np.uint8
    for group, mode in zip(members(groups), modes.tolist(), strict=True):
        counts = Counter(codes[group].tolist())
        assert mode == min(code for code, count in counts.items() if count == max(counts.values()))


@given(integer_tables())
def test_losses_are_the_direct_sums(case: tuple[Table, int]) -> None:
    table, k = case
    groups = mdav(table, k)
    losses = [information_loss(groups, values, class_medians(groups, values)) for values in table.values()]
    standardised, total = Fraction(0), 0
    for column, values in zip(losses, table.values(), strict=True):
        medians = class_medians(groups, values)[groups.class_of]
        within, whole = Fraction(int(((values - medians) ** 2).sum())), len(values) * variance(values.tolist())
        assert (column.sse, column.sst) == (float(within), float(whole))
        assert column.share == (float(within / whole) if whole else 0)
        if whole:
            standardised += within / variance(values.tolist())
            total += len(values)
    together = standardised_loss(losses, len(table["c0"]))
    assert together == pytest.approx(float(standardised / total) if total else 0, rel=1e-12)


@given(integer_tables())
def test_the_loss_of_other_published_values(case: tuple[Table, int]) -> None:
    table, k = case
    groups = mdav(table, k)
    values = table["c0"]
    medians = class_medians(groups, values)
    direct = sum((values - medians[groups.class_of]) ** 2)
    loss = information_loss(groups, values, medians)
    assert loss.sse == float(direct)
    assert loss.sse >= float(sse(values.tolist(), members(groups)))
    rounded = class_means(groups, values, 1)
    exact = sum(
        (Fraction(x) - Fraction(rounded[c])) ** 2 for x, c in zip(values.tolist(), groups.class_of, strict=True)
    )
    assert information_loss(groups, values, rounded).sse == float(exact)


# ---------------------------------------------------------------- refusals


def test_k_must_be_within_the_rows() -> None:
    ages = np.array([41, 52, 63])
    for k in (0, 4):
        with pytest.raises(UnreachableError, match=f"k must be from 1 to the number of rows, 3, got {k}"):
            mdav({"age": ages}, k)
        with pytest.raises(UnreachableError, match="number of rows, 3"):
            optimal_univariate(ages, k)


def test_the_sizes_of_classes_are_checked() -> None:
    assert Microaggregation(np.array([0, 0, 1, 1, 1], np.int32), 2).sizes.tolist() == [2, 3]
    for wrong in ([0, 0, 1], [0, 0, 0, 0], [0, 0, 2, 2]):
        with pytest.raises(SchemaError, match="Classes must have from 2 to 3 rows"):
            Microaggregation(np.array(wrong, np.int32), 2)
