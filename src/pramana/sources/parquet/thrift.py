"""Thrift's compact protocol, as far as Parquet's footers and the heads of its pages use it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, BINARY, LIST, _SET, _MAP, STRUCT = range(13)
_INTEGERS = (_I16, _I32, _I64)

Field = list[Any]  # its number, its type and its value
Struct = list[Field]


def field(of: Struct, number: int) -> Field:
    return next(part for part in of if part[0] == number)


class Reader:
    """Structures one after the other."""

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
        if kind == STRUCT:
            return self.struct()
        if kind == BINARY:
            return self.taken(self.varint())
        if kind == LIST:
            head = self.byte()
            size = self.varint() if head >> 4 == 15 else head >> 4
            element = head & 15
            single = element in (_TRUE, _FALSE, _BYTE)
            return element, [self.byte() if single else self.value(element) for _ in range(size)]
        if kind == _BYTE:
            return self.byte()
        raise AssertionError(f"a footer has no field of type {kind}")


def read_struct(data: bytes) -> Struct:
    return Reader(data).struct()


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value: int) -> bytes:
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def list_head(element: int, size: int) -> bytes:
    return bytes([size << 4 | element]) if size < 15 else bytes([0xF0 | element]) + varint(size)


def field_head(number: int, kind: int, last: int) -> bytes:
    step = number - last
    return bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + zigzag(number)


def written_fields(fields: Struct, last: int) -> Iterator[bytes]:
    for number, kind, value in fields:
        yield field_head(number, kind, last)
        yield written(kind, value)
        last = number


def written(kind: int, value: Any) -> bytes:
    if kind in (_TRUE, _FALSE):
        return b""
    if kind in _INTEGERS:
        return zigzag(value)
    if kind == STRUCT:
        return b"".join(written_fields(value, 0)) + b"\0"
    if kind == BINARY:
        return varint(len(value)) + bytes(value)
    if kind == LIST:
        element, items = value
        single = element in (_TRUE, _FALSE, _BYTE)
        parts = (bytes([item]) if single else written(element, item) for item in items)
        return list_head(element, len(items)) + b"".join(parts)
    return bytes([value])
