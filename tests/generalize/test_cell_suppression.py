"""Local suppression: never short of a condition, and the fewest cells, by all partitions of small tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.errors import UnreachableError
from pramana.methods.generalize.conditions import (
    All,
    Close,
    Condition,
    DistinctDiverse,
    EntropyDiverse,
    KAnonymous,
    On,
)
from pramana.methods.generalize.suppression import Problem, Suppression, bounded, least_cost, suppress_cells


def partitions(items: Sequence[int]) -> Iterator[list[list[int]]]:
    """Every way to put items into blocks."""
    if not items:
        yield []
        return
    first, *rest = items
    for smaller in partitions(rest):
        yield [[first], *smaller]
        for i, block in enumerate(smaller):
            yield [*smaller[:i], [first, *block], *smaller[i + 1 :]]


def problem_of(
    codes: Sequence[Sequence[int]],
    counts: Sequence[Sequence[int]],
    condition: Condition,
    weights: Sequence[float] | None = None,
) -> Problem:
    """`counts`: by class, how often each sensitive value occurs."""
    values = np.array(counts, np.uint32)
    seen = np.concatenate([values.sum(axis=1, keepdims=True, dtype=np.uint32), values], axis=1)
    own = np.array(codes, np.int64)
    prices = np.ones(own.shape[1]) if weights is None else np.array(weights, np.float64)
    return Problem(own, seen[:, 0].astype(np.int64), prices, seen, condition)


def price(problem: Problem, block: Sequence[int]) -> float:
    own = problem.codes[list(block)]
    differ = [len(set(column)) > 1 for column in own.T.tolist()]
    rows = int(problem.sizes[list(block)].sum())
    return rows * float(sum(w for w, d in zip(problem.weights.tolist(), differ, strict=True) if d))


def holds(problem: Problem, block: Sequence[int]) -> bool:
    assert isinstance(problem.seen, np.ndarray)
    together = problem.seen[list(block)].sum(axis=0, keepdims=True).astype(np.uint32)
    return bool(problem.condition.held(together)[0])


def fewest(problem: Problem) -> float:
    """By looking at every partition."""
    costs = [
        sum(price(problem, block) for block in blocks)
        for blocks in partitions(range(len(problem.sizes)))
        if all(holds(problem, block) for block in blocks)
    ]
    return min(costs, default=np.inf)


def check(problem: Problem, found: Suppression) -> None:
    for number in range(len(found.masks)):
        block = np.flatnonzero(found.block == number).tolist()
        assert holds(problem, block)
        own = problem.codes[block]
        assert found.masks[number].tolist() == [len(set(column)) > 1 for column in own.T.tolist()]
    blocks = [np.flatnonzero(found.block == n).tolist() for n in range(len(found.masks))]
    assert found.cost == pytest.approx(sum(price(problem, block) for block in blocks))


tables = st.integers(1, 3).flatmap(
    lambda columns: st.lists(
        st.tuples(
            st.tuples(*[st.integers(0, 2)] * columns), st.tuples(st.integers(0, 4), st.integers(0, 4))
        ).filter(lambda one: sum(one[1]) > 0),
        min_size=1,
        max_size=7,
        unique_by=lambda one: one[0],
    )
)
TOTALS = np.array([1, 1])
CONDITIONS = st.one_of(
    st.integers(1, 6).map(KAnonymous),
    st.just(All((KAnonymous(3), On(DistinctDiverse(2), range(1, 3))))),
    st.just(All((KAnonymous(2), On(EntropyDiverse(1.8), range(1, 3))))),
    st.just(All((KAnonymous(2), On(Close(0.3, TOTALS), range(1, 3))))),
)


@settings(max_examples=250, deadline=None)
@given(tables, CONDITIONS, st.tuples(*[st.sampled_from([0.5, 1.0, 3.0])] * 3))
def test_nothing_less_can_be_suppressed(
    table: list[tuple[tuple[int, ...], tuple[int, int]]], condition: Condition, weights: tuple[float, ...]
) -> None:
    columns = len(table[0][0])
    problem = problem_of([c for c, _ in table], [n for _, n in table], condition, weights[:columns])
    least = fewest(problem)
    if least == np.inf:
        with pytest.raises(UnreachableError):
            suppress_cells(problem)
        return
    found = suppress_cells(problem)
    check(problem, found)
    assert found.cost == pytest.approx(least)
    assert found.proved
    by_bounds = problem.solved(bounded(problem), 0.0)
    check(problem, by_bounds)
    assert by_bounds.cost >= least - 1e-9
    assert least_cost(problem) <= least + 1e-9


def test_many_classes_are_within_what_is_proved() -> None:
    draw = np.random.default_rng(5)
    rows = np.minimum(draw.geometric(0.25, (4000, 4)) - 1, 9)
    codes, sizes = np.unique(rows, axis=0, return_counts=True)
    problem = problem_of(codes.tolist(), [[n] for n in sizes.tolist()], KAnonymous(5))
    found = suppress_cells(problem)
    check(problem, found)
    assert len(problem.failing) > 200
    assert 0 < found.least <= found.cost < 2.2 * found.least  # far from proved, and not far from the least


def test_blocks_that_want_one_partner_share_it_out() -> None:
    """Both failing classes are nearest to the class of 3; only one of them can have it to itself."""
    problem = problem_of([[0, 0], [1, 1], [0, 1], [5, 1]], [[1], [1], [3], [4]], KAnonymous(3))
    found = suppress_cells(problem)
    assert found.cost == pytest.approx(fewest(problem))
    assert found.proved


def test_a_dear_column_is_spared() -> None:
    codes, counts = [[0, 0], [0, 1], [1, 0]], [[2], [4], [4]]
    assert suppress_cells(problem_of(codes, counts, KAnonymous(3), [1.0, 9.0])).masks.any(axis=0).tolist() == [
        True,
        False,
    ]
    assert suppress_cells(problem_of(codes, counts, KAnonymous(3), [9.0, 1.0])).masks.any(axis=0).tolist() == [
        False,
        True,
    ]
