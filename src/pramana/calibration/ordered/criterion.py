"""What a channel for values in order is judged by: the error to expect of what recipients estimate through it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from pramana.calibration.ordered.families import Floats
from pramana.calibration.ordered.smoothness import Shape, SmoothError
from pramana.errors import InputError

ErrorOf = Literal["mean", "distribution", "table", "smooth"]
WORST_CONDITION = 1e9  # a thousandth of what estimates refuse to invert


@dataclass(frozen=True, eq=False)
class Criterion:
    """Values at `positions` on a line, all alike likely beforehand, and `records` of them.

    "mean": squared error of the mean. "distribution": squared error of the distribution function, integrated
    over the line. "table": squared error of the cells. "smooth": as the distribution, where neighbouring values
    are known to be about equally frequent, and estimated so; `shape` then says what else is known of the shares.
    """

    positions: Floats
    error_of: ErrorOf = "distribution"
    records: int = 100_000
    shape: Shape = "even"

    def __post_init__(self) -> None:
        if (
            len(self.positions) < 2
            or not np.isfinite(self.positions).all()
            or (np.diff(self.positions) <= 0).any()
        ):
            raise InputError("The positions of ordered values must be finite numbers that ascend", "others")
        if self.error_of not in get_args(ErrorOf):
            raise InputError(f"error_of must be one of {', '.join(get_args(ErrorOf))}", repr(self.error_of))
        if self.shape not in get_args(Shape):
            raise InputError(f"shape must be one of {', '.join(get_args(Shape))}", repr(self.shape))
        if self.shape != "even" and self.error_of != "smooth":
            raise InputError('A shape must go with error_of = "smooth"', f"error_of = {self.error_of!r}")

    @property
    def size(self) -> int:
        return len(self.positions)

    @cached_property
    def line(self) -> Floats:
        """The positions from 0 to 1."""
        low, high = self.positions[0], self.positions[-1]
        return np.asarray((self.positions - low) / (high - low), np.float64)

    @cached_property
    def weight(self) -> Floats:
        """W: an error d in the shares costs d'Wd."""
        if self.error_of == "mean":
            off = self.line - self.line.mean()
            return np.outer(off, off)
        if self.error_of == "table":
            return np.eye(self.size)
        below = np.tril(np.ones((self.size, self.size)))[:-1]
        return np.asarray((below.T * np.diff(self.line)) @ below)

    @property
    def prior(self) -> Floats:
        """What is known of the shares beforehand: as much as the flat Dirichlet law knows."""
        return np.eye(self.size) * self.size * (self.size + 1)

    def information(self, matrix: Floats) -> Floats:
        """Fisher's, of a record about the shares, where all are alike."""
        published = matrix.mean(axis=0)
        used = published > 0
        return np.asarray((matrix[:, used] / published[used]) @ matrix[:, used].T)

    def risk(self, information: Floats) -> float:
        """tr W (prior + n I)^-1: the error of the best linear estimate. Convex in the information."""
        return float(np.sum(self.weight * np.linalg.inv(self.prior + self.records * information)))

    def expected_error(self, matrix: Floats) -> float:
        """Of the mean, without bias by inversion, as recipients estimate it; else the risk. Less is better."""
        if not np.linalg.cond(matrix) < WORST_CONDITION:
            return math.inf
        if self.error_of == "smooth":
            return self.smooth_error(matrix)
        if self.error_of != "mean":
            return self.risk(self.information(matrix))
        numbers = np.linalg.solve(matrix, self.line)
        return float(np.mean(matrix @ numbers**2 - self.line**2)) / self.records

    @cached_property
    def smooth_error(self) -> SmoothError:
        return SmoothError.of(self.line, self.shape, self.records)
