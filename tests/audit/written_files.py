"""What only our own writer could do wrong in a bundle's files, looked for as attacks: they must find nothing.

File times; what a data file holds beside its table; categories listed as they first appear; and classifiers that
are trained to tell, from the published file alone, where in the source a row stood. `pramana audit` runs none of
these: they try the writer, and what they find is a mistake of ours.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from pramana.bundle.bundle import Bundle
from pramana.errors import BundleError
from pramana.holder.audit.attacked import Attacked, order_attack
from pramana.holder.audit.suite import row_attacks
from pramana.holder.audit.verdict import Attack, AttackReport, NotRun, Outcome, clopper_pearson
from pramana.randomness.key import Key
from pramana.randomness.shuffle import shuffled_order
from pramana.schema.domain import Attribute

Numbers = NDArray[np.int64]


def file_attacks(attacked: Attacked) -> AttackReport:
    """What the audit asks of rows and their order, and everything of this module."""
    bundle = attacked.traced.bundle
    outcomes: list[Outcome] = [*row_attacks(attacked), file_times(bundle), beside_the_table(bundle)]
    order = attacked.order
    if bundle.certificate.shuffled and order is not None and len(order) == bundle.certificate.records:
        rank = np.argsort(np.argsort(order))
        outcomes += classified_by_place(rank, places_in_file(bundle, len(rank)))
        written = bytes_of_cells(bundle, len(rank))
        values = {} if written is None else values_of_cells(bundle, attacked.traced.table.schema)
        outcomes += classified_by_bytes(rank, values, written)
    if attacked.coded:
        outcomes.append(dictionary_attack(bundle, attacked.traced.plan.attributes, _appearance(attacked)))
    return AttackReport(
        tuple(o for o in outcomes if isinstance(o, Attack)), tuple(o for o in outcomes if isinstance(o, NotRun))
    )


def order_without_key(attacked: Attacked) -> Attack:
    """Whether the rows are in the order that our shuffle gives under a key that everybody can write down."""
    published = np.sort(attacked.traced.order)
    order = shuffled_order(Key(bytes(32)), attacked.traced.context, len(published)).astype(np.int64)
    return order_attack(attacked.agreement, {"an order without a key": published[order]})


def _appearance(attacked: Attacked) -> dict[str, list[str]]:
    """The labels of each column as the source has them, one after another."""
    listed = {}
    for a in attacked.traced.plan.attributes:
        if not a.raw:
            codes = attacked.traced.true[a.name]
            first = np.unique(codes, return_index=True)[1]
            seen = codes[np.sort(first)].tolist()
            listed[a.name] = [a.coded.labels[c] for c in seen if c < len(a.coded.labels)]
    return listed


# ---------------------------------------------------------------- times, and what is beside the table


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


# ---------------------------------------------------------------- dictionaries


def dictionary_attack(
    bundle: Bundle, attributes: Sequence[Attribute], appearance: Mapping[str, list[str]]
) -> Outcome:
    """Whether categories are listed as they first appear in the source, which would tell who came first.

    `appearance`: the labels of each column in the order in which the source has them.
    """
    name = "rows, order of categories"
    listed = {a.name: _listed(bundle, a) for a in attributes if not a.raw and a.name in appearance}
    listed = {column: labels for column, labels in listed.items() if labels is not None and len(labels) > 1}
    if not listed:
        return NotRun(name, "the file lists no categories")
    telling = [a.name for a in attributes if _tells(a, listed.get(a.name), appearance.get(a.name, []))]
    what = f"{len(listed)} columns list their categories in a public order"
    if telling:
        what = f"listed as they first appear in the source: {', '.join(telling)}"
    return Attack(name, 0.0, float(len(telling)), not telling, what)


def _tells(attribute: Attribute, labels: list[str] | None, appearance: list[str]) -> bool:
    """Whether categories stand as they first appear, which is neither the recipe's order nor the alphabet's."""
    if labels is None or labels == sorted(labels):
        return False
    if attribute.coded.origin != "from-data" and labels == list(attribute.coded.labels):
        return False
    seen = [label for label in labels if label in appearance]
    return len(seen) > 1 and seen == appearance


def _listed(bundle: Bundle, attribute: Attribute) -> list[str] | None:
    """The labels of a column as its file lists them, or its certificate where the file has none."""
    if bundle.certificate.output == "parquet":
        for batch in bundle.batches([attribute.name]):
            column = batch.column(0)
            if pa.types.is_dictionary(column.type):
                return [str(label) for label in column.dictionary.to_pylist()]
            break
    return list(attribute.coded.labels)


# What a published file shows of a row besides its values: its place, its page, and how its values are
# written.
#
# Each feature is a number of every row, in the order of the file. None of them knows the source.


Features = dict[str, NDArray[np.float64]]
MOST_LINES = 50_000  # of a CSV that are looked at, its first ones
_CELL = re.compile(rb'("(?:[^"]|"")*"|[^,"]*)(,|$)')
_MARKS = (b'"', b"'", b" ", b"\r", b"0", b".", b"e", b"E", b"+", b"-", b"\t")
_LOW_BITS = (1 << 16) - 1


def places_in_file(bundle: Bundle, records: int) -> Features:
    """A row's number, the first bits of it, its part, its row group, and its page of every column as written."""
    place = np.arange(records)
    columns = {"place": place.astype(np.float64)}
    for bit in range(min(8, max(records - 1, 1).bit_length())):
        columns[f"bit {bit}"] = (place >> bit & 1).astype(np.float64)
    if bundle.certificate.output != "parquet":
        return columns
    files = [_Footer.of(path) for path in bundle.data_files]
    if len(files) > 1:
        columns |= _within("part", [file.metadata.num_rows for file in files], place)
    columns |= _within("row group", [group.num_rows for file in files for group in file.groups], place)
    pages: dict[str, list[DataPage]] = {}
    for file in files:
        for name, own in file.pages().items():
            pages.setdefault(name, []).extend(own)
    for name, own in pages.items():
        columns |= _by_page(name, own, records)
    return columns


def _within(what: str, rows: Sequence[int], place: Numbers) -> Features:
    """Which of the runs of so many rows a row is in, and where there."""
    first = np.cumsum([0, *rows])
    run_of = np.searchsorted(first, place, side="right") - 1
    return {what: run_of.astype(np.float64), f"within its {what}": (place - first[run_of]).astype(np.float64)}


@dataclass(frozen=True)
class _Footer:
    """A Parquet file, as far as its footer tells of it."""

    path: Path
    metadata: Any
    single: tuple[str, ...]

    @classmethod
    def of(cls, path: Path) -> _Footer:
        with pq.ParquetFile(path) as file:
            return cls(path, file.metadata, tuple(_single(file)))

    @property
    def groups(self) -> list[Any]:
        return [self.metadata.row_group(i) for i in range(self.metadata.num_row_groups)]

    def pages(self) -> dict[str, list[DataPage]]:
        """The pages of every column that has one value in every row, in the order of the rows."""
        pages: dict[str, list[DataPage]] = {}
        with self.path.open("rb") as content:
            for chunk in (group.column(n) for group in self.groups for n in range(group.num_columns)):
                if chunk.path_in_schema in self.single:
                    start = min(chunk.dictionary_page_offset or chunk.data_page_offset, chunk.data_page_offset)
                    content.seek(max(start, 0))
                    own = data_pages(content.read(chunk.total_compressed_size))
                    pages.setdefault(chunk.path_in_schema, []).extend(own)
        return pages


def _single(file: pq.ParquetFile) -> list[str]:
    """The columns that have one value in every row."""
    return [field.name for field in file.schema_arrow if not pa.types.is_nested(field.type)]


def _by_page(name: str, pages: list[DataPage], records: int) -> Features:
    counts = [page.values for page in pages]
    if sum(counts) != records:  # headers that fit no rows tell of none
        return {}

    def spread(values: Collection[float]) -> NDArray[np.float64]:
        return np.repeat(np.asarray(list(values), np.float64), counts)

    return {
        f"{name}: page": spread(range(len(pages))),
        f"{name}: encoding": spread([page.encoding for page in pages]),
        f"{name}: bytes a value": spread([page.size / max(page.values, 1) for page in pages]),
        f"{name}: statistics": spread([page.statistics for page in pages]),
    }


# ---------------------------------------------------------------- how a value is written


def bytes_of_cells(bundle: Bundle, records: int) -> dict[str, Features] | None:
    """Column by column, what the bytes of a cell show; equal values are written alike, or tell of something else.

    None where rows have no bytes of their own.
    """
    if bundle.certificate.output == "parquet":
        return _of_parquet(bundle) or None
    return _of_lines(bundle, records)


def _of_lines(bundle: Bundle, records: int) -> dict[str, Features] | None:
    """How every cell of a CSV is written: how long, its last byte, how many quotes, blanks, zeros and the like.

    None where texts have line breaks, so that lines are no rows.
    """
    header, lines = b"", list[bytes]()
    for path in bundle.data_files:
        header, *own = path.read_bytes().split(b"\n")
        if own and own[-1] == b"":
            own.pop()
        lines += own
    if len(lines) != records:
        return None
    names = next(csv.reader([header.decode("utf-8", "replace")]), [])
    cells = [_cells(line) for line in lines[:MOST_LINES]]
    if any(len(row) != len(names) for row in cells):
        return None
    return {name: _marks([row[place] for row in cells]) for place, name in enumerate(names)}


def _cells(line: bytes) -> list[bytes]:
    """The cells of a line as they are written, quotes and all."""
    found, place = [], 0
    while (match := _CELL.match(line, place)) is not None:
        found.append(match[1])
        place = match.end()
        if not match[2]:
            break
    return found


def _marks(cells: list[bytes]) -> Features:
    columns = {"length": np.array([len(cell) for cell in cells], np.float64)}
    columns["last byte"] = np.array([cell[-1] if cell else 0 for cell in cells], np.float64)
    for mark in _MARKS:
        columns[repr(mark)] = np.array([cell.count(mark) for cell in cells], np.float64)
    return columns


def _of_parquet(bundle: Bundle) -> dict[str, Features]:
    """The number of a value in the dictionary as the file has it; the sign and the last bits of numbers with a
    point, by which equal-looking ones may differ."""
    chunks: dict[str, list[pa.Array]] = {}
    for path in bundle.data_files:
        with pq.ParquetFile(path) as file:
            single, schema = _single(file), file.schema_arrow
        texts = [name for name in single if pa.types.is_string(schema.field(name).type)]
        with pq.ParquetFile(path, read_dictionary=texts, pre_buffer=False) as file:
            for name in single:
                for i in range(file.metadata.num_row_groups):
                    chunks.setdefault(name, []).extend(file.read_row_group(i, columns=[name]).column(0).chunks)
    return {name: _by_value(own) for name, own in chunks.items()}


def _by_value(chunks: list[pa.Array]) -> Features:
    kind = chunks[0].type
    if pa.types.is_dictionary(kind):
        numbers = [np.asarray(chunk.indices.fill_null(-1), np.float64) for chunk in chunks]
        return {"number in its dictionary": np.concatenate(numbers)}
    if pa.types.is_float64(kind):
        whole = np.concatenate([np.asarray(chunk.fill_null(0.0), np.float64).view(np.uint64) for chunk in chunks])
        return {
            "sign": (whole >> np.uint64(63)).astype(np.float64),
            "last bits": (whole & np.uint64(_LOW_BITS)).astype(np.float64),
        }
    return {}


def values_of_cells(bundle: Bundle, schema: pa.Schema) -> dict[str, Numbers]:
    """Column by column the number of every row's value; `schema` says which columns hold numbers.

    1.5 and 1.50 are one number, and a text is the same wherever a dictionary has it.
    """
    found = pa.Table.from_batches(bundle.batches())
    numeric = {field.name for field in schema if pa.types.is_floating(field.type)}
    return {name: _codes(found.column(name), name in numeric) for name in found.column_names}


def _codes(column: pa.ChunkedArray, numeric: bool) -> Numbers:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if numeric or pa.types.is_nested(column.type) or pa.types.is_floating(column.type):
        column = pa.chunked_array([pa.array(list(_plain(column, numeric)), pa.string())])
    encoded = pc.dictionary_encode(column.combine_chunks(), null_encoding="encode")
    return np.asarray(encoded.indices.fill_null(len(encoded.dictionary)), np.int64)


def _plain(column: pa.ChunkedArray, numeric: bool) -> Iterator[str]:
    for cell in column.to_pylist():
        try:
            yield repr(float(cell)) if numeric and cell is not None else repr(cell)
        except ValueError:
            yield repr(cell)


# Classifiers that are trained to tell, from the published file alone, where in the source a row stood.
#
# They learn from half of the rows, whose true places are given to them, and are asked about the other half:
# that is more help than any adversary has. They are asked for the half of the source: by a row's place in the
# file, and by how its values are written, with what the values themselves tell taken out, for a source may be
# sorted.


FeatureTable = Mapping[str, NDArray[np.float64]]
_MOST_ROWS = 20_000
_LEAST_ROWS = 40
_FREQUENT = 8  # values of a column that are looked at by themselves
_SAME = 1e-9


def classified_by_place(order: Numbers, places: FeatureTable) -> list[Outcome]:
    """Is this row from the first or the second half of the source?"""
    later = order >= np.median(order)
    return _learned("places", "which half of the source a row is from", later, places)


def classified_by_bytes(
    order: Numbers, values: Mapping[str, Numbers], written: Mapping[str, FeatureTable] | None
) -> list[Outcome]:
    """The same question, asked of how values are written: what cells of equal values have that others have not.

    Of every feature of a cell the learner has the difference from cells of the same value, for all values together
    and for the most frequent ones by themselves. What a value itself tells of its place is no part of it.
    """
    names = [f"rows, {model} on bytes" for model in ("logistic regression", "tree")]
    if written is None or not any(written.values()):
        return [NotRun(name, "a row of this file has no bytes of its own") for name in names]
    rows = min([len(order), *(len(f) for features in written.values() for f in features.values())])
    unusual = {"nothing": np.zeros(rows)}
    for column, features in written.items():
        if column not in values:
            continue
        value = values[column][:rows]
        counts = np.bincount(value)
        frequent = np.argsort(-counts, kind="stable")[:_FREQUENT]
        for name, feature in features.items():
            apart = feature[:rows] - (np.bincount(value, weights=feature[:rows]) / np.maximum(counts, 1))[value]
            if np.abs(apart).max(initial=0.0) > _SAME:
                unusual[f"{column}: {name}"] = apart
                unusual |= {f"{column}: {name}, {v}": np.where(value == v, apart, 0.0) for v in frequent.tolist()}
    later = order[:rows] >= np.median(order[:rows])
    return _learned("bytes", "which half of the source a row is from, by how it is written", later, unusual)


def _learned(on: str, asked: str, later: NDArray[np.bool_], features: FeatureTable) -> list[Outcome]:
    names = [f"rows, {model} on {on}" for model in ("logistic regression", "tree")]
    rows = np.random.default_rng(20).permutation(len(later))[:_MOST_ROWS]
    if len(rows) < _LEAST_ROWS:
        return [NotRun(name, f"{len(rows)} rows are too few to learn from") for name in names]
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    half, truth = len(rows) // 2, later[rows]
    seen = StandardScaler().fit_transform(np.column_stack([column[rows] for column in features.values()]))
    chance = max(float(truth[half:].mean()), 1 - float(truth[half:].mean()))
    outcomes: list[Outcome] = []
    models = (LogisticRegression(max_iter=500), DecisionTreeClassifier(max_depth=12, random_state=20))
    for name, model in zip(names, models, strict=True):
        if truth[:half].all() or not truth[:half].any():
            outcomes.append(NotRun(name, "all rows to learn from are of one half"))
            continue
        right = int((model.fit(seen[:half], truth[:half]).predict(seen[half:]) == truth[half:]).sum())
        tries = len(rows) - half
        low, high = clopper_pearson(right, tries)
        what = f"{asked}: right {right:,} times of {tries:,}; chance is {chance:.4g}"
        outcomes.append(Attack(name, chance, right / tries, low <= chance, what, (low, high)))
    return outcomes
