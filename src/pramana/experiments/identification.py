"""Paper 2: Table 1, the simulation of Section 4 beside its exact values, and a study on tables with rare values.

The study compares the search for the least error, the paper's own rule and the two-stage matrix of sdcMicro on
earners, and on the Adult table where its CSV lies in the working folder or in ../shared/data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.datasets.adult import adult
from pramana.datasets.census import salaries
from pramana.datasets.population import Population
from pramana.experiments.outputs import Outputs
from pramana.mechanisms.channel import Channel
from pramana.mechanisms.invariant import drawn_diagonals, match_risk, two_stage
from pramana.methods.invariant.blocks import plan_blocks
from pramana.pages.figures import Panel, Picture, Series
from pramana.randomness.key import Key
from pramana.randomness.samplers import ONE
from pramana.theory import identification

Counts = NDArray[np.int64]

LEVELS = ("0.1", "0.125", "0.15", "0.175", "0.2", "0.25", "0.3")  # Table 1
FREQUENCIES = (2, 205, 431, 106, 230, 221, 611, 194)  # Table 2
PRINTED_ERRORS = (4.9350e-07, 7.6125e-07, 0.0, 7.4300e-07, 8.8550e-07, 7.8375e-07, 0.0, 8.5550e-07)
PRINTED_MATCH = 0.07639286
STUDY_LEVELS = ("0.02", "0.05", "0.1", "0.2")
ADULT = (Path("adult.csv"), Path("../shared/data/adult.csv"))
SEED = 1
_RUNS_AT_ONCE = 500


def run(outputs: Outputs, quick: bool) -> None:
    outputs.table(table_1(), "table-1")
    errors, match = simulation(200 if quick else 1000)
    outputs.table(errors, "simulation-errors")
    outputs.table(match, "simulation-match")
    outputs.figure(_risks_by_count(), "risk-by-count")
    rows = list(study(2_000 if quick else 20_000))
    outputs.table(rows, "study")
    outputs.figure(_errors_by_level(rows), "error-by-xi")


def table_1() -> list[dict[str, Any]]:
    """Block sizes for T1 = 1 .. 10; all 70 entries are the paper's."""
    return [
        {"T1": t, **{f"xi {xi}": identification.block_size(t, Fraction(xi)) for xi in LEVELS}}
        for t in range(1, 11)
    ]


def simulation(runs: int, seed: int = SEED) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Section 4 again: n = 2000, 8 categories, a target in the first; published `runs` times."""
    plan = plan_blocks(FREQUENCIES, "0.1", rule="paper")
    counts, gains = _published(plan.channel, runs, seed)
    exact = match_risk(plan.channel, FREQUENCIES)
    n = sum(FREQUENCIES)
    squares = ((counts - np.array(FREQUENCIES)) / n) ** 2
    errors = [
        {
            "category": j + 1,
            "records": FREQUENCIES[j],
            "mean squared error": float(squares[:, j].mean()),
            "standard error": float(squares[:, j].std() / np.sqrt(runs)),
            "exact": exact.squared_error[j] / n**2,
            "paper": PRINTED_ERRORS[j],
        }
        for j in range(len(FREQUENCIES))
    ]
    match = {
        "runs": runs,
        "match rate": float(gains.mean()),
        "standard error": float(gains.std() / np.sqrt(runs)),
        "exact": exact.match[0],
        "paper": PRINTED_MATCH,
        "largest R1": float(exact.risk[0] or 0),
        "largest seeing every count, at most": float(exact.all_counts[0].value) if exact.all_counts[0] else None,
        "largest seeing every count, found": exact.all_counts[0].found if exact.all_counts[0] else None,
    }
    return errors, [match]


def _published(channel: Channel, runs: int, seed: int) -> tuple[Counts, NDArray[np.float64]]:
    """Counts of each run, and the target's chance to be picked: 1/S_1 where it is still in its category."""
    table = np.repeat(np.arange(channel.size), FREQUENCIES).astype(np.uint8)
    stream = Key.from_seed(seed).stream("value", "simulation")
    counts, gains = [], []
    for start in range(0, runs, _RUNS_AT_ONCE):
        some = min(_RUNS_AT_ONCE, runs - start)
        codes = np.tile(table, some)
        channel.publish(stream.words(start * len(table), len(codes)), codes, codes)
        seen = codes.reshape(some, -1)
        counted = np.stack([(seen == j).sum(axis=1) for j in range(channel.size)], axis=1)
        counts.append(counted)
        gains.append(np.where(seen[:, 0] == 0, 1 / np.maximum(counted[:, 0], 1), 0.0))
    return np.concatenate(counts), np.concatenate(gains)


# ---------------------------------------------------------------- the study


@dataclass(frozen=True)
class Case:
    """An attribute, or a combination of several, with its frequencies."""

    name: str
    counts: Counts
    ordered: bool = False


def study(earners: int) -> Iterator[dict[str, Any]]:
    for name, people, columns in _tables(earners):
        for case in _cases(people, columns):
            flat = case.counts.reshape(-1)
            drawn = drawn_diagonals(Key.from_seed(SEED).stream("diagonal", case.name), flat.size, 0.8)
            plain = two_stage(flat, drawn, 0.5)  # sdcMicro's defaults; it knows no xi
            known = _row(name, case, "1", 0, "two-stage", plain)
            for xi in STUDY_LEVELS:
                *rows, last = _compared(name, case, xi)
                yield from (*rows, last, {**known, "xi": float(xi), "rare": last["rare"]})


def _tables(earners: int) -> Iterator[tuple[str, Population, tuple[tuple[str, ...], ...]]]:
    yield "earners", salaries(earners, SEED), (("age",), ("occupation",), ("occupation", "education"))
    path = next((path for path in ADULT if path.is_file()), None)
    if path is not None:
        columns = (("age",), ("native-country",), ("hours-per-week",), ("occupation", "marital-status"))
        yield "Adult", adult(path), columns


def _cases(people: Population, columns: tuple[tuple[str, ...], ...]) -> Iterator[Case]:
    for names in columns:
        shape = tuple(people.sizes[name] for name in names)
        joint = np.ravel_multi_index([people.column(name) for name in names], shape)
        counts = np.bincount(joint, minlength=int(np.prod(shape))).reshape(shape)
        yield Case(" and ".join(names), counts, names[0] in ("age", "hours-per-week"))


def _compared(table: str, case: Case, xi: str) -> Iterator[dict[str, Any]]:
    flat = case.counts.reshape(-1)
    rare = sum(0 < n * Fraction(xi) < 1 for n in flat.tolist())
    for rule in ("best", "paper"):
        ordered = [case.ordered] if case.counts.ndim == 1 else []
        plan = plan_blocks(case.counts, xi, rule=rule, ordered=ordered)
        yield _row(table, case, xi, rare, rule, plan.channel)


def _row(table: str, case: Case, xi: str, rare: int, rule: str, channel: Channel) -> dict[str, Any]:
    flat = case.counts.reshape(-1)
    risk = match_risk(channel, flat)
    stay = sum(float(n) * w for n, w in zip(flat, np.diag(channel.weights) / ONE, strict=True))
    return {
        "table": table,
        "attribute": case.name,
        "xi": float(xi),
        "rule": rule,
        "categories": int((flat > 0).sum()),
        "rare": rare,
        "largest risk": risk.xi,
        "seeing every count, at most": float(risk.largest_all_counts),
        "root mean squared error": float(np.sqrt(np.mean(risk.squared_error))),
        "records moved": float(flat.sum()) - stay,
    }


# ---------------------------------------------------------------- pictures


def _risks_by_count() -> Picture:
    """R1(a,t) of the paper's target, under the paper's block and under a pair."""
    series = []
    for rule, words in (("paper", "the paper's block of six"), ("best", "a block of two")):
        channel = plan_blocks(FREQUENCIES, "0.1", rule=rule).channel
        risks = identification.risks(channel.weights[:, 0] / ONE, FREQUENCIES, 0, 15)
        series.append(Series(words, list(range(1, 16)), risks.tolist()))
    series.append(Series("xi", [1, 15], [0.1, 0.1]))
    panel = Panel(series, x_label="records in the target's category, a", y_label="R1(a, t)", from_zero=True)
    return Picture([panel], title="Chance of a correct match by published count", columns=1)


def _errors_by_level(rows: list[dict[str, Any]]) -> Picture:
    """Root mean squared error of the frequencies against xi, one panel for each attribute that has rare values.

    A rule is shown where it reaches xi; the two-stage matrix knows no xi and is shown throughout.
    """
    panels = []
    for table, attribute in dict.fromkeys((r["table"], r["attribute"]) for r in rows if r["rare"]):
        series = []
        for rule, words in (
            ("best", "least error"),
            ("paper", "the paper's rule"),
            ("two-stage", "two-stage, no xi"),
        ):
            points = [
                r
                for r in rows
                if (r["table"], r["attribute"], r["rule"]) == (table, attribute, rule)
                and (rule == "two-stage" or r["largest risk"] <= r["xi"] * (1 + 1e-9))
            ]
            if points:
                errors = [r["root mean squared error"] for r in points]
                series.append(Series(words, [r["xi"] for r in points], errors))
        panels.append(
            Panel(series, title=f"{table}: {attribute}", x_label="xi", y_label="records", from_zero=True)
        )
    return Picture(panels, title="Error of the published frequencies", columns=2)
