"""Columns of marks: which rows of a table are meant."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pramana.errors import SourceError
from pramana.randomness import Codes
from pramana.rows import Column, Columns, Rows, chunks_of
from pramana.sources import domain_from_data, encode

MARK = "\0present"  # the column of marks, under a name that no column of a source has
_MARKS = {"1": True, "0": False, "true": True, "false": False, "1.0": True, "0.0": False}


def marked(column: Column, name: str) -> NDArray[np.bool_]:
    """A column of 1 and 0 (or true and false) as marks."""
    chunks = chunks_of(column)
    domain = domain_from_data(chunks)
    if domain.missing or not all(label.strip().lower() in _MARKS for label in domain.labels):
        raise SourceError(f"The column {name!r} must mark who is present by 1 and 0", "other values")
    meaning = np.array([_MARKS[label.strip().lower()] for label in domain.labels])
    return np.asarray(meaning[encode(chunks, domain, name)])


def derive_marks(rows: Rows, flag: str) -> None:
    """The marks of a column as a column of codes, 1 where a row is meant."""

    def marks(columns: Columns) -> Codes:
        return marked(columns[flag], flag).astype(np.uint8)

    rows.derive(MARK, (flag,), marks)
