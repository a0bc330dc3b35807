"""Paper 1, Section 5: reconstruction errors and epsilon by records (Figure 2), attributes (3) and k (4).

The paper's census is replaced by the generated one, which has its attributes and category counts. Beside the
paper's method (one coin per attribute, tables reconstructed by inversion) stand ours: maximum likelihood (EM)
from the same data, and both estimates from one coin per record at the same k and epsilon.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from pramana.datasets.census import census
from pramana.datasets.population import Population
from pramana.experiments.outputs import Outputs
from pramana.mechanisms.guarantees import Circumstances
from pramana.mechanisms.table import Mechanism
from pramana.methods.retention.calibration import Wanted, calibrate
from pramana.pages.figures import Panel, Picture, Series
from pramana.randomness.key import Key
from pramana.randomness.samplers import Codes
from pramana.recipient.law import tabulate
from pramana.recipient.likelihood import fit
from pramana.schema.domain import Axis
from pramana.theory import pk

# Table 1, in its order; Figure 2 and 4 use the first four.
ATTRIBUTES = ("sex", "age", "income", "worked_last_year", "worked_last_week", "education", "travel_time")
ALL_RECORDS = 2_458_285
RECORDS = (245, 2_458, 24_582, 245_828, ALL_RECORDS)
KS = (2, 5, 10, 20, 50, 100, 1000)
SEED = 1
_REPEATED_BELOW = 100_000  # small tables are published several times, and the mean error is shown
_METHODS = {
    "L1 inversion": "one coin per attribute, inversion (the paper)",
    "L1 EM": "one coin per attribute, EM",
    "L1 record inversion": "one coin per record, inversion",
    "L1 record EM": "one coin per record, EM",
}


@dataclass(frozen=True)
class FigurePoint:
    """One point of a figure."""

    records: int
    attributes: int
    k: int
    repeats: int

    @property
    def names(self) -> tuple[str, ...]:
        return ATTRIBUTES[: self.attributes]


def run(outputs: Outputs, quick: bool) -> None:
    most = 24_582 if quick else ALL_RECORDS
    people = census(most, SEED)
    repeats = 3 if quick else 10
    by_records = [n for n in RECORDS if n <= most]
    figures = {
        "records": [FigurePoint(n, 4, 2, repeats if n < _REPEATED_BELOW else 1) for n in by_records],
        "attributes": [FigurePoint(most, a, 2, 1) for a in range(1, 6 if quick else 8)],
        "k": [FigurePoint(most, 4, k, 1) for k in (KS[:3] if quick else KS)],
    }
    for number, (varied, settings) in enumerate(figures.items(), start=2):
        with ThreadPoolExecutor(2) as pool:
            rows = list(pool.map(lambda setting: measure(setting, people), settings))
        name = f"pk-figure-{number}-by-{varied}"
        outputs.table(rows, name)
        outputs.figure(picture(rows, varied, number), name)


def measure(setting: FigurePoint, people: Population) -> dict[str, Any]:
    """The row of one setting: retentions, epsilon and the four L1 errors."""
    sizes = {name: people.sizes[name] for name in setting.names}
    true = {name: people.column(name)[: setting.records] for name in setting.names}
    wanted = Wanted(Circumstances(setting.records), k=setting.k)
    each, whole = calibrate(sizes, wanted, "attribute"), calibrate(sizes, wanted, "record")
    axes = [Axis(name, people.domain(name)) for name in setting.names]
    original = tabulate(true, axes, each).counts
    errors = np.zeros((setting.repeats, 4))
    converged = True
    for draw in range(setting.repeats):
        for column, mechanism in ((0, each), (2, whole)):
            table = tabulate(_publish(true, mechanism, draw), axes, mechanism)
            fitted = fit(table)
            converged &= fitted.converged
            errors[draw, column] = _l1(table.law.inverse(table.counts), original)
            errors[draw, column + 1] = _l1(fitted.values, original)
    return {
        "records": setting.records,
        "attributes": setting.attributes,
        "cells": original.size,
        "k": setting.k,
        "retention": each.retentions()[0],
        "record retention": whole.retentions()[0],
        "epsilon": pk.epsilon_from_k(setting.records, setting.k),
        **dict(zip(_METHODS, errors.mean(axis=0).tolist(), strict=True)),
        "published": setting.repeats,
        "EM converged": converged,
    }


def _publish(true: dict[str, Codes], mechanism: Mechanism, draw: int) -> dict[str, Codes]:
    key = Key.from_seed(draw)
    out = {name: np.empty_like(codes) for name, codes in true.items()}
    mechanism.publish(lambda purpose, column: key.stream(purpose, "experiment pk", column), 0, true, out)
    return out


def _l1(estimate: np.ndarray[Any, np.dtype[np.float64]], true: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """d of Section 5: the sum of absolute differences over the number of records."""
    return float(np.abs(estimate - true).sum() / true.sum())


def picture(rows: Sequence[dict[str, Any]], varied: str, number: int) -> Picture:
    x = [row[varied] for row in rows]
    labels = {"records": "number of records", "attributes": "number of attributes", "k": "k"}
    errors = [Series(words, x, [row[name] for row in rows]) for name, words in _METHODS.items()]
    epsilon = [Series("epsilon", x, [row["epsilon"] for row in rows])]
    log_x = varied != "attributes"
    fixed = {"records": "k = 2, 4 attributes", "attributes": f"k = 2, {rows[0]['records']:,} records"}
    title = fixed.get(varied, f"{rows[0]['records']:,} records, 4 attributes")
    return Picture(
        [
            Panel(errors, "L1 error of the table", labels[varied], "L1 error", log_x=log_x, log_y=True),
            Panel(epsilon, "local epsilon", labels[varied], "epsilon", log_x=log_x, from_zero=True),
        ],
        title=f"Figure {number} on the generated census: {title}",
        height=4.2,
        width=9.0,
    )
