"""Exact chances at single outcomes, against enumeration of all of them."""

from __future__ import annotations

import decimal
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.theory import every_count, identification


def pool(counts: np.ndarray, share: float) -> np.ndarray:
    matrix = share * np.tile(counts / counts.sum(), (len(counts), 1))
    return matrix + (1 - share) * np.eye(len(counts))


@settings(max_examples=40, deadline=None)
@given(
    counts=st.lists(st.integers(1, 6), min_size=3, max_size=4),
    share=st.floats(0.05, 0.95),
    kind=st.sampled_from(["block", "pool"]),
)
def test_chances_of_every_outcome(counts: list[int], share: float, kind: str) -> None:
    """Summed over every outcome the law is a law, and the largest and the mean chance are the enumerated ones."""
    t = np.array(counts)
    matrix = (
        pool(t, share) if kind == "pool" else identification.inverse_frequency_matrix(counts, share * min(counts))
    )
    law = every_count.one_law_of(matrix)
    assert law is not None
    records, size = int(t.sum()), len(t)
    total, largest, mean = 0.0, 0.0, 0.0
    for outcome in np.ndindex(*(records + 1,) * (size - 1)):
        if sum(outcome) <= records:
            shift = tuple((np.array([*outcome, records - sum(outcome)]) - t).tolist())
            right, chance = every_count.chances_at(law, t, 0, shift)
            total += chance
            mean += chance * float(right.max())
            if chance > 1e-10:
                largest = max(largest, float(right.max()))
    exact, expected = every_count.enumerated_risk(matrix, t, 0)
    assert total == pytest.approx(1, abs=1e-8)
    assert mean == pytest.approx(expected, abs=1e-8)
    assert largest <= exact + 1e-6
    found, _ = every_count.worst_found(law, t, 0)
    assert found <= exact + 1e-6


def test_the_papers_block() -> None:
    """0.124497 was also found by a Fourier transform over all displacements of this block."""
    counts = np.array([2, 106, 194, 205, 221, 230])
    law = every_count.one_law_of(
        identification.inverse_frequency_matrix(counts.tolist(), identification.theta_for_xi(2, 0.1))
    )
    assert law is not None
    found, probability = every_count.worst_found(law, counts, 0)
    assert found == pytest.approx(0.12449679455511531, rel=1e-9)
    assert probability == pytest.approx(0.0012122461762856392, rel=1e-9)


def test_other_matrices_are_not_of_this_kind() -> None:
    matrix = np.array([[0.6, 0.1, 0.3], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]])
    assert every_count.one_law_of(matrix) is None
    assert every_count.one_law_of(np.array([[0.5, 0.5], [0.1, 0.9]])) is None


@pytest.mark.parametrize("trials", [5, 99, 101, 3_000, 60_000, 10**9])
@pytest.mark.parametrize("shift", [-3, 0, 4])
def test_a_series_of_any_size(trials: int, shift: int) -> None:
    """Its terms one by one in 60 digits: C(60000, 100) alone is no float."""
    move, place = 3.7 / trials, 0.4
    terms = every_count._series(trials, move, place, shift)
    with decimal.localcontext(prec=60, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN):
        m, q = decimal.Decimal(move), decimal.Decimal(place)
        for u, term in enumerate(terms.tolist()):
            if not 0 <= u + shift <= 100:
                assert term == 0
                continue
            exact = math.comb(trials, u) * m**u * (1 - m) ** (trials - u) * q ** (u + shift)
            assert term == pytest.approx(float(exact / math.factorial(u + shift)), rel=1e-10)


def test_a_series_of_a_chance_to_move_of_one_and_more() -> None:
    for move in (1.0, 1.25):
        terms = every_count._series(6, move, 0.5, 1).tolist()
        exact = [
            math.comb(6, u) * move**u * (1 - move) ** (6 - u) * 0.5 ** (u + 1) / math.factorial(u + 1)
            for u in range(7)
        ]
        assert terms == pytest.approx(exact, rel=1e-12, abs=0)


@pytest.mark.parametrize("partner", [60_000, 10**6, 10**9])
def test_the_search_takes_any_frequencies(partner: int) -> None:
    """What one outcome gives cannot pass the proven bound, and a large partner is no slower than a small one."""
    counts = np.array([4, partner, partner, partner])
    matrix = identification.inverse_frequency_matrix(counts.tolist(), identification.theta_for_xi(4, 0.1))
    weights = np.rint(matrix * every_count.ONE).astype(np.int64)
    np.fill_diagonal(weights, 0)
    np.fill_diagonal(weights, every_count.ONE - weights.sum(axis=1))
    start = time.monotonic()
    risk = every_count.largest_risks_all_counts(weights, counts, [0])[0]
    assert time.monotonic() - start < 5
    assert risk.found is not None
    assert 0.1 < risk.found <= float(risk.value) <= 0.25  # 1/4 is the risk of doing nothing
