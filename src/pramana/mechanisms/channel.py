"""Channels: the law of the published value given the true one, held as integers out of ONE = 2^62.

The sampler draws exactly these integers and the guarantees are computed from them, so the law that is
certified is the law that is published. A channel knows no tables, files or keys.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pramana.errors import MatrixError
from pramana.mechanisms.stated import count_in, mapping_in, square_in, weight_in
from pramana.randomness import ONE, Codes, alias_table, brief_table, draw_from_table, retain
from pramana.theory import pk

Words = NDArray[np.uint64]
MOST_VALUES = 1 << 31
_SUM_TOLERANCE = Fraction(1, 10**9)


class Channel(Protocol):
    """What every channel offers; the contract suite in tests/contracts runs on each of them."""

    @property
    def size(self) -> int:
        """How many values the domain has."""

    @property
    def weights(self) -> NDArray[np.int64]:
        """The matrix in integers: weights[u, v] chances out of ONE that u is published as v."""

    @property
    def likelihood_ratio(self) -> Fraction | None:
        """e^epsilon, exactly; None for infinity."""

    @property
    def anonymity_ratio(self) -> Fraction:
        """The paper's AR, exactly."""

    @property
    def total_variation(self) -> Fraction:
        """The largest total variation distance between two rows, exactly."""

    def publish(self, words: Words, codes: Codes, out: Codes) -> None:
        """Draw a published code for each true code, from one uniform word each."""

    def to_json(self) -> dict[str, Any]:
        """What the certificate holds of this channel; `channel_from_json` reads it back."""


def joint_likelihood_ratio(channels: Iterable[Channel]) -> Fraction | None:
    """Corollary 1 of paper 1: the epsilons of independent channels add up; None where one has none."""
    product = Fraction(1)
    for channel in channels:
        ratio = channel.likelihood_ratio
        if ratio is None:
            return None
        product *= ratio
    return product


def check_size(size: int) -> None:
    if not 1 <= size <= MOST_VALUES:
        raise MatrixError(f"A domain must have 1 to {MOST_VALUES} values", str(size))


@dataclass(frozen=True)
class Retention:
    """Keep the value, or redraw it uniformly: every other value has exactly `step` chances out of ONE."""

    size: int
    step: int

    def __post_init__(self) -> None:
        check_size(self.size)
        if not 0 <= self.step * self.size <= ONE:
            raise MatrixError("size * step must lie between 0 and 2^62", str(self.step * self.size))

    @classmethod
    def at(cls, retention: Fraction | float, size: int) -> Retention:
        """The nearest realisable retention that is not above the wanted one."""
        if not 0 <= retention <= 1:
            raise MatrixError("A retention must lie between 0 and 1", str(retention))
        check_size(size)
        return cls(size, min(math.ceil((1 - Fraction(retention)) * ONE / size), ONE // size))

    @property
    def retention(self) -> Fraction:
        """rho: the probability that a value is kept before any redraw."""
        return 1 - Fraction(self.size * self.step, ONE)

    @property
    def diagonal(self) -> Fraction:
        """The probability that the published value equals the true one."""
        return 1 - Fraction((self.size - 1) * self.step, ONE)

    @property
    def weights(self) -> NDArray[np.int64]:
        weights = np.full((self.size, self.size), self.step, np.int64)
        np.fill_diagonal(weights, ONE - (self.size - 1) * self.step)
        return weights

    @property
    def likelihood_ratio(self) -> Fraction | None:
        if self.size == 1:
            return Fraction(1)
        return None if self.step == 0 else self.diagonal * ONE / self.step

    @property
    def anonymity_ratio(self) -> Fraction:
        ratio = self.likelihood_ratio
        return Fraction(0) if ratio is None else 1 / ratio**2

    @property
    def total_variation(self) -> Fraction:
        return Fraction(0) if self.size == 1 else self.retention

    def publish(self, words: Words, codes: Codes, out: Codes) -> None:
        retain(words, codes, out, self.size, self.step)

    def to_json(self) -> dict[str, Any]:
        return {"kind": "retention", "size": self.size, "step": str(self.step)}


@dataclass(frozen=True)
class Redrawn(Retention):
    """Retention 0 for every size: one row for all true values, so the published value tells nothing of them.

    2^62 need not be a multiple of the size. What is left over goes to the first value, whatever the true one,
    where `Retention` leaves it with the true value; the law misses uniformity, and nobody's privacy.
    """

    step: int = field(init=False)

    def __post_init__(self) -> None:
        check_size(self.size)
        object.__setattr__(self, "step", ONE // self.size)

    @property
    def retention(self) -> Fraction:
        return Fraction(0)

    @property
    def weights(self) -> NDArray[np.int64]:
        weights = np.full((self.size, self.size), self.step, np.int64)
        weights[:, 0] = ONE - (self.size - 1) * self.step
        return weights

    @property
    def likelihood_ratio(self) -> Fraction | None:
        return Fraction(1)

    def publish(self, words: Words, codes: Codes, out: Codes) -> None:
        retain(words, np.zeros_like(codes), out, self.size, self.step)

    def to_json(self) -> dict[str, Any]:
        return {"kind": "redrawn", "size": self.size}


@dataclass(frozen=True, eq=False)
class Dense:
    """Any transition matrix, row by row of integers that sum to ONE exactly."""

    weights: NDArray[np.int64]

    def __post_init__(self) -> None:
        w = self.weights
        if w.ndim != 2 or w.shape[0] != w.shape[1] or w.shape[0] < 1:
            raise MatrixError("A transition matrix must be square", "x".join(map(str, w.shape)))
        if w.dtype != np.int64 or (w < 0).any():
            raise MatrixError("Integer weights must be 64-bit and not negative")
        if (w > ONE).any() or any(sum(row) != ONE for row in w.tolist()):  # 64-bit sums would wrap around
            raise MatrixError("Every row of integer weights must sum to 2^62")
        w.setflags(write=False)

    @classmethod
    def of(cls, matrix: Sequence[Sequence[Fraction | float]] | NDArray[np.float64]) -> Dense:
        """Realise a matrix of probabilities: each row by largest remainders, zeros stay zero."""
        rows = [[_probability(entry) for entry in row] for row in matrix]
        if any(len(row) != len(rows) for row in rows):
            raise MatrixError("A transition matrix must be square", f"{len(rows)} rows of {len(rows[0])}")
        return cls(np.array([integers_of(row, f"row {i + 1}") for i, row in enumerate(rows)], np.int64))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dense) and np.array_equal(self.weights, other.weights)

    def __hash__(self) -> int:
        return hash(self.weights.tobytes())

    @property
    def size(self) -> int:
        return len(self.weights)

    @cached_property
    def likelihood_ratio(self) -> Fraction | None:
        return pk.likelihood_ratio_of_matrix(self.weights)

    @cached_property
    def anonymity_ratio(self) -> Fraction:
        return pk.anonymity_ratio_of_matrix(self.weights)

    @cached_property
    def total_variation(self) -> Fraction:
        return pk.total_variation_of_matrix(self.weights)

    @cached_property
    def _table(self) -> tuple[NDArray[np.uint64], int, NDArray[np.uint32] | None]:
        table, bits = alias_table(self.weights)
        return table, bits, brief_table(table, bits)

    def publish(self, words: Words, codes: Codes, out: Codes) -> None:
        draw_from_table(words, codes, out, *self._table)

    def to_json(self) -> dict[str, Any]:
        return {"kind": "dense", "weights": [[str(w) for w in row] for row in self.weights.tolist()]}


def _probability(entry: Fraction | float) -> Fraction:
    if not isinstance(entry, Fraction) and not math.isfinite(entry):
        raise MatrixError("Every entry of a transition matrix must be a number", str(entry))
    value = Fraction(entry)
    if not 0 <= value <= 1:
        got = f"{float(value):g}" if abs(value) < 10**9 else "a far larger one"
        raise MatrixError("Every entry of a transition matrix must lie between 0 and 1", got)
    return value


def integers_of(probabilities: Sequence[Fraction], what: str) -> list[int]:
    """Integers that sum to ONE and follow the probabilities to one unit; positive entries stay positive."""
    total = sum(probabilities, Fraction(0))
    if abs(total - 1) > _SUM_TOLERANCE:
        raise MatrixError(
            f"Every row of a transition matrix must sum to 1 ({what})",
            f"{float(total):.12g}",
            "Write the entries with more digits, or as fractions such as 1/3.",
        )
    exact = [p / total * ONE for p in probabilities]
    whole = [max(1, math.floor(x)) if x > 0 else 0 for x in exact]
    short = ONE - sum(whole)
    positive = [i for i, x in enumerate(exact) if x > 0]
    by_remainder = sorted(positive, key=lambda i: (whole[i] - exact[i], i))
    if short >= 0:
        for i in by_remainder[:short]:
            whole[i] += 1
    else:  # tiny entries were lifted to one unit: the largest entry pays
        whole[max(positive, key=lambda i: whole[i])] += short
    return whole


def channel_from_json(content: object) -> Channel:
    """Read what `to_json` wrote; anything else is refused."""
    kind = mapping_in(content).get("kind")
    if kind == "retention":
        statement = mapping_in(content, "kind", "size", "step")
        return Retention(count_in(statement["size"], 1, MOST_VALUES), weight_in(statement["step"]))
    if kind == "redrawn":
        return Redrawn(count_in(mapping_in(content, "kind", "size")["size"], 1, MOST_VALUES))
    if kind == "dense":
        return Dense(square_in(mapping_in(content, "kind", "weights")["weights"]))
    if kind == "blocks":
        from pramana.mechanisms.invariant import BlockInvariant

        return BlockInvariant.from_json(mapping_in(content, "kind", "size", "blocks"))
    raise MatrixError(
        "A channel must be stated as a retention (size, step), redrawn (size), a dense matrix (weights) or blocks "
        "(blocks)"
    )
