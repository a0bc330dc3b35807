"""A column as it is: every value once, how often it occurs, and which of them each row has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pramana.errors import SourceError
from pramana.randomness import Codes, code_dtype, counted
from pramana.schema import label_of
from pramana.sources import flags_of, numbers, values_of

Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """`values` are distinct and present; a row without one has the code that comes after the last of them."""

    name: str
    values: pa.Array
    counts: Counts
    codes: Codes
    missing: int

    @property
    def records(self) -> int:
        return len(self.codes)

    @property
    def distinct(self) -> int:
        return len(self.values)

    @property
    def present(self) -> int:
        return self.records - self.missing

    @property
    def is_text(self) -> bool:
        kind = self.values.type
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))

    @property
    def size(self) -> int:
        """The number of codes, the missing one included where a row has it."""
        return self.distinct + (self.missing > 0)

    def texts(self) -> list[str]:
        """The values as a recipe and a published table write them."""
        return [label_of(value) for value in self.values.to_pylist()]

    @classmethod
    def of(cls, name: str, column: pa.ChunkedArray) -> ColumnValues:
        try:
            return cls._of(name, column)
        except (pa.ArrowException, ValueError, OverflowError, TypeError):
            raise SourceError(
                f"The column {name!r} must hold texts, numbers, dates or truth values", "others"
            ) from None

    @classmethod
    def _of(cls, name: str, column: pa.ChunkedArray) -> ColumnValues:
        entries, places = _coded(column)
        counts = counted(places, len(entries) + 1)
        kept = (counts[:-1] > 0) & ~_absent(entries)
        if bool(kept.all()):
            return cls(name, entries, counts[:-1].astype(np.int64), places, int(counts[-1]))
        size = int(kept.sum())
        renumbered = np.full(len(kept) + 1, size, code_dtype(size + 1))
        renumbered[:-1][kept] = np.arange(size)
        codes = renumbered[places]
        values = entries.take(numbers(np.flatnonzero(kept)))
        return cls(
            name, values, counts[:-1][kept].astype(np.int64), codes, len(codes) - int(counts[:-1][kept].sum())
        )


def _coded(column: pa.ChunkedArray) -> tuple[pa.Array, Codes]:
    """The entries of one dictionary for all chunks, each once, and each row's place; past the end is null."""
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    coded = coded.unify_dictionaries() if coded.num_chunks > 1 else coded
    entries = coded.chunk(0).dictionary if coded.num_chunks else pa.array([], coded.type.value_type)
    kind = code_dtype(len(entries) + 1)
    places = np.empty(len(coded), kind)
    start = 0
    for chunk in coded.chunks:
        end = start + len(chunk)
        indices = chunk.indices
        places[start:end] = values_of(indices)
        if indices.null_count:
            places[start:end][flags_of(indices.is_null())] = len(entries)
        start = end
    if len(coded.chunks) != 1 or coded is not column:  # else a frame's own, which may have an entry twice
        return entries, places
    once = entries.dictionary_encode()
    if len(once.dictionary) == len(entries):
        return entries, places
    first = np.append(values_of(once.indices.fill_null(0)), len(once.dictionary))
    return once.dictionary, first.astype(kind)[places]


def _absent(entries: pa.Array) -> NDArray[np.bool_]:
    """Which entries are no values: null, not a number, an empty text."""
    kind = entries.type
    absent = entries.is_null(nan_is_null=True) if pa.types.is_floating(kind) else entries.is_null()
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        absent = pc.or_kleene(absent, pc.equal(pc.fill_null(entries, ""), ""))
    return flags_of(absent)
