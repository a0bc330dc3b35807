"""Releases of tables larger than memory: read once, planned from what was seen, written piece by piece."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.engines import BatchEngine, Column, ContentDigest, Progress, Scratch, Spool
from pramana.errors import SourceError
from pramana.randomness import Codes, Key, code_dtype, counted
from pramana.release.method import Published
from pramana.release.resolve import published, resolve
from pramana.schema import Attribute, AttributeRecipe, Domain, Recipe, label_of
from pramana.sources import (
    Encoder,
    Source,
    Table,
    TableWriter,
    decode,
    expected_records,
    raw_column,
    texts,
    values_of,
)


@runtime_checkable
class Streaming(Protocol):
    """A method whose plan needs no more of a table than the values that occur, or counts of them."""

    def columns(self, recipe: Recipe) -> list[str]: ...

    def randomised(self, attribute: AttributeRecipe) -> bool:
        """Whether a column is coded and randomised, or passes unchanged."""

    def plan_streamed(self, recipe: Recipe, table: StreamedTable) -> Any:
        """A plan that has `stream`."""


# ---------------------------------------------------------------- reading


class _Known:
    """A column whose domain the recipe states; whether it has missing values shows at the end."""

    def __init__(self, attribute: AttributeRecipe, domain: Domain, show: bool) -> None:
        open_ended = attribute.missing == "auto" and not domain.missing
        self.encoder = Encoder(domain.with_missing() if open_ended else domain, attribute.name, show)
        self.missing_code = self.encoder.domain.missing_code if open_ended else None
        self.missing = False

    def take(self, chunk: pa.Array) -> Codes:
        codes = self.encoder.encode(chunk)
        if self.missing_code is not None and not self.missing:
            self.missing = bool((codes == self.missing_code).any())
        return codes

    def seen(self) -> pa.ChunkedArray:
        return pa.chunked_array([texts([]), pa.nulls(1, pa.string())] if self.missing else [texts([])])

    def lookup(self, domain: Domain) -> NDArray[np.unsignedinteger] | None:
        self.encoder.finish()
        if code_dtype(domain.size) == code_dtype(self.encoder.domain.size):
            return None
        return np.arange(self.encoder.domain.size, dtype=code_dtype(domain.size))


class _Discovered:
    """A column whose domain is what occurs: values are numbered as they come, and sorted at the end."""

    def __init__(self, name: str, show: bool) -> None:
        self.name, self.show = name, show
        self.values: dict[str, Any] = {}
        self.number: dict[str, int] = {}
        self.type: pa.DataType = pa.string()
        self.missing = 0

    def take(self, chunk: pa.Array) -> Codes:
        coded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        self.type = coded.type.value_type
        labels = []
        for value in coded.dictionary.to_pylist():
            label = label_of(value)
            self.values.setdefault(label, value)
            labels.append(self.number.setdefault(label, len(self.number)))
        if coded.indices.null_count:
            self.values.setdefault("", None)
            labels.append(self.number.setdefault("", len(self.number)))
            coded = coded.indices.fill_null(len(labels) - 1)
        else:
            coded = coded.indices
        found: Codes = np.array(labels or [0], np.uint32)[values_of(coded)]
        if "" in self.number:
            self.missing += int((found == self.number[""]).sum())
        return found

    def seen(self) -> pa.ChunkedArray:
        kept = [value for label, value in self.values.items() if label != ""]
        return pa.chunked_array([pa.array([*kept, None] if self.missing else kept, self.type)])

    def lookup(self, domain: Domain) -> NDArray[np.unsignedinteger]:
        if self.missing and domain.missing_code is None:
            rows = "row" if self.missing == 1 else "rows"
            raise SourceError(
                f"The column {self.name!r} must have no missing values",
                f"{self.missing} {rows} without one",
                'Set missing = "category" to publish missing as a value of its own.',
            )
        codes = [domain.missing_code if label == "" else domain.code_of(label) for label in self.number]
        return np.array([code or 0 for code in codes], code_dtype(domain.size))


@dataclass
class StreamedTable:
    """A source read into scratch room. `seen` holds the values that occur, once each, where planning asks."""

    rows: Spool
    seen: Table
    coders: Mapping[str, _Known | _Discovered]
    scratch: Scratch = field(repr=False)

    def settle(self, attributes: Iterable[Attribute]) -> None:
        """Every domain is known now: refuse values outside them, and read the spool in their codes."""
        for attribute in attributes:
            if not attribute.raw:
                lookup = self.coders[attribute.name].lookup(attribute.coded)
                if lookup is not None:
                    self.rows.lookups[attribute.name] = lookup

    def close(self) -> None:
        self.scratch.close()


def coders_for(recipe: Recipe, method: Streaming, show: bool) -> dict[str, _Known | _Discovered]:
    coders: dict[str, _Known | _Discovered] = {}
    for attribute in published(recipe):
        if not method.randomised(attribute):
            continue
        if attribute.from_data:
            coders[attribute.name] = _Discovered(attribute.name, show)
        else:
            coders[attribute.name] = _Known(attribute, resolve(attribute, None, True).coded, show)
    return coders


def read_streamed(
    recipe: Recipe, method: Streaming, source: Source, engine: BatchEngine, progress: Progress, show: bool = False
) -> StreamedTable:
    """Read the source once, batch by batch."""
    coders = coders_for(recipe, method, show)
    names = method.columns(recipe)
    expected = expected_records(source) or 0
    scratch = Scratch(engine.folder)
    rows = Spool(scratch)
    try:
        with ThreadPoolExecutor(engine.workers) as pool, ThreadPoolExecutor(1) as reader:
            for batch in _prefetched(source.batches(names, engine.batch_rows(len(names))), reader):

                def coded(name: str, batch: pa.RecordBatch = batch) -> Column:
                    column = batch.column(name)
                    if name in coders:
                        return coders[name].take(column)
                    return raw_column(pa.chunked_array([column]), None).chunk(0)

                rows.append(dict(zip(names, pool.map(coded, names), strict=True)))
                progress("reading", rows.records, max(expected, rows.records if expected else 0))
        seen = {name: coder.seen() for name, coder in coders.items()}
        return StreamedTable(rows, Table(seen, rows.records), coders, scratch)
    except BaseException:
        scratch.close()
        raise


def _prefetched(batches: Iterator[pa.RecordBatch], reader: ThreadPoolExecutor) -> Iterator[pa.RecordBatch]:
    """The next batch is read while the last one is worked on."""
    waiting = reader.submit(next, batches, None)
    while (batch := waiting.result()) is not None:
        waiting = reader.submit(next, batches, None)
        yield batch


# ---------------------------------------------------------------- writing


@dataclass(frozen=True)
class Streamed:
    """A published table that comes piece by piece, in published order. It can be written once."""

    attributes: tuple[Attribute, ...]
    pieces: Iterator[dict[str, Column]]
    commitment: str
    checks: tuple[tuple[str, bool, str], ...] = ()

    def written(self, path: Path | BinaryIO, format: str) -> Published:  # noqa: A002 - the recipe's word
        """Write the file, and tell of it what the certificate and the report say."""
        coded = [a for a in self.attributes if not a.raw]
        marginals = {a.name: np.zeros(a.coded.size, np.int64) for a in coded}
        order = [a.name for a in sorted(self.attributes, key=lambda a: a.raw)]
        content = ContentDigest()
        writer: TableWriter | None = None
        with ThreadPoolExecutor(1) as pool:
            for columns in self.pieces:
                digesting = pool.submit(content.update, {name: columns[name] for name in order})
                for a in coded:
                    marginals[a.name] += counted(columns[a.name], a.coded.size)
                table = as_table(self.attributes, columns)
                writer = TableWriter(path, format, table.schema) if writer is None else writer
                writer.write(table)
                digesting.result()
        if writer is not None:
            writer.close()
        return Published(None, content.hexdigest(), self.commitment, marginals, checks=self.checks)


def as_table(attributes: tuple[Attribute, ...], columns: Mapping[str, Column]) -> pa.Table:
    """Codes and unchanged columns as they are published.

    A column whose public domain has no missing value is written as one that has none, which is quicker.
    """
    found = [columns[a.name] if a.raw else decode(columns[a.name], a.coded) for a in attributes]
    fields = [
        pa.field(a.name, column.type, nullable=a.raw or a.coded.missing_code is not None)
        for a, column in zip(attributes, found, strict=True)
    ]
    return pa.table(found, schema=pa.schema(fields))


def stream_plan(
    plan: Any, mechanism: Any, context_of: Any, rows: Spool, key: Key, engine: BatchEngine, progress: Progress
) -> Streamed:
    """The pieces of a plan that draws from a mechanism under coins bound to dataset, law and source."""
    names = [a.name for a in plan.attributes if not a.raw]
    bound, commitment = rows.commitments(key, names, engine.workers)
    pieces = engine.publish(rows, mechanism, key, context_of(bound), plan.shuffled, progress)
    return Streamed(plan.attributes, pieces, commitment)
