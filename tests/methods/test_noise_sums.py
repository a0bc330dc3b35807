"""Sums for noise are exact, and numbers the same however they are read: what is published is so everywhere."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.errors import SourceError
from pramana.methods.columns import NumberUse
from pramana.methods.noise import numbers
from pramana.methods.noise.numbers import ExactSum, NumberSummary, PieceNumbers
from pramana.schema.kind import decimal_number

FINITE = st.floats(-1e290, 1e290, allow_nan=False)
USE = NumberUse("get noise", "")


@settings(max_examples=200)
@given(st.lists(FINITE, max_size=40), st.integers(0, 40))
def test_a_sum_of_pieces_is_the_exact_sum_rounded_once(values: list[float], cut: int) -> None:
    """As `fsum` and fractions have it; subnormal numbers and those that cancel each other among them."""
    array = np.array([*values, *(-v for v in values[::2]), 5e-324, -(2.0**-1040), 1e290])
    total = ExactSum.of(array[:cut]) + ExactSum.of(array[cut:])
    assert total.steps == sum(Fraction(x) for x in array.tolist()) * 2**1126
    assert float(total) == math.fsum(array.tolist())
    assert ExactSum.of(array[::-1].copy()) == total


def test_a_sum_longer_than_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(1).normal(0, 1e9, 1000)
    whole = ExactSum.of(values)
    monkeypatch.setattr("pramana.methods.noise.numbers._RUN", 7)
    assert ExactSum.of(values) == whole and float(whole) == math.fsum(values.tolist())
    assert float(ExactSum.of(np.empty(0))) == 0.0


CELLS = st.one_of(
    st.none(),
    st.integers(-(10**17), 10**17).map(str),
    st.decimals(-(10**9), 10**9, places=6).map(str),
    st.decimals(-10, 10, places=16).map(str),
    st.sampled_from(["", "-0", "0.50", "1e5", "1e-7", ".5", "007", " 7", "a", "1e200", "12345.0000000000001"]),
    st.floats(-1e18, 1e18).map(repr),
)


def one_by_one(column: pa.ChunkedArray) -> PieceNumbers:
    pieces = [numbers._one_by_one(chunk) for chunk in column.chunks]
    floating = NumberSummary(floating=pa.types.is_floating(column.type))
    summary = sum((piece.summary for piece in pieces), floating)
    return PieceNumbers(np.concatenate([piece.values for piece in pieces]), summary)


def same(column: pa.ChunkedArray) -> None:
    fast, slow = PieceNumbers.of(column), one_by_one(column)
    assert fast.summary == slow.summary
    assert fast.values.tobytes() == slow.values.tobytes()


@settings(max_examples=300)
@given(st.lists(CELLS, min_size=1, max_size=6), st.sampled_from([pa.string(), pa.large_string()]))
def test_texts_read_at_once_are_those_read_one_by_one(cells: list[str | None], kind: pa.DataType) -> None:
    same(pa.chunked_array([pa.array(cells, kind), pa.array(cells[:1], kind)]))


@settings(max_examples=200)
@given(st.lists(st.one_of(st.none(), st.floats(), st.decimals(-(10**6), 10**6, places=9).map(float)), min_size=1))
def test_doubles_read_at_once_are_those_read_one_by_one(cells: list[float | None]) -> None:
    same(pa.chunked_array([pa.array(cells, pa.float64()).slice(1), pa.array(cells, pa.float64())]))


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint32(), pa.int64(), pa.uint64()])
def test_integers_read_at_once_are_those_read_one_by_one(kind: pa.DataType) -> None:
    same(pa.chunked_array([pa.array([0, None, 7, 127], kind), pa.array([None], kind)]))
    if kind == pa.int64():
        same(pa.chunked_array([pa.array([2**53, -(2**53)], kind), pa.array([2**53 + 1], kind)]))


def test_a_summary_by_hand() -> None:
    read = PieceNumbers.of(pa.chunked_array([["1.50", "", None], ["x", "-20", "0.125"]]))
    assert read.summary == NumberSummary(6, 2, 1, 3, Fraction(20), False, ExactSum.of(np.array([1.5, -20, 0.125])))
    assert [None if math.isnan(x) else x for x in read.values] == [1.5, None, None, None, -20.0, 0.125]
    assert read.summary.mean == (1.5 - 20 + 0.125) / 4, "which is refused for its other value before it is used"


@pytest.mark.parametrize(
    ("cells", "gaps", "words"),
    [
        (["1", None, ""], False, "no missing values to get noise, got 2 rows without one"),
        (["1", "x", "007"], True, "must be a number to get noise, got 2 rows with something else"),
        (["1", str(2**53 + 1)], True, "from -2\\^53 to 2\\^53"),
        (["1e141", "0.5"], True, "below 1e140"),
    ],
)
def test_columns_that_are_refused_with_counts(cells: list[Any], gaps: bool, words: str) -> None:
    pieces = [PieceNumbers.of(pa.chunked_array([pa.array([cell], pa.string())])).summary for cell in cells]
    with pytest.raises(SourceError, match=words):
        sum(pieces, NumberSummary()).check("age", USE, gaps)


def test_the_decimal_of_a_text_is_its_double() -> None:
    """The shortest decimal of the double is the decimal of the text, where the text has at most 15 digits."""
    rng = np.random.default_rng(4)
    for _ in range(500):
        text = f"{int(rng.integers(10**15))}"[: int(rng.integers(1, 16))].lstrip("0") or "0"
        point = int(rng.integers(0, len(text)))
        text = f"{text[: len(text) - point] or '0'}.{text[len(text) - point :]}" if point else text
        assert Decimal(repr(float(text))) == decimal_number(text)
