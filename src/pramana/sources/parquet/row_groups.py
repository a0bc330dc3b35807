"""Row groups that were encoded apart, each as a file of its own, joined into the file that one writer writes.

The library encodes; it has no way to do so on several threads for one file. What is done here is to put the
groups' bytes one after the other and to state in the footer where each begins. Parquet's footer is a structure in
Thrift's compact protocol (apache/parquet-format, parquet.thrift): places in the file, and the number of a group
where there is one, are all in it that depends on what came before.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MAGIC = b"PAR1"
_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)
_INTEGERS = (_I16, _I32, _I64)
# Fields by their numbers in parquet.thrift.
_FILE_ROWS, _FILE_GROUPS = 3, 4
_GROUP_COLUMNS, _GROUP_OFFSET, _GROUP_ORDINAL = 1, 5, 7
_CHUNK_OFFSET, _CHUNK_METADATA = 2, 3
_PLACES = (9, 10, 11)  # of the data pages, the index and the dictionary of a column
_LARGEST_ORDINAL = 2**15 - 1

Field = list[Any]  # its number, its type and its value
Struct = list[Field]


@dataclass(frozen=True)
class EncodedGroup:
    """A file of one row group, or of none."""

    file: memoryview

    @property
    def _footer_bytes(self) -> int:
        return int(struct.unpack("<I", self.file[-8:-4])[0])

    @property
    def body(self) -> memoryview:
        return self.file[len(MAGIC) : -8 - self._footer_bytes]

    @property
    def footer(self) -> Struct:
        return _read_struct(bytes(self.file[-8 - self._footer_bytes : -8]))


class JoinedFooter:
    """The footer of a file into which groups are written one after the other."""

    def __init__(self) -> None:
        self._whole: Struct = []  # the first group's, with its list of groups taken out
        self._groups: list[bytes] = []
        self._rows = 0

    def add(self, footer: Struct, position: int) -> None:
        """A group whose body begins at `position`; it was encoded as if it began right after the magic bytes."""
        self._rows += _field(footer, _FILE_ROWS)[2]
        for group in _field(footer, _FILE_GROUPS)[2][1]:
            _shift(group, position - len(MAGIC))
            self._groups.append(_written(_STRUCT, _numbered(group, len(self._groups))))
        self._whole = self._whole or footer

    def end(self) -> bytes:
        """What follows the last group."""
        _field(self._whole, _FILE_ROWS)[2] = self._rows
        groups = _field(self._whole, _FILE_GROUPS)
        head = _list_head(_STRUCT, len(self._groups))
        before = self._whole[: self._whole.index(groups)]
        after = self._whole[len(before) + 1 :]
        last = before[-1][0] if before else 0
        footer = b"".join(
            (
                *_written_fields(before, 0),
                _field_head(groups[0], _LIST, last) + head,
                *self._groups,
                *_written_fields(after, groups[0]),
                b"\0",
            )
        )
        return footer + struct.pack("<I", len(footer)) + MAGIC


def _numbered(group: Struct, ordinal: int) -> Struct:
    """Some writers number the groups; the field is optional, and too narrow for many."""
    if ordinal > _LARGEST_ORDINAL:
        return [field for field in group if field[0] != _GROUP_ORDINAL]
    return [[number, kind, ordinal if number == _GROUP_ORDINAL else value] for number, kind, value in group]


def _shift(group: Struct, by: int) -> None:
    for field in group:
        if field[0] == _GROUP_OFFSET:
            field[2] += by
        elif field[0] == _GROUP_COLUMNS:
            for chunk in field[2][1]:
                for part in chunk:
                    if part[0] == _CHUNK_OFFSET and part[2]:  # 0: the file says nothing of it
                        part[2] += by
                    elif part[0] == _CHUNK_METADATA:
                        for place in part[2]:
                            if place[0] in _PLACES:
                                place[2] += by


def _field(of: Struct, number: int) -> Field:
    return next(field for field in of if field[0] == number)


# ---------------------------------------------------------------- Thrift's compact protocol


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def taken(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]

    def struct(self) -> Struct:
        fields, number = [], 0
        while head := self.byte():
            number = number + (head >> 4) if head >> 4 else self.zigzag()
            fields.append([number, head & 15, self.value(head & 15)])
        return fields

    def value(self, kind: int) -> Any:
        if kind in (_TRUE, _FALSE):  # in the head already
            return None
        if kind in _INTEGERS:
            return self.zigzag()
        if kind == _STRUCT:
            return self.struct()
        if kind == _BINARY:
            return self.taken(self.varint())
        if kind == _LIST:
            head = self.byte()
            size = self.varint() if head >> 4 == 15 else head >> 4
            element = head & 15
            single = element in (_TRUE, _FALSE, _BYTE)
            return element, [self.byte() if single else self.value(element) for _ in range(size)]
        if kind == _BYTE:
            return self.byte()
        raise AssertionError(f"a footer has no field of type {kind}")


def _read_struct(data: bytes) -> Struct:
    return _Reader(data).struct()


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _zigzag(value: int) -> bytes:
    return _varint(value << 1 if value >= 0 else (-value << 1) - 1)


def _list_head(element: int, size: int) -> bytes:
    return bytes([size << 4 | element]) if size < 15 else bytes([0xF0 | element]) + _varint(size)


def _field_head(number: int, kind: int, last: int) -> bytes:
    step = number - last
    return bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + _zigzag(number)


def _written_fields(fields: Struct, last: int) -> Iterator[bytes]:
    for number, kind, value in fields:
        yield _field_head(number, kind, last)
        yield _written(kind, value)
        last = number


def _written(kind: int, value: Any) -> bytes:
    if kind in (_TRUE, _FALSE):
        return b""
    if kind in _INTEGERS:
        return _zigzag(value)
    if kind == _STRUCT:
        return b"".join(_written_fields(value, 0)) + b"\0"
    if kind == _BINARY:
        return _varint(len(value)) + bytes(value)
    if kind == _LIST:
        element, items = value
        single = element in (_TRUE, _FALSE, _BYTE)
        parts = (bytes([item]) if single else _written(element, item) for item in items)
        return _list_head(element, len(items)) + b"".join(parts)
    return bytes([value])
