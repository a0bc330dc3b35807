"""Row groups that were encoded apart, joined into the file that one writer writes.

The library encodes; it has no way to do so on several threads for one file. What is done here is to put the
groups' bytes one after the other and to state in the footer where each begins. Parquet's footer is a structure in
Thrift's compact protocol (apache/parquet-format, parquet.thrift): places in the file, and the number of a group
where there is one, are all in it that depends on what came before.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from pramana.sources.parquet.thrift import (
    LIST,
    STRUCT,
    Struct,
    field,
    field_head,
    list_head,
    read_struct,
    written,
    written_fields,
)

MAGIC = b"PAR1"
# Fields by their numbers in parquet.thrift.
_FILE_ROWS, _FILE_GROUPS = 3, 4
_GROUP_COLUMNS, _GROUP_BYTES, _GROUP_ROWS, _GROUP_OFFSET, _GROUP_COMPRESSED, _GROUP_ORDINAL = 1, 2, 3, 5, 6, 7
_CHUNK_OFFSET, _CHUNK_METADATA = 2, 3
_PLAIN_BYTES, _STORED_BYTES, _DATA_PLACE, _INDEX_PLACE, _DICTIONARY_PLACE = 6, 7, 9, 10, 11
_PLACES = (_DATA_PLACE, _INDEX_PLACE, _DICTIONARY_PLACE)
_LARGEST_ORDINAL = 2**15 - 1


@dataclass(frozen=True)
class Encoded:
    """A row group, or a column of one: its bytes, and what a footer says of it where they begin the file."""

    data: bytes | memoryview
    told: Struct


class EncodedFile:
    """A file of one row group, or of none, as the library writes it."""

    def __init__(self, file: memoryview) -> None:
        footer_bytes = int(struct.unpack("<I", file[-8:-4])[0])
        self.file = file
        self.footer = read_struct(bytes(file[-8 - footer_bytes : -8]))

    def group(self) -> Encoded:
        told = field(self.footer, _FILE_GROUPS)[2][1][0]
        end = len(MAGIC) + field(told, _GROUP_COMPRESSED)[2]
        return Encoded(self.file[len(MAGIC) : end], _shifted(told, -len(MAGIC)))

    def chunks(self) -> list[Encoded]:
        return list(map(self._chunk, field(self.group().told, _GROUP_COLUMNS)[2][1]))

    def _chunk(self, told: Struct) -> Encoded:
        metadata = field(told, _CHUNK_METADATA)[2]
        start = min(place[2] for place in metadata if place[0] in _PLACES)
        data = self.file[len(MAGIC) + start : len(MAGIC) + start + field(metadata, _STORED_BYTES)[2]]
        return Encoded(data, _shifted_chunk(told, -start))


def group_of(chunks: list[Encoded], rows: int, like: Struct) -> Encoded:
    """A group of these columns; what else a footer says of it is as in a group of the same file."""
    columns, at, plain = [], 0, 0
    for chunk in chunks:
        columns.append(_shifted_chunk(chunk.told, at))
        at += len(chunk.data)
        plain += field(field(chunk.told, _CHUNK_METADATA)[2], _PLAIN_BYTES)[2]
    values = {
        _GROUP_COLUMNS: (STRUCT, columns),
        _GROUP_BYTES: plain,
        _GROUP_ROWS: rows,
        _GROUP_OFFSET: 0,
        _GROUP_COMPRESSED: at,
    }
    told = [[number, kind, values.get(number, value)] for number, kind, value in like]
    return Encoded(b"".join(chunk.data for chunk in chunks), told)


class JoinedFooter:
    """The footer of a file into which groups are written one after the other."""

    def __init__(self, empty: Struct) -> None:
        """It says what the footer of a file without groups does, and of each group what is added."""
        self._empty = empty
        self._groups: list[bytes] = []
        self._rows = 0

    def add(self, group: Struct, position: int) -> None:
        """A group whose bytes begin at `position`."""
        self._rows += field(group, _GROUP_ROWS)[2]
        placed = _shifted(group, position)
        self._groups.append(written(STRUCT, _numbered(placed, len(self._groups))))

    def end(self) -> bytes:
        """What follows the last group."""
        groups = field(self._empty, _FILE_GROUPS)
        head = list_head(STRUCT, len(self._groups))
        before = [
            [number, kind, self._rows if number == _FILE_ROWS else value]
            for number, kind, value in self._empty[: self._empty.index(groups)]
        ]
        after = self._empty[len(before) + 1 :]
        last = before[-1][0] if before else 0
        footer = b"".join(
            (
                *written_fields(before, 0),
                field_head(groups[0], LIST, last) + head,
                *self._groups,
                *written_fields(after, groups[0]),
                b"\0",
            )
        )
        return footer + struct.pack("<I", len(footer)) + MAGIC


def _numbered(group: Struct, ordinal: int) -> Struct:
    """Some writers number the groups; the field is optional, and too narrow for many."""
    if ordinal > _LARGEST_ORDINAL:
        return [part for part in group if part[0] != _GROUP_ORDINAL]
    return [[number, kind, ordinal if number == _GROUP_ORDINAL else value] for number, kind, value in group]


def _shifted(group: Struct, by: int) -> Struct:
    def value_of(number: int, value: Any) -> Any:
        if number == _GROUP_OFFSET:
            return value + by
        if number == _GROUP_COLUMNS:
            return value[0], [_shifted_chunk(chunk, by) for chunk in value[1]]
        return value

    return [[number, kind, value_of(number, value)] for number, kind, value in group]


def _shifted_chunk(chunk: Struct, by: int) -> Struct:
    def value_of(number: int, value: Any) -> Any:
        if number == _CHUNK_OFFSET and value:  # 0: the file says nothing of it
            return value + by
        if number == _CHUNK_METADATA:
            return [[n, kind, told + by if n in _PLACES else told] for n, kind, told in value]
        return value

    return [[number, kind, value_of(number, value)] for number, kind, value in chunk]
