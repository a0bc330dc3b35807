"""Where a run works: which engine holds its rows, within how much memory, on how many threads."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pramana.bundle.bundle import Bundle
from pramana.errors import RecipeError
from pramana.io.source import Source, size_in_memory
from pramana.methods.protocol import Capabilities
from pramana.randomness.key import Key
from pramana.rows.engines import LocalEngine
from pramana.rows.memory import MemoryRows
from pramana.rows.protocol import ColumnReading, Progress, Rows, no_progress
from pramana.run.source import check_no_repeats
from pramana.schema.unit import UnitSection

if TYPE_CHECKING:
    from pramana.rows.spark.rows import SparkEngine


@dataclass(frozen=True)
class ExecutionConfig:
    """Where a run works: in memory, streaming within a bound of `memory` bytes, or on a Spark engine."""

    engine: str | SparkEngine = "local"
    memory: int | None = None
    threads: int = 0
    folder: Path = Path()
    progress: Progress = no_progress
    show_values: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.threads, bool) or not isinstance(self.threads, int) or self.threads < 0:
            raise RecipeError(
                "threads must be a whole number, or 0 for as many as there are cores", repr(self.threads)
            )

    def check(self, method: str, can: Capabilities) -> None:
        """Refuse by name what the method cannot do there. Nothing of the source is looked at for that."""
        if self.spark() is not None:
            if not can.spark:
                raise RecipeError(
                    "A release on Spark must have a method that runs there", f"{method}, {can.reason}"
                )
        elif self.memory is not None and not can.streams:
            raise RecipeError(
                "A release within a bound on memory must have a method that streams",
                f"method {method!r} {can.reason}",
                "Leave the bound out: the table is then read into memory.",
            )

    @contextlib.contextmanager
    def open(
        self,
        source: Source,
        readings: Sequence[ColumnReading],
        key: Key,
        method: str,
        can: Capabilities,
        unit: UnitSection | None = None,
        watched: Sequence[str] = (),
    ) -> Iterator[Rows]:
        """The rows, which are let go of at the end; refused by name where the method cannot work there.

        With a `unit` of several rows they are brought together. Columns that are `watched` must not repeat.
        """
        self.check(method, can)
        several = unit if unit is not None and unit.several else None
        with source.guesses(), self._opened(source, readings, key, can, watched, several) as rows:
            yield rows

    @contextlib.contextmanager
    def _opened(
        self,
        source: Source,
        readings: Sequence[ColumnReading],
        key: Key,
        can: Capabilities,
        watched: Sequence[str],
        unit: UnitSection | None,
    ) -> Iterator[Rows]:
        self.progress("reading", 0, 1)
        spark = self.spark()
        if spark is not None:
            from pramana.rows.spark.rows import SparkRows

            how = self.progress, self.show_values, unit, watched
            with SparkRows.open(source, readings, key, spark, *how) as spread:
                check_no_repeats(spread, watched)
                yield spread
            return
        readings = [
            *readings,
            *map(ColumnReading, watched),
            *map(ColumnReading, () if unit is None else unit.columns),
        ]
        bound = self._bound(source, can)
        if bound is not None:
            from pramana.rows.engines import BatchEngine
            from pramana.rows.spooled import SpooledRows

            batch = BatchEngine(bound, self.threads, self.folder)
            spooled = SpooledRows.read(source, readings, key, batch, self.progress, self.show_values)
            with contextlib.closing(spooled):
                check_no_repeats(spooled, watched)
                yield spooled if unit is None else spooled.in_units(unit)
            return
        table = source.read([reading.name for reading in readings])
        rows = MemoryRows(table, key, LocalEngine(self.threads), self.progress, self.show_values)
        check_no_repeats(rows, watched)
        yield rows if unit is None else rows.in_units(unit)

    def spark(self) -> SparkEngine | None:
        """The Spark engine that is asked for, if one is."""
        if self.engine == "local":
            return None
        if isinstance(self.engine, str) and self.engine != "spark":
            raise RecipeError("The engine must be local or spark", repr(self.engine))
        if self.memory is not None:
            raise RecipeError("A bound on memory must be one for the local engine", "the Spark engine")
        from pramana.rows.spark.rows import SparkEngine

        if not isinstance(self.engine, str | SparkEngine):
            raise RecipeError("The engine must be local or spark, or a SparkEngine", type(self.engine).__name__)
        return SparkEngine() if isinstance(self.engine, str) else self.engine

    def running(self) -> contextlib.AbstractContextManager[object]:
        """One Spark session for all that is done meanwhile, where Spark is asked for."""
        spark = self.spark()
        return contextlib.nullcontext() if spark is None else spark.running()

    @contextlib.contextmanager
    def reading(self, bundle: Bundle) -> Iterator[Bundle]:
        """The bundle; where Spark is asked for, executors read the parts of a set, in one session for all.

        What a store holds came down to this machine, and its parts are read here.
        """
        spark = self.spark()
        if spark is None or bundle.certificate.parts is None or bundle.fetched is not None:
            yield bundle
            return
        with spark.running():
            yield replace(bundle, spread=spark)

    def catalogue(self, source: Source) -> contextlib.AbstractContextManager[object]:
        """A table that only Spark knows, as a data frame."""
        spark = self.spark()
        if spark is None:
            source.check_engine()
        assert spark is not None, "refused above"
        return spark.table(source)

    def in_memory(self, source: Source, can: Capabilities) -> bool:
        return self.engine == "local" and self._bound(source, can) is None

    def check_in_memory(self, source: Source, can: Capabilities, what: str) -> None:
        """Refuse what is made from all published rows at once where they are not in memory."""
        if not self.in_memory(source, can):
            raise RecipeError(
                f"{what} must be of a table in memory",
                "a table that streams, or the Spark engine",
                'Use format = "parquet", and `pramana export` where there is room.',
            )

    def _bound(self, source: Source, can: Capabilities) -> int | None:
        """The bytes within which a table streams through, or None where it is read into memory."""
        if self.memory is not None:
            return self.memory
        own = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if can.streams and size_in_memory(source) > own // 2:
            from pramana.rows.engines import LEAST_MEMORY

            return max(LEAST_MEMORY, own // 4)
        return None
