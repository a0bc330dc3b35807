"""No published cell is false: what stands for a record contains its values, by value and not by text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from pramana import Recipe, release
from pramana.errors import RefusedError
from pramana.io.source import Source
from pramana.methods.cell_table import check_cells
from pramana.methods.cells import Cells
from pramana.methods.columns import ClassifiedColumn, quasi_of
from pramana.methods.recipe import AnyRecipe
from pramana.randomness.key import Key
from pramana.rows.memory import MemoryRows
from pramana.schema.domain import Role

AGES = [4, 104, 34, 15, 9, 90, 27, 61, 8, 100, 33, 72] * 5


def write_ages(folder: Path) -> Path:
    place = folder / "ages.csv"
    place.write_text("age,job\n" + "".join(f"{age},j{i % 3}\n" for i, age in enumerate(AGES)))
    return place


def recipe(folder: Path, domain: object) -> AnyRecipe:
    return Recipe.parse(
        {
            "source": {"path": str(write_ages(folder))},
            "release": {"method": "generalize", "k": 20, "algorithm": "mondrian", "cells": "interval"},
            "attributes": {
                "age": {"role": "quasi-identifying", "domain": domain},
                "job": {"role": "quasi-identifying", "domain": "from-data"},
            },
        },
        folder,
    )


def test_intervals_of_numbers_from_a_csv_contain_their_records(tmp_path: Path) -> None:
    bundle = release(recipe(tmp_path, "from-data"), tmp_path / "out", seed=1).bundle
    rows = pq.read_table(bundle / "data.parquet").to_pylist()
    bounds = [(int(row["age"]["low"]), int(row["age"]["high"])) for row in rows]
    assert all(low <= high for low, high in bounds)
    # as many published intervals contain each age as there are records of it, or more
    for age in set(AGES):
        assert sum(low <= age <= high for low, high in bounds) >= AGES.count(age)
    assert sum(high - low for low, high in bounds) < 100 * len(rows)  # and they are no wider than needed


def test_a_domain_of_numbers_out_of_order_is_refused_as_intervals(tmp_path: Path) -> None:
    domain = [34, 4, 104, 15, 9, 90, 27, 61, 8, 100, 33, 72]
    with pytest.raises(RefusedError, match="must contain the values"):
        release(recipe(tmp_path, domain), tmp_path / "out", seed=1)
    assert not (tmp_path / "out").exists()


def test_cells_that_leave_a_value_out_are_refused(tmp_path: Path) -> None:
    """The check has power on every kind of cell: one value taken out of one class is seen."""
    rows = MemoryRows(Source(path=write_ages(tmp_path)).read(["age"]), Key.create())
    column = ClassifiedColumn(role=Role.QUASI_IDENTIFYING, domain="from-data")
    quasi = [quasi_of("age", column, tmp_path, rows)]
    true = Cells(12, np.array([0, 3, 6]), np.array([0, 1, 2, 5, 6, 7]), np.ones(6, np.int64))
    check_cells(quasi, [true], [true], intervals=True)
    short = Cells(12, np.array([0, 3, 5]), np.array([0, 1, 2, 5, 7]), np.ones(5, np.int64))
    with pytest.raises(RefusedError, match="1 values of classes"):
        check_cells(quasi, [true], [short], intervals=False)
