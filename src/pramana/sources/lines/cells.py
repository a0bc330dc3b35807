"""Published codes as lines of CSV: every text is quoted once, and copied into the line of each row that has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.randomness import Codes, counted
from pramana.sources.arrays import flags_of, values_of
from pramana.sources.columns import is_text, plain_type
from pramana.sources.lines import _lines

_SPARE = 16  # bytes beyond its texts and its lines that the kernel may touch


@dataclass(frozen=True, eq=False)
class CellTexts:
    """The cells of a column as they stand in a line, with what follows them; a null is the last of them."""

    entries: pa.Array
    texts: bytes
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, entries: pa.Array, after: bytes) -> CellTexts:
        cells = [b'"' + value.encode().replace(b'"', b'""') + b'"' + after for value in entries.to_pylist()]
        cells.append(after)
        ends = np.cumsum([0, *map(len, cells)], dtype=np.int64)
        return cls(entries, b"".join(cells) + bytes(_SPARE), ends)

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.ends)


def lines_of(table: pa.Table, known: dict[str, CellTexts]) -> memoryview | None:
    """The lines of a table whose columns are all dictionaries of texts, each in one piece; None for another.

    `known` keeps the texts of columns for tables that have the same dictionaries.
    """
    if not table.num_columns or not all(_is_coded(column) for column in table.columns):
        return None
    columns: list[tuple[Codes, CellTexts]] = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        chunk = column.chunk(0)
        texts = known.get(name)
        if texts is None or not texts.entries.equals(chunk.dictionary):
            after = b"\n" if len(columns) + 1 == table.num_columns else b","
            texts = known[name] = CellTexts.of(chunk.dictionary, after)
        columns.append((_codes(chunk), texts))
    return _written(columns)


def _is_coded(column: pa.ChunkedArray) -> bool:
    kind = column.type
    coded = pa.types.is_dictionary(kind) and is_text(plain_type(kind)) and kind.index_type.bit_width <= 32
    return bool(coded and column.num_chunks == 1 and not column.chunk(0).dictionary.null_count)


def _codes(chunk: pa.DictionaryArray) -> Codes:
    """Where in the dictionary each value is; one past its end stands for null."""
    indices, size = values_of(chunk.indices), len(chunk.dictionary)
    places = np.asarray(indices.view(f"u{indices.itemsize}"))
    if chunk.indices.null_count:
        wide = places.astype(np.uint32)
        return np.where(flags_of(chunk.indices.is_valid()), wide, np.uint32(size))
    return places


def _written(columns: Sequence[tuple[Codes, CellTexts]]) -> memoryview:
    room = sum(int(counted(codes, len(cells.lengths)) @ cells.lengths) for codes, cells in columns)
    out = np.empty(room + _SPARE, np.uint8)
    length = _lines.write_lines([(codes, cells.texts, cells.ends) for codes, cells in columns], out)
    return out.data[:length]
