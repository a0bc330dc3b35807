"""Reading a transition matrix from a CSV file: numbers as decimals or fractions, without labels."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path

from pramana.errors import MatrixError
from pramana.mechanisms import Dense
from pramana.schema import exact_number
from pramana.stores import local_path, regular_text


def read_matrix(path: str | Path) -> Dense:
    """Rows are true values, columns published ones. Entries such as 0.7, 7e-1 or 1/3 are read exactly."""
    path = local_path(path, "A matrix", MatrixError)
    try:
        text = regular_text(path)
    except UnicodeDecodeError:
        raise MatrixError(f"The matrix {path} must be a CSV file", "other bytes") from None
    except OSError as error:
        raise MatrixError(f"The matrix {path} must be readable", error.strerror) from None
    except ValueError:
        raise MatrixError("A matrix must be a file", "a name that is none") from None
    try:
        rows = [row for row in _rows(text) if row]
    except csv.Error:
        raise MatrixError(f"The matrix {path} must be a CSV file", "a line that cannot be parsed") from None
    if not rows:
        raise MatrixError(f"The matrix {path} must have rows", "an empty file")
    return Dense.of([[_entry(cell, path) for cell in row] for row in rows])


def _rows(text: str) -> list[list[str]]:
    """Cells by the first usual delimiter the file has; an empty cell counts, save one after the last delimiter."""
    delimiter = next((d for d in ";\t," if d in text), None)
    if delimiter is None:
        return [line.split() for line in text.splitlines()]
    rows = []
    for row in csv.reader(text.splitlines(), delimiter=delimiter):
        cells = [cell.strip() for cell in row]
        rows.append(cells[:-1] if cells and not cells[-1] else cells)
    return rows


def _entry(cell: str, path: str | Path) -> Fraction:
    try:
        return exact_number(cell)
    except ValueError:
        raise MatrixError(
            f"Every entry of the matrix {path} must be a number",
            repr(cell),
            "Write 0.7 or 7/10, with a point, and no names of rows and columns.",
        ) from None
