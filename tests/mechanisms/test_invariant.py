"""Invariant channels: integers that keep the frequencies, drawn as they stand."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.errors import MatrixError
from pramana.mechanisms.channel import Dense, Retention
from pramana.mechanisms.invariant import (
    Block,
    BlockInvariant,
    drawn_diagonals,
    drift_of,
    inverse_frequency,
    match_risk,
    realised,
    sinkhorn,
    two_stage,
)
from pramana.mechanisms.stated import channel_from_json
from pramana.randomness.key import Key
from pramana.randomness.samplers import ONE, code_dtype
from pramana.theory import identification

PAPER = [2, 205, 431, 106, 230, 221, 611, 194]  # paper 2, Table 2
MOVED = [0, 3, 7, 1, 5, 4]


def paper_channel() -> BlockInvariant:
    return BlockInvariant(8, (inverse_frequency(PAPER, MOVED, identification.theta_for_xi(2, 0.1)),))


def test_the_papers_matrix() -> None:
    """Paper 2, the printed transition matrix, to its three digits."""
    matrix = paper_channel().weights / ONE
    assert matrix[0] == pytest.approx([0.172, 0.166, 0, 0.166, 0.166, 0.166, 0, 0.166], abs=6e-4)
    assert np.diag(matrix) == pytest.approx([0.172, 0.992, 1, 0.984, 0.993, 0.993, 1, 0.991], abs=6e-4)


def test_frequencies_are_kept_exactly() -> None:
    assert drift_of(paper_channel(), PAPER) == [Fraction(0)] * 8


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(0, 10**7), min_size=2, max_size=6),
    retention=st.floats(0, 0.99),
    diagonal=st.floats(0, 1),
    alpha=st.floats(0, 1),
)
def test_dense_invariants_keep_the_frequencies(
    counts: list[int], retention: float, diagonal: float, alpha: float
) -> None:
    counts[0] += 1
    for channel in (sinkhorn(counts, retention), two_stage(counts, diagonal, alpha)):
        assert isinstance(channel, Dense)  # rows sum to ONE, or it could not be built
        assert max(abs(d) for d in drift_of(channel, counts)) <= Fraction(sum(counts), ONE)


@settings(max_examples=60, deadline=None)
@given(counts=st.lists(st.integers(1, 10**7), min_size=2, max_size=7), share=st.floats(0, 1))
def test_blocks_keep_the_frequencies_exactly_at_any_theta(counts: list[int], share: float) -> None:
    block = inverse_frequency(counts, range(len(counts)), share * min(counts))
    assert (block.weights.sum(axis=1) == ONE).all()
    channel = BlockInvariant(len(counts), (block,))
    coarse = any(
        share * min(counts) / (len(counts) - 1) * ONE < 2**10 * np.lcm(a, b) for a in counts for b in counts
    )
    drift = max(abs(d) for d in drift_of(channel, counts))
    assert drift <= Fraction(sum(counts), ONE)
    assert coarse or drift == 0


def test_drift_tells_a_matrix_that_does_not_keep_them() -> None:
    assert drift_of(Retention.at(Fraction(1, 2), 2), [3, 1]) == [Fraction(-1, 2), Fraction(1, 2)]


def test_a_theta_above_the_smallest_frequency_is_refused() -> None:
    with pytest.raises(MatrixError, match="smallest frequency"):
        inverse_frequency([2, 5], [0, 1], 2.5)
    with pytest.raises(MatrixError, match="more records than it has"):
        realised(np.array([[0.0, 3.0], [3.0, 0.0]]), np.array([2, 5]))


def test_sinkhorn_of_the_sheet() -> None:
    matrix = sinkhorn([800, 200], 0.5).weights / ONE
    assert matrix[0, 0] == pytest.approx(0.8848544238, abs=1e-10)
    assert matrix[1, 0] == pytest.approx(0.4605823048, abs=1e-10)


@settings(max_examples=30, deadline=None)
@given(counts=st.lists(st.integers(1, 500), min_size=2, max_size=6), retention=st.floats(0.05, 0.9))
def test_sinkhorn_has_the_k_of_retention(counts: list[int], retention: float) -> None:
    """AR does not change under scaling of rows and columns (formula sheet, paper 1)."""
    plain = Retention.at(retention, len(counts)).anonymity_ratio
    assert float(sinkhorn(counts, retention).anonymity_ratio) == pytest.approx(float(plain), rel=1e-6)


def test_sinkhorn_with_a_value_nobody_has() -> None:
    channel = sinkhorn([50, 0, 150], 0.4)
    assert (channel.weights[:, 1] == 0).all()
    assert channel.anonymity_ratio == pytest.approx(float(sinkhorn([50, 150], 0.4).anonymity_ratio), rel=1e-9)


def test_two_stage_is_its_description() -> None:
    """First matrix, Bayes reversal, mixture: in plain floats."""
    t, diagonal, alpha = np.array([10.0, 30.0, 60.0]), np.array([0.8, 0.9, 0.85]), 0.5
    first = np.where(np.eye(3, dtype=bool), diagonal[:, None], (1 - diagonal[:, None]) / 2)
    reversal = (t[:, None] * first / (t @ first)).T
    expected = alpha * first @ reversal + (1 - alpha) * np.eye(3)
    assert two_stage(t, diagonal, alpha).weights / ONE == pytest.approx(expected, abs=1e-12)


def test_drawn_diagonals_lie_where_sdcmicro_puts_them() -> None:
    drawn = drawn_diagonals(Key.from_seed(1).stream("diagonal"), 2_000, 0.8)
    assert 0.8 <= drawn.min() < 0.801
    assert 0.999 < drawn.max() <= 1
    assert drawn.mean() == pytest.approx(0.9, abs=0.005)


def test_json_there_and_back() -> None:
    channel = paper_channel()
    assert channel_from_json(json.loads(json.dumps(channel.to_json()))) == channel


@pytest.mark.parametrize(
    "blocks",
    [
        [{"members": [0], "weights": [[str(ONE)]]}],
        [{"members": [0, 9], "weights": [[str(ONE), "0"], ["0", str(ONE)]]}],
        [{"members": [0, 1], "weights": [[str(ONE), "1"], ["0", str(ONE)]]}],
        [{"members": [0, 1], "weights": [[str(ONE)]]}],
        [{"members": [0, 1]}],
        [{"members": [0, 1], "weights": [[str(ONE), "0"], ["0", str(ONE)]]}] * 2,
    ],
)
def test_wrong_statements_are_refused(blocks: list[dict[str, object]]) -> None:
    with pytest.raises(MatrixError):
        channel_from_json({"kind": "blocks", "size": 3, "blocks": blocks})


def test_several_blocks_have_k_1_and_no_epsilon() -> None:
    channel = paper_channel()
    assert channel.anonymity_ratio == 0
    assert channel.likelihood_ratio is None
    whole = BlockInvariant(3, (inverse_frequency([5, 6, 7], [0, 1, 2], 2.0),))
    assert whole.anonymity_ratio == Dense(whole.weights).anonymity_ratio > 0
    assert whole.likelihood_ratio == Dense(whole.weights).likelihood_ratio


@pytest.mark.parametrize("size", [8, 300, 70_000])
def test_published_law_is_the_integers(size: int) -> None:
    """Every word is mapped as the block's own dense channel maps it; other categories stay."""
    members = [size - 1, 3, 0, 5]
    counts = np.full(size, 50)
    channel = BlockInvariant(size, (inverse_frequency(counts, members, 20.0),))
    words = Key.from_seed(5).stream("value").words(0, 40_000)
    codes = np.random.default_rng(3).choice([*members, 1, 2, size - 2], 40_000).astype(code_dtype(size))
    out = np.empty_like(codes)
    channel.publish(words, codes, out)
    still = ~np.isin(codes, members)
    assert (out[still] == codes[still]).all()
    ranks = np.searchsorted(np.sort(members), codes[~still])
    local = np.argsort(members)[ranks].astype(np.uint8)
    expected = np.empty_like(local)
    Dense(channel.blocks[0].weights).publish(words[~still], local, expected)
    assert (out[~still] == np.array(members)[expected]).all()


def test_publishing_in_place_and_by_parts_is_the_same() -> None:
    channel = paper_channel()
    words = Key.from_seed(6).stream("value").words(0, 70_000)
    codes = np.random.default_rng(4).integers(0, 8, 70_000).astype(np.uint8)
    whole, parts = np.empty_like(codes), codes.copy()
    channel.publish(words, codes, whole)
    for part in (slice(0, 33_333), slice(33_333, None)):
        channel.publish(words[part], parts[part], parts[part])
    assert (whole == parts).all()


def test_codes_outside_the_domain_are_refused() -> None:
    with pytest.raises(ValueError, match="below"):
        paper_channel().publish(np.zeros(1, np.uint64), np.array([8], np.uint8), np.zeros(1, np.uint8))


def test_no_blocks_publish_everything_as_it_is() -> None:
    codes = np.arange(5, dtype=np.uint8)
    out = np.zeros_like(codes)
    BlockInvariant(5, ()).publish(np.zeros(5, np.uint64), codes, out)
    assert (out == codes).all()


def test_overlapping_blocks_are_refused() -> None:
    rows = np.array([[ONE, 0], [0, ONE]])
    with pytest.raises(MatrixError, match="disjoint"):
        BlockInvariant(4, (Block((0, 1), rows), Block((1, 2), rows.copy())))


def test_risks_and_errors_of_the_papers_simulation() -> None:
    """Paper 2, section 4: mean squared errors of 1,000 runs beside the exact ones, and the match rate."""
    found = match_risk(paper_channel(), PAPER)
    printed = [4.9350e-07, 7.6125e-07, 0, 7.4300e-07, 8.8550e-07, 7.8375e-07, 0, 8.5550e-07]
    exact = np.array(found.squared_error) / 2000**2
    # A mean of 1,000 squares of a nearly Poisson difference has a relative deviation of some 5 per cent.
    assert exact == pytest.approx(printed, rel=0.15)
    assert found.match[0] == pytest.approx(0.078489, abs=1e-6)
    assert float(found.risk[0] or 0) == pytest.approx(0.0998496582, abs=1e-10)
    assert found.xi == pytest.approx(0.0998496582, abs=1e-10)
    low, high = found.match_all_counts[0] or (0, 0)
    assert found.match[0] is not None
    assert found.match[0] <= low <= high < 0.084
    assert [d for d in found.drift if d] == []


def test_a_dense_matrix_is_one_block() -> None:
    channel = two_stage(PAPER, 0.8)
    found = match_risk(channel, PAPER)
    expected = [identification.largest_risk(channel.weights[:, j], PAPER, j) for j in range(8)]
    assert list(found.risk) == expected
    assert all(one is not None and one.value >= risk for one, risk in zip(found.all_counts, expected, strict=True))


def test_a_category_without_records_has_no_risk() -> None:
    channel = BlockInvariant(3, (inverse_frequency([4, 0, 9], [0, 2], 1.0),))
    found = match_risk(channel, [4, 0, 9])
    assert found.risk[1] is None
    assert found.to_json()["risk"][1] is None
