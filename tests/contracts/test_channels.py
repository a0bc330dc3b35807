"""One contract, every channel: what the certificate relies on, whatever the law."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.errors import MatrixError
from pramana.mechanisms.channel import Channel, Dense, Redrawn, Retention
from pramana.mechanisms.invariant import BlockInvariant, inverse_frequency, sinkhorn, two_stage
from pramana.mechanisms.stated import channel_from_json
from pramana.mechanisms.table import RecordRetention
from pramana.methods.retention.ordered import Criterion, OrderedValues, ordered_channel
from pramana.randomness.key import Key
from pramana.randomness.samplers import ONE, code_dtype
from pramana.theory import pk

EXAMPLES: dict[str, Channel] = {
    "retention": Retention.at(Fraction(3, 10), 5),
    "all kept": Retention.at(1, 4),
    "all redrawn": Retention.at(0, 3),
    "redrawn": Redrawn(3),
    "redrawn, many": Redrawn(1000),
    "redrawn, one value": Redrawn(1),
    "one value": Retention.at(Fraction(1, 2), 1),
    "two values": Retention.at(Fraction(1, 2), 2),
    "large": Retention.at(Fraction(1, 10), 1000),
    "very large": Retention.at(Fraction(9, 10), 70_000),
    "dense": Dense.of([[Fraction(7, 10), Fraction(3, 10)], [Fraction(1, 5), Fraction(4, 5)]]),
    "identity": Dense.of(np.eye(3)),
    "with zeros": Dense.of([[0.5, 0.5, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]]),
    "tiny entries": Dense.of([[1 - 1e-18, 1e-18], [1e-18, 1 - 1e-18]]),
    "blocks": BlockInvariant(6, (inverse_frequency([2, 30, 9, 40, 50, 60], (0, 1, 5), 1.7),)),
    "one block": BlockInvariant(3, (inverse_frequency([5, 6, 7], (0, 1, 2), 2.0),)),
    "no blocks": BlockInvariant(4, ()),
    "sinkhorn": sinkhorn([800, 150, 50], 0.5),
    "two-stage": two_stage([800, 150, 50, 7], 0.8),
    "ordered": ordered_channel(OrderedValues(Criterion(np.arange(9.0)), missing=True), Fraction(5)),
    "odd size": Dense.of(np.random.default_rng(1).dirichlet(np.ones(37), 37)),
}
SMALL = {name: channel for name, channel in EXAMPLES.items() if channel.size <= 1000}


@pytest.mark.parametrize("channel", SMALL.values(), ids=SMALL)
def test_rows_sum_exactly(channel: Channel) -> None:
    weights = channel.weights
    assert weights.shape == (channel.size, channel.size)
    assert (weights >= 0).all()
    assert all(sum(map(int, row)) == ONE for row in weights)


@pytest.mark.parametrize("channel", SMALL.values(), ids=SMALL)
def test_ratios_are_those_of_the_integers(channel: Channel) -> None:
    if channel.size > 100:
        weights = channel.weights[:50, :50]  # a retention looks the same everywhere
        rest = np.full((50, 1), ONE, np.int64) - weights.sum(axis=1, keepdims=True)
        assert (rest > 0).all()
        assert channel.anonymity_ratio == pk.anonymity_ratio_of_matrix(weights)
        return
    assert channel.likelihood_ratio == pk.likelihood_ratio_of_matrix(channel.weights)
    assert channel.anonymity_ratio == pk.anonymity_ratio_of_matrix(channel.weights)


@pytest.mark.parametrize("channel", EXAMPLES.values(), ids=EXAMPLES)
def test_the_certificate_reads_back_as_the_same_law(channel: Channel) -> None:
    assert channel_from_json(json.loads(json.dumps(channel.to_json()))) == channel


@pytest.mark.parametrize("channel", EXAMPLES.values(), ids=EXAMPLES)
def test_publishing_is_a_pure_function_of_word_and_code(channel: Channel) -> None:
    rows = 4096
    words = Key(bytes(32)).stream("test").words(0, rows)
    codes = (np.arange(rows) % channel.size).astype(code_dtype(channel.size))
    out = np.empty_like(codes)
    channel.publish(words, codes, out)
    assert out.max() < channel.size
    again = codes.copy()
    channel.publish(words, again, again)  # in place
    assert np.array_equal(again, out)
    part = np.empty_like(codes[100:200])
    channel.publish(words[100:200], codes[100:200], part)
    assert np.array_equal(part, out[100:200])


@pytest.mark.parametrize(
    "channel", [c for c in SMALL.values() if c.size <= 40], ids=[n for n, c in SMALL.items() if c.size <= 40]
)
def test_every_published_value_has_its_integer_share(channel: Channel) -> None:
    """On an even comb of 2^16 words the counts are the weights to within what the comb can resolve."""
    comb = 1 << 16
    words = (np.arange(comb, dtype=np.uint64) << np.uint64(48)) + np.uint64(1 << 47)
    slots = 1 << (channel.size - 1).bit_length()
    for value in range(channel.size):
        codes = np.full(comb, value, code_dtype(channel.size))
        out = np.empty_like(codes)
        channel.publish(words, codes, out)
        counts = np.bincount(out, minlength=channel.size)
        assert np.abs(counts - channel.weights[value] / 2.0**46).max() <= 2 * slots


@pytest.mark.parametrize("size", [2, 3, 7, 255, 256, 257, 70_000])
def test_a_redrawn_value_does_not_depend_on_the_true_one(size: int) -> None:
    """Not even where the word lies in what 2^62 leaves over, which `Retention` gives to the true value."""
    step, left_over = divmod(ONE, size)
    edges = [0, step - 1, step, size * step - 1, *(size * step + i for i in range(left_over)), ONE - 1]
    words = np.array([edge << 2 for edge in edges], np.uint64)
    found = []
    for code in (0, 1, size - 1):
        out = np.empty(len(words), code_dtype(size))
        Redrawn(size).publish(words, np.full(len(words), code, out.dtype), out)
        found.append(out.tolist())
    assert found[0] == found[1] == found[2]
    assert found[0][:4] == [0, 0, 1, size - 1]
    assert found[0][4 : 4 + left_over] == [0] * left_over
    assert Redrawn(size).anonymity_ratio == Redrawn(size).likelihood_ratio == 1
    assert (Retention.at(0, size).anonymity_ratio == 1) == (left_over == 0)  # why it takes a law of its own


ROWS = st.integers(1, 12).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 50), min_size=n, max_size=n).filter(any), min_size=n, max_size=n)
)


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_any_matrix_is_realised_to_one_unit(rows: list[list[int]]) -> None:
    channel = Dense.of([[Fraction(x, sum(row)) for x in row] for row in rows])
    for row, weights in zip(rows, channel.weights, strict=True):
        for x, w in zip(row, weights, strict=True):
            exact = Fraction(x, sum(row)) * ONE
            assert (w == 0) == (x == 0)
            assert abs(int(w) - exact) < 2


@pytest.mark.parametrize("tiny", [Fraction(1, 10**18), Fraction(1, 10**30), Fraction(1, 10**300)])
def test_a_positive_entry_stays_positive_however_tiny(tiny: Fraction) -> None:
    """Realised as 0 it would rule out a true value, and no epsilon would hold."""
    for size in (2, 3, 40):
        row = [tiny] * (size - 1)
        channel = Dense.of([[*row[:i], 1 - sum(row), *row[i:]] for i in range(size)])
        assert (channel.weights > 0).all()
        assert channel.likelihood_ratio is not None
        assert channel.weights.min() == 1 or abs(int(channel.weights.min()) - tiny * ONE) < 1
    kept = Dense.of([[0, 1 - tiny, tiny], [0, 1, 0], [0, tiny, 1 - tiny]])
    assert (kept.weights == 0).tolist() == [[True, False, False], [True, False, True], [True, False, False]]


WANTED = [*(Fraction(i, 37) for i in range(1, 38)), Fraction(1, 10**15), 1 - Fraction(1, 10**20), Fraction(0.1)]


@pytest.mark.parametrize("size", [2, 3, 7, 1000])
def test_a_retention_is_never_above_the_wanted_one_and_within_a_unit_of_it(size: int) -> None:
    for wanted in WANTED:
        per_value = wanted - Retention.at(wanted, size).retention
        assert 0 <= per_value < Fraction(size, ONE)
        record = wanted - RecordRetention.at(wanted, {"a": size, "b": 3}).retention
        assert 0 <= record < Fraction(1, ONE)


@pytest.mark.parametrize("sizes", [(2, 3), (5,), (7, 9), (1000, 11)])
def test_a_records_ratio_is_that_of_the_redraws_that_are_sampled(sizes: tuple[int, ...]) -> None:
    """floor(w*V/2^64) of a word w: the fewest words that any value has, counted and not taken as 2^64/V."""
    law = RecordRetention.at(Fraction(1, 3), {str(i): size for i, size in enumerate(sizes)})
    least = Fraction(1)
    for size in sizes:
        borders = [-(-(value << 64) // size) for value in range(size + 1)]
        least *= Fraction(min(b - a for a, b in pairwise(borders)), 1 << 64)
    redrawn = Fraction(law.bound, ONE) * least
    assert law.smallest_redraw == least
    assert law.likelihood_ratio == (1 - Fraction(law.bound, ONE) + redrawn) / redrawn
    assert law.anonymity_ratio == 1 / law.likelihood_ratio**2


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0.5, 0.6], [0.5, 0.5]], "must sum to 1"),
        ([[0.5, 0.5]], "square"),
        ([[float("nan"), 1], [0, 1]], "must be a number"),
        ([[float("inf"), 1], [0, 1]], "must be a number"),
        ([[-0.5, 1.5], [0, 1]], "between 0 and 1"),
        ([[0.5, 0.5], [1.0]], "square"),
    ],
)
def test_what_is_no_matrix_is_refused(matrix: list[list[float]], message: str) -> None:
    with pytest.raises(MatrixError, match=message):
        Dense.of(matrix)


@pytest.mark.parametrize(
    "statement", [{}, {"kind": "retention"}, {"kind": "dense", "weights": [["x"]]}, {"kind": "?"}]
)
def test_what_is_no_statement_is_refused(statement: dict[str, object]) -> None:
    with pytest.raises(MatrixError):
        channel_from_json(statement)
