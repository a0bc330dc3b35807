"""Numbers that are rounded in a known direction.

A guarantee is an exact rational, or the logarithm of one. What is printed is a float on the safe side of it:
k downwards, epsilon upwards. Logarithms and exponentials are taken in 60-digit decimals first, so that the
directed step at the end is wider than every error before it.
"""

from __future__ import annotations

import decimal
import math
from fractions import Fraction

_CONTEXT = decimal.Context(prec=60, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_WRITTEN_OUT = 10**15  # whole numbers below this are shown to the last digit
_SLACK = Fraction(1, 10**55)  # relative error bound of the decimal steps, with room to spare


def float_down(value: Fraction) -> float:
    """The largest float that is at most `value`."""
    try:
        near = float(value)
    except OverflowError:
        return -math.inf if value < 0 else math.nextafter(math.inf, 0)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)


def float_up(value: Fraction) -> float:
    """The smallest float that is at least `value`."""
    return -float_down(-value)


def _decimal(value: Fraction) -> decimal.Decimal:
    return _CONTEXT.divide(decimal.Decimal(value.numerator), decimal.Decimal(value.denominator))


def log_up(value: Fraction) -> float:
    """A float at least ln(value), at most a few units in the last place above it; value >= 1."""
    if value < 1:
        raise ValueError(f"value must be at least 1, got {float(value)}")
    if value == 1:
        return 0.0
    # ln(1+x) of a tiny x would lose its digits in the division; the context has 60 of them, so the
    # absolute error stays below 1e-58 and _SLACK covers it.
    logarithm = Fraction(_CONTEXT.ln(_decimal(value)))
    return float_up(logarithm * (1 + _SLACK) + _SLACK)


def exp_down(exponent: float | Fraction) -> Fraction:
    """A rational at most e^exponent and within a relative 1e-50 of it; at least 1 where that is."""
    value = Fraction(_CONTEXT.exp(_decimal(Fraction(exponent)))) * (1 - _SLACK)
    return max(value, Fraction(1)) if exponent >= 0 else value


def exp_up(exponent: float | Fraction) -> Fraction:
    """A rational at least e^exponent and within a relative 1e-50 of it; 1 for 0."""
    value = Fraction(_CONTEXT.exp(_decimal(Fraction(exponent)))) * (1 + _SLACK)
    return min(value, Fraction(1)) if exponent <= 0 else value


def shown_down(value: float | Fraction, digits: int = 6) -> str:
    """A number to read, never above the value: for k and l."""
    return _shown(value, digits, decimal.ROUND_FLOOR)


def shown_up(value: float | Fraction, digits: int = 6) -> str:
    """A number to read, never below the value: for epsilon, delta and every risk."""
    return _shown(value, digits, decimal.ROUND_CEILING)


def _shown(value: float | Fraction, digits: int, rounding: str) -> str:
    if isinstance(value, int) and abs(value) < _WRITTEN_OUT:
        return str(value)
    context = decimal.Context(prec=digits, rounding=rounding, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
    if isinstance(value, Fraction):
        rounded = context.divide(decimal.Decimal(value.numerator), decimal.Decimal(value.denominator))
    elif not math.isfinite(value):
        return str(value)
    else:
        rounded = context.create_decimal(repr(float(value)))  # 0.1 is shown as 0.1
    short = decimal.Decimal("1e-4") <= abs(rounded) < 10 ** (digits + 3) or rounded == 0
    return f"{rounded.normalize(context):f}" if short else f"{rounded.normalize(context):e}"
