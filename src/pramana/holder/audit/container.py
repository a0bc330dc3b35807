"""What a bundle's files tell beside their rows: when they were written, and what else is in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pyarrow.parquet as pq

from pramana.bundle.bundle import Bundle
from pramana.errors import BundleError
from pramana.holder.audit.verdict import Attack

_TOGETHER = 2.0  # seconds: the coarsest steps in which an archive keeps times
_OWN_METADATA = {b"ARROW:schema"}
_ENCODINGS = {"PLAIN", "RLE", "RLE_DICTIONARY"}


def file_times(bundle: Bundle) -> Attack:
    """How far apart the files were written, by their own times: it tells how long a release took.

    A release gives all of them one time. A copy has times of its own, which tell of the copying.
    """
    paths = sorted(path for path in bundle.path.rglob("*") if path.is_file() and not path.is_symlink())
    times = [path.stat().st_mtime for path in paths]
    apart = max(times) - min(times)
    what = f"the times of {len(paths)} files are {apart:.3g} s apart; within {_TOGETHER:g} s they are one time"
    return Attack("file, times", _TOGETHER, apart, apart <= _TOGETHER, what)


def beside_the_table(bundle: Bundle) -> Attack:
    """Whether the data file holds anything but its table: metadata, statistics, indexes, lines without a row."""
    parquet = bundle.certificate.output == "parquet"
    tell = _beside_pages if parquet else _beside_lines
    foreign = sorted({what for path in bundle.data_files for what in tell(bundle, path)})
    what = "the data file holds a table and nothing besides"
    if foreign:
        what = f"the data file also holds {', '.join(foreign)}"
    return Attack("file, beside the table", 0.0, float(len(foreign)), not foreign, what)


def _beside_pages(bundle: Bundle, path: Path) -> Iterator[str]:
    del bundle
    with pq.ParquetFile(path) as file:
        metadata = file.metadata
        if set(metadata.metadata or ()) - _OWN_METADATA or file.schema_arrow.metadata:
            yield "metadata"
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            for chunk in (group.column(place) for place in range(group.num_columns)):
                if chunk.is_stats_set:
                    yield "statistics"
                if chunk.has_column_index or chunk.has_offset_index:
                    yield "indexes"
                if set(chunk.encodings) - _ENCODINGS:
                    yield "other encodings"


def _beside_lines(bundle: Bundle, path: Path) -> Iterator[str]:
    content = path.read_bytes()
    if content.startswith(b"\xef\xbb\xbf"):
        yield "a mark of its encoding"
    if content.endswith((b"\n\n", b"\r\n\r\n")) and len(bundle.certificate.attributes) > 1:
        yield "lines that are no rows"
    if b"\x00" in content:
        yield "zero bytes"


# The pages of a Parquet file, as their headers state them: how many values each has, and how they are
# written.
#
# Headers are structures of Apache Thrift's compact protocol; PageHeader and its parts are those of
# parquet.thrift of the Apache Parquet format. The file is a stranger's: every length is checked against the
# bytes that are there.


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
