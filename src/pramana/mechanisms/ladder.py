"""Levels of any kind of channel: a ladder of dense matrices, where a chain of levels exists.

Each rung is drawn from the rung above it through a stochastic step, so a coalition learns what its best
member knows (theory/levels.md). The versions are keyed and stateless, like those of the process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from pramana.errors import MatrixError
from pramana.mechanisms.channel import Dense, integers_of
from pramana.randomness.key import Stream
from pramana.randomness.samplers import ONE, Codes

Matrix = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class ChannelLadder:
    """steps[0] leads from the truth to the most trusted rung, steps[i] from rung i-1 to rung i."""

    steps: tuple[Dense, ...]

    def __post_init__(self) -> None:
        if not self.steps or len({step.size for step in self.steps}) != 1:
            raise MatrixError("A ladder must have at least one rung, all of one domain")

    @classmethod
    def of(cls, matrices: Sequence[Sequence[Sequence[Fraction | float]]]) -> ChannelLadder:
        """The ladder of these channels, most trusted first, if there is one: A(i+1) = A(i) * step, step >= 0.

        Steps are realised in integers; the rungs that are certified are the products of the realised steps.
        """
        exact = [_exact(matrix, i) for i, matrix in enumerate(matrices)]
        steps = [Dense.of(exact[0])] if exact else []
        for i, (upper, lower) in enumerate(pairwise(exact)):
            step = _quotient(upper, lower, i)
            if any(entry < 0 for row in step for entry in row):
                raise MatrixError(
                    f"Level {i + 2} must be obtainable from level {i + 1} by perturbing it further",
                    "a step with negative entries",
                    "There is no chain of levels through these matrices, so a coalition could learn more.",
                )
            weights = [integers_of(row, f"step {i + 1}, row {x + 1}") for x, row in enumerate(step)]
            steps.append(Dense(np.array(weights, np.int64)))
        return cls(tuple(steps))

    @property
    def size(self) -> int:
        return self.steps[0].size

    @cached_property
    def rungs(self) -> tuple[Matrix, ...]:
        """The law of each rung given the truth, exactly."""
        found: list[Matrix] = []
        for step in self.steps:
            matrix = tuple(tuple(Fraction(int(w), ONE) for w in row) for row in step.weights)
            found.append(_product(found[-1], matrix) if found else matrix)
        return tuple(found)

    def likelihood_ratio(self, rung: int) -> Fraction | None:
        """Paper 1, Theorem 1 on the rung's exact law; None for infinity."""
        worst = Fraction(1)
        for column in zip(*self.rungs[rung], strict=True):
            if max(column) == 0:
                continue
            if min(column) == 0:
                return None
            worst = max(worst, max(column) / min(column))
        return worst

    def version(self, rung: int, streams: Sequence[Stream], codes: Codes, first: int = 0) -> Codes:
        """The version at a rung: every step above it, each from its own stream."""
        if not 0 <= rung < len(self.steps):
            raise MatrixError(f"A rung must lie between 0 and {len(self.steps) - 1}", str(rung))
        out = codes.copy()
        words = np.empty(len(codes), np.uint64)
        for step, stream in zip(self.steps[: rung + 1], streams, strict=False):
            stream.fill(first, words)
            step.publish(words, out, out)
        return out

    def to_json(self) -> dict[str, Any]:
        return {"kind": "ladder", "steps": [step.to_json() for step in self.steps]}


def _exact(matrix: Sequence[Sequence[Fraction | float]], i: int) -> Matrix:
    rows = [[Fraction(w) for w in integers_of([Fraction(x) for x in row], f"level {i + 1}")] for row in matrix]
    if any(len(row) != len(rows) for row in rows):
        raise MatrixError("A transition matrix must be square", f"level {i + 1}")
    return tuple(tuple(w / ONE for w in row) for row in rows)


def _product(left: Matrix, right: Matrix) -> Matrix:
    columns = list(zip(*right, strict=True))
    return tuple(
        tuple(sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in columns)
        for row in left
    )


def _quotient(upper: Matrix, lower: Matrix, i: int) -> Matrix:
    """The step B in lower = upper * B, by elimination in fractions; tiny negatives from rounding become 0."""
    size = len(upper)
    if len(lower) != size:
        raise MatrixError("All levels of a ladder must have one domain", f"{size} and {len(lower)} values")
    rows = [list(a) + list(b) for a, b in zip(upper, lower, strict=True)]
    for pivot in range(size):
        best = max(range(pivot, size), key=lambda r: abs(rows[r][pivot]))
        if rows[best][pivot] == 0:
            raise MatrixError(
                f"Level {i + 1} must be an invertible matrix for a further level to be derived from it"
            )
        rows[pivot], rows[best] = rows[best], rows[pivot]
        head = rows[pivot][pivot]
        rows[pivot] = [x / head for x in rows[pivot]]
        for r in range(size):
            factor = rows[r][pivot]
            if r != pivot and factor:
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[pivot], strict=True)]
    tolerance = Fraction(1, 10**9)
    return tuple(tuple(max(x, Fraction(0)) if x > -tolerance else x for x in row[size:]) for row in rows)
