"""The public and the private table of a presence release as codes, and who of the one is in the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pramana.errors import SourceError
from pramana.generalize import Layout, Pair, matched
from pramana.methods.marks import MARK, derive_marks
from pramana.methods.quasi import Quasi
from pramana.randomness import Key
from pramana.rows import MemoryRows, Rows
from pramana.sources import Source
from pramana.stores import AnyPath


def read_public(path: AnyPath, names: Sequence[str]) -> MemoryRows:
    """The public table; its key serves nothing, because nothing of it is published."""
    return MemoryRows(Source(path=path).read(names), Key.create())


def public_table(path: AnyPath, quasi: Sequence[Quasi]) -> MemoryRows:
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
        derive_marks(rows, flag)
        present = whole.codes({MARK: 2})[MARK].astype(np.bool_)
        return Pair(layout, tuple(private), present), np.flatnonzero(present)
    if public is None:
        raise SourceError("The public table must be at hand", "none")
    everyone = list(public.codes(sizes).values())
    present, row_of = matched(layout, everyone, private)
    return Pair(layout, tuple(everyone), present), row_of
