"""Adult's training rows without missing values, as codes of its ARX hierarchies' leaves."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pramana.generalize import Ladder, Layout
from pramana.schema import Hierarchy

SHARED = Path(__file__).parents[3] / "shared" / "data"
QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")


def adult() -> tuple[Layout, list[NDArray[np.uint8]], NDArray[np.uint8]]:
    """The layout, the quasi-identifiers' codes, and the salary class."""
    with (SHARED / "adult.csv").open(newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["split"] == "train" and not {"?", ""} & set(r.values())]
    ladders, columns = [], []
    for name in QUASI:
        hierarchy = Hierarchy.read(SHARED / "hierarchies" / f"{name}.csv")
        code = {leaf: i for i, leaf in enumerate(hierarchy.leaves)}
        ladders.append(Ladder.of(name, hierarchy))
        columns.append(np.array([code[r[name]] for r in rows], np.uint8))
    salary = np.array([r["salary-class"] == ">50K" for r in rows], np.uint8)
    return Layout(tuple(ladders)), columns, salary
