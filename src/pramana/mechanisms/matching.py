"""What paper 2's intruders achieve against a channel on the table with these frequencies, from its integers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.errors import MatrixError
from pramana.mechanisms.channel import Channel
from pramana.mechanisms.invariant import BlockInvariant, drift_of
from pramana.randomness.samplers import ONE
from pramana.theory import every_count, identification, rounding

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


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
    found: list[Fraction | None] = [None] * channel.size
    for members, weights in components(channel):
        part = t[members]
        for place, category in enumerate(members):
            if part[place] > 0:
                found[category] = identification.largest_risk(weights[:, place], part, place)
    return found


def largest_risk(channel: Channel, counts: Sequence[int] | Integers) -> Fraction:
    """The first intruder's largest risk on the whole table; quick for many categories that are left alone."""
    t = _counts(channel, counts)
    found = Fraction(0)
    alone = t.copy()
    for members, weights in moving(channel):
        part = t[members]
        alone[members] = 0
        for place in np.flatnonzero(part).tolist():
            found = max(found, identification.largest_risk(weights[:, place], part, place))
    return max(found, Fraction(1, int(alone[alone > 0].min()))) if alone.any() else found


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
            _alone(members[0], int(part[0]), every, match, interval)
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


def _alone(
    category: int,
    count: int,
    every: list[every_count.OutcomeRisk | None],
    match: list[float | None],
    interval: list[tuple[float, float] | None],
) -> None:
    """A category that is published as it is: one of its records is the target's."""
    if count:
        every[category] = every_count.OutcomeRisk(Fraction(1, count), True)
        match[category], interval[category] = 1 / count, (1 / count, 1 / count)


def _counts(channel: Channel, counts: Sequence[int] | Integers) -> Integers:
    t = np.asarray(counts, np.int64)
    if t.shape != (channel.size,) or (t < 0).any():
        raise MatrixError(f"There must be a frequency for each of the {channel.size} values, none negative")
    return t
