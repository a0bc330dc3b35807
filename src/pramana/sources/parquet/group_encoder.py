"""The row groups of one file: the first as Arrow encodes it, of the others columns of codes by our own loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pramana.sources.parquet.code_chunks import CodeChunks
from pramana.sources.parquet.row_groups import Encoded, EncodedFile, group_of
from pramana.sources.parquet.thrift import Struct


class GroupEncoder:
    """Groups after the first may be encoded on threads."""

    def __init__(self, schema: pa.Schema, options: Mapping[str, Any]) -> None:
        self._schema, self._options = schema, options
        self._first: Struct | None = None
        self._forms: list[CodeChunks | None] = []

    def empty_footer(self) -> Struct:
        return self._by_arrow(None, self._schema).footer

    @property
    def has_first(self) -> bool:
        return self._first is not None

    def first(self, table: pa.Table) -> Encoded:
        """A group as Arrow encodes it, from which the others' form is learned."""
        file = self._by_arrow(table, self._schema)
        group, chunks = file.group(), file.chunks()
        if len(chunks) == table.num_columns:  # one of structures has several
            self._forms = [
                CodeChunks.learned(column.chunk(0), told.nullable, chunk)
                for column, told, chunk in zip(table.columns, self._schema, chunks, strict=True)
            ]
        self._first = group.told
        return group

    def encoded(self, table: pa.Table) -> Encoded:
        assert self._first is not None
        if not any(self._forms):
            return self._by_arrow(table, self._schema).group()
        ours = {
            place: form.encoded(table.column(place).chunk(0))
            for place, form in enumerate(self._forms)
            if form is not None and form.fits(table.column(place).chunk(0))
        }
        left = [place for place in range(table.num_columns) if place not in ours]
        if left:
            schema = pa.schema([self._schema.field(place) for place in left])
            file = self._by_arrow(table.select(left), schema)
            ours.update(zip(left, file.chunks(), strict=True))
        return group_of([ours[place] for place in range(table.num_columns)], table.num_rows, self._first)

    def _by_arrow(self, table: pa.Table | None, schema: pa.Schema) -> EncodedFile:
        sink = pa.BufferOutputStream()
        with pq.ParquetWriter(sink, schema, **self._options) as writer:
            if table is not None:
                writer.write_table(table, row_group_size=table.num_rows)
        return EncodedFile(memoryview(sink.getvalue()))
