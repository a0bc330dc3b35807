"""Reading a transition matrix from a CSV file: numbers as decimals or fractions, with or without labels."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path

from pramana.errors import MatrixError
from pramana.mechanisms import Dense


def read_matrix(path: str | Path) -> Dense:
    """Rows are true values, columns published ones. Entries such as 0.7, 7e-1 or 1/3 are read exactly."""
    try:
        text = Path(path).read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise MatrixError(f"The matrix {path} must be a CSV file", "other bytes") from None
    except OSError as error:
        raise MatrixError(f"The matrix {path} must be readable", error.strerror) from None
    delimiter = max(",;\t ", key=text.count) if text.strip() else ","
    rows = [
        [cell.strip() for cell in row if cell.strip()]
        for row in csv.reader(text.splitlines(), delimiter=delimiter)
    ]
    rows = [row for row in rows if row]
    if not rows:
        raise MatrixError(f"The matrix {path} must have rows", "an empty file")
    return Dense.of([[_entry(cell, path) for cell in row] for row in rows])


def _entry(cell: str, path: str | Path) -> Fraction:
    try:
        return Fraction(cell)
    except (ValueError, ZeroDivisionError):
        raise MatrixError(f"Every entry of the matrix {path} must be a number", repr(cell)) from None
