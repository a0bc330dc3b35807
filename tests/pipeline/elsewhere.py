"""Rows that lie on other machines, as far as whoever writes them can tell; no other machine is needed."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from pramana.rows.protocol import Columns, SpreadPieces


class Elsewhere(SpreadPieces):
    """Rows that lie elsewhere: whoever works on a part gets a copy of the work, and sends its result back."""

    def __init__(self, pieces: Iterator[Columns]) -> None:
        self._pieces = pieces

    def __next__(self) -> Columns:
        return next(self._pieces)

    def each_part(self, rows: int, work: Any, kept: Any = None) -> list[Any]:
        whole = {name: joined([piece[name] for piece in pieces]) for pieces in [list(self)] for name in pieces[0]}
        if kept is not None:
            shown = np.flatnonzero(kept(whole))
            whole = {name: column.take(shown) for name, column in whole.items()}
        starts = range(0, len(next(iter(whole.values()))), rows)
        sent = pickle.dumps(work)
        results = []
        for number, start in reversed(list(enumerate(starts))):  # tasks end in any order
            halves = [(start, start + rows // 2), (start + rows // 2, start + rows)]
            pieces = [{name: column[first:stop] for name, column in whole.items()} for first, stop in halves]
            results.append(pickle.loads(pickle.dumps(pickle.loads(sent)(number, filter(_has_rows, pieces)))))
        return results[::-1]


def _has_rows(piece: Columns) -> bool:
    return len(next(iter(piece.values()))) > 0


def joined(parts: list[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    chunks = [part.chunks if isinstance(part, pa.ChunkedArray) else [part] for part in parts]
    return pa.chunked_array([chunk for own in chunks for chunk in own])
