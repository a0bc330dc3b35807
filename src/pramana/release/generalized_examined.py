"""What `verify` counts again in published cells, piece by piece: the file need not fit in memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import PramanaError
from pramana.generalize import CLASS, by_appearance, cell_codes
from pramana.release.bundle import Bundle
from pramana.release.generalized_columns import Quasi, Sensitive
from pramana.release.generalized_measured import Measured
from pramana.rows import ContentDigest
from pramana.sources import Numbering, numbers, raw_column


class ShownCells:
    """The classes that a reader of the published file sees, and its content as the digest sees it.

    Cells are compared by what they say, whatever file they are in. Other columns of a CSV have no types of their
    own: they are covered by the digest of the file.
    """

    def __init__(self, quasi: Sequence[str], output: str) -> None:
        self.quasi, self.output = quasi, output
        self.digest = ContentDigest()
        self.cells: dict[str, dict[str, int]] = {}  # by column: what a cell says, numbered as it appears
        self.numbers: dict[tuple[int, ...], int] = {}  # classes
        self.sizes = np.zeros(0, np.int64)

    def take(self, piece: pa.RecordBatch) -> NDArray[np.int64]:
        """The numbers of the rows' classes."""
        names = [name for name in self.quasi if name in piece.schema.names] or [CLASS]
        shown = np.stack([self._codes(name, piece.column(name)) for name in names])
        if self.output == "parquet":
            rest = [name for name in piece.schema.names if name not in names]
            self.digest.update({n: raw_column(pa.chunked_array([piece.column(n)]), None) for n in rest})
        keys = np.zeros(piece.num_rows, np.int64)
        for codes in shown:
            keys = by_appearance(keys * (int(codes.max()) + 1) + codes)[0].astype(np.int64)
        found, rows = by_appearance(keys)
        mine = [self.numbers.setdefault(tuple(line), len(self.numbers)) for line in shown[:, rows].T.tolist()]
        class_of = np.array(mine, np.int64)[found]
        sizes = np.bincount(class_of, minlength=len(self.numbers))
        sizes[: len(self.sizes)] += self.sizes
        self.sizes = sizes
        return class_of

    def _codes(self, name: str, column: Any) -> NDArray[np.uint32]:
        codes, rows = cell_codes(column)
        known = self.cells.setdefault(name, {})
        cells = [json.dumps(cell, ensure_ascii=True) for cell in column.take(numbers(rows)).to_pylist()]
        found = np.array([known.setdefault(cell, len(known)) for cell in cells], np.uint32)[codes]
        self.digest.update({name: found})
        return found

    @property
    def records(self) -> int:
        return int(self.sizes.sum())

    def content(self) -> str:
        """As `CellTable` has it."""
        for name, known in self.cells.items():
            text = f"[{', '.join(known)}]"
            self.digest.update({f"{name} cells": np.frombuffer(text.encode(), np.uint8)})
        return self.digest.hexdigest(sorted(self.digest.parts))


def examined(
    bundle: Bundle, quasi: Sequence[Quasi], sensitive: Sequence[Sensitive], stated: Measured
) -> list[tuple[str, bool, str]]:
    """k and l counted again from the published file, and its content compared with the certificate."""
    counted = [s.name for s in sensitive if stated.l.get(s.name, {}).get("kind") == "distinct"]
    values = {name: Numbering() for name in counted}
    pairs = dict.fromkeys(counted, np.zeros(0, np.int64))  # of class and value
    shown = ShownCells([q.name for q in quasi], bundle.certificate.output)
    try:
        for piece in bundle.arrow_pieces():
            class_of = shown.take(piece)
            for name in counted:
                codes = values[name].number(piece.column(name)).astype(np.int64)
                pairs[name] = np.union1d(pairs[name], class_of << 32 | codes)
        content, k = shown.content(), int(shown.sizes.min())
    except PramanaError as error:
        return [("data", False, str(error))]
    except (KeyError, ValueError, TypeError, AttributeError):
        return [("data", False, "the columns are not those of a generalised table")]
    same = content == bundle.certificate.content
    found = [
        ("content", same, "as certified" if same else "other content"),
        ("records", shown.records == stated.records, f"{shown.records} found"),
        ("k counted again", k == stated.k, f"{k} records in the smallest class"),
    ]
    for name in counted:
        least = int(np.bincount(pairs[name] >> 32).min())
        right = least == stated.l[name]["l"]
        found.append((f"l of {name} counted again", right, f"{least} values"))
    return found
