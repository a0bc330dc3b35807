"""What every release method offers. A method turns a recipe into a plan; a plan is public, and runs under a key.

A plan is all of a certificate that is known before the coins are thrown, so `verify` can read one back from
the certificate, ask it again for its guarantees, and run it again on the source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
import pyarrow as pa

from pramana.randomness import Key
from pramana.release.certificate import Certificate
from pramana.rows import LocalEngine, Progress
from pramana.schema import Attribute, Recipe
from pramana.sources import Table
from pramana.theory import Guarantee


@dataclass(frozen=True)
class Published:
    """What a plan made: the table in published order, and what the certificate says of source and content.

    `extra` are further files of the bundle, each written by its function; `marginals` are counts of the
    published codes, for the report. `table` is None where the file is written already.
    """

    table: pa.Table | None
    content: str
    commitment: str
    marginals: Mapping[str, np.ndarray[Any, np.dtype[np.int64]]] = field(default_factory=dict)
    extra: Mapping[str, Callable[[Path | BinaryIO], None]] = field(default_factory=dict)
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
