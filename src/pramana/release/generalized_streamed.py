"""Full-domain generalisation of tables larger than memory, by roll-up of counts.

Only the combinations of codes that occur are held, with how often each does; the classes and all that is measured
come from them. Rows then pass once more: each is given the number of its class, and they are written in published
order. What is asked of a table stands in `CountedRows`, wherever its rows are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import RecipeError
from pramana.generalize import CLASS, SEPARABLE, TABLE_BYTES, Classes, Combinations, Generalised, Layout
from pramana.mechanisms import Product
from pramana.randomness import Key, code_dtype
from pramana.release.generalized_columns import Quasi, Sensitive
from pramana.release.generalized_measured import CellContent, InClasses
from pramana.release.generalized_search import Lines, solve_lines
from pramana.release.generalized_setting import Setting
from pramana.release.method import Published
from pramana.release.streamed import Streamed
from pramana.rows import BatchEngine, Column, ContentDigest, Progress, Spool, no_progress
from pramana.schema import Attribute
from pramana.sources import TableWriter, numbers

CLASS_NUMBER = "\0class"  # names that no column of a source has
_COPIES = 8  # of the combinations that are in memory at one time, measured where they are most of it


class CountedRows(Protocol):
    """What a full-domain release asks of a table. `derive` is the only function that has to reach the rows."""

    def values(self, names: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        """The values that occur in columns that pass unchanged, once each."""

    def derive(self, name: str, of: tuple[str, ...], work: Callable[[dict[str, Column]], Column]) -> None:
        """Codes that are worked out from other columns, row by row."""

    def counted(self, groups: Sequence[Mapping[str, int]]) -> list[Lines]:
        """The combinations that occur, in any order, of some groups of columns: names and numbers of codes."""

    def check_room(self, needed: int) -> None:
        """Refuse combinations that need more bytes than there is room for."""

    def commitment(self, key: Key, coded: Sequence[str]) -> str:
        """Of all columns, those with codes first."""

    def published(self, names: Sequence[str], key: Key, context: str, shuffled: bool) -> Iterator[dict[str, Any]]:
        """Some columns piece by piece, in the order in which rows are published."""


@dataclass(frozen=True)
class SpooledRows:
    """Rows in scratch room."""

    rows: Spool
    engine: BatchEngine
    progress: Progress = no_progress

    @property
    def workers(self) -> int:
        return self.engine.workers

    def values(self, names: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        def unique(columns: dict[str, Column]) -> dict[str, pa.Array]:
            return {name: column.unique() for name, column in columns.items()}

        seen: dict[str, list[pa.Array]] = {name: [] for name in names}
        for found in self.rows.mapped(unique, names, self.workers) if names else ():
            for name, column in found.items():
                seen[name] = [pa.chunked_array([*seen[name], column]).unique()]
        return {name: pa.chunked_array(columns) for name, columns in seen.items()}

    def derive(self, name: str, of: tuple[str, ...], work: Callable[[dict[str, Column]], Column]) -> None:
        self.rows.derived[name] = (of, work)

    def counted(self, groups: Sequence[Mapping[str, int]]) -> list[Lines]:
        found = [Combinations(list(group.values())) for group in groups]

        def count(columns: dict[str, Column]) -> list[Classes]:
            return [c.of([columns[n] for n in group]) for c, group in zip(found, groups, strict=True)]

        names = list(dict.fromkeys(name for group in groups for name in group))
        for parts in self.rows.mapped(count, names, self.workers):
            for combinations, part in zip(found, parts, strict=True):
                combinations.join(part)
            self.check_room(_COPIES * sum(sum(part.nbytes for part in c.parts) for c in found))
        return [_lines(c.merged(), list(group.values())) for c, group in zip(found, groups, strict=True)]

    def check_room(self, needed: int) -> None:
        if needed > self.engine.room:
            raise RecipeError(
                "The combinations of quasi-identifying and sensitive values that occur must fit in memory",
                f"{needed >> 20} MiB or more that they need",
                "Allow more memory, or begin with coarser values (level = 1 in a column's section).",
            )

    def commitment(self, key: Key, coded: Sequence[str]) -> str:
        return self.rows.commitments(key, coded, self.workers)[1]

    def published(self, names: Sequence[str], key: Key, context: str, shuffled: bool) -> Iterator[dict[str, Any]]:
        def told(stage: str, done: int, of: int) -> None:
            self.progress("generalising" if stage == "randomising" else stage, done, of)

        return self.engine.publish(self.rows, Product({}), key, context, shuffled, told, names)


def _lines(found: Classes, sizes: Sequence[int]) -> Lines:
    columns = tuple(found.codes(a).astype(code_dtype(size)) for a, size in enumerate(sizes))
    return Lines(columns, np.ascontiguousarray(found.sizes))


# ---------------------------------------------------------------- classes and measures


def solve_counted(
    rows: CountedRows,
    setting: Setting,
    quasi: Sequence[Quasi],
    sensitive: Sequence[Sensitive],
    levels: tuple[int, ...] | None,
) -> Generalised:
    """The classes, from the combinations that occur."""
    own = {q.name: q.attribute.coded.size for q in quasi}
    looked = list(sensitive) if setting.looks_at_sensitive else []
    _derive_codes(rows, looked)
    lines, *others = rows.counted([own, *({**own, _coded(s): s.size} for s in looked)])
    layout = Layout(tuple(q.ladder for q in quasi))
    size = len(lines.times) * (8 * layout.words + 4 * (1 + sum(s.size for s in looked)))
    rows.check_room(_COPIES * size + (0 if levels is not None else _kept(setting, layout, size)))
    return solve_lines(setting, quasi, lines, list(zip(looked, others, strict=True)), levels)


def _kept(setting: Setting, layout: Layout, size: int) -> int:
    """Bytes of tables that a search keeps to roll up from, about; with a separable measure they are few."""
    if setting.measure in SEPARABLE:
        return 0
    return min(TABLE_BYTES, math.prod(layout.heights) * size // 8)


def held_in(
    rows: CountedRows, quasi: Sequence[Quasi], sensitive: Sequence[Sensitive], made: Generalised
) -> list[InClasses]:
    """Which values of the sensitive columns are in which class."""
    _derive_codes(rows, sensitive)
    derive_classes(rows, quasi, made)
    groups = [{CLASS_NUMBER: made.classes + 1, _coded(s): s.size} for s in sensitive]
    found = []
    for lines in rows.counted(groups) if groups else ():
        number, codes = lines.columns
        class_of = np.where(number == made.classes, -1, number.astype(np.int64))
        found.append(InClasses(class_of, codes, lines.times))
    return found


def _coded(sensitive: Sensitive) -> str:
    return f"\0{sensitive.name}"


def _derive_codes(rows: CountedRows, sensitive: Sequence[Sensitive]) -> None:
    for s in sensitive:

        def codes(columns: dict[str, Column], s: Sensitive = s) -> Column:
            return s.codes_of(pa.chunked_array([columns[s.name]]))

        rows.derive(_coded(s), (s.name,), codes)


def derive_classes(rows: CountedRows, quasi: Sequence[Quasi], made: Generalised) -> None:
    finder, names = made.finder, tuple(q.name for q in quasi)
    rows.derive(CLASS_NUMBER, names, lambda columns: finder.find([columns[name] for name in names]))


# ---------------------------------------------------------------- writing


class CellTable:
    """Makes the published columns from classes and unchanged columns, in pieces, and digests what they say."""

    def __init__(
        self, attributes: Sequence[Attribute], cells: Mapping[str, Any], by_class: bool, output: str
    ) -> None:
        self.attributes, self.cells, self.by_class, self.output = attributes, cells, by_class, output
        self.contents = {name: CellContent(name, column) for name, column in cells.items()}
        self.digest = ContentDigest()

    def made(self, class_of: NDArray[np.integer], raw: Mapping[str, Any]) -> pa.Table:
        """Some rows as they are published; `raw` are their unchanged columns."""
        self.digest.update({name: content.codes(class_of) for name, content in self.contents.items()})
        if self.output == "parquet":  # in a CSV they have no types of their own; the file's digest covers them
            self.digest.update(raw)
        columns, places = {}, numbers(class_of)
        for name in self._names():
            columns[name] = self.cells[name].take(places) if name in self.cells else raw[name]
        return pa.table(columns)

    def _names(self) -> list[str]:
        if self.by_class:
            return [CLASS, *(a.name for a in self.attributes if a.raw)]
        return [a.name for a in self.attributes]

    def content(self) -> str:
        for content in self.contents.values():
            self.digest.update(content.told())
        return self.digest.hexdigest(sorted(self.digest.parts))


@dataclass(frozen=True)
class StreamedCells(Streamed):
    """A published table of classes that comes piece by piece, in published order. It can be written once."""

    cells: CellTable = field(kw_only=True)
    classes: int = field(kw_only=True)
    extra: Mapping[str, Callable[[Path | BinaryIO], None]] = field(kw_only=True)

    def written(self, path: Path | BinaryIO, format: str) -> Published:  # noqa: A002 - the recipe's word
        writer: TableWriter | None = None
        for columns in self.pieces:
            number = columns[CLASS_NUMBER]
            kept = np.flatnonzero(number < self.classes)  # the others are suppressed
            places = numbers(kept)
            raw = {a.name: columns[a.name].take(places) for a in self.attributes if a.raw}
            table = self.cells.made(number[kept], raw)
            writer = TableWriter(path, format, table.schema) if writer is None else writer
            writer.write(table)
        if writer is not None:
            writer.close()
        return Published(None, self.cells.content(), self.commitment, {}, self.extra)


def stream_cells(
    rows: CountedRows,
    quasi: Sequence[Quasi],
    made: Generalised,
    cells: CellTable,
    extra: Mapping[str, Callable[[Path | BinaryIO], None]],
    key: Key,
    order: tuple[str, bool],
) -> StreamedCells:
    """`order`: what the order of the rows is bound to, and whether they are shuffled at all."""
    commitment = rows.commitment(key, [q.name for q in quasi])
    derive_classes(rows, quasi, made)
    attributes = tuple(cells.attributes)
    names = [CLASS_NUMBER, *(a.name for a in attributes if a.raw)]
    pieces = rows.published(names, key, *order)
    return StreamedCells(attributes, pieces, commitment, cells=cells, classes=made.classes, extra=extra)
