"""Integers of a law as a certificate states them, read one way only and bounded before anything is made of them.

Python's own reader also takes " 7 ", "+5", "1_000" and the digits of every script: two readers of one certificate
could then see two laws. Weights are texts, because JSON's numbers are exact up to 2^53 only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.errors import MatrixError
from pramana.randomness import ONE

_DIGITS = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)


def weight_in(text: object) -> int:
    """Chances out of ONE: a text of ASCII digits, without sign, blanks or zeros before it."""
    if not isinstance(text, str) or _DIGITS.fullmatch(text) is None or (weight := int(text)) > ONE:
        raise MatrixError("A weight must be a text of decimal digits, from 0 to 2^62", "another")
    return weight


def count_in(value: object, least: int, most: int) -> int:
    """A whole number of JSON, which true and 1.0 are not."""
    if type(value) is not int or not least <= value <= most:
        raise MatrixError(f"A number of a law must be a whole one from {least} to {most}", "another")
    return value


def flag_in(value: object) -> bool:
    if not isinstance(value, bool):
        raise MatrixError("A flag of a law must be true or false", "another")
    return value


def list_in(value: object) -> Sequence[Any]:
    if not isinstance(value, list):
        raise MatrixError("A part of a law must be a list", "another")
    return value


def mapping_in(value: object, *keys: str) -> Mapping[str, Any]:
    """An object of JSON; with `keys`, one that has these and no others."""
    if not isinstance(value, Mapping) or (keys and set(value) != set(keys)):
        raise MatrixError("A law must be stated with its own keys, and no others", "another statement")
    return value


def names_in(value: object) -> tuple[str, ...]:
    names = tuple(list_in(value))
    if not names or not all(isinstance(name, str) for name in names):
        raise MatrixError("The columns of a law must be a list of names", "another")
    return names


def square_in(rows: object) -> NDArray[np.int64]:
    """A square matrix of weights; nothing larger than what is stated is made."""
    stated = list_in(rows)
    if not stated or any(len(list_in(row)) != len(stated) for row in stated):
        raise MatrixError("A transition matrix must be square", "another shape")
    return np.array([[weight_in(weight) for weight in row] for row in stated], np.int64)
