"""Directed rounding: never on the wrong side, never far from the value."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.theory import rounding

POSITIVE = st.fractions(min_value=Fraction(1, 10**30), max_value=10**30)


@given(POSITIVE)
def test_floats_bracket_the_fraction(value: Fraction) -> None:
    low, high = rounding.float_down(value), rounding.float_up(value)
    assert Fraction(low) <= value <= Fraction(high)
    assert high <= math.nextafter(low, math.inf)


@given(st.fractions(min_value=1, max_value=10**40))
def test_log_up_is_above_and_close(value: Fraction) -> None:
    found = rounding.log_up(value)
    assert rounding.exp_up(found) >= value  # e^found covers the ratio
    assert found == pytest.approx(math.log(value), rel=1e-12, abs=1e-15)


@given(st.floats(min_value=1e-9, max_value=300))
def test_exponentials_bracket(exponent: float) -> None:
    low, high = rounding.exp_down(exponent), rounding.exp_up(exponent)
    assert low < high
    assert float(low) == pytest.approx(math.exp(exponent), rel=1e-13)
    assert rounding.log_up(high) >= exponent


@given(st.floats(min_value=1e-12, max_value=1e12))
def test_shown_numbers_are_on_the_safe_side(value: float) -> None:
    assert float(rounding.shown_down(value)) <= value <= float(rounding.shown_up(value))


def test_a_k_just_short_of_100_is_not_shown_as_100() -> None:
    assert rounding.shown_down(99.9999999) == "99.9999"
    assert rounding.shown_up(3.4588978) == "3.4589"
    assert rounding.shown_up(1e-6) == "1e-6"


def test_exponentials_at_and_near_zero() -> None:
    assert rounding.exp_down(0) == rounding.exp_up(0) == 1
    assert rounding.exp_down(1e-300) == 1  # e^x is at least 1, however small x
    assert rounding.exp_up(-1e-300) == 1
    assert rounding.exp_down(-1e-300) < 1 < rounding.exp_up(1e-300)


@given(POSITIVE, st.integers(1, 9))
def test_shown_fractions_are_on_the_safe_side(value: Fraction, digits: int) -> None:
    low, high = rounding.shown_down(value, digits), rounding.shown_up(value, digits)
    assert Fraction(low) <= value <= Fraction(high)
    assert Fraction(high) - Fraction(low) <= value * Fraction(10) ** (2 - digits)


def test_whole_numbers_are_shown_to_the_last_digit() -> None:
    assert rounding.shown_down(123_456_789) == rounding.shown_up(123_456_789) == "123456789"
    assert rounding.shown_down(2) == "2"
