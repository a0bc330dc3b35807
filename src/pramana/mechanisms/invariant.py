"""Invariant channels: the frequencies of the table they were made for are kept in expectation, P^T T = T.

All of them are reversible: as many records move from i to j as from j to i on average. A symmetric matrix of
such flows, realised pair by pair in multiples of lcm(T_i, T_j), gives integers that keep the frequencies exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from pramana.errors import MatrixError
from pramana.mechanisms.channel import (
    Channel,
    Dense,
    Words,
    integers_of,
)
from pramana.randomness._kernels import alias as draw_from_table
from pramana.randomness.key import Stream
from pramana.randomness.samplers import ONE, Codes, alias_table, code_dtype
from pramana.theory import every_count, identification, pk, rounding

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_COARSEST = 1 << 10  # a flow is realised exactly if it has at least so many steps of the pair's lcm
_CHUNK = 1 << 15  # rows drawn at once: words, codes and places stay in cache
_LARGEST_MATRIX = 1 << 13


@dataclass(frozen=True, eq=False)
class Block:
    """Categories that are exchanged among each other, and their rows of integers out of ONE."""

    members: tuple[int, ...]
    weights: Integers

    def __post_init__(self) -> None:
        if len(self.members) < 2 or len(set(self.members)) != len(self.members) or min(self.members) < 0:
            raise MatrixError("A block must have two or more different categories", str(len(self.members)))
        if Dense(self.weights).size != len(self.members):
            raise MatrixError("A block must have a row for each of its categories")


@dataclass(frozen=True, eq=False)
class BlockInvariant:
    """Blocks of categories; every category in no block is published as it is."""

    size: int
    blocks: tuple[Block, ...]

    def __post_init__(self) -> None:
        taken = [member for block in self.blocks for member in block.members]
        if self.size < 1 or len(set(taken)) != len(taken) or any(member >= self.size for member in taken):
            raise MatrixError("Blocks must be disjoint and lie inside the domain")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BlockInvariant) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.size, tuple(block.members for block in self.blocks)))

    @property
    def weights(self) -> Integers:
        if self.size > _LARGEST_MATRIX:
            raise MatrixError(
                f"A domain must have at most {_LARGEST_MATRIX} values to be written as a matrix", str(self.size)
            )
        weights = np.zeros((self.size, self.size), np.int64)
        np.fill_diagonal(weights, ONE)
        for block in self.blocks:
            weights[np.ix_(block.members, block.members)] = block.weights
        return weights

    @property
    def _whole(self) -> Integers | None:
        """The only block, when it is the whole domain."""
        return self.blocks[0].weights if self.blocks and len(self.blocks[0].members) == self.size else None

    @cached_property
    def likelihood_ratio(self) -> Fraction | None:
        if self.size == 1:
            return Fraction(1)
        return None if self._whole is None else pk.likelihood_ratio_of_matrix(self._whole)

    @cached_property
    def anonymity_ratio(self) -> Fraction:
        """Zero with two blocks or more (paper 1, correction on zeros), so k = 1."""
        if self.size == 1:
            return Fraction(1)
        return Fraction(0) if self._whole is None else pk.anonymity_ratio_of_matrix(self._whole)

    @cached_property
    def _tables(self) -> tuple[NDArray[np.uint64], int, Codes, NDArray[np.uint32]]:
        """Alias rows over places inside a block, the category at each place, and every category's row.

        Row 0 is for the categories that stay: its draw is thrown away.
        """
        bits = (max(len(block.members) for block in self.blocks) - 1).bit_length()
        places, moved = 1 << bits, sum(len(block.members) for block in self.blocks)
        local = np.zeros((moved + 1, places), np.int64)
        local[0, 0] = ONE
        row_of = np.zeros(self.size, np.uint32)
        lookup = np.zeros((moved + 1, places), code_dtype(self.size))
        row = 1
        for block in self.blocks:
            size = len(block.members)
            local[row : row + size, :size] = block.weights
            lookup[row : row + size, :size] = block.members
            row_of[list(block.members)] = np.arange(row, row + size)
            row += size
        table, bits = alias_table(local)
        return table, bits, lookup.reshape(-1), row_of

    def publish(self, words: Words, codes: Codes, out: Codes) -> None:
        if len(codes) and int(codes.max()) >= self.size:
            raise ValueError("codes must lie below the number of rows of the table")
        if not self.blocks:
            out[:] = codes
            return
        table, bits, lookup, row_of = self._tables
        for start in range(0, len(codes), _CHUNK):
            part = slice(start, start + _CHUNK)
            rows = row_of[codes[part]]
            where = np.flatnonzero(rows)  # most categories stay, and with them most records
            rows, place = rows[where], np.empty(len(where), np.uint32)
            draw_from_table(words[part][where], rows, place, table, bits)
            found = lookup[(rows << np.uint32(bits)) | place]
            out[part] = codes[part]
            out[part][where] = found

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "blocks",
            "size": self.size,
            "blocks": [
                {"members": list(b.members), "weights": [[str(w) for w in row] for row in b.weights.tolist()]}
                for b in self.blocks
            ],
        }


# ---------------------------------------------------------------- building them


def exchanged(counts: Sequence[int] | Integers, members: Sequence[int], flows: Floats) -> Block:
    """A block from the records that members exchange on average: flows[i, j] = T_i p_ij, symmetric."""
    t = np.asarray(counts, np.int64)[list(members)]
    return Block(tuple(members), realised(flows, t, upwards=True))


def inverse_frequency(counts: Sequence[int] | Integers, members: Sequence[int], theta: float) -> Block:
    """Paper 2, Eq. 3: every member gives theta records on average, in equal parts to the others."""
    t = np.asarray(counts, np.int64)[list(members)]
    if not 0 <= theta <= int(t.min()):
        raise MatrixError("theta must lie between 0 and the smallest frequency of its block", f"{theta:g}")
    flows = np.full((len(t), len(t)), theta / (len(t) - 1))
    return exchanged(counts, members, flows)


def redrawn(counts: Sequence[int] | Integers, members: Sequence[int]) -> Block:
    """Every member is drawn anew from the block's own frequencies: one row for all, so a match is 1/N exactly.

    N need not divide 2^62, so the row is rounded, and P^T T differs from T by less than a unit of it a record.
    """
    t = np.asarray(counts, np.int64)[list(members)].tolist()
    row = integers_of([Fraction(count, sum(t)) for count in t], "a block drawn anew")
    return Block(tuple(members), np.array([row] * len(t), np.int64))


def two_stage(counts: ArrayLike, diagonals: ArrayLike, alpha: float = 0.5) -> Dense:
    """Invariant PRAM as sdcMicro describes it: a first matrix, its Bayes reversal, and a mixture with no change.

    The first matrix has the given diagonal and equal entries off it; its product with the reversal keeps the
    frequencies, and alpha is the share of that product in the mixture.
    """
    t = np.asarray(counts, np.float64)
    live = np.flatnonzero(t > 0)
    diagonal = np.broadcast_to(np.asarray(diagonals, np.float64), t.shape)[live]
    size = len(live)
    if not ((diagonal >= 0) & (diagonal <= 1)).all() or not 0 <= alpha <= 1:
        raise MatrixError("Diagonal entries and alpha must lie between 0 and 1")
    # sum over stages l of m_il m_jl/c_l, m the records of i at l and c all records at l; written out and summed
    # exactly, so that every machine gets the same integers
    off = t[live] * (1 - diagonal) / max(1, size - 1)
    stay = t[live] * diagonal
    together = np.maximum(math.fsum(off) - off + stay, np.finfo(np.float64).tiny)
    both = np.outer(off, off)
    rest = math.fsum(1 / together) - np.add.outer(1 / together, 1 / together)
    cross = np.outer(stay / together, off)
    flows = alpha * (both * np.maximum(rest, 0.0) + cross + cross.T)
    return _dense(t, live, flows)


def drawn_diagonals(stream: Stream, size: int, least: float) -> Floats:
    """sdcMicro's protection level: each diagonal entry drawn uniformly between `least` and 1."""
    if not 0 <= least <= 1:
        raise MatrixError("The smallest diagonal entry must lie between 0 and 1", f"{least:g}")
    uniform: Floats = (stream.words(0, size) >> np.uint64(11)).astype(np.float64) / float(1 << 53)
    return least + (1 - least) * uniform


def sinkhorn(counts: ArrayLike, retention: float) -> Dense:
    """Retention-replacement scaled to margins (T, T): the k of retention, and the frequencies kept.

    AR does not change under A -> D1 A D2. With symmetric A one scaling d serves both sides: for a given sum of d
    each entry solves rho d_i^2 + q s d_i = T_i, so only s has to be found.
    """
    t = np.asarray(counts, np.float64)
    live = np.flatnonzero(t > 0)
    if not 0 <= retention < 1 or len(live) == 0:
        raise MatrixError("A retention must lie from 0 up to, not including, 1, and some count be positive")
    share = t[live] / t[live].sum()
    q = (1 - retention) / len(live)

    def scaling(total: float) -> Floats:
        found: Floats = 2 * share / (q * total + np.sqrt((q * total) ** 2 + 4 * retention * share))
        return found

    # sum d = s at the root; d^T A d = 1 puts it between 1 and 1/sqrt(q)
    top = 1 / math.sqrt(q)
    total = float(scipy.optimize.brentq(lambda s: math.fsum(scaling(s)) - s, 0.5, top * (1 + 1e-9), xtol=1e-15))
    d = scaling(total)
    flows = t[live].sum() * q * np.outer(d, d)
    return _dense(t, live, flows, unseen=int(live[share.argmax()]))


def _dense(t: Floats, live: NDArray[np.intp], flows: Floats, unseen: int | None = None) -> Dense:
    """The whole domain: a category without records is kept, or takes the row of another (k then stays)."""
    weights = np.zeros((len(t), len(t)), np.int64)
    np.fill_diagonal(weights, ONE)
    weights[np.ix_(live, live)] = realised(flows, t[live].astype(np.int64))
    if unseen is not None:
        dead = t == 0
        weights[dead] = weights[unseen]
    return Dense(weights)


def realised(flows: Floats, counts: Integers, upwards: bool = False) -> Integers:
    """Rows of integers out of ONE for symmetric flows in records; what stays is on the diagonal.

    T_i w_ij = T_j w_ji exactly: both are the same multiple of lcm(T_i, T_j). Only where that multiple would be
    too coarse a step are the two entries rounded apart, and P^T T then differs from T by the drift.
    """
    t = counts.astype(np.int64)
    if (t < 1).any():
        raise MatrixError("Every category of a block must have a record")
    step = np.lcm(t[:, None], t[None, :])
    wanted = (flows + flows.T) / 2 * float(ONE)
    steps = wanted / step
    whole = (np.ceil(steps) if upwards else np.rint(steps)).astype(np.int64)
    fits = t[:, None] / np.gcd(t[:, None], t[None, :]) * t[None, :] < float(ONE)  # past it the lcm is no int64
    weights = np.where(
        fits & (steps >= _COARSEST), whole * (step // t[:, None]), np.rint(wanted / t[:, None]).astype(np.int64)
    )
    np.fill_diagonal(weights, 0)
    off = weights.sum(axis=1)
    if (off > ONE).any() or (off < 0).any():
        if upwards:
            return realised(flows, counts)
        if (flows.sum(axis=1) - np.diag(flows) > t * (1 + 1e-9)).any():
            raise MatrixError("A category must not give more records than it has")
        return realised(flows * (1 - 1e-12), counts)
    np.fill_diagonal(weights, ONE - off)
    return weights


def drift_of(channel: Channel, counts: Iterable[int]) -> list[Fraction]:
    """P^T T - T exactly, in records: zero where the integers keep the frequencies."""
    t = np.array(list(counts), np.int64)
    if isinstance(channel, BlockInvariant):
        drifts = [Fraction(0)] * channel.size
        for block in channel.blocks:
            part = _drift(block.weights, t[list(block.members)])
            for member, value in zip(block.members, part, strict=True):
                drifts[member] = value
        return drifts
    return _drift(channel.weights, t)


def _drift(weights: Integers, t: Integers) -> list[Fraction]:
    """In limbs of 16 bits, so that sums of a thousand products stay inside 64 bits."""
    totals = [0] * weights.shape[1]
    for shift in (0, 16, 32, 48):
        limb = t @ ((weights >> shift) & 0xFFFF)
        totals = [total + (int(x) << shift) for total, x in zip(totals, limb.tolist(), strict=True)]
    return [Fraction(total - int(c) * ONE, ONE) for total, c in zip(totals, t.tolist(), strict=True)]


# What paper 2's intruders achieve against a channel on the table with these frequencies, from its integers.


@dataclass(frozen=True)
class MatchRisk:
    """Chances of a correct match, category by category; None for a category without records.

    `risk`: the largest over a of R1(a,t), for the intruder who sees the target's count. `all_counts`: the
    largest over outcomes for the one who sees every count and may guess any record, exact or bounded.
    `match`: before anything is seen; `match_all_counts`: an interval of the same for the stronger one.
    """

    risk: tuple[Fraction | None, ...]
    all_counts: tuple[every_count.OutcomeRisk | None, ...]
    match: tuple[float | None, ...]
    match_all_counts: tuple[tuple[float, float] | None, ...]
    squared_error: tuple[float, ...]  # E[(S_j - T_j)^2], in records
    drift: tuple[Fraction, ...]  # P^T T - T, in records

    @property
    def largest(self) -> Fraction:
        """The xi that holds for this table."""
        return max((risk for risk in self.risk if risk is not None), default=Fraction(0))

    @property
    def largest_all_counts(self) -> Fraction:
        return max((found.value for found in self.all_counts if found is not None), default=Fraction(0))

    @property
    def left_out(self) -> float:
        """The probability of outcomes that the bounds for the stronger intruder do not speak of."""
        return max((found.left_out for found in self.all_counts if found is not None), default=0.0)

    @property
    def xi(self) -> float:
        return rounding.float_up(self.largest)

    def to_json(self) -> dict[str, Any]:
        def up(values: Sequence[Fraction | None]) -> list[float | None]:
            return [None if value is None else rounding.float_up(value) for value in values]

        return {
            "risk": up(self.risk),
            "risk_all_counts": up([None if found is None else found.value for found in self.all_counts]),
            "risk_all_counts_exact": [found is None or found.exact for found in self.all_counts],
            "risk_all_counts_found": [None if found is None else found.found for found in self.all_counts],
            "risk_all_counts_left_out": self.left_out,
            "match": list(self.match),
            "match_all_counts": [None if pair is None else list(pair) for pair in self.match_all_counts],
            "expected_squared_error": list(self.squared_error),
            "drift": [float(value) for value in self.drift],
        }


def moving(channel: Channel) -> Iterator[tuple[list[int], Integers]]:
    """Blocks with their rows; a channel that is no BlockInvariant is one block."""
    if isinstance(channel, BlockInvariant):
        for block in channel.blocks:
            yield list(block.members), block.weights
    else:
        yield list(range(channel.size)), channel.weights


def components(channel: Channel) -> Iterator[tuple[list[int], Integers]]:
    """The same, and every category that is left alone as a block of its own."""
    fixed = np.ones(channel.size, bool)
    for members, weights in moving(channel):
        fixed[members] = False
        yield members, weights
    for category in np.flatnonzero(fixed).tolist():
        yield [category], np.array([[ONE]], np.int64)


def largest_risks(channel: Channel, counts: Sequence[int] | Integers) -> list[Fraction | None]:
    """Only the first intruder's largest risks: what calibration compares with xi."""
    t = _counts(channel, counts)
    risks: list[Fraction | None] = [None] * channel.size
    for members, weights in components(channel):
        part = t[members]
        for place, category in enumerate(members):
            if part[place] > 0:
                risks[category] = identification.largest_risk(weights[:, place], part, place)
    return risks


def largest_risk(channel: Channel, counts: Sequence[int] | Integers) -> Fraction:
    """The first intruder's largest risk on the whole table; quick for many categories that are left alone."""
    t = _counts(channel, counts)
    largest = Fraction(0)
    alone = t.copy()
    for members, weights in moving(channel):
        part = t[members]
        alone[members] = 0
        for place in np.flatnonzero(part).tolist():
            largest = max(largest, identification.largest_risk(weights[:, place], part, place))
    return max(largest, Fraction(1, int(alone[alone > 0].min()))) if alone.any() else largest


def match_risk(channel: Channel, counts: Sequence[int] | Integers) -> MatchRisk:
    """Both intruders, the error of the published frequencies, and how far the integers are from invariance."""
    t = _counts(channel, counts)
    size = channel.size
    every: list[every_count.OutcomeRisk | None] = [None] * size
    match: list[float | None] = [None] * size
    interval: list[tuple[float, float] | None] = [None] * size
    error = np.zeros(size)
    work = every_count.WORK / max(1, len(channel.blocks) if isinstance(channel, BlockInvariant) else 1)
    for members, weights in components(channel):
        part, real = t[members], weights / ONE
        if len(members) == 1:
            category, count = members[0], int(part[0])
            if count:  # published as it is: one of its records is the target's
                every[category] = every_count.OutcomeRisk(Fraction(1, count), True)
                match[category], interval[category] = 1 / count, (1 / count, 1 / count)
            continue
        error[members] = identification.squared_errors(real, part)
        guesses = every_count.matches_all_counts(real, part)
        places = np.flatnonzero(part).tolist()
        stronger = every_count.largest_risks_all_counts(weights, part, places, work)
        for place, outcome in zip(places, stronger, strict=True):
            category = members[place]
            every[category], interval[category] = outcome, guesses[place]
            match[category] = float(identification.overall_matches(real[:, place], part)[place])
    return MatchRisk(
        tuple(largest_risks(channel, t)),
        tuple(every),
        tuple(match),
        tuple(interval),
        tuple(error.tolist()),
        tuple(drift_of(channel, t.tolist())),
    )


def _counts(channel: Channel, counts: Sequence[int] | Integers) -> Integers:
    t = np.asarray(counts, np.int64)
    if t.shape != (channel.size,) or (t < 0).any():
        raise MatrixError(f"There must be a frequency for each of the {channel.size} values, none negative")
    return t
