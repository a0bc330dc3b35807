"""Adult's training rows without missing values, as codes of its ARX hierarchies' leaves, or as numbers."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pramana.counting.classes import Ladder, Layout
from pramana.schema.hierarchy import Hierarchy

# beside the checkout or above it
SHARED = next((p for f in Path(__file__).parents if (p := f / "shared" / "data").is_dir()), Path("shared/data"))
QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
# education-num, which the file leaves out, is the place of a row's education in this order
EDUCATION = (
    *("Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad", "Some-college"),
    *("Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate"),
)


def training_rows() -> list[dict[str, str]]:
    with (SHARED / "adult.csv").open(newline="") as file:
        return [r for r in csv.DictReader(file) if r["split"] == "train" and not {"?", ""} & set(r.values())]


def adult_numbers() -> dict[str, NDArray[np.int64]]:
    """The numbers the file has: it has no capital gains."""
    rows = training_rows()
    number = {name: i + 1 for i, name in enumerate(EDUCATION)}
    return {
        "age": np.array([int(r["age"]) for r in rows]),
        "education-num": np.array([number[r["education"]] for r in rows]),
        "hours-per-week": np.array([int(r["hours-per-week"]) for r in rows]),
    }


def adult() -> tuple[Layout, list[NDArray[np.uint8]], NDArray[np.uint8]]:
    """The layout, the quasi-identifiers' codes, and the salary class."""
    rows = training_rows()
    ladders, columns = [], []
    for name in QUASI:
        hierarchy = Hierarchy.read(SHARED / "hierarchies" / f"{name}.csv")
        code = {leaf: i for i, leaf in enumerate(hierarchy.leaves)}
        ladders.append(Ladder.of(name, hierarchy))
        columns.append(np.array([code[r[name]] for r in rows], np.uint8))
    salary = np.array([r["salary-class"] == ">50K" for r in rows], np.uint8)
    return Layout(tuple(ladders)), columns, salary
