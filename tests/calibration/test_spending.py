"""Ways to spend a promise: all keep it, the marked one is the best, and errors are those of simulated tables."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from pramana.errors import InputError
from pramana.mechanisms.guarantees import Circumstances, k_of
from pramana.mechanisms.table import CoinGroups, Product, RecordRetention
from pramana.methods.retention.calibration import Wanted, calibrate
from pramana.methods.retention.frontier import Candidate, best_candidate, frontier, law_of_ratios
from pramana.methods.retention.spending import Coarsening, SpendingQuestion, mean_error, partitions
from pramana.methods.usefulness import expected_error
from pramana.theory import rounding

SIZES = {"a": 2, "b": 5, "c": 10, "d": 3}
AROUND = Circumstances(20_000)


def chosen(candidates: tuple[Candidate, ...]) -> Candidate:
    (one,) = [candidate for candidate in candidates if candidate.chosen]
    return one


def test_every_partition_is_tried_once() -> None:
    for size, bell in enumerate((1, 1, 2, 5, 15, 52, 203)):
        tried = [frozenset(map(frozenset, groups)) for groups in partitions(tuple("abcdef"[:size]))]
        assert len(tried) == len(set(tried)) == bell


@pytest.mark.parametrize(
    "promise",
    [
        {"k": 20},
        {"epsilon": 2.5},
        {"k": 5, "epsilon": 6.0},
        {"central": 0.4},
        {"k": 3, "central": 0.3},
        {"k": 20_000},
    ],
)
@pytest.mark.parametrize("tables", [[], [("a", "b"), ("c", "d")], [("a", "b", "c", "d")], [("c",)]])
def test_every_candidate_keeps_the_promise(promise: dict[str, float], tables: list[tuple[str, ...]]) -> None:
    wanted = Wanted(AROUND, **promise)
    candidates = frontier(SpendingQuestion(SIZES, tables, AROUND.records), wanted)
    for one in candidates:
        assert wanted.is_kept_by(one.law)
        assert one.law.sizes == SIZES
        assert one.k <= k_of(one.law, AROUND)
        ratio = one.law.likelihood_ratio
        assert ratio is not None
        assert one.epsilon == rounding.log_up(ratio)
    assert chosen(candidates).mean == min(one.mean for one in candidates)
    assert candidates[0].law == calibrate(SIZES, wanted)


@pytest.mark.parametrize("tables", [[("a", "b"), ("c", "d")], [], [("a", "b", "c")], [("a",), ("b", "c")]])
def test_errors_are_those_of_the_laws(tables: list[tuple[str, ...]]) -> None:
    for one in frontier(SpendingQuestion(SIZES, tables, 20_000), Wanted(AROUND, k=20)):
        for table, error in one.errors.items():
            assert error == pytest.approx(expected_error(one.law, table.split(" x "), 20_000), rel=1e-6)


def every_way(tables: list[tuple[str, ...]], ratio: Fraction) -> float:
    """The least mean error over every partition of three attributes and a grid of shares, by the laws."""
    sizes = {"a": 2, "b": 5, "c": 10}
    best, total = math.inf, math.log(ratio)
    for groups in partitions(tuple(sizes)):
        for parts in itertools.product(range(1, 20), repeat=len(groups)):
            if len(groups) == 1 or sum(parts) == 20:
                shares = [1.0] if len(groups) == 1 else [part / 20 for part in parts]
                law = law_of_ratios(sizes, groups, [Fraction(math.exp(total * share)) for share in shares])
                best = min(best, mean_error([expected_error(law, table, 20_000) for table in tables]))
    return best


@pytest.mark.parametrize(
    "tables", [[("a", "b"), ("c",)], [("a", "b"), ("b", "c"), ("a", "c")], [("a",), ("b",), ("c",)]]
)
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_nothing_on_a_grid_of_ways_is_better(tables: list[tuple[str, ...]], epsilon: float) -> None:
    sizes = {"a": 2, "b": 5, "c": 10}
    best = best_candidate(SpendingQuestion(sizes, tables, 20_000), Wanted(AROUND, epsilon=epsilon))
    assert best.mean <= every_way(tables, rounding.exp_down(epsilon)) * 1.002


def test_two_tables_without_common_columns_get_a_coin_each() -> None:
    best = best_candidate(SpendingQuestion(SIZES, [("a", "b"), ("c", "d")], 20_000), Wanted(AROUND, k=20))
    assert isinstance(best.law, CoinGroups)
    assert {frozenset(group) for group in best.groups} == {frozenset("ab"), frozenset("cd")}
    assert best.to_json()["coin"] == "groups"


def test_a_record_coin_is_better_for_the_full_table_and_worse_for_pairs_of_many_columns() -> None:
    """The guide's example: eight columns, k = 5."""
    sizes = dict(zip("abcdefgh", [9, 5, 16, 7, 14, 6, 5, 2], strict=True))
    wanted = Wanted(Circumstances(100_000), k=5)
    each, whole = calibrate(sizes, wanted), calibrate(sizes, wanted, "record")
    pair, full = ("a", "b"), tuple(sizes)
    assert expected_error(whole, full, 100_000) < expected_error(each, full, 100_000)
    assert expected_error(whole, pair, 100_000) > expected_error(each, pair, 100_000)


@pytest.mark.parametrize("merged", [(3, 3, 2), (5, 3), (2, 2, 2, 2)])
def test_coarser_values_err_as_simulated_tables_do(merged: tuple[int, ...]) -> None:
    """Tables of eight values drawn evenly from all; published coarser, estimated without bias, spread evenly."""
    records, way = 400, Coarsening(merged)
    question = SpendingQuestion({"a": 8}, [("a",)], records, {"a": (way,)})
    law = law_of_ratios({"a": way.size}, (("a",),), [Fraction(4)])
    assert isinstance(law, Product)
    stated = float(
        question.shape((("a",),), {"a": 0}).errors(np.array([math.log(float(law.likelihood_ratio or 1))]))[0]
    )
    rho = law.retentions()[0]
    rng = np.random.default_rng(1)
    of = np.repeat(np.arange(way.size), merged)
    squares = []
    for _ in range(3000):
        shares = rng.dirichlet(np.ones(8))
        counts = np.bincount(of, np.round(shares * records), way.size).astype(int)
        published = rng.multinomial(counts, rho * np.eye(way.size) + (1 - rho) / way.size).sum(axis=0)
        estimate = (published / records - (1 - rho) / way.size) / rho
        squares.append(float((((estimate / merged)[of] - shares) ** 2).sum()))
    assert stated == pytest.approx(math.sqrt(2 / math.pi * 8 * np.mean(squares)), rel=0.06)


def test_values_are_made_coarser_only_where_that_helps() -> None:
    ways = {"b": tuple(Coarsening((times,) * (60 // times)) for times in (2, 3, 5, 10, 20))}
    sizes = {"a": 2, "b": 60}
    few = best_candidate(SpendingQuestion(sizes, [("a", "b")], 500, ways), Wanted(Circumstances(500), epsilon=1.0))
    many = best_candidate(
        SpendingQuestion(sizes, [("a", "b")], 10**8, ways), Wanted(Circumstances(10**8), epsilon=6.0)
    )
    assert few.law.sizes["b"] < 20
    assert not many.coarsened
    assert few.to_json()["values"] == {"b": few.law.sizes["b"]}
    plain = best_candidate(SpendingQuestion(sizes, [("a", "b")], 500), Wanted(Circumstances(500), epsilon=1.0))
    assert few.mean < plain.mean / 2


def test_a_coarsening_must_fit() -> None:
    with pytest.raises(InputError):
        Coarsening((5,))
    with pytest.raises(InputError):
        SpendingQuestion({"a": 4}, [], 100, {"a": (Coarsening((2, 3)),)})


def test_many_columns_are_searched_in_pairs() -> None:
    sizes = {str(i): 3 + i % 4 for i in range(12)}
    best = best_candidate(SpendingQuestion(sizes, [("0", "1"), ("2", "3", "4")], 20_000), Wanted(AROUND, k=5))
    assert {frozenset(group) for group in best.groups} >= {frozenset("01"), frozenset("234")}


def test_one_column_has_nothing_to_choose() -> None:
    candidates = frontier(SpendingQuestion({"a": 7}, [], 1000), Wanted(Circumstances(1000), k=10))
    assert not any(isinstance(one.law, RecordRetention | CoinGroups) for one in candidates)
    assert chosen(candidates).errors == pytest.approx(candidates[0].errors, rel=1e-6)
