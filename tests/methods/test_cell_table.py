"""Published cells and their digest, read back from either file."""

from __future__ import annotations

from pathlib import Path

import pytest

from pramana import Recipe, release, verify


@pytest.mark.parametrize("output", ["csv", "parquet"])
def test_cells_by_class_have_the_certified_content(tmp_path: Path, output: str) -> None:
    """In a CSV the numbers of classes are texts: the digest is of what a reader of the file sees."""
    (tmp_path / "people.csv").write_text("age,illness\n" + "".join(f"{i % 4},{i % 3}\n" for i in range(40)))
    (tmp_path / "age.csv").write_text("0;low;*\n1;low;*\n2;high;*\n3;high;*\n")
    recipe = {
        "source": {"path": "people.csv"},
        "release": {"method": "generalize", "k": 5, "cells": "pdf"},
        "attributes": {
            "age": {"role": "quasi-identifying", "hierarchy": "age.csv"},
            "illness": {"role": "sensitive"},
        },
        "output": {"format": output},
    }
    made = release(Recipe.parse(recipe, tmp_path), tmp_path / "out", seed=1)
    assert verify(made.bundle).valid
