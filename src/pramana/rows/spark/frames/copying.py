"""What Spark makes of a data frame, made once and kept: by numbers where values are known, else by texts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pramana.rows.spark.frames.copies import CopiedColumns, FileColumns
from pramana.rows.spark.frames.joins import FrameLookup, lookup_of
from pramana.rows.spark.frames.numbered import NumberedColumns, quoted
from pramana.rows.spark.frames.scans import ran_as_planned
from pramana.rows.spark.frames.selections import FrameSelection, selection_of
from pramana.rows.spark.jobs import SCHEMA, Batches, failing, partition, task_of
from pramana.rows.spark.readings import changed_rows
from pramana.rows.spark.steps import Seal, Sent, unquoted
from pramana.sources import Source

_BATCHES = {  # the first as Spark writes that there is no bound
    "spark.sql.execution.arrow.maxBytesPerBatch": str((1 << 31) - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(1 << 16),
}
_UNEXPECTED = -1  # instead of how many rows a run has


@dataclass(frozen=True)
class FrameCopy:
    """A copy of a data frame's columns in Spark's storage, and how many rows each run has."""

    columns: CopiedColumns
    frame: Any
    rows: tuple[int, ...]


@contextlib.contextmanager
def copied(
    spark: Any, source: Source, columns: tuple[str, ...], stated: Mapping[str, Sequence[str]]
) -> Iterator[FrameCopy]:
    """The copy lasts as long as the block. `stated` are the values that some columns should have."""
    with contextlib.ExitStack() as stack:
        for frame, kept, told in _ways(source, columns):
            copy = stack.enter_context(_known_or_not(spark, frame, kept, stated))
            if copy is not None and (told is None or _as_told(copy, source, told)):
                yield copy
                return
            stack.close()
        raise changed_rows()


def _as_told(copy: FrameCopy, source: Source, told: FrameSelection | FrameLookup) -> bool:
    return ran_as_planned(copy.frame, source, told.files, told.plain, told.pieces)


def _ways(
    source: Source, columns: tuple[str, ...]
) -> Iterator[tuple[Any, CopiedColumns, FrameSelection | FrameLookup | None]]:
    """What to ask Spark for and how to keep it, the cheapest first; the last one always serves."""
    if (chosen := selection_of(source, columns)) is not None:
        own = chosen.computed if chosen.kept is None else (chosen.kept, *chosen.computed)
        files = FileColumns.of(chosen.plain, chosen.pieces)
        yield chosen.computing, CopiedColumns(own, _new_seal(), kept=chosen.kept, files=files), chosen
    elif (found := lookup_of(source, columns)) is not None:
        own = (found.places, *found.computed)
        files = FileColumns.of(found.plain, found.pieces)
        yield found.computing, CopiedColumns(own, _new_seal(), files=files, places=found.places), found
    yield source.frame, CopiedColumns(columns, _new_seal()), None


@contextlib.contextmanager
def _known_or_not(
    spark: Any, frame: Any, kept: CopiedColumns, stated: Mapping[str, Sequence[str]]
) -> Iterator[FrameCopy | None]:
    numbered = NumberedColumns.of(frame, {name: stated[name] for name in kept.columns if name in stated})
    with contextlib.ExitStack() as stack:
        copy = stack.enter_context(_copied(spark, frame, replace(kept, numbered=numbered)))
        if copy is None and numbered.values:  # other values than stated: their texts are needed to tell of them
            stack.close()
            copy = stack.enter_context(_copied(spark, frame, replace(kept, seal=_new_seal())))
        yield copy


@contextlib.contextmanager
def _copied(spark: Any, frame: Any, kept: CopiedColumns) -> Iterator[FrameCopy | None]:
    with failing():
        chosen = frame.select(*map(quoted, kept.plain), *kept.numbered.expressions())
        contents = chosen.mapInArrow(task_of(spark, _Copying(kept)), SCHEMA).persist()
    try:
        with failing(), _batches_of_rows(spark, chosen.schema):
            numbers = contents.select("slot", "number").toArrow()
        rows = [0] * (max(numbers.column("slot").to_pylist(), default=-1) + 1)
        for run, number in zip(*(numbers.column(name).to_pylist() for name in ("slot", "number")), strict=True):
            rows[run] = _UNEXPECTED if number < 0 else rows[run] + number
        yield None if _UNEXPECTED in rows else FrameCopy(kept, contents, tuple(rows))
    finally:
        with contextlib.suppress(Exception):  # a session that has ended keeps nothing, and must not hide why
            contents.unpersist()


@contextlib.contextmanager
def _batches_of_rows(spark: Any, schema: Any) -> Iterator[None]:
    """Large batches, bounded by their rows alone, where no row can be large.

    Spark otherwise adds up the size of all columns after every row, which takes as long as to write them.
    """
    if any(field.dataType.typeName() in ("string", "binary", "char", "varchar") for field in schema.fields):
        yield
        return
    before = {name: spark.conf.get(name, None) for name in _BATCHES}
    try:
        for name, value in _BATCHES.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            if value is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, value)


def _new_seal() -> Seal:
    return Seal(os.urandom(32))


@dataclass(frozen=True)
class _Copying:
    kept: CopiedColumns

    def __call__(self, batches: Batches) -> Iterator[Sent]:
        with unquoted():
            yield from self.kept.contents(partition(), batches)
