"""A bundle as its recipient has it: certificate, data, report. The one reader of published files is here."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pramana.bundle.certificate import MOST_BYTES, Certificate
from pramana.bundle.parts import part_files
from pramana.bundle.published_numbers import numbers_of
from pramana.errors import BundleError
from pramana.files.atomic import PARTS, own_file
from pramana.files.locations import located
from pramana.files.store_path import AnyPath, StorePath
from pramana.io.codes import Encoder
from pramana.io.formats import DATA_FILES
from pramana.io.writing import raw_column
from pramana.randomness.samplers import Codes
from pramana.rows.protocol import Columns

if TYPE_CHECKING:
    from pramana.files.fetch import FetchedBundle


_ROWS = 1 << 18  # read at a time
_BYTES = 1 << 22
_MOST_HEADER = 1 << 24
_TEXT = pa.dictionary(pa.int32(), pa.string())
T = TypeVar("T")
R = TypeVar("R")


class Spread(Protocol):
    """Many machines that can read a bundle where it lies."""

    def each(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """What `work` makes of each item, in their order; both travel, and so do the results."""


@dataclass(frozen=True)
class Bundle:
    """An opened bundle; nothing of it has been verified yet. `Bundle.open` opens one.

    Args:
        path: The folder.
        certificate: What the bundle says of itself.
        only: The part that is looked at; None for all the data.
        fetched: Of a bundle in a store, what came down.
        spread: Who reads the parts, if not this process.

    Raises:
        BundleError: By `Bundle.open`, where there is no bundle, or its certificate cannot be read.

    >>> import pramana
    >>> pramana.Bundle.open("published").certificate.records
    2000
    """

    path: Path
    certificate: Certificate
    only: str | None = None  # the part that is looked at; None for all the data
    fetched: FetchedBundle | None = field(default=None, repr=False, compare=False)  # of a store, as it came
    spread: Spread | None = field(
        default=None, repr=False, compare=False
    )  # who reads the parts, if not this process

    @classmethod
    def open(cls, path: str | AnyPath | Bundle) -> Bundle:
        """A folder, or the URL of a bundle in a store, which comes down; one that is opened stays as it is."""
        if isinstance(path, Bundle):
            return path
        path = located(path, "The bundle", BundleError)
        if isinstance(path, StorePath):
            from pramana.files.fetch import FetchedBundle

            copy = FetchedBundle(path, MOST_BYTES, _stated_sizes)
            return cls(copy.folder, Certificate.read(copy.folder / "certificate.json"), fetched=copy)
        if not path.is_dir():
            raise BundleError(f"The bundle {path} must be a folder", "a file" if path.exists() else "none there")
        certificate = path / "certificate.json"
        if certificate.is_symlink() or not certificate.is_file():
            got = "a symbolic link" if certificate.is_symlink() else "none"
            raise BundleError(f"The bundle {path} must hold certificate.json", got)
        return cls(path, Certificate.read(certificate))

    @property
    def beside(self) -> Path:
        """What is made of the bundle goes beside this name; that of a store has it where the command runs."""
        return self.path.absolute() if self.fetched is None else Path.cwd() / self.path.name

    @property
    def data_path(self) -> Path:
        """The data file; of a set of files, the folder that holds its parts."""
        if self.certificate.parts is None:
            return self.path / DATA_FILES[self.certificate.output]
        return self.path / PARTS

    @property
    def data_files(self) -> dict[Path, int]:
        """The files of the data in the order of their rows, and how many rows each has, as certified.

        Who asks is about to read them: refused where one of them is missing, or no file.
        """
        parts = self.certificate.parts
        if parts is None:
            return {own_file(self.data_path): self.certificate.records}
        return {own_file(self.data_path / p.name): p.rows for p in parts.files if self.only in (None, p.name)}

    def has_content(self, digest: str) -> bool:
        """Whether the data, of which a digest was taken, is what was certified.

        Of a set of files the digests of its parts tell, which are held against the files before any is read.
        """
        return self.certificate.parts is not None or digest == self.certificate.content

    def check_columns(self, columns: Mapping[str, pa.DataType | None]) -> None:
        """Refuse a data file that is not the certified number of rows of just these columns; no row is read.

        A type is None where it is not known beforehand.
        """
        for path, rows in self.data_files.items():
            check_file_columns(path, rows, columns)

    def check_bounds(self, most_rows: int) -> None:
        """Refuse a data file that could stand for more than so many rows of what it holds; no row is read.

        For those who must read a file that is not as it was certified.
        """
        if self.certificate.parts is not None:
            part_files(self.data_path)
        for path in self.data_files:
            if self.certificate.output == "parquet":
                from pramana.io.parquet import check_parquet_bounds

                with _readable(path):
                    check_parquet_bounds(path, most_rows)

    def batches(self, names: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The published columns batch by batch, as they are written: a CSV has texts, and empty is missing."""
        for path, certified in self.data_files.items():
            rows = 0
            for batch in published_batches(path, names, self.certificate.escaped):
                rows += batch.num_rows
                yield batch
            if rows != certified and self.certificate.parts is not None:
                raise BundleError(f"{path} must have {certified} rows", str(rows))

    def each_part(self, work: Callable[[Bundle], R]) -> list[R]:
        """What `work` makes of the bundle narrowed to each of its parts, in their order; of one file, of all.

        Parts are read one after the other, or by whoever the bundle is spread over.
        """
        parts = self.certificate.parts
        if parts is None or self.only is not None:
            return [work(self)]
        names = [part.name for part in parts.files]
        if self.spread is None:
            return [work(replace(self, only=name)) for name in names]
        there = replace(self, path=self.path.absolute(), spread=None)
        return self.spread.each(partial(_narrowed, work, there), names)

    def column(self, name: str) -> pa.ChunkedArray:
        return pa.chunked_array([batch.column(name) for batch in self.batches([name])])

    def pieces(self, names: Sequence[str] | None = None) -> Iterator[Columns]:
        """Columns batch by batch: codes where there is a domain, else values.

        A value outside its domain shows after the last piece.
        """
        numbers = numbers_of(self.certificate.attributes)
        for columns in self.content(names):
            yield {n: numbers[n].codes(column) if n in numbers else column for n, column in columns.items()}

    def content(self, names: Sequence[str] | None = None) -> Iterator[Columns]:
        """Columns as the content digest sees them: of numbers that are published for bins, their positions."""
        named = [a for a in self.certificate.attributes if names is None or a.name in names]
        attributes, numbers = sorted(named, key=lambda a: a.raw), numbers_of(named)
        labelled = [a for a in attributes if not a.raw and a.name not in numbers]
        encoders = {a.name: Encoder(a.coded.as_published(), a.name) for a in labelled}
        for batch in self.batches([a.name for a in attributes]):
            yield {
                a.name: raw_column(pa.chunked_array([batch.column(a.name)]), None)
                if a.raw
                else numbers[a.name].read(batch.column(a.name))
                if a.name in numbers
                else encoders[a.name].encode(batch.column(a.name))
                for a in attributes
            }
        for encoder in encoders.values():
            encoder.finish()

    def codes(self, names: Sequence[str]) -> dict[str, Codes]:
        """The published codes of attributes that have a domain, all rows at once."""
        parts = list(self.pieces(names))
        return {name: np.concatenate([part[name] for part in parts]) for name in names}


def _stated_sizes(certificate_file: Path) -> dict[str, object]:
    """The files of a bundle other than its certificate, and their sizes in bytes, as certified."""
    certificate = Certificate.read(certificate_file)
    sizes = {name: entry.get("bytes") for name, entry in certificate.files.items()}
    if certificate.parts is not None:
        sizes |= {f"{PARTS}/{part.name}": part.size for part in certificate.parts.files}
    return sizes


def _narrowed(work: Callable[[Bundle], R], bundle: Bundle, part: str) -> R:
    return work(replace(bundle, only=part))


def check_file_columns(path: Path, rows: int, columns: Mapping[str, pa.DataType | None]) -> None:
    """Refuse a file of data that is not so many rows of just these columns; of a CSV the header tells."""
    if path.suffix == ".parquet":
        with _readable(path):
            from pramana.io.parquet import check_parquet

            check_parquet(path, rows, columns)
    elif (header := csv_header(path)) != list(columns):
        got = f"{len(header)} columns" if len(header) != len(columns) else "columns of other names or order"
        raise BundleError(f"{path} must have its {len(columns)} columns in their order", got)


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError:  # Arrow's word for a footer or page that it cannot decode
        raise BundleError(f"{path} must be a readable parquet file", "damaged data") from None


def published_batches(
    path: Path, names: Sequence[str] | None = None, escaped: bool = False
) -> Iterator[pa.RecordBatch]:
    """The rows of a data file or folder of parts that Pramana wrote; of `escaped` texts, what they were before."""
    import pyarrow.csv as pacsv

    if path.is_dir() and not path.is_symlink():
        for part in part_files(path):
            yield from published_batches(part, names, escaped)
        return
    own_file(path)
    try:
        if path.suffix == ".parquet":
            with pq.ParquetFile(path, pre_buffer=False) as file:
                wanted = file.schema_arrow.names if names is None else list(names)
                _check_columns(path, file.schema_arrow.names, wanted)
                for batch in file.iter_batches(_ROWS, columns=wanted):
                    if len(batch):
                        yield _sound(batch.select(wanted))
            return
        header = csv_header(path)
        wanted = header if names is None else list(names)
        _check_columns(path, header, wanted)
        with pacsv.open_csv(
            path,
            read_options=pacsv.ReadOptions(column_names=header, skip_rows_after_names=1, block_size=_BYTES),
            parse_options=pacsv.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(header) > 1),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(wanted, _TEXT),
                include_columns=wanted,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        ) as reader:
            for batch in filter(len, reader):
                yield _as_before(path, batch) if escaped else batch
    except (OSError, ValueError, csv.Error, pa.ArrowException):
        raise BundleError(f"{path} must be a readable {path.suffix[1:]} file", "damaged data") from None


def _sound(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A file may number values that its dictionary has not, which Arrow does not look at as it reads."""
    import pyarrow.compute as pc

    for column in batch.columns:
        if pa.types.is_dictionary(column.type) and len(column) > column.null_count:
            ends = pc.min_max(column.indices)
            if ends["min"].as_py() < 0 or ends["max"].as_py() >= len(column.dictionary):
                raise ValueError("numbers outside of a dictionary")
    return batch


def _as_before(path: Path, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Without the apostrophes; a text that should have one and has none is refused."""
    from pramana.io.writing import formula_columns, unescaped

    if columns := formula_columns(pa.table(batch)):
        raise BundleError(f"{path} must hold no text that a spreadsheet would run", f"some in {columns[0]!r}")
    plain = [
        pa.DictionaryArray.from_arrays(column.indices, unescaped(column.dictionary)) for column in batch.columns
    ]
    return pa.record_batch(plain, names=batch.schema.names)


def csv_header(path: Path) -> list[str]:
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            return next(csv.reader([lines.readline(_MOST_HEADER)]), [])
    except (OSError, ValueError, csv.Error):
        raise BundleError(f"{path} must be a readable csv file", "damaged data") from None


def _check_columns(path: Path, present: Sequence[str], wanted: Sequence[str]) -> None:
    if missing := [name for name in wanted if name not in present]:
        raise BundleError(f"{path} must have the column {missing[0]!r}", "no such column")
