"""The pages of a Parquet file, as their headers state them: how many values each has, and how they are written.

Headers are structures of Apache Thrift's compact protocol; PageHeader and its parts are those of parquet.thrift of
the Apache Parquet format. The file is a stranger's: every length is checked against the bytes that are there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from pramana.errors import BundleError

_DICTIONARY_PAGE = 2
_TYPE, _SIZE = 1, 3  # fields of a PageHeader
_KINDS = {5: (1, 2, 5), 8: (1, 4, 8)}  # data pages of both versions: number of values, encoding, statistics
_DEEPEST = 8
_MOST_FIELDS = 64
Fields = dict[int, Any]


@dataclass(frozen=True)
class DataPage:
    """A page of values: how many, in which encoding (its number in the format), in how many bytes."""

    values: int
    encoding: int
    size: int
    statistics: bool


def data_pages(chunk: bytes) -> Iterator[DataPage]:
    """The data pages of a column chunk, one after another; its dictionary is passed over."""
    place = 0
    while place < len(chunk):
        reader = _Thrift(chunk, place)
        header = reader.structure()
        size = header.get(_SIZE)
        if not isinstance(size, int) or not 0 <= size <= len(chunk) - reader.place:
            _refuse()
        for field, (values, encoding, statistics) in _KINDS.items():
            inner = header.get(field)
            if isinstance(inner, dict) and header.get(_TYPE) != _DICTIONARY_PAGE:
                count, how = inner.get(values), inner.get(encoding)
                if not isinstance(count, int) or not isinstance(how, int) or count < 0:
                    _refuse()
                yield DataPage(count, how, size, statistics in inner)
        place = reader.place + size


def _refuse() -> NoReturn:
    raise BundleError("The pages of a data file must be as Parquet has them", "damaged data")


class _Thrift:
    """A reader of the compact protocol, as far as page headers need it."""

    def __init__(self, content: bytes, place: int) -> None:
        self.content, self.place = content, place

    def structure(self, depth: int = 0) -> Fields:
        """Fields by their numbers."""
        fields: Fields = {}
        number = 0
        if depth > _DEEPEST:
            _refuse()
        for _ in range(_MOST_FIELDS):
            first = self._byte()
            kind, step = first & 15, first >> 4
            if kind == 0:
                return fields
            number = number + step if step else self._signed()
            fields[number] = self._value(kind, depth)
        _refuse()

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind in (3, 4, 5, 6):
            return self._byte() if kind == 3 else self._signed()
        if kind == 8:
            return self._bytes(self._unsigned())
        if kind == 7:
            return self._bytes(8)
        if kind == 12:
            return self.structure(depth + 1)
        _refuse()  # lists and maps, of which a page header has none

    def _byte(self) -> int:
        if self.place >= len(self.content):
            _refuse()
        self.place += 1
        return self.content[self.place - 1]

    def _bytes(self, length: int) -> bytes:
        if length > len(self.content) - self.place:
            _refuse()
        self.place += length
        return self.content[self.place - length : self.place]

    def _unsigned(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        _refuse()

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)
