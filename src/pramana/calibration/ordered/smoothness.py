"""The error to expect of a smooth column's distribution function, and the channel that lowers it.

Beforehand the logarithms of the shares are taken for a random walk along the line around an expected shape: a law
much like that of a recipient's estimate (`method="smooth"`). With normal laws for walk and counts the error left
in the table's own distribution function is known in closed form (usefulness.md). It falls with Fisher's
information, which is convex in the matrix: good matrices lie at corners of the channels that keep the ratio, and
linear programs lead towards better ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from pramana.calibration.ordered.families import Floats

Shape = Literal["even", "falling", "rising"]
Proposal = Callable[[Floats], Floats | None]
_FALLS = (4.0, 8.0)  # ln of how many times rarer the last value is than the first, where shares fall
_DRIFT = 1.0  # variance of the walk from end to end
_MOST_ROUNDS = 30
_PARTS = (1.0, 0.6, 0.35, 0.2, 0.1, 0.05, 0.02)  # of the way to a corner that are tried
_LEAST_GAIN = 1e-3
_FEW_VALUES = 24  # up to here columns of every pattern are tried, beyond only those that are high on an interval


def expected_shares(line: Floats, shape: Shape) -> list[Floats]:
    """What a column of this shape may look like beforehand; the error is averaged over them."""
    falls = (0.0,) if shape == "even" else _FALLS
    at = line if shape != "rising" else 1 - line
    laws = [np.exp(-fall * at) for fall in falls]
    return [law / law.sum() for law in laws]


@dataclass(frozen=True, eq=False)
class Walk:
    """Shares that walk around `expected`, `records` of them; `line` are the places of the values from 0 to 1."""

    line: Floats
    expected: Floats
    records: int

    @cached_property
    def gaps(self) -> Floats:
        return np.diff(self.line)

    @cached_property
    def precision(self) -> Floats:
        """Of the steps of the logarithms, for one record."""
        return np.diag(1 / (_DRIFT * self.gaps * self.records))

    @cached_property
    def drawn(self) -> Floats:
        """The covariance of the distribution function of one record: also minus its slope over the steps."""
        reached = np.cumsum(self.expected)[:-1]
        return np.minimum.outer(reached, reached) - np.outer(reached, reached)

    @cached_property
    def moves(self) -> Floats:
        """How a step of the logarithms moves the chance of what a value publishes with chance 1."""
        size = len(self.expected)
        beyond = np.triu(np.ones((size - 1, size)), 1)
        return np.asarray((beyond - (beyond @ self.expected)[:, None]) * self.expected)

    def left(self, matrix: Floats) -> tuple[Floats, Floats]:
        """The covariance of steps that the published counts leave, for one record, and each value's chance."""
        published = self.expected @ matrix
        used = published > 0
        seen = self.moves @ matrix[:, used] / np.sqrt(published[used])
        return np.asarray(np.linalg.inv(self.precision + seen @ seen.T), np.float64), published

    def error(self, matrix: Floats) -> float:
        """Squared, integrated over the line, of the table's own distribution function."""
        known = self.drawn + self.precision
        left, _ = self.left(matrix)
        covariance = np.einsum("ij,jk,ik->i", known, left, known) - np.diag(known)
        return float(covariance @ self.gaps) / self.records

    def slopes(self, matrix: Floats) -> Floats:
        """Of the error, over every entry of the matrix."""
        left, published = self.left(matrix)
        into = left @ (self.drawn + self.precision)
        worth = self.moves.T @ ((into * self.gaps) @ into.T / self.records) @ self.moves
        over = np.divide(1.0, published, out=np.zeros_like(published), where=published > 0)
        towards = worth @ matrix
        return np.asarray(
            np.outer(self.expected, np.einsum("xy,xy->y", matrix, towards) * over**2) - 2 * towards * over
        )


@dataclass(frozen=True, eq=False)
class SmoothError:
    """The mean over the shapes of the error to expect."""

    walks: tuple[Walk, ...]

    @classmethod
    def of(cls, line: Floats, shape: Shape, records: int) -> SmoothError:
        return cls(tuple(Walk(line, shares, records) for shares in expected_shares(line, shape)))

    def __call__(self, matrix: Floats) -> float:
        return float(np.mean([walk.error(matrix) for walk in self.walks]))

    def slopes(self, matrix: Floats) -> Floats:
        return np.asarray(np.mean([walk.slopes(matrix) for walk in self.walks], axis=0))

    def improved(self, matrix: Floats, patterns: Floats, ratio: float) -> Floats:
        """A matrix of less error: over columns of these patterns, then, of few values, of all the ratio allows."""
        better = self._descended(matrix, lambda slopes: _corner_of_patterns(slopes, patterns))
        if len(matrix) > _FEW_VALUES:
            return better
        return self._descended(better, lambda slopes: _corner(slopes, ratio))

    def _descended(self, matrix: Floats, corner: Proposal) -> Floats:
        error = self(matrix)
        for _ in range(_MOST_ROUNDS):
            proposed = corner(self.slopes(matrix))
            if proposed is None:
                break
            tried = [(1 - part) * matrix + part * proposed for part in _PARTS]
            errors = [self(one) for one in tried]
            least = int(np.argmin(errors))
            if errors[least] > error * (1 - _LEAST_GAIN):
                break
            matrix, error = tried[least], errors[least]
        return matrix


def _corner_of_patterns(slopes: Floats, patterns: Floats) -> Floats | None:
    """The channel of such columns to which the error falls fastest; a pattern goes to the column it suits best."""
    from scipy import optimize

    by_column = patterns.T @ slopes
    column = by_column.argmin(axis=1)
    program = optimize.linprog(by_column.min(axis=1), A_eq=patterns, b_eq=np.ones(len(slopes)), method="highs-ds")
    if program.x is None:
        return None
    matrix = np.zeros_like(slopes)
    np.add.at(matrix.T, column, (patterns * np.maximum(program.x, 0.0)).T)
    return matrix


def _corner(slopes: Floats, ratio: float) -> Floats | None:
    """The same over every channel: a column's entries lie between its least one and `ratio` times that."""
    from scipy import optimize

    size = len(slopes)
    entries, least = np.eye(size * size), np.kron(np.ones((size, 1)), np.eye(size))
    program = optimize.linprog(
        np.append(slopes.ravel(), np.zeros(size)),
        A_ub=np.block([[entries, -ratio * least], [-entries, least]]),
        b_ub=np.zeros(2 * size * size),
        A_eq=np.hstack([np.kron(np.eye(size), np.ones((1, size))), np.zeros((size, size))]),
        b_eq=np.ones(size),
        method="highs-ds",
    )
    return None if program.x is None else np.asarray(program.x[: size * size].reshape(size, size), np.float64)
