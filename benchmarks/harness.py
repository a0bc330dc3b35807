"""Measuring: cases take turns, round after round, and are compared round by round.

A ratio is taken within each round and its median over the rounds is reported, so that a slow spell of the
machine falls on both sides of it. Nothing here knows what is measured.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Sample:
    """One measurement."""

    seconds: float
    peak_mib: float | None = None


@dataclass(frozen=True)
class Case:
    """Something to measure: `run` does `work` units once. `absent` says why it cannot run here."""

    name: str
    work: int
    run: Callable[[], Sample] | None
    absent: str = ""


@dataclass(frozen=True)
class Goal:
    """`subject` must be at least `factor` times as fast as `against`; below 1, it may take 1/factor as long."""

    subject: str
    against: str
    factor: float


@dataclass(frozen=True)
class Limit:
    """`subject` must take at most so many seconds."""

    subject: str
    seconds: float


@dataclass(frozen=True)
class Comparison:
    """Cases that do the same kind of work, the one they are compared with, and what should hold."""

    title: str
    unit: str
    reference: str
    cases: tuple[Case, ...]
    goals: tuple[Goal | Limit, ...] = ()


@dataclass
class Series:
    """All measurements of a case."""

    case: Case
    samples: list[Sample] = field(default_factory=list)
    failed: str = ""

    def costs(self) -> list[float]:
        """Seconds per unit of work, round by round."""
        return [sample.seconds / self.case.work for sample in self.samples]


def measure(comparison: Comparison, rounds: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Run a comparison and return what the tables are made from. The first round warms up and is dropped."""
    series = {case.name: Series(case, failed=case.absent) for case in comparison.cases}
    for turn in range(rounds + 1):
        say(f"{comparison.title}: round {turn} of {rounds}")
        names = list(series)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            _take(series[name], keep=turn > 0)
    reference = series[comparison.reference].costs()
    return {
        "title": comparison.title,
        "unit": comparison.unit,
        "reference": comparison.reference,
        "rounds": rounds,
        "rows": [_row(one, reference) for one in series.values()],
        "goals": [_judged(goal, series) for goal in comparison.goals],
    }


def _take(series: Series, keep: bool) -> None:
    if series.failed or series.case.run is None:
        return
    try:
        sample = series.case.run()
    except Exception as error:  # a peer that breaks is a row that says so, and no reason to stop
        series.failed = f"failed: {type(error).__name__}: {error}"[:120]
        series.samples.clear()
        return
    if keep:
        series.samples.append(sample)


def speed_ratios(costs: Sequence[float], reference: Sequence[float]) -> list[float]:
    """How many times as fast as the reference, round by round."""
    return [theirs / ours for ours, theirs in zip(costs, reference, strict=True)]


def _row(series: Series, reference: Sequence[float]) -> dict[str, Any]:
    row: dict[str, Any] = {"name": series.case.name, "work": series.case.work}
    if not series.samples:
        return row | {"absent": series.failed or "not run"}
    costs = series.costs()
    peaks = [s.peak_mib for s in series.samples if s.peak_mib is not None]
    row |= {
        "seconds": [round(s.seconds, 6) for s in series.samples],
        "rate": 1 / statistics.median(costs),
        "slowest": 1 / max(costs),
        "fastest": 1 / min(costs),
    }
    if len(reference) == len(costs):
        ratios = speed_ratios(costs, reference)
        row |= {"speed": statistics.median(ratios), "speed_range": [min(ratios), max(ratios)]}
    if peaks:
        row["peak_mib"] = round(statistics.median(peaks))
    return row


def _judged(goal: Goal | Limit, series: dict[str, Series]) -> dict[str, Any]:
    subject = series[goal.subject].costs()
    if isinstance(goal, Limit):
        found = statistics.median(subject) * series[goal.subject].case.work if subject else None
        met = None if found is None else found <= goal.seconds
        return {"subject": goal.subject, "at_most_seconds": goal.seconds, "found": found, "met": met}
    against = series[goal.against].costs()
    ratio = statistics.median(speed_ratios(subject, against)) if subject and against else None
    return {
        "subject": goal.subject,
        "against": goal.against,
        "at_least": goal.factor,
        "found": ratio,
        "met": None if ratio is None else ratio >= goal.factor,
    }
