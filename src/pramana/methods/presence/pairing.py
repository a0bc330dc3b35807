"""The public and the private table of a presence release as codes, and who of the one is in the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pramana.errors import SourceError
from pramana.generalize import Layout, Pair, matched
from pramana.methods.quasi import Quasi
from pramana.randomness import Codes, Key
from pramana.rows import Column, Columns, MemoryRows, Rows, chunks_of
from pramana.sources import Source, domain_from_data, encode

_PRESENT = "\0present"  # the column of marks, under a name that no column of a source has
_MARKS = {"1": True, "0": False, "true": True, "false": False, "1.0": True, "0.0": False}


def read_public(path: Path, names: Sequence[str]) -> MemoryRows:
    """The public table; its key serves nothing, because nothing of it is published."""
    return MemoryRows(Source(path=path).read(names), Key.create())


def public_table(path: Path, quasi: Sequence[Quasi]) -> MemoryRows:
    rows = read_public(path, [q.name for q in quasi])
    rows.settle([q.attribute for q in quasi])
    return rows


def pair_of(
    quasi: Sequence[Quasi], rows: Rows, public: MemoryRows | None, flag: str | None
) -> tuple[Pair, NDArray[np.int64]]:
    """Both tables, and for each private row whose of the public table it is."""
    layout = Layout(tuple(q.ladder for q in quasi))
    sizes = {q.name: q.attribute.coded.size for q in quasi}
    whole = rows.whole()
    private = list(whole.codes(sizes).values())
    if flag is not None:

        def marks(columns: Columns) -> Codes:
            return marked(columns[flag], flag).astype(np.uint8)

        rows.derive(_PRESENT, (flag,), marks)
        present = whole.codes({_PRESENT: 2})[_PRESENT].astype(np.bool_)
        return Pair(layout, tuple(private), present), np.flatnonzero(present)
    if public is None:
        raise SourceError("The public table must be at hand", "none")
    everyone = list(public.codes(sizes).values())
    present, row_of = matched(layout, everyone, private)
    return Pair(layout, tuple(everyone), present), row_of


def marked(column: Column, name: str) -> NDArray[np.bool_]:
    """A column of 1 and 0 (or true and false) as marks."""
    chunks = chunks_of(column)
    domain = domain_from_data(chunks)
    if domain.missing or not all(label.strip().lower() in _MARKS for label in domain.labels):
        raise SourceError(f"The column {name!r} must mark who is present by 1 and 0", "other values")
    meaning = np.array([_MARKS[label.strip().lower()] for label in domain.labels])
    return np.asarray(meaning[encode(chunks, domain, name)])
