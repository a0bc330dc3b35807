"""The bound on E[(X_1 + ... + X_n)+] beside the exact sum, and the laws it is computed on beside every pair's."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.theory import blanket, shuffling


def exact_positive_part(values: list[int], weights: list[int], count: int) -> Fraction:
    """By convolution in integers."""
    law = {0: 1}
    for _ in range(count):
        grown: dict[int, int] = {}
        for total, chance in law.items():
            for value, weight in zip(values, weights, strict=True):
                grown[total + value] = grown.get(total + value, 0) + chance * weight
        law = grown
    return Fraction(sum(max(0, total) * chance for total, chance in law.items()), sum(weights) ** count)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=6),
    st.lists(st.sampled_from([1, 2, 3, 10, 100, 10_000]), min_size=6, max_size=6),
    st.integers(1, 12),
)
def test_the_bound_is_above_the_exact_sum_and_close(values: list[int], weights: list[int], count: int) -> None:
    chances = weights[: len(values)]
    exact = exact_positive_part(values, chances, count)
    mass = np.array(chances, np.float64) / sum(chances)
    bound = shuffling.log_positive_part_of_sum(np.array(values, np.float64), mass, count)
    if max(values) <= 0:
        assert bound == -math.inf
        return
    assert exact <= Fraction(math.exp(bound)) * (1 + Fraction(1, 10**12))
    # The added normal variable costs most where the sum is often exactly 0.
    assert math.exp(bound) <= float(exact) * 1.05


@pytest.mark.parametrize("count", [10, 100, 800])
@pytest.mark.parametrize("drift", [0, 3, 9])
def test_it_is_close_however_small_the_expectation_is(count: int, drift: int) -> None:
    """Steps of 20 up with chance 1/40 and `drift` down else: down to e^-400."""
    exact = exact_positive_part([20, -drift], [1, 39], count)
    log_exact = math.log(exact.numerator) - math.log(exact.denominator)
    values, mass = np.array([20.0, -float(drift)]), np.array([1 / 40, 39 / 40])
    bound = shuffling.log_positive_part_of_sum(values, mass, count)
    assert log_exact - 1e-9 <= bound <= log_exact + 0.02 + 1e-3 * abs(log_exact)


def test_many_values_are_split_so_that_every_convex_mean_grows() -> None:
    rng = np.random.default_rng(5)
    values, mass = rng.standard_cauchy(3000), rng.dirichlet(np.ones(3000))
    nodes, split = shuffling.spread_out(values, mass, 200)
    assert len(nodes) == 200
    assert nodes @ split == pytest.approx(values @ mass, rel=1e-9)
    for corner in np.quantile(values, np.linspace(0.001, 0.999, 50)):
        before, after = mass @ np.maximum(values - corner, 0), split @ np.maximum(nodes - corner, 0)
        assert before <= after * (1 + 1e-12)
    assert split @ nodes**2 <= (mass @ values**2) * 1.002


def larger_everywhere(above: blanket.Blanket, below: blanket.Blanket) -> None:
    """E(aX - bY - t)+ for many a, b, t: what makes one law do for another."""
    for a, b in product((0.0, 0.3, 1.0, 2.5), (0.0, 0.4, 1.0, 3.0)):
        x, y = a * above.first - b * above.second, a * below.first - b * below.second
        for t in np.linspace(float(min(x.min(), y.min())), float(max(x.max(), y.max())), 25):
            mine, theirs = above.mass @ np.maximum(x - t, 0), below.mass @ np.maximum(y - t, 0)
            assert theirs <= mine * (1 + 1e-9) + 1e-12, (a, b, t)


@pytest.mark.parametrize("size", [2, 3, 7])
def test_the_envelope_is_larger_than_every_pair(size: int) -> None:
    rng = np.random.default_rng(size)
    for _ in range(5):
        rows = blanket.rows_over_blanket([rng.integers(1, 1000, (size, size)) ** 2])
        # Rows need the same sum to be laws; the ratios are made so afterwards.
        ratios = rows.ratios / (rows.ratios @ rows.mass)[:, None]
        law = blanket.RowsOverBlanket(rows.weight, ratios, rows.mass)
        for u, v in product(range(size), repeat=2):
            larger_everywhere(blanket.envelope_of_rows(law), law.pair(u, v))


def test_a_pair_that_agrees_somewhere_or_has_likelier_values_is_smaller() -> None:
    """Two attributes, one with a redraw law that is not uniform, all pairs of records."""
    rho, redraw = (0.3, 0.6), (np.array([0.5, 0.5]), np.array([0.2, 0.3, 0.5]))
    matrices = [r * np.eye(len(w)) + (1 - r) * w for r, w in zip(rho, redraw, strict=True)]
    worst = blanket.blanket_of_retentions(rho, [2, Fraction(1, 5)])
    over = np.kron(redraw[0], redraw[1])
    rows = np.kron(matrices[0], matrices[1]) / over
    for u, v in product(range(6), repeat=2):
        larger_everywhere(worst, blanket.Blanket(worst.weight, rows[u], rows[v], over))


def test_many_classes_are_split_into_a_larger_law() -> None:
    rhos, sizes = [0.3, 0.25, 0.2, 0.35, 0.3, 0.2, 0.15, 0.1, 0.22, 0.1], [2, 3, 5, 7, 10, 4, 9, 11, 6, 13]
    law = blanket.blanket_of_retentions(rhos, sizes)
    assert len(law.mass) <= 128**2
    first, second, mass = np.ones(1), np.ones(1), np.ones(1)
    for rho, size in zip(rhos, sizes, strict=True):
        own, other = 1 - rho + rho * size, 1 - rho
        first = np.outer(first, [own, other, other]).reshape(-1)
        second = np.outer(second, [other, own, other]).reshape(-1)
        mass = np.outer(mass, [1 / size, 1 / size, 1 - 2 / size]).reshape(-1)
    whole = blanket.Blanket(law.weight, first, second, mass)
    larger_everywhere(law, whole)
    for t in (-3.0, 0.0, 3.0, 50.0):
        few, all_of_them = (one.mass @ np.maximum(one.first - one.second - t, 0) for one in (law, whole))
        assert few <= all_of_them * 1.01


def test_a_matrix_lies_over_the_smallest_entry_of_each_column() -> None:
    rows = blanket.rows_over_blanket([np.array([[6, 2, 2], [1, 3, 6], [4, 4, 2]], np.int64)])
    assert rows.weight == pytest.approx(0.5)  # (1 + 2 + 2)/10
    assert rows.mass == pytest.approx([0.2, 0.4, 0.4])
    assert rows.ratios[0] == pytest.approx([3.0, 0.5, 0.5])  # .6/.2, .2/.4, .2/.4
    two = blanket.rows_over_blanket([np.array([[3, 1], [1, 3]], np.int64)] * 2)
    assert two.weight == pytest.approx(0.25)
    assert two.ratios.shape == (4, 4)
    with pytest.raises(ValueError, match="positive"):
        blanket.rows_over_blanket([np.array([[1, 0], [0, 1]], np.int64)])
