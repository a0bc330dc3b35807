"""Replacement laws: what a value is redrawn from, exactly, wherever it is not kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.errors import MatrixError
from pramana.mechanisms import _levels
from pramana.mechanisms.channel import integers_of
from pramana.mechanisms.stated import count_in, list_in, mapping_in, weight_in
from pramana.randomness import ONE, Codes, alias_table
from pramana.theory import levels

Rows = NDArray[np.uint32]
Blocks = Callable[[Rows, int], NDArray[np.uint64]]  # rows, attempt -> two uniform words for each row
_MOST_VALUES = 1 << 32


@dataclass(frozen=True)
class Uniform:
    """Every value alike, exactly: words that would tip the balance are thrown away and drawn again."""

    size: int

    def __post_init__(self) -> None:
        if not 1 <= self.size <= _MOST_VALUES:
            raise MatrixError("A domain must have between 1 and 2^32 values", str(self.size))

    @property
    def least(self) -> Fraction:
        """The probability of the least likely replacement."""
        return Fraction(1, self.size)

    @property
    def law(self) -> levels.Law:
        return levels.uniform_law(self.size)

    def draw(self, blocks: Blocks, rows: Rows, out: Codes) -> None:
        """out[row] = a fresh value, for each of `rows`."""
        rows, attempt = rows.copy(), 0
        while len(rows):
            left = _levels.uniform(blocks(rows, attempt), rows, out, self.size)
            rows, attempt = rows[:left].copy(), attempt + 1

    def to_json(self) -> dict[str, Any]:
        return {"kind": "uniform", "size": self.size}


@dataclass(frozen=True)
class Weighted:
    """Any law, in integers out of ONE that sum to it (the paper's remark at the end of section 5)."""

    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.weights or min(self.weights) < 0 or sum(self.weights) != ONE:
            raise MatrixError("The weights of a replacement law must not be negative and must sum to 2^62")

    @classmethod
    def of(cls, probabilities: Sequence[Fraction | float]) -> Weighted:
        """Realised to one unit of 2^-62; what is positive stays positive."""
        if any(not 0 <= p <= 1 for p in probabilities):
            raise MatrixError("Every entry of a replacement law must lie between 0 and 1")
        return cls(tuple(integers_of([Fraction(p) for p in probabilities], "the replacement law")))

    @property
    def size(self) -> int:
        return len(self.weights)

    @property
    def least(self) -> Fraction:
        return Fraction(min(self.weights), ONE)

    @property
    def law(self) -> levels.Law:
        return tuple(Fraction(w, ONE) for w in self.weights)

    @cached_property
    def _table(self) -> tuple[NDArray[np.uint64], int]:
        return alias_table(np.array([self.weights], np.int64))

    def draw(self, blocks: Blocks, rows: Rows, out: Codes) -> None:
        table, bits = self._table
        if len(rows):
            _levels.weighted(blocks(rows, 0), rows, out, table, bits)

    def to_json(self) -> dict[str, Any]:
        return {"kind": "weighted", "weights": [str(w) for w in self.weights]}


Replacement = Uniform | Weighted


def replacement_from_json(content: object) -> Replacement:
    """Read what `to_json` wrote; anything else is refused."""
    kind = mapping_in(content).get("kind")
    if kind == "uniform":
        return Uniform(count_in(mapping_in(content, "kind", "size")["size"], 1, _MOST_VALUES))
    if kind == "weighted":
        weights = list_in(mapping_in(content, "kind", "weights")["weights"])
        return Weighted(tuple(map(weight_in, weights)))
    raise MatrixError("A replacement law must be stated as uniform (size) or weighted (weights)")
