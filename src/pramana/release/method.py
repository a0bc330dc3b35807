"""What every release method offers. A method turns a recipe into a plan; a plan is public, and runs under a key.

A plan is all of a certificate that is known before the coins are thrown, so `verify` can read one back from
the certificate, ask it again for its guarantees, and run it again on the source.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pramana.engines import LocalEngine, Progress
from pramana.randomness import Key
from pramana.release.certificate import Certificate
from pramana.schema import Attribute, Recipe
from pramana.sources import Table, is_bytes, texts
from pramana.theory import Guarantee

Column = Any  # codes of a randomised attribute, or the Arrow column of one that passes unchanged


@dataclass(frozen=True)
class Published:
    """What a plan made: the table in published order, and what the certificate says of source and content.

    `extra` are further files of the bundle, each written by its function; `marginals` are counts of the
    published codes, for the report.
    """

    table: pa.Table
    content: str
    commitment: str
    marginals: Mapping[str, np.ndarray[Any, np.dtype[np.int64]]] = field(default_factory=dict)
    extra: Mapping[str, Callable[[Path], None]] = field(default_factory=dict)
    checks: tuple[tuple[str, bool, str], ...] = ()  # what only the source can tell of the plan: name, ok, detail


class Plan(Protocol):
    """A method with all its parameters, for one table."""

    @property
    def attributes(self) -> tuple[Attribute, ...]: ...

    @property
    def dropped(self) -> tuple[str, ...]: ...

    @property
    def records(self) -> int: ...

    @property
    def dataset(self) -> str: ...

    @property
    def shuffled(self) -> bool: ...

    def statement(self) -> dict[str, Any]:
        """The certificate's `mechanism`: every parameter, integers as text."""

    def guarantees(self, seeded: bool) -> tuple[Guarantee, ...]: ...

    def warnings(self, seeded: bool) -> tuple[str, ...]: ...

    def run(
        self, table: Table, key: Key, engine: LocalEngine, progress: Progress, show: bool = False
    ) -> Published: ...


class Method(Protocol):
    """A value of `release.method`."""

    def columns(self, recipe: Recipe) -> list[str]:
        """The columns to read; nothing else of the source is touched."""

    def plan(self, recipe: Recipe, table: Table) -> Plan: ...

    def plan_from(self, certificate: Certificate) -> Plan:
        """The plan a certificate states; raises InputError where it states none."""


def digest_of_columns(columns: Mapping[str, Column]) -> str:
    """SHA-256 of a table's contents, whatever file format they are in."""
    total = hashlib.sha256()
    for name, column in columns.items():
        total.update(_column_digest(name, column, hashlib.sha256()))
    return total.hexdigest()


def commitment_to(columns: Mapping[str, Column], key: Key, each: Callable[..., Iterable[bytes]] = map) -> str:
    """A keyed digest of the source: the holder can later show what was released, no one else can test a guess.

    `each` maps over the columns; a pool's map does so on several threads.
    """
    secret = key.derive("source commitment")
    total = hmac.new(secret, digestmod="sha256")

    def digested(name: str) -> bytes:
        return _column_digest(name, columns[name], hmac.new(secret, digestmod="sha256"))

    for digest in each(digested, columns):
        total.update(digest)
    return total.hexdigest()


def _column_digest(name: str, column: Column, digest: Any) -> bytes:
    digest.update(name.encode() + b"\0")
    if isinstance(column, np.ndarray):
        digest.update(np.ascontiguousarray(column, column.dtype.newbyteorder("<")).view(np.uint8))
    else:
        for part in _as_text(column):
            digest.update(part)
    found: bytes = digest.digest()
    return found


def _as_text(column: pa.ChunkedArray) -> tuple[Any, Any]:
    """The lengths and the characters of a column's values, a missing one as the empty text.

    That is all that CSV can tell, so the digest of a column is the same in every format, and it sees nothing of
    chunks, padding or what lies under a null.
    """
    kind = pa.large_binary() if is_bytes(column.type) else pa.large_string()
    text = pc.fill_null(pa.concat_arrays(column.cast(kind).chunks), texts([""]).cast(kind)[0])
    _, offsets, characters = text.buffers()
    places = np.frombuffer(offsets, np.int64)[text.offset : text.offset + len(text) + 1]
    lengths = np.diff(places).astype("<i8").view(np.uint8)
    return lengths, b"" if characters is None else memoryview(characters)[places[0] : places[-1]]
