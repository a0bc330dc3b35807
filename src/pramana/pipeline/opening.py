"""The first step of the pipeline: a source, and its rows in the home where they fit."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pramana.errors import RecipeError
from pramana.methods import IN_MEMORY, AnyRecipe, Capabilities, Recipe, method_named
from pramana.pipeline.repeats import check_no_repeats
from pramana.randomness import Key
from pramana.rows import (
    LEAST_MEMORY,
    BatchEngine,
    ColumnReading,
    LocalEngine,
    MemoryRows,
    Progress,
    Rows,
    SpooledRows,
    no_progress,
)
from pramana.schema import SourceSection, UnitSection
from pramana.sources import Source, size_in_memory

if TYPE_CHECKING:
    from pramana.rows import SparkEngine

RecipeLike = AnyRecipe | str | Path


def read_recipe(recipe: RecipeLike) -> AnyRecipe:
    return recipe if isinstance(recipe, Recipe) else Recipe.read(recipe)


def source_of(recipe: AnyRecipe) -> Source:
    """The table that a recipe names."""
    return source_in(method_named(recipe.method).source(recipe))


def source_in(section: SourceSection) -> Source:
    stated = msgspec.structs.asdict(section)
    return Source.from_options({key: value for key, value in stated.items() if value is not None})


@dataclass(frozen=True)
class Home:
    """Where rows are to be: in memory, within a bound of `memory` bytes, or on a Spark engine."""

    engine: str | SparkEngine = "local"
    memory: int | None = None
    threads: int = 0
    folder: Path = Path()
    progress: Progress = no_progress
    show_values: bool = False

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

        With a `unit` of several rows they are brought together, which only memory allows. Columns that are
        `watched` must not repeat.
        """
        if unit is not None and unit.several:
            can = IN_MEMORY
            readings = [*readings, *map(ColumnReading, unit.columns)]
        self.progress("reading", 0, 1)
        spark = self.spark()
        if spark is not None:
            if not can.spark:
                raise RecipeError(
                    "A release on Spark must have a method that runs there", f"{method}, {can.reason}"
                )
            from pramana.rows import SparkRows

            with SparkRows.open(source, readings, key, spark, self.progress, self.show_values) as spread:
                check_no_repeats(spread, watched)
                yield spread
            return
        readings = [*readings, *map(ColumnReading, watched)]
        bound = self._bound(source, method, can)
        if bound is not None:
            batch = BatchEngine(bound, self.threads, self.folder)
            spooled = SpooledRows.read(source, readings, key, batch, self.progress, self.show_values)
            with contextlib.closing(spooled):
                check_no_repeats(spooled, watched)
                yield spooled
            return
        table = source.read([reading.name for reading in readings])
        rows = MemoryRows(table, key, LocalEngine(self.threads), self.progress, self.show_values)
        check_no_repeats(rows, watched)
        yield rows.in_units(unit) if unit is not None and unit.several else rows

    def spark(self) -> SparkEngine | None:
        """The Spark engine that is asked for, if one is."""
        if self.engine == "local":
            return None
        if isinstance(self.engine, str) and self.engine != "spark":
            raise RecipeError("The engine must be local or spark", repr(self.engine))
        if self.memory is not None:
            raise RecipeError("A bound on memory must be one for the local engine", "the Spark engine")
        from pramana.rows import SparkEngine

        return SparkEngine() if isinstance(self.engine, str) else self.engine

    def in_memory(self, source: Source, method: str, can: Capabilities) -> bool:
        return self.engine == "local" and self._bound(source, method, can) is None

    def _bound(self, source: Source, method: str, can: Capabilities) -> int | None:
        """The bytes within which a table streams through, or None where it is read into memory."""
        if self.memory is not None:
            if not can.streams:
                raise RecipeError(
                    "A release within a bound on memory must have a method that streams",
                    f"method {method!r} {can.reason}",
                    "Leave the bound out: the table is then read into memory.",
                )
            return self.memory
        own = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if can.streams and size_in_memory(source) > own // 2:
            return max(LEAST_MEMORY, own // 4)
        return None
