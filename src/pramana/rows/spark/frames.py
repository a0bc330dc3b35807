"""Data frames of Spark and tables of its catalogue: Spark evaluates them once, and the rows are kept sealed.

A data frame may give other rows, or another order, each time it is evaluated. So before any coin is thrown its
rows cross once by Arrow into a sealed copy in Spark's own storage, and every later step reads that copy. Should
Spark lose a part of it and evaluate the frame again, tasks go on only with what is equal to the byte. The key of
the seal is forgotten with the job; what does not fit in memory, Spark writes to its disks, sealed as it is.
"""

from __future__ import annotations

import contextlib
import itertools
import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from pramana.errors import EngineError, InputError, SourceError
from pramana.io.columns import select
from pramana.io.pieces import Piece
from pramana.io.source import Source
from pramana.rows.spark.blocks import BLOCK, DerivedColumn
from pramana.rows.spark.jobs import SCHEMA, Batches, Job, RunWork, failing, partition, task_of
from pramana.rows.spark.owners import AttachedRows
from pramana.rows.spark.session import session
from pramana.rows.spark.steps import (
    NONCE,
    EvaluatedAnewError,
    Seal,
    Sent,
    Step,
    SurveyReport,
    SurveyRun,
    changed_source,
    new_seal,
    unquoted,
)
from pramana.rows.spool import pack

_ROWS_A_VALUE = 4  # rows for each value of a column that is worth a dictionary
_NO_TABLE = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "PATH_NOT_FOUND", "CATALOG_NOT_FOUND")
_NO_READER = ("DATA_SOURCE_NOT_FOUND", "ClassNotFoundException")


def is_frame(value: Any) -> bool:
    """Whether something is a Spark DataFrame; asked without loading Spark."""
    return type(value).__module__.startswith("pyspark.sql") and type(value).__name__ == "DataFrame"


def check_frame(frame: Any, columns: Sequence[str]) -> None:
    """Refuse a DataFrame that lacks columns, or has nested ones, before any of it is evaluated."""
    if not is_frame(frame):
        raise SourceError("A table for the Spark engine must be a path or a Spark DataFrame", type(frame).__name__)
    select(frame.schema.names, columns, "the data frame")
    kinds = {column.name: column.dataType.typeName() for column in frame.schema.fields}
    alike = Counter(name.lower() for name in kinds)
    exact = str(frame.sparkSession.conf.get("spark.sql.caseSensitive", "false")).lower() == "true"
    for name in columns:
        if alike[name.lower()] > 1 and not exact:
            raise SourceError(
                "The columns of the data frame must differ in more than the case of letters",
                f"several that read {name.lower()!r}",
                "Rename them, or set spark.sql.caseSensitive = true.",
            )
        if kinds[name] in ("array", "map", "struct", "variant"):
            raise SourceError(f"The column {name!r} must hold single values", "nested ones")


@contextlib.contextmanager
def catalogue_frame(master: str | None, options: Mapping[str, str], source: Source) -> Iterator[Any]:
    """A table that Spark knows by name, or by a format of its own, as a data frame; nothing of it is read yet.

    What Delta, Iceberg and the like need, the session must have.
    """
    with session(master, dict(options)) as spark:
        reader = spark.read.options(**source.options)
        try:
            if source.format is None:
                frame = reader.table(source.table)
            else:
                frame = reader.format(source.format).load(source.table)
            names = frame.schema.names
        except Exception as error:  # whatever the JVM says is long, and may hold paths and options
            raise _catalogue_error(source, error) from None
        if not names:
            raise SourceError(f"The table {source.table!r} must have columns", "none")
        yield frame


def _catalogue_error(source: Source, error: Exception) -> InputError:
    words = str(error)
    if any(condition in words for condition in _NO_TABLE):
        return SourceError(f"Spark must know the table {source.table!r}", "none of that name")
    if any(condition in words for condition in _NO_READER):
        return EngineError(
            f"Spark must have what reads {source.format or 'this table'!r}",
            "a session without it",
            "Start the session with the package of that format (spark.jars.packages), and use it.",
        )
    return SourceError(f"Spark must be able to read the table {source.table!r}", type(error).__name__)


# ---------------------------------------------------------------- the copy


@dataclass(frozen=True)
class SealedCopy:
    """How some columns of a data frame are sealed, partition by partition; a partition is a run of rows.

    The nonce of a content is a keyed digest of it. `nonces`, those of a run put together, tell what was copied.
    """

    columns: tuple[str, ...]
    seal: Seal
    nonces: tuple[bytes, ...] | None = None  # known when all is copied

    def contents(self, run: int, batches: Batches) -> Iterator[Sent]:
        """What is kept of a run: its number, how many rows a content has, and the content, sealed."""
        for number, table in enumerate(_gathered(batches)):
            compact = pa.table({name: _compact(table.column(name)) for name in self.columns})
            yield run, table.num_rows, self.seal.closed(run, number, bytes(pack(compact)))

    def tables(self, run: int, batches: Batches, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """The rows of a run in their order; `columns` are those that are needed, where not all are."""
        read = 0
        for batch in batches:
            for scalar in batch.column("content"):
                content = scalar.as_py()
                self._check(run, content[:NONCE], slice(read * NONCE, (read + 1) * NONCE))
                table = pa.ipc.open_stream(self.seal.opened(run, read, content)).read_all()
                yield table if columns is None else table.select(list(columns))
                read += 1
        self._check(run, b"", slice(read * NONCE, None))

    def _check(self, run: int, nonce: bytes, where: slice) -> None:
        """Other rows end the task, and with it the job: the driver may have read the run's report already."""
        if self.nonces is None:
            return
        expected = self.nonces[run] if run < len(self.nonces) else b""
        if expected[where] != nonce:
            raise EvaluatedAnewError(
                "a data frame that gave other rows when evaluated again: write it to files first"
            )


@dataclass(frozen=True)
class FrameCopy:
    """A copy of a data frame's columns in Spark's storage, and how many rows each run has."""

    sealed: SealedCopy
    frame: Any
    rows: tuple[int, ...]


@contextlib.contextmanager
def copied(spark: Any, frame: Any, columns: tuple[str, ...]) -> Iterator[FrameCopy]:
    """Evaluate some columns of a frame, and keep them for as long as the block lasts."""
    sealed = SealedCopy(columns, new_seal())
    with failing():
        chosen = frame.select(*map(_quoted, columns))
        contents = chosen.mapInArrow(task_of(spark, _Copying(sealed)), SCHEMA).persist()
    try:
        with failing():
            summary = contents.selectExpr("slot", "number", f"substring(content, 1, {NONCE}) AS nonce").toArrow()
        runs, counts, nonces = (summary.column(name).to_pylist() for name in summary.column_names)
        rows, copied_nonces = [0] * (max(runs, default=-1) + 1), [b""] * (max(runs, default=-1) + 1)
        for run, count, nonce in zip(runs, counts, nonces, strict=True):
            rows[run] += count
            copied_nonces[run] += nonce
        yield FrameCopy(replace(sealed, nonces=tuple(copied_nonces)), contents, tuple(rows))
    finally:
        with contextlib.suppress(Exception):  # a session that has ended keeps nothing, and must not hide why
            contents.unpersist()


@dataclass(frozen=True)
class _Copying:
    sealed: SealedCopy

    def __call__(self, batches: Batches) -> Iterator[Sent]:
        with unquoted():
            yield from self.sealed.contents(partition(), batches)


def _quoted(name: str) -> str:
    """A column's name as Spark reads it, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def _gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Spark's batches are small; a dictionary for each of them would cost more than it saves."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= BLOCK:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting)


def _compact(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Texts that repeat as a dictionary, with indices as narrow as they may be."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    coded = column.dictionary_encode()
    values = coded.chunk(0).dictionary
    if len(values) * _ROWS_A_VALUE > len(column):
        return column
    width = next(kind for kind in (pa.int8(), pa.int16(), pa.int32()) if len(values) <= 1 << (kind.bit_width - 1))
    return pa.chunked_array(
        [pa.DictionaryArray.from_arrays(chunk.indices.cast(width), values) for chunk in coded.chunks]
    )


# ---------------------------------------------------------------- the table


@dataclass
class SparkTable:
    """A table in runs of rows, which are numbered in source order: pieces of files, or a data frame's copy."""

    spark: Any = field(repr=False)
    columns: tuple[str, ...]
    pieces: tuple[Piece, ...] | None
    copy: FrameCopy | None = field(default=None, repr=False)  # of a data frame, instead of pieces
    watch: Callable[[int], None] | None = field(default=None, repr=False)
    marks: DerivedColumn | None = None  # of which rows the table is, where it is not of all
    attached: AttachedRows | None = field(default=None, repr=False)  # whose rows they are, and further columns
    firsts: tuple[int, ...] = ()
    total: int | None = None

    def __post_init__(self) -> None:
        if self.attached is not None:
            self._number(self.attached.stays)
        elif self.pieces is not None and all(piece.rows is not None for piece in self.pieces):
            self._number([piece.rows or 0 for piece in self.pieces])
        elif self.copy is not None and self.marks is None:
            self._number(self.copy.rows)

    @property
    def records(self) -> int:
        if self.total is None:
            self.survey(self.columns[:1])
        assert self.total is not None
        return self.total

    def _number(self, rows: Sequence[int]) -> None:
        """The runs begin where those before them end. Empty ones at the end may or may not be told of."""
        last = max((run for run, number in enumerate(rows) if number), default=-1)
        ends = list(itertools.accumulate(rows[: last + 1]))
        total = ends[-1] if ends else 0
        if self.total is not None and (total != self.total or (0, *ends[:-1]) != self.firsts):
            raise changed_source()
        if total < 1:
            raise SourceError("A table must have at least one record", "none")
        self.firsts, self.total = (0, *ends[:-1]), total

    def job(self, step: Step) -> Job:
        pieces = None if self.pieces is None else tuple(map(pickle.dumps, self.pieces))
        work = RunWork(step, pieces, self.firsts, self.watch, self.marks)
        layers: tuple[tuple[Any, ...], ...] = ()
        if self.attached is not None:
            work, layers = replace(work, attached=self.attached.sealed), tuple(self.attached.layers)
        if self.copy is None:
            return Job(self.spark, work, None, layers)
        return Job(self.spark, replace(work, copy=self.copy.sealed), self.copy.frame, layers)

    def reports(self, step: Step) -> dict[int, Any]:
        """What a step reports of each run, with the number of its rows, which must be that of before."""
        if self.total is None and not isinstance(step, SurveyRun) and (not self.pieces or len(self.pieces) > 1):
            self.survey(self.columns[:1])
        reports = self.job(step).reports()
        runs = range(max(reports, default=-1) + 1)
        self._number([reports[run].rows if run in reports else 0 for run in runs])
        return reports

    def survey(self, columns: Sequence[str], listed: Sequence[str] = ()) -> dict[str, pa.ChunkedArray]:
        """Count the rows, and list the values of some columns."""
        reports: dict[int, SurveyReport] = self.reports(SurveyRun(tuple(columns), new_seal(), frozenset(listed)))
        parts = [reports[run] for run in sorted(reports) if reports[run].rows]
        kinds = dict(parts[0].kinds)
        if any(part.kinds != kinds for part in parts):
            raise SourceError("Every column must have values of one kind in all files", "several kinds")
        return {name: pa.chunked_array([part.values[name] for part in parts], kinds[name]) for name in listed}

    def of_people(self, attached: AttachedRows) -> SparkTable:
        """The same table without the rows that do not stay, which are numbered anew."""
        return replace(self, attached=attached, firsts=(), total=None)

    def marked(self, marks: DerivedColumn) -> SparkTable:
        """The same table without the rows that do not have 1 in a derived column; they are numbered anew."""
        pieces = None if self.pieces is None else tuple(replace(piece, rows=None) for piece in self.pieces)
        return replace(self, pieces=pieces, marks=marks, attached=None, firsts=(), total=None)
