"""Releases of tables larger than memory: read once, planned from what was seen, written piece by piece."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.engines import BatchEngine, Column, ContentDigest, Progress, Scratch, Spool, ahead
from pramana.errors import SourceError
from pramana.randomness import Codes, Key, code_dtype, counted
from pramana.release.method import Published
from pramana.release.resolve import published, resolve
from pramana.schema import Attribute, AttributeRecipe, Domain, Recipe
from pramana.sources import (
    Encoder,
    Numbering,
    Source,
    Table,
    TableWriter,
    decode,
    expected_records,
    raw_column,
    texts,
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

    def __init__(self, name: str, domain: Domain, open_ended: bool, show: bool = False) -> None:
        self.encoder = Encoder(domain.with_missing() if open_ended else domain, name, show)
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

    def __init__(self, name: str) -> None:
        self.name = name
        self.numbering = Numbering()

    def take(self, chunk: pa.Array) -> Codes:
        return self.numbering.number(chunk)

    def seen(self) -> pa.ChunkedArray:
        return self.numbering.seen()

    def lookup(self, domain: Domain) -> NDArray[np.unsignedinteger]:
        if self.numbering.missing and domain.missing_code is None:
            rows = "row" if self.numbering.missing == 1 else "rows"
            raise SourceError(
                f"The column {self.name!r} must have no missing values",
                f"{self.numbering.missing} {rows} without one",
                'Set missing = "category" to publish missing as a value of its own.',
            )
        labels = self.numbering.labels
        codes = [domain.missing_code if label == "" else domain.code_of(label) for label in labels]
        return np.array([code or 0 for code in codes], code_dtype(domain.size))


@dataclass
class StreamedTable:
    """A source read into scratch room. `seen` holds the values that occur, once each, where planning asks."""

    rows: Spool
    seen: Table
    coders: Mapping[str, _Known | _Discovered]
    scratch: Scratch = field(repr=False)
    engine: BatchEngine

    @property
    def records(self) -> int:
        return self.rows.records

    def settle(self, attributes: Iterable[Attribute]) -> None:
        """Every domain is known now: refuse values outside them, and read the spool in their codes."""
        for attribute in attributes:
            if not attribute.raw:
                lookup = self.coders[attribute.name].lookup(attribute.coded)
                if lookup is not None:
                    self.rows.lookups[attribute.name] = lookup

    def close(self) -> None:
        self.scratch.close()


def coders_for(recipe: Recipe, method: Streaming, show: bool = False) -> dict[str, _Known | _Discovered]:
    coders: dict[str, _Known | _Discovered] = {}
    known: Mapping[str, Attribute] = getattr(method, "known", lambda _: {})(recipe)  # from elsewhere
    for attribute in published(recipe):
        if not method.randomised(attribute):
            continue
        if attribute.name in known:
            coders[attribute.name] = _Known(attribute.name, known[attribute.name].coded, False, show)
        elif attribute.from_data:
            coders[attribute.name] = _Discovered(attribute.name)
        else:
            domain = resolve(attribute, None, True).coded
            open_ended = attribute.missing == "auto" and not domain.missing
            coders[attribute.name] = _Known(attribute.name, domain, open_ended, show)
    return coders


def coders_of(attributes: Iterable[Attribute]) -> dict[str, _Known | _Discovered]:
    """For a table whose domains are all known, those of a certificate."""
    return {a.name: _Known(a.name, a.coded, False) for a in attributes if not a.raw}


def read_streamed(
    source: Source,
    names: list[str],
    coders: Mapping[str, _Known | _Discovered],
    engine: BatchEngine,
    progress: Progress,
) -> StreamedTable:
    """Read the source once, batch by batch."""
    expected = expected_records(source) or 0
    scratch = engine.scratch()
    rows = Spool(scratch)

    def coded(batch: pa.RecordBatch) -> dict[str, Column]:
        return {name: _coded(batch.column(name), coders.get(name)) for name in names}

    try:
        for columns in ahead(coded, source.batches(names, engine.batch_rows(len(names))), engine.workers):
            rows.append(columns)
            progress("reading", rows.records, max(expected, rows.records if expected else 0))
        seen = {name: coder.seen() for name, coder in coders.items()}
        return StreamedTable(rows, Table(seen, rows.records), coders, scratch, engine)
    except BaseException:
        scratch.close()
        raise


def _coded(column: pa.Array, coder: _Known | _Discovered | None) -> Column:
    return raw_column(pa.chunked_array([column]), None).chunk(0) if coder is None else coder.take(column)


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

        def ready(columns: dict[str, Column]) -> pa.Table:
            content.update({name: columns[name] for name in order})
            for a in coded:
                marginals[a.name] += counted(columns[a.name], a.coded.size)
            return as_table(self.attributes, columns)

        for table in ahead(ready, self.pieces, 1):  # one thread: the digest takes the pieces in their order
            writer = TableWriter(path, format, table.schema) if writer is None else writer
            writer.write(table)
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
