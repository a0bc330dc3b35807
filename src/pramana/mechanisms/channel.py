"""Channels: the law of the published value given the true one, held as integers out of ONE = 2^62.

The sampler draws exactly these integers and the guarantees are computed from them, so the law that is
certified is the law that is published. A channel knows no tables, files or keys.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pramana.errors import MatrixError
from pramana.randomness._kernels import alias as draw_from_table
from pramana.randomness._kernels import retain
from pramana.randomness.samplers import ONE, Codes, alias_table, brief_table
from pramana.theory import blanket, pk, rounding, shuffling
from pramana.theory.composition import PrivacyProfile

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

    def publish(self, words: Words, codes: Codes, out: Codes) -> None:
        """Draw a published code for each true code, from one uniform word each."""

    def to_json(self) -> dict[str, Any]:
        """What the certificate holds of this channel; `channel_from_json` reads it back."""


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
        return pk.anonymity_ratio_of_redraw(self.likelihood_ratio)

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


# The central guarantee of a shuffled release: the best of the bounds that its mechanism's blankets give.


Blankets = tuple[blanket.Blanket | blanket.RowsOverBlanket, ...]
LOCAL = "the local guarantee, on which no bound for shuffled releases improves at this delta"
_MOST_RATIO = 10**120  # beyond it a blanket is thinner than any table is long, and floats end
_PROFILE_POINTS = 40
_PROFILE_ENDS = 1e-15  # the delta of its last point but the local one
_MOST_ROWS = 128  # true records of a joint matrix whose pairs are all compared


def blankets_of_channels(
    channels: Sequence[Channel], ratio: Fraction | None, coins: Sequence[tuple[Fraction, Fraction]] = ()
) -> Blankets | None:
    """Independent attributes with this likelihood ratio; every blanket gives a bound, and the smallest holds.

    `coins`: of groups that are kept together, their retention and the chance of their least likely redraw.
    """
    live = [channel for channel in channels if channel.size > 1]
    kept = [channel for channel in live if isinstance(channel, Retention)]
    if len(kept) == len(live) or ratio is None or ratio > _MOST_RATIO:
        retentions = [*(c.retention for c in kept), *(retention for retention, _ in coins)]
        least: list[Fraction | int] = [*(c.size for c in kept), *(redraw for _, redraw in coins)]
        return blankets_of_retentions(retentions, least, ratio)
    if not coins and math.prod(channel.size for channel in live) <= _MOST_ROWS:
        return (blanket.rows_over_blanket([channel.weights for channel in live]),)
    laws = [*map(_law, live), *(blanket.blanket_of_retentions([kept], [redraw]) for kept, redraw in coins)]
    return (blanket.blanket_of_product(laws), blanket.blanket_of_ratio(rounding.float_up(ratio)))


def blankets_of_retentions(
    retentions: Sequence[Fraction], least: Sequence[Fraction | int], ratio: Fraction | None
) -> Blankets | None:
    """Attributes kept or redrawn; `least` is the chance of the least likely redraw, or how many are alike."""
    if ratio is None:
        return None
    return () if ratio > _MOST_RATIO else (blanket.blanket_of_retentions(retentions, least),)


def _law(channel: Channel) -> blanket.Blanket:
    if isinstance(channel, Retention):
        return blanket.blanket_of_retentions([channel.retention], [channel.size])
    return blanket.envelope_of_rows(blanket.rows_over_blanket([channel.weights]))


def central_epsilon(blankets: Blankets, ratio: Fraction, records: int, delta: float) -> tuple[float, str]:
    """The smallest central epsilon that is proved at delta, and by what. Never above the local one."""
    local = rounding.log_up(ratio)
    proved = [(shuffling.shuffled_epsilon(records, ratio, one, delta), one.statement) for one in blankets]
    epsilon, statement = min(proved, default=(local, LOCAL))
    return (epsilon, f"shuffling: {statement}") if epsilon < local else (local, LOCAL)


def central_excess(blankets: Blankets, ratio: Fraction, records: int, epsilon: float, delta: float) -> float:
    """ln of a bound on delta at epsilon, over the delta allowed: at most 0 where the promise is kept.

    For calibration: one evaluation, where `central_epsilon` is a search. A matrix of which no worst pair is known
    has no such bound here.
    """
    if ratio <= rounding.exp_down(Fraction(epsilon)):
        return -math.inf
    laws = [one for one in blankets if isinstance(one, blanket.Blanket)]
    return min((shuffling.log_delta(records, one, epsilon) for one in laws), default=math.inf) - math.log(delta)


def profile_of_shuffled(blankets: Blankets, ratio: Fraction, records: int) -> PrivacyProfile:
    """Delta over epsilon, for composing a shuffled release with others: the smallest that any blanket gives."""
    local = rounding.log_up(ratio)
    laws = [one if isinstance(one, blanket.Blanket) else blanket.envelope_of_rows(one) for one in blankets]
    if not laws or not local:
        return PrivacyProfile.pure(local)
    widest = min(shuffling.shuffled_epsilon(records, ratio, law, _PROFILE_ENDS) for law in laws)
    pure = PrivacyProfile.pure(local)
    epsilons = [widest * i / _PROFILE_POINTS for i in range(_PROFILE_POINTS + 1)]
    deltas = [min(pure.at(e), *(shuffling.shuffled_delta(records, law, e) for law in laws)) for e in epsilons]
    if widest >= local:
        return PrivacyProfile((*epsilons[:-1], local), (*deltas[:-1], 0.0))
    return PrivacyProfile((*epsilons, local), (*deltas, 0.0))
