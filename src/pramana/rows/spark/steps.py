"""What is done to a run of rows far from the driver: pure functions of rows, row numbers and subkeys.

Nothing here knows Spark. A step yields (slot, number, content): slot 0 is its report, which comes before all
else where it arrives; slot b + 1 has the rows of bucket b. Contents are sealed on their way, because what engines
write to temporary files must not tell which row of the source a published record came from.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from numpy.typing import NDArray

from pramana.counting.classes import CombinationCounter
from pramana.errors import PramanaError, SourceError
from pramana.io.codes import Faults
from pramana.io.columns import plain_type
from pramana.rows.protocol import Columns, S
from pramana.rows.spark.blocks import DerivedColumn, Digests, Encoding, RowBlock, blocks_from
from pramana.schema.domain import Attribute
from pramana.schema.kind import label_of

REPORT = 0
NONCE = 12  # bytes
DIGEST = 16
Sent = tuple[int, int, bytes]  # slot, number, content
Tables = Iterable[tuple[int, pa.Table]]  # with the number of their first row


def changed_source(got: str = "other rows at another reading") -> SourceError:
    return SourceError(
        "A source must stay as it is while it is read",
        got,
        "A data frame must give its rows in the same order each time; write it to a table first.",
    )


class EvaluatedAnewError(RuntimeError):
    """Spark lost rows that were copied from a data frame, and evaluated again it gave others; quotes no value."""


@dataclass(frozen=True)
class Seal:
    """AES-256-GCM under a key that is made for one job and forgotten with it.

    A task that is run again gives the same bytes: Spark compares what the attempts of a task have sent, and ends
    the job where that differs. So the nonce is a keyed digest of place and content. It is not one of the place
    alone, because a source that changes may have two rows of one number.
    """

    key: bytes = field(repr=False)

    def closed(self, slot: int, number: int, content: bytes) -> bytes:
        name = _name(slot, number)
        digest = hashlib.blake2b(name, digest_size=NONCE, key=hmac.digest(self.key, b"nonce", "sha256"))
        digest.update(content)
        nonce = digest.digest()
        return nonce + AESGCM(self.key).encrypt(nonce, content, name)

    def opened(self, slot: int, number: int, content: bytes) -> bytes:
        return AESGCM(self.key).decrypt(content[:NONCE], content[NONCE:], _name(slot, number))


def new_seal() -> Seal:
    return Seal(os.urandom(32))


def _name(slot: int, number: int) -> bytes:
    """A content is bound to where it belongs."""
    return number.to_bytes(8, "big") + slot.to_bytes(4, "big")


class Step(Protocol):
    """Work on one run: `rows` are its blocks with the number of their first row."""

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def seal(self) -> Seal: ...

    def work(self, rows: Tables) -> Iterator[Any]:
        """Sealed contents, as tuples, and last the report, any object."""


def performed(step: Step, run: int, first: int, tables: Iterable[pa.Table]) -> Iterator[Sent]:
    """Do a step on one run. Faults of the source become its report: what fails as a task is written to logs."""
    try:
        with unquoted():
            for result in step.work(blocks_from(tables, first)):
                yield result if isinstance(result, tuple) else _report(step, run, result)
    except PramanaError as error:
        yield _report(step, run, error)


@contextlib.contextmanager
def unquoted() -> Iterator[None]:
    """The message of a reader or a kernel may quote values: neither logs nor the driver get to see it."""
    try:
        yield
    except (PramanaError, EvaluatedAnewError):
        raise
    except Exception as error:
        trace, calls = error.__traceback__, []
        while trace is not None:
            calls.append(f"{trace.tb_frame.f_code.co_name}:{trace.tb_lineno}")
            trace = trace.tb_next
        raise RuntimeError(f"{type(error).__name__} at {' > '.join(calls[-3:])}") from None


def _report(step: Step, run: int, report: Any) -> Sent:
    return REPORT, run, step.seal.closed(REPORT, run, pickle.dumps(report))


# ---------------------------------------------------------------- what a table holds


@dataclass(frozen=True)
class SurveyReport:
    """A run: its rows, and the values that occur and their kinds, where they were asked for."""

    rows: int
    values: Mapping[str, pa.Array]
    kinds: Mapping[str, pa.DataType]


@dataclass(frozen=True)
class SurveyRun:
    """Count rows, and list the values that occur in some columns."""

    columns: tuple[str, ...]
    seal: Seal
    listed: frozenset[str] = frozenset()

    def work(self, rows: Tables) -> Iterator[Any]:
        count, values, kinds = 0, dict[str, pa.Array](), dict[str, pa.DataType]()
        for _, table in rows:
            count += table.num_rows
            for name in self.columns:
                column = table.column(name)
                kinds[name] = plain_type(column.type)
                if name in self.listed:
                    before = [values[name]] if name in values else []
                    values[name] = pc.unique(pa.chunked_array([*before, *_distinct(column)], kinds[name]))
        yield SurveyReport(count, values, kinds)


def _distinct(column: pa.ChunkedArray) -> list[pa.Array]:
    """Of a dictionary the entries that rows have; other columns as they are."""
    if not pa.types.is_dictionary(column.type):
        return list(column.chunks)
    return [chunk.dictionary.take(pc.unique(chunk.indices)) for chunk in column.chunks]


@dataclass(frozen=True)
class ColumnRun:
    """A step on one column, whose values are shuffled as digests under a key that is made for the job."""

    column: str
    seal: Seal
    secret: bytes = field(default_factory=lambda: os.urandom(32), repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def digests(self, texts: Iterable[str]) -> bytes:
        """The digests, of DIGEST bytes each, one after the other."""
        key = self.secret
        return b"".join(hashlib.blake2b(text.encode(), digest_size=DIGEST, key=key).digest() for text in texts)


@dataclass(frozen=True)
class RepeatRun(ColumnRun):
    """Keyed digests of a run's values of one column, so that Spark can see whether one occurs twice."""

    @property
    def words(self) -> int:
        return 2

    def work(self, rows: Tables) -> Iterator[pa.RecordBatch]:
        for _, table in rows:
            labels = (label_of(value) for value in table.column(self.column).to_pylist())
            words = np.frombuffer(self.digests(label for label in labels if label), "<i8").reshape(-1, 2)
            yield combinations_batch(words, np.ones(len(words), np.int64))


def combinations_batch(words: NDArray[np.int64], counts: NDArray[np.int64]) -> pa.RecordBatch:
    """Combinations as words of 64 bits, and how often each occurs, in the form in which Spark adds them up."""
    columns = {f"word{i}": pa.array(words[:, i]) for i in range(words.shape[1])}
    return pa.record_batch({**columns, "number": pa.array(counts)})


# ---------------------------------------------------------------- rows in codes


@dataclass(frozen=True, kw_only=True)
class CodedRun:
    """A step on rows in codes, with the columns that are derived from others."""

    attributes: tuple[Attribute, ...]
    seal: Seal
    derived: tuple[DerivedColumn, ...] = ()
    unpublished: tuple[str, ...] = ()  # columns that others are derived from, and no more

    @property
    def columns(self) -> tuple[str, ...]:
        return (*(a.name for a in self.attributes), *self.unpublished)

    def encoding(self, show: bool = False) -> Encoding:
        return Encoding(self.attributes, show, self.derived, self.unpublished)

    def blocks(self, rows: Tables) -> Iterator[RowBlock]:
        """The rows in codes; values outside the domains were refused when the source was digested."""
        encoding = self.encoding()
        for first, table in rows:
            block = encoding.block(first, table)
            if encoding.faults:
                raise changed_source("values outside its domains")
            yield block


@dataclass(frozen=True, kw_only=True)
class GroupRun(CodedRun):
    """Group a run's rows by some columns, coded or derived: names and numbers of codes.

    Spark adds the counts of equal combinations; the driver gets one line for each, however many rows there are.
    """

    group: Mapping[str, int]

    @property
    def words(self) -> int:
        return CombinationCounter(list(self.group.values())).layout.words

    def work(self, rows: Tables) -> Iterator[pa.RecordBatch]:
        counter, any_rows = CombinationCounter(list(self.group.values())), False
        for block in self.blocks(rows):
            columns = {**block.columns, **block.derived}
            counter.update([columns[name] for name in self.group])
            any_rows = True
        if any_rows:
            counted = counter.merged()
            yield combinations_batch(counted.keys.view(np.int64), counted.sizes.astype(np.int64))


@dataclass(frozen=True)
class SumReport(Generic[S]):
    """A run: its rows, and the sum of them, of one piece or none where there are no rows."""

    rows: int
    total: tuple[S, ...]


@dataclass(frozen=True, kw_only=True)
class SumRun(CodedRun, Generic[S]):
    """Have some columns of a run, coded or derived or as they are, worked on block by block, and add up."""

    shown: tuple[str, ...]
    summand: Callable[[Columns], S]

    def work(self, rows: Tables) -> Iterator[Any]:
        count, total = 0, list[S]()
        for block in self.blocks(rows):
            columns = {**block.columns, **block.derived}
            own = self.summand({name: columns[name] for name in self.shown})
            total = [total[0] + own] if total else [own]
            count += block.rows
        yield SumReport(count, tuple(total))


@dataclass
class RunReport:
    """A run, encoded: its rows, faults, columns with missing values, digests, and bytes of unchanged columns."""

    rows: int = 0
    faults: Mapping[str, Faults] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)  # no set: a task that is run again must send the same bytes
    digests: Digests = field(default_factory=Digests)
    raw_bytes: int = 0

    def add(self, block: RowBlock, secret: bytes, attributes: Iterable[Attribute]) -> None:
        for a in attributes:
            column = block.columns[a.name]
            if a.raw:
                self.raw_bytes += column.nbytes
            elif (code := a.coded.missing_code) is not None and a.name not in self.missing:
                self.missing += [a.name] if bool((column == code).any()) else []
        self.digests.add(secret, block)
        self.rows += block.rows


@dataclass(frozen=True, kw_only=True)
class ReadRun(CodedRun):
    """Encode a run's rows, and digest the source."""

    secret: bytes = field(repr=False)
    show: bool = False

    def work(self, rows: Tables) -> Iterator[Any]:
        encoding, report = self.encoding(self.show), RunReport()
        for first, table in rows:
            report.add(encoding.block(first, table), self.secret, self.attributes)
        report.faults = encoding.faults
        yield report
