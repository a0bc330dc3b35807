"""Numbers as people type them, read exactly."""

from __future__ import annotations

from fractions import Fraction

_MOST_CHARACTERS, _MOST_EXPONENT = 100, 200


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
