"""Alias tables realise integer weights exactly, and the compiled draws equal a slow reference word by word."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.randomness.documented import retained, retained_record

from pramana.mechanisms.channel import Dense, Retention
from pramana.randomness import samplers
from pramana.randomness._kernels import alias as draw_from_table
from pramana.randomness._kernels import retain, retain_joint
from pramana.randomness.samplers import ONE, alias_table, brief_table, code_dtype


def weights_of(rng: np.random.Generator, rows: int, size: int, zeros: float = 0.2) -> NDArray[np.int64]:
    """Rows of integers that sum to ONE: some zero, some tiny, some almost everything."""
    raw = rng.integers(1, 1 << 50, (rows, size)) >> rng.integers(0, 50, (rows, size))
    raw[rng.random((rows, size)) < zeros] = 0
    raw[:, 0] += raw.sum(axis=1) == 0
    found = []
    for row in raw.tolist():
        scaled = [ONE * w // sum(row) for w in row]
        scaled[int(np.argmax(row))] += ONE - sum(scaled)
        found.append(scaled)
    return np.array(found, np.int64)


def realised(table: NDArray[np.uint64], bits: int, rows: int) -> list[list[int]]:
    """The chances each value has, summed over the slots of each row in Python integers."""
    slots, capacity = 1 << bits, ONE >> bits
    found = [[0] * slots for _ in range(rows)]
    for place, word in enumerate(table.tolist()):
        row, slot = divmod(place, slots)
        kept, other = word >> bits, word & (slots - 1)
        assert 0 <= kept < capacity or slots == 1
        found[row][slot] += kept
        found[row][other] += capacity - kept
    return found


def drawn(word: int, row: int, table: NDArray[np.uint64], bits: int) -> int:
    r = word >> 2
    slot, rest = r >> (62 - bits), r & ((1 << (62 - bits)) - 1)
    entry = int(table[(row << bits) + slot])
    return slot if rest < entry >> bits else entry & ((1 << bits) - 1)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 6), st.integers(0, 2**32), st.sampled_from([0.0, 0.3, 0.9]))
def test_slots_sum_to_the_weights(size: int, rows: int, seed: int, zeros: float) -> None:
    weights = weights_of(np.random.default_rng(seed), rows, size, zeros)
    table, bits = alias_table(weights)
    padded = [[*row, *[0] * ((1 << bits) - size)] for row in weights.tolist()]
    assert realised(table, bits, rows) == padded


def test_a_large_matrix_is_realised_exactly() -> None:
    weights = weights_of(np.random.default_rng(1), 300, 300)
    table, bits = alias_table(weights)
    assert [row[:300] for row in realised(table, bits, 300)] == weights.tolist()


@pytest.mark.parametrize("change", [1, -1, -ONE])
def test_weights_that_do_not_sum_to_one_are_refused(change: int) -> None:
    weights = weights_of(np.random.default_rng(2), 3, 7)
    weights[1, int(np.argmax(weights[1]))] += change
    with pytest.raises(ValueError, match="sum to"):
        alias_table(weights)


def test_negative_weights_are_refused_though_they_sum_to_one() -> None:
    with pytest.raises(ValueError, match="negative"):
        alias_table(np.array([[-5, ONE, 5]], np.int64))


def edge_words(table: NDArray[np.uint64], rows: int, bits: int, rng: np.random.Generator) -> tuple[list[int], ...]:
    """For every slot the draws at, just below and just above its threshold and the brief table's cut."""
    words, codes = [], []
    for place, entry in enumerate(table.tolist()):
        row, slot = divmod(place, 1 << bits)
        kept = entry >> bits
        cut = kept >> 30 << 30
        for rest in (0, kept - 1, kept, kept + 1, cut - 1, cut, cut + (1 << 30) - 1, cut + (1 << 30)):
            if 0 <= rest < 1 << (62 - bits):
                words.append((((slot << (62 - bits)) | rest) << 2) | int(rng.integers(0, 4)))
                codes.append(row)
    assert max(codes) == rows - 1
    return words, codes


@pytest.mark.parametrize("size", [1, 2, 3, 18, 100])
def test_draws_equal_the_reference_with_and_without_the_brief_table(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samplers, "_NEAR", 0)  # a brief table also for small ones
    rng = np.random.default_rng(size)
    table, bits = alias_table(weights_of(rng, size, size))
    brief = brief_table(table, bits)
    assert brief is not None
    edges, rows = edge_words(table, size, bits, rng)
    words = np.array([*edges, *rng.integers(0, 1 << 64, 2_000, np.uint64).tolist()], np.uint64)
    for dtype in (np.uint8, np.uint16, np.uint32):
        codes = np.array([*rows, *rng.integers(0, size, 2_000).tolist()], dtype)
        wanted = [drawn(w, c, table, bits) for w, c in zip(words.tolist(), codes.tolist(), strict=True)]
        for extra in ((), (brief,)):
            out = np.empty_like(codes)
            draw_from_table(words, codes, out, table, bits, *extra)
            assert out.tolist() == wanted


def test_a_wrong_brief_table_is_noticed() -> None:
    """The test above could fail: thresholds one unit of the cut away give other draws at the edges."""
    rng = np.random.default_rng(5)
    table, bits = alias_table(weights_of(rng, 18, 18, 0.0))
    edges, rows = edge_words(table, 18, bits, rng)
    words, codes = np.array(edges, np.uint64), np.array(rows, np.uint8)
    brief = ((table >> np.uint64(bits + 30) << np.uint64(bits)) | (table & np.uint64((1 << bits) - 1))).astype(
        np.uint32
    )
    right, wrong = np.empty_like(codes), np.empty_like(codes)
    draw_from_table(words, codes, right, table, bits, brief)
    draw_from_table(words, codes, wrong, table, bits, brief + np.uint32(1 << bits))
    assert right.tolist() == [drawn(w, c, table, bits) for w, c in zip(edges, rows, strict=True)]
    assert right.tolist() != wrong.tolist()


def test_a_dense_channel_of_many_values_reads_its_brief_table() -> None:
    rng = np.random.default_rng(9)
    channel = Dense(weights_of(rng, 256, 256))
    table, bits, brief = channel._table
    assert brief is not None and len(brief) == len(table)
    codes = rng.integers(0, 256, 20_000).astype(code_dtype(256))
    words = rng.integers(0, 1 << 64, 20_000, np.uint64)
    out = np.empty_like(codes)
    channel.publish(words, codes, out)
    assert out.tolist() == [drawn(w, c, table, bits) for w, c in zip(words.tolist(), codes.tolist(), strict=True)]


def test_codes_outside_the_table_are_refused() -> None:
    table, bits = alias_table(weights_of(np.random.default_rng(3), 3, 3))
    words, codes = np.zeros(1, np.uint64), np.array([3], np.uint8)
    with pytest.raises(ValueError, match="below the number of rows"):
        draw_from_table(words, codes, np.empty_like(codes), table, bits)
    with pytest.raises(ValueError, match="below the number of rows"):
        draw_from_table(words, codes * 0, np.empty_like(codes), table[:0], bits)


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 70_000), st.floats(0, 1), st.integers(0, 2**32))
def test_retention_equals_the_reference(size: int, retention: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    step = Retention.at(retention, size).step
    edges = [0, ONE - 1, *(max(0, min(ONE - 1, step * v + d)) for v in (1, size - 1, size) for d in (-1, 0, 1))]
    words = np.array([*(r << 2 for r in edges), *rng.integers(0, 1 << 64, 200, np.uint64).tolist()], np.uint64)
    codes = rng.integers(0, size, len(words)).astype(code_dtype(size))
    out = np.empty_like(codes)
    retain(words, codes, out, size, step)
    wanted = [
        c if step == 0 else retained(w, c, size, step) for w, c in zip(words.tolist(), codes.tolist(), strict=True)
    ]
    assert out.tolist() == wanted


@pytest.mark.parametrize("size", [1, 2, 3, 255, 256, 257, 70_000])
@pytest.mark.parametrize("bound", [0, 1, 2, ONE // 3, ONE - 1, ONE])
def test_the_records_coin_is_exact_to_the_unit(size: int, bound: int) -> None:
    """Coins at, just below and just above the threshold, with every value of the two bits that are dropped."""
    rng = np.random.default_rng(size)
    near = [r for r in (0, bound - 2, bound - 1, bound, bound + 1, ONE - 1) if 0 <= r < ONE]
    coins = np.array([r << 2 | low for r in near for low in range(4)], np.uint64)
    edges = [0, (1 << 64) - 1, *(min((v << 64) // size + d, (1 << 64) - 1) for v in (1, size - 1) for d in (0, 1))]
    for word in edges:
        words = np.full(len(coins), word, np.uint64)
        codes = rng.integers(0, size, len(coins)).astype(code_dtype(size))
        out = np.empty_like(codes)
        retain_joint(coins, words, codes, out, size, bound)
        triples = zip(coins.tolist(), words.tolist(), codes.tolist(), strict=True)
        assert out.tolist() == [retained_record(coin, w, c, size, bound) for coin, w, c in triples]
