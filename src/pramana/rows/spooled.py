"""Rows within a bound on memory: read once into encrypted scratch room, published through buckets.

Every row is published by itself, as always; two threads, two hundred buckets or one of each: the bytes are those
of rows in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import RecipeError
from pramana.io.codes import Encoder, Faults
from pramana.io.parquet import ROW_GROUP
from pramana.io.source import Source, expected_records
from pramana.io.writing import raw_column
from pramana.randomness.key import Key
from pramana.randomness.samplers import Codes, code_dtype
from pramana.randomness.shuffle import tag_stream
from pramana.rows.coders import Coder, coders_for
from pramana.rows.engines import BatchEngine, LocalEngine, ahead
from pramana.rows.memory import LocalRows
from pramana.rows.owners import check_owned, owners_by
from pramana.rows.protocol import ColumnReading, Columns, Draw, Progress, R, Work, chunks_of, no_progress
from pramana.rows.repeats import numbered_in_blocks, repeats_in_blocks
from pramana.rows.spool import Scattering, Spool, SpoolBlock
from pramana.schema.domain import Attribute
from pramana.schema.unit import UnitSection

_OWNED = 72  # bytes of a row while rows are brought together by person and household


class SpooledRows(LocalRows):
    """A table in scratch room, under a key."""

    def __init__(
        self,
        spool: Spool,
        coders: Mapping[str, Coder],
        key: Key,
        engine: BatchEngine,
        progress: Progress,
        show: bool = False,
    ) -> None:
        super().__init__(key, progress, show)
        self._spool, self._coders, self._engine = spool, coders, engine
        self._others: list[SpooledRows] = []

    @classmethod
    def read(
        cls,
        source: Source,
        readings: Sequence[ColumnReading],
        key: Key,
        engine: BatchEngine,
        progress: Progress,
        show: bool = False,
    ) -> SpooledRows:
        """Read the source once, batch by batch."""
        coders, names = coders_for(readings, show), [reading.name for reading in readings]
        expected = expected_records(source) or 0
        spool = Spool(engine.scratch())

        def coded(batch: pa.RecordBatch) -> Columns:
            columns: Columns = {}
            for name in names:
                columns |= _coded(name, batch.column(name), coders.get(name))
            return columns

        try:
            batches = source.batches(names, engine.batch_rows(len(names)))
            for columns in ahead(coded, batches, engine.workers):
                spool.append(columns)
                progress("reading", spool.records, max(expected, spool.records if expected else 0))
            return cls(spool, coders, key, engine, progress, show)
        except BaseException:
            spool.scratch.close()
            raise

    def close(self) -> None:
        for other in self._others:
            other.close()
        self._spool.scratch.close()

    @property
    def records(self) -> int:
        return self._spool.records

    def repeats(self, name: str) -> bool:
        return repeats_in_blocks(
            lambda: self._mapped(lambda columns: chunks_of(columns[name]), [name]),
            self.records,
            self._engine.room // 4,
        )

    def values(self, names: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        known = {name: self._coders[name].values() for name in names if name in self._coders}
        unchanged = [name for name in names if name not in known]
        seen: dict[str, list[pa.Array]] = {name: [] for name in unchanged}

        def distinct(columns: Columns) -> dict[str, pa.Array]:
            return {name: column.unique() for name, column in columns.items()}

        for part in self._mapped(distinct, unchanged) if unchanged else ():
            for name, column in part.items():
                seen[name] = [pa.chunked_array([*seen[name], column]).unique()]
        return known | {name: pa.chunked_array(columns) for name, columns in seen.items()}

    def has_missing(self, name: str) -> bool:
        return self._coders[name].missing

    def _encode(self, attributes: Sequence[Attribute]) -> None:
        for attribute in attributes:
            if not attribute.raw:
                self._check_fit(attribute)
                lookup = self._coders[attribute.name].lookup(attribute.coded)
                if lookup is not None:
                    self._spool.lookups[attribute.name] = lookup

    def _check_fit(self, attribute: Attribute) -> None:
        """Refuse values that the domain does not have, with the numbers of their rows."""
        unfit = self._coders[attribute.name].unfit(attribute.coded)
        if not unfit:
            return
        self._spool.lookups.pop(attribute.name, None)  # as they were stored
        encoder = Encoder(attribute.coded, attribute.name, self._show)
        encoder.add(Faults(seen=unfit.labels))
        for codes in self._mapped(lambda columns: columns[attribute.name], [attribute.name]):
            missing = 0 if unfit.missing is None else int((codes == unfit.missing).sum())
            encoder.add(Faults(int(np.isin(codes, unfit.outside).sum()), unexpected=missing))
        encoder.finish()

    def derive(self, name: str, of: Sequence[str], work: Work) -> None:
        self._spool.attached.pop(name, None)
        self._spool.derived[name] = (tuple(of), work)

    def _mapped(self, work: Callable[[Columns], R], names: Iterable[str]) -> Iterator[R]:
        wanted = tuple(names)
        return ahead(lambda block: work(self._spool.read(block, wanted)), self._spool.blocks, self._engine.workers)

    def check_room(self, needed: int) -> None:
        self._check_room(
            "The combinations of quasi-identifying and sensitive values that occur",
            needed,
            "Allow more memory, or begin with coarser values (level = 1 in a column's section).",
        )

    def _check_room(self, what: str, needed: int, hint: str = "Allow more memory.") -> None:
        if needed > self._engine.room:
            raise RecipeError(f"{what} must fit in memory", f"{needed >> 20} MiB or more that they need", hint)

    def _digest_under(self, key: Key, names: Sequence[str]) -> str:
        people = () if self._owners is None else self._owners.columns()
        return self._spool.commitment(key, [*names, *people], self._engine.workers)

    def publish(self, draw: Draw) -> Iterator[Columns]:
        local, spool, progress = LocalEngine(1), self._spool, self._progress
        shared = self._draw_once(draw, self._engine.workers)

        def drawn(block: SpoolBlock) -> tuple[SpoolBlock, Columns]:
            columns = spool.read(block, dict.fromkeys([*draw.names, *draw.mechanism.sizes]))
            drawn_columns = local.publish(shared.each, self._key, draw.context, columns, block.first)
            drawn_columns |= shared.of_rows(block.first, block.rows)
            return block, {name: drawn_columns.get(name, columns[name]) for name in draw.names}

        if not draw.shuffled:
            for block, columns in ahead(drawn, spool.blocks, self._engine.workers):
                progress(draw.stage, block.first + block.rows, spool.records)
                yield columns
            return
        with self._engine.scratch() as scratch:
            bits = self._engine.bucket_bits(spool.records, spool.width)
            scattering = Scattering(scratch, tag_stream(self._key, draw.context), bits)
            for part in ahead(lambda b: scattering.scatter(*drawn(b)), spool.blocks, self._engine.workers):
                scattering.blocks.append(part)
                progress(draw.stage, part.first + part.rows, spool.records)
            done = 0
            early = 1 + (ROW_GROUP << bits) // spool.records  # small ones wait until there is enough to write
            for columns in ahead(scattering.bucket, range(1 << bits), self._engine.workers, early):
                if columns:
                    done += len(next(iter(columns.values())))
                    progress("writing in keyed order", done, spool.records)
                    yield columns

    def in_order(self, names: Sequence[str]) -> Iterator[Columns]:
        return self._mapped(lambda columns: columns, names)

    def marked(self, name: str) -> SpooledRows:
        self._check_room("The marks of all rows", 2 * self.records)
        marks = list(self._mapped(lambda columns: columns[name] == 1, [name]))
        return self.only(np.concatenate(marks))

    def open_reference_table(self, source: Source, readings: Sequence[ColumnReading]) -> SpooledRows:
        """Within the same bound; no coin is drawn from its key."""
        other = SpooledRows.read(source, readings, Key.create(), self._engine, no_progress, self._show)
        self._others.append(other)
        return other

    def codes(self, sizes: Mapping[str, int]) -> dict[str, Codes]:
        width = sum(np.dtype(code_dtype(size)).itemsize for size in sizes.values())
        self._check_room("Codes that are needed of all rows at once", 2 * width * self.records)
        parts = list(self._mapped(lambda columns: columns, sizes))
        return {name: np.concatenate([part[name] for part in parts]) for name in sizes}

    def attach(self, name: str, codes: Codes) -> None:
        self._spool.attached[name] = codes

    def in_units(self, unit: UnitSection) -> SpooledRows:
        """Whose each row is stays in memory; the rows themselves do not."""
        self._check_room("Whose the rows are", _OWNED * self.records, "Allow more memory, or leave the bound out.")

        def numbered(name: str) -> NDArray[np.uint32]:
            def blocks() -> Iterator[pa.ChunkedArray]:
                for column in self._mapped(lambda columns: chunks_of(columns[name]), [name]):
                    check_owned(column, name)
                    yield column

            return numbered_in_blocks(blocks, self.records, self._engine.room // 4)

        owners, kept = owners_by(numbered, self.records, unit, self._key)
        rows = self._with(self._spool.only(kept))
        rows._owners = owners
        rows._spool.attached |= owners.columns()
        if not bool(kept.all()):
            rows._coders = rows._kept_coders()
        return rows

    def _kept_coders(self) -> dict[str, Coder]:
        """What only rows had that were left out did not occur: no domain may tell of it."""
        occurring: dict[str, set[int]] = {name: set() for name in self._coders}
        for columns in self._mapped(lambda columns: {n: np.unique(c) for n, c in columns.items()}, occurring):
            for name, codes in columns.items():
                occurring[name].update(codes.tolist())
        return {
            name: coder.without_others(frozenset(occurring[name]), self._faulty(name))
            for name, coder in self._coders.items()
        }

    def _faulty(self, name: str) -> Iterator[pa.Array]:
        """A column's values as they were read, of the blocks that have some outside its domain."""
        for block in self._spool.blocks:
            if _as_read(name) in block.positions:
                yield self._spool.read(block, [_as_read(name)])[_as_read(name)]

    def only(self, kept: NDArray[np.bool_]) -> SpooledRows:
        rows = self._with(self._spool.only(kept))
        rows._attributes = self._attributes
        return rows

    def _with(self, spool: Spool) -> SpooledRows:
        return SpooledRows(spool, self._coders, self._key, self._engine, self._progress, self._show)


def _coded(name: str, column: pa.Array, coder: Coder | None) -> Columns:
    """What is stored of a column; values outside its domain as well, until it is known which rows stay."""
    if coder is None:
        return {name: raw_column(pa.chunked_array([column]), None).chunk(0)}
    codes, faulty = coder.take(column)
    return {name: codes, **({_as_read(name): column} if faulty else {})}


def _as_read(name: str) -> str:
    return f"\0as read {name}"
