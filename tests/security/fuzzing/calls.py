"""What random calls of kernels are made of: lengths and numbers at the edges, and arguments that do not fit."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Draw = random.Random
Array = NDArray[Any]
ONE = 1 << 62
WIDTHS = (np.uint8, np.uint16, np.uint32)
EDGES = (0, 1, 2, 3, 7, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025)
ODD = (-1, 0, 1, 2, 31, 32, 63, 64, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 1)
REFUSALS = (ValueError, TypeError, OverflowError, BufferError, MemoryError)


def length(draw: Draw, most: int = 1100) -> int:
    return min(most, draw.choice(EDGES) if draw.random() < 0.5 else draw.randrange(40))


def words(draw: Draw, count: int) -> Array:
    """Uniform ones, with the least and the greatest among them."""
    found = np.frombuffer(draw.randbytes(8 * count), np.uint64).copy()
    for place in range(count):
        if draw.random() < 0.05:
            found[place] = draw.choice([0, 2**64 - 1, 2**63, 3, 4])
    return found


def codes(draw: Draw, count: int, size: int, width: Any = None) -> Array:
    least = next(w for w in WIDTHS if size - 1 <= np.iinfo(w).max)
    wide_enough = [w for w in WIDTHS if np.iinfo(w).max >= np.iinfo(least).max]
    kind = width or draw.choice(wide_enough)
    return np.array([draw.randrange(size) for _ in range(count)], kind)


def size_of_domain(draw: Draw) -> int:
    return draw.choice([1, 2, 3, 4, 5, 18, 100, 255, 256, 257])


def hostile(draw: Draw, kernel: Callable[..., object], arguments: Sequence[Any]) -> None:
    """The same call with one to three arguments that do not fit."""
    changed = list(arguments)
    for _ in range(draw.randrange(1, 4)):
        place = draw.randrange(len(changed))
        changed[place] = _worse(draw, changed[place])
    try:
        kernel(*changed)
    except REFUSALS:
        return


def _worse(draw: Draw, argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        kind = draw.randrange(5)
        if kind == 0:
            return argument[: draw.randrange(argument.size + 1)].copy() if argument.ndim == 1 else argument[:0]
        if kind == 1:
            return np.concatenate([argument.reshape(-1), argument.reshape(-1)[:1]])
        if kind == 2 and argument.size:
            worse = argument.copy()
            low, high = _range(worse.dtype)
            worse.reshape(-1)[draw.randrange(worse.size)] = draw.choice([low, high, 0, 1])
            return worse
        if kind == 3:
            return argument.reshape(-1).astype(draw.choice([np.uint8, np.uint16, np.uint32, np.uint64]))
        return np.zeros(0, argument.dtype)
    if isinstance(argument, list | tuple) and argument and draw.random() < 0.8:
        several, place = list(argument), draw.randrange(len(argument))
        several[place] = _worse(draw, several[place])
        return type(argument)(several)
    if isinstance(argument, bytes) and draw.random() < 0.8:
        return argument[: draw.randrange(len(argument) + 1)]
    if isinstance(argument, bool) or argument is None or callable(argument):
        return draw.choice([None, True, False])
    return draw.choice(ODD)


def _range(kind: Any) -> tuple[Any, Any]:
    if kind.kind == "f":
        return -np.inf, np.nan
    found = np.iinfo(kind)
    return found.min, found.max
