"""Paper 1: the sheet's worked numbers, brute force with permanents, and the corrections."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.theory.formulas import epsilon_from_retention

from pramana.errors import UnreachableError
from pramana.mechanisms.channel import Dense, Retention
from pramana.mechanisms.table import Product, RecordRetention
from pramana.randomness.samplers import ONE
from pramana.theory import pk

# ---------------------------------------------------------------- the sheet's table


def test_retention_for_the_papers_example() -> None:
    sizes = [2, 5, 10]
    rho = pk.retention_for_pk(100_000, sizes, 100)
    assert float(rho) == pytest.approx(0.303195623089413, abs=1e-14)
    assert epsilon_from_retention([rho] * 3, sizes) == pytest.approx(3.458897807392820, abs=1e-13)


def test_k_and_epsilon_at_one_half() -> None:
    assert pk.k_from_retention(1000, [0.5, 0.5], [2, 3]) == Fraction(127, 16)
    assert epsilon_from_retention([0.5, 0.5], [2, 3]) == pytest.approx(math.log(12), rel=1e-14)


def test_retention_is_the_largest_on_the_grid() -> None:
    rho = pk.retention_for_pk(1001, [4], 11)
    assert rho <= Fraction(9, 13) < rho + Fraction(1, pk.GRID)


def test_dense_matrix_of_the_sheet() -> None:
    channel = Dense.of([[Fraction(7, 10), Fraction(3, 10)], [Fraction(1, 5), Fraction(4, 5)]])
    assert float(pk.k_from_ratio(10, channel.anonymity_ratio)) == pytest.approx(55 / 28, rel=1e-15)
    assert channel.likelihood_ratio is not None
    assert float(channel.likelihood_ratio) == pytest.approx(3.5, rel=1e-15)


@pytest.mark.parametrize(
    ("records", "retention", "epsilon"),
    [(245, 0.117444, 2.748584), (24_582, 0.271906, 5.054865), (2_458_285, 0.450917, 7.357487)],
)
def test_figure_2_parameters(records: int, retention: float, epsilon: float) -> None:
    sizes = [2, 18, 12, 3]
    rho = pk.retention_for_pk(records, sizes, 2)
    assert float(rho) == pytest.approx(retention, abs=5e-7)
    assert epsilon_from_retention([rho] * 4, sizes) == pytest.approx(epsilon, abs=5e-7)


# ---------------------------------------------------------------- brute force

Matrix = list[list[Fraction]]


def link_probability(channel: Matrix, truth: tuple[int, ...], seen: tuple[int, ...]) -> Fraction:
    """The largest posterior of any link, by the two permanents of paper 1, Formula (6)."""
    people = range(len(truth))
    by_link = {(r, s): Fraction(0) for r in people for s in people}
    total = Fraction(0)
    for order in permutations(people):
        weight = math.prod(
            (channel[truth[r]][seen[s]] for r, s in zip(people, order, strict=True)), start=Fraction(1)
        )
        total += weight
        for r, s in zip(people, order, strict=True):
            by_link[r, s] += weight
    return max(by_link.values()) / total if total else Fraction(0)


def worst_link(channel: Matrix, records: int) -> Fraction:
    tables = list(product(range(len(channel)), repeat=records))
    return max(link_probability(channel, truth, seen) for truth in tables for seen in tables)


def fractions_of(weights: np.ndarray) -> Matrix:
    return [[Fraction(int(w), ONE) for w in row] for row in weights]


@pytest.mark.parametrize(("size", "records"), [(2, 1), (2, 2), (2, 3), (2, 4), (3, 1), (3, 2), (3, 3)])
def test_theorem_3_is_tight_for_retention(size: int, records: int) -> None:
    channel = Retention.at(Fraction(2, 5), size)
    assert 1 / worst_link(fractions_of(channel.weights), records) == pk.k_from_ratio(
        records, channel.anonymity_ratio
    )


@settings(max_examples=15, deadline=None)
@given(st.lists(st.lists(st.integers(1, 20), min_size=3, max_size=3), min_size=3, max_size=3))
def test_theorem_3_is_tight_for_dense_matrices(rows: list[list[int]]) -> None:
    channel = Dense.of([[Fraction(x, sum(row)) for x in row] for row in rows])
    assert 1 / worst_link(fractions_of(channel.weights), 3) == pk.k_from_ratio(3, channel.anonymity_ratio)


def test_corollary_4_is_exact_on_the_full_product() -> None:
    """Two attributes as one joint channel: AR is the product of theirs, and k what brute force finds."""
    first, second = Retention.at(Fraction(1, 3), 2), Retention.at(Fraction(1, 2), 2)
    a, b = fractions_of(first.weights), fractions_of(second.weights)
    values = list(product(range(2), range(2)))
    joint = [[a[u][x] * b[v][y] for x, y in values] for u, v in values]
    k = pk.k_from_ratio(2, Product({"a": first, "b": second}).anonymity_ratio)
    assert 1 / worst_link(joint, 2) == k


def test_record_coin_brute_force() -> None:
    """The joint channel as it is sampled, unequal redraws and all: the certified ratios bound it and are close."""
    mechanism = RecordRetention.at(Fraction(3, 10), {"a": 2, "b": 3})
    word = 1 << 64
    share = {v: [Fraction(-(-(j + 1) * word // v) - -(-j * word // v), word) for j in range(v)] for v in (2, 3)}
    values = list(product(range(2), range(3)))
    redraw = [share[2][x] * share[3][y] for x, y in values]
    tau = 1 - mechanism.retention
    joint = [[tau * redraw[j] + (1 - tau) * (i == j) for j in range(6)] for i in range(6)]
    assert [sum(row) for row in joint] == [1] * 6
    ratio = max(joint[u][w] / joint[v][w] for u in range(6) for v in range(6) for w in range(6))
    assert mechanism.likelihood_ratio is not None
    assert ratio <= mechanism.likelihood_ratio
    assert float(mechanism.likelihood_ratio / ratio - 1) < 1e-15
    assert 1 / worst_link(joint, 2) >= pk.k_from_ratio(2, mechanism.anonymity_ratio)


def test_epsilon_is_tight_for_the_shuffled_release() -> None:
    """Appendix A: over all neighbouring tables the likelihood ratio stays within e^epsilon, and reaches it."""
    channel = fractions_of(Retention.at(Fraction(1, 2), 2).weights)

    def likelihood(truth: tuple[int, ...], seen: tuple[int, ...]) -> Fraction:
        people = range(len(truth))
        orders = (
            math.prod((channel[truth[r]][seen[s]] for r, s in zip(people, o, strict=True)), start=Fraction(1))
            for o in permutations(people)
        )
        return sum(orders, Fraction(0))

    tables = list(product(range(2), repeat=3))
    neighbours = [(s, t) for s in tables for t in tables if sum(a != b for a, b in zip(s, t, strict=True)) == 1]
    worst = max(likelihood(s, seen) / likelihood(t, seen) for s, t in neighbours for seen in tables)
    assert worst == pk.likelihood_ratio_from_retention(Fraction(1, 2), 2)


@pytest.mark.parametrize(("sampled", "candidates"), [(1, 2), (2, 3), (2, 4), (3, 4)])
def test_secret_sample_brute_force(sampled: int, candidates: int) -> None:
    """Records are drawn secretly from known candidates; the worst posterior of a link stays within 1/k."""
    channel = fractions_of(
        Dense.of([[Fraction(7, 10), Fraction(3, 10)], [Fraction(1, 5), Fraction(4, 5)]]).weights
    )
    law = Dense.of([[Fraction(7, 10), Fraction(3, 10)], [Fraction(1, 5), Fraction(4, 5)]])
    assert law.likelihood_ratio is not None
    k = pk.k_with_secret_sample(sampled, candidates, law.anonymity_ratio, 1 / law.likelihood_ratio)
    worst = Fraction(0)
    for truth in product(range(2), repeat=candidates):
        for seen in product(range(2), repeat=sampled):
            total, links = Fraction(0), dict.fromkeys(product(range(candidates), range(sampled)), Fraction(0))
            for chosen in permutations(range(candidates), sampled):
                weight = math.prod((channel[truth[c]][seen[s]] for s, c in enumerate(chosen)), start=Fraction(1))
                total += weight
                for s, c in enumerate(chosen):
                    links[c, s] += weight
            worst = max(worst, max(links.values()) / total)
    assert worst <= 1 / k
    assert worst > Fraction(1, candidates)  # the bound is about something


def test_anonymity_ratio_equals_the_fourfold_minimum() -> None:
    rng = np.random.default_rng(5)
    for size in (2, 3, 5):
        weights = Dense.of(rng.dirichlet(np.ones(size), size)).weights
        w = [[int(x) for x in row] for row in weights]
        cells = range(size)
        brute = min(
            Fraction(w[u][b] * w[v][a], w[u][a] * w[v][b])
            for u in cells
            for v in cells
            for a in cells
            for b in cells
        )
        assert pk.anonymity_ratio_of_matrix(weights) == brute


# ---------------------------------------------------------------- corrections


def test_a_domain_of_one_value_contributes_nothing() -> None:
    assert pk.likelihood_ratio_from_retention(Fraction(1, 2), 1) == 1
    assert pk.k_from_retention(100, [0.5, 0.9], [3, 1]) == pk.k_from_retention(100, [0.5], [3])


def test_zeros_give_k_1_and_no_epsilon() -> None:
    blocks = Dense.of([[0.5, 0.5, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5]])
    assert blocks.anonymity_ratio == 0
    assert blocks.likelihood_ratio is None
    assert pk.k_from_ratio(1000, blocks.anonymity_ratio) == 1


def test_an_all_zero_column_is_dropped() -> None:
    with_column = Dense.of([[0.7, 0.3, 0], [0.2, 0.8, 0], [0.5, 0.5, 0]])
    assert with_column.anonymity_ratio > 0
    assert with_column.likelihood_ratio is not None


def test_the_ends_of_the_scale() -> None:
    assert pk.retention_for_pk(50, [2, 3], 50) == 0
    assert pk.retention_for_pk(50, [2, 3], 1) == 1
    with pytest.raises(UnreachableError, match="at most the number of records, 50"):
        pk.retention_for_pk(50, [2, 3], 51)


def test_planning_for_records_that_do_not_come() -> None:
    """Sheet: parameters planned for 100,000 records but met by 1,000 give k = 1.989, not 100."""
    rho = pk.retention_for_pk(100_000, [2, 5, 10], 100)
    assert float(pk.k_from_retention(1000, [rho] * 3, [2, 5, 10])) == pytest.approx(1.989, abs=5e-4)


def test_k_is_a_function_of_epsilon_alone() -> None:
    for sizes in ([2], [2, 5, 10], [7, 7, 7, 7]):
        rho = pk.retention_for_pk(10_000, sizes, 25)
        assert epsilon_from_retention([rho] * len(sizes), sizes) == pytest.approx(pk.epsilon_from_k(10_000, 25))


def test_algorithm_3_takes_the_smaller() -> None:
    sizes = [2, 5, 10]
    both = pk.retention_for_both(100_000, sizes, 100, 3.0)
    assert both == pk.retention_for_epsilon(sizes, 3.0) < pk.retention_for_pk(100_000, sizes, 100)
    assert pk.retention_for_both(100_000, sizes, 100, 5.0) == pk.retention_for_pk(100_000, sizes, 100)


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan])
def test_epsilon_must_be_positive(epsilon: float) -> None:
    with pytest.raises(UnreachableError, match="epsilon must be a positive number"):
        pk.retention_for_epsilon([2], epsilon)


@pytest.mark.parametrize(("retention", "size"), [(0.5, 2), (0.303195623, 100), (0.05, 18)])
def test_variance_factor_is_that_of_the_inverse_matrix(retention: float, size: int) -> None:
    channel = Retention.at(retention, size)
    assert pk.variance_factor(retention, size) == pytest.approx(
        pk.variance_factor_of_matrix(channel.weights), rel=1e-9
    )


def test_record_and_attribute_coin_variances_of_the_sheet() -> None:
    """Joint table of the example: 16.9 n with one coin per record, 521.9 n with one per attribute."""
    epsilon = 3.458897807392820
    record = (math.exp(epsilon) - 1) / (math.exp(epsilon) + 99)
    assert pk.variance_factor(record, 100) - 1 == pytest.approx(16.9, abs=0.05)
    rho = 0.303195623089413
    assert math.prod(pk.variance_factor(rho, v) for v in (2, 5, 10)) - 1 == pytest.approx(521.9, abs=0.05)
