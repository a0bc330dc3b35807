"""Numbers as people type them, read exactly; and numbers as labels write them."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction

LONGEST_LABEL = 10_000  # characters
_MOST_CHARACTERS, _MOST_EXPONENT = 100, 200
_DECIMAL = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]{1,4}+)?")


def exact_number(text: str) -> Fraction:
    """A decimal such as 0.7 or 7e-1, or a fraction such as 1/3; ValueError for anything else.

    A few characters can state a number whose digits would fill the memory: no exponent beyond a float's.
    """
    if len(text) > _MOST_CHARACTERS:
        raise ValueError("too many digits")
    exponent = text.lower().partition("e")[2]
    if exponent and abs(int(exponent)) > _MOST_EXPONENT:
        raise ValueError("too large an exponent")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ValueError("a division by zero") from None


def decimal_number(text: str) -> Decimal | None:
    """The number in a text from a table: 12, -0.5, .5, 7e-1. None for anything else.

    ASCII digits with an optional sign, point and exponent (of at most four digits), within the range of a float;
    spaces and tabs around them are nothing. Python's own readers also take nan, infinity, 1_000 and the digits of
    every script, and would put them into bins. Linear time: nothing in the pattern is tried twice.
    """
    digits = text.strip(" \t")
    if len(digits) > LONGEST_LABEL or _DECIMAL.fullmatch(digits) is None:
        return None
    number = Decimal(digits)
    return number if number.adjusted() < 308 or math.isfinite(float(number)) else None


def short_number(number: float) -> str:
    """The one way a number is written: 1.0 as 1."""
    return str(int(number)) if math.isfinite(number) and number == int(number) else repr(float(number))
