"""Distinct combinations of codes and how often each occurs, grouped by Spark: what generalisation rolls up from.

Every run is grouped where it is read; Spark adds the counts of equal combinations; the driver gets one line for
each combination, however many rows there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import RecipeError, SourceError
from pramana.generalize import Classes, Ladder, Layout, grouped
from pramana.randomness import Codes, code_dtype
from pramana.rows.blocks import Block, Encoding, Strata
from pramana.rows.steps import Rows, Seal
from pramana.schema import Attribute, Domain, Role

if TYPE_CHECKING:
    from pramana.rows.spark import SparkTable

_MOST = 2**32 - 1


@dataclass(frozen=True)
class Group:
    """Group a run's rows by some columns."""

    attributes: tuple[Attribute, ...]
    seal: Seal

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.attributes)

    @property
    def layout(self) -> Layout:
        return Layout(tuple(Ladder(a.name, (np.arange(a.coded.size),)) for a in self.attributes))

    @property
    def schema(self) -> pa.Schema:
        words = [(f"word{i}", pa.int64()) for i in range(self.layout.words)]
        return pa.schema([*words, ("number", pa.int64())])

    def work(self, rows: Rows) -> Iterator[pa.RecordBatch]:
        encoding, layout = Encoding(self.attributes), self.layout
        found: Classes | None = None
        for first, table in rows:
            codes = encoding.block(first, table).codes
            block, _ = grouped(layout, [codes[name] for name in self.columns])
            found = block if found is None else _merged(found, block)
        if encoding.faults:  # refused before, when the source was digested
            raise SourceError("A source must stay as it is while it is read", "values outside its domains")
        if found is not None:
            words = np.ascontiguousarray(found.keys.T).view(np.int64)
            yield pa.record_batch([*map(pa.array, words), pa.array(found.sizes.astype(np.int64))], self.schema)


def _merged(one: Classes, other: Classes) -> Classes:
    keys, counts = np.concatenate([one.keys, other.keys]), np.concatenate([one.counts, other.counts])
    return Classes(one.layout, one.levels, keys, counts).rolled(one.levels)


@dataclass(frozen=True)
class Classify:
    """Rows to the classes they are in: the number of a combination's class, or -1 where it is suppressed.

    `keys` are the combinations, packed by `layout`.
    """

    columns: tuple[str, ...]
    layout: Layout
    keys: NDArray[np.uint64]
    numbers: NDArray[np.int32]
    shown: Attribute  # the classes

    @cached_property
    def _known(self) -> dict[bytes, int]:
        keys = np.ascontiguousarray(self.keys)
        return {key.tobytes(): number for key, number in zip(keys, self.numbers.tolist(), strict=True)}

    def published(self, block: Block) -> tuple[Block, NDArray[np.bool_]]:
        distinct, index = grouped(self.layout, [block.codes[name] for name in self.columns])
        known, keys = self._known, np.ascontiguousarray(distinct.keys)
        numbers = np.array([known.get(key.tobytes(), -1) for key in keys], np.int32)[index]
        codes = np.maximum(numbers, 0).astype(code_dtype(self.shown.coded.size))
        return Block(block.first, block.rows, {self.shown.name: codes}, block.raw), numbers >= 0


@dataclass(frozen=True)
class Combinations:
    """Columns of codes, one line for each combination that occurs, and how often it does."""

    codes: dict[str, Codes]
    counts: np.ndarray[tuple[int], np.dtype[np.int64]]

    @property
    def records(self) -> int:
        return int(self.counts.sum())

    def repeated(self, name: str, size: int) -> Codes:
        """The codes of a column as often as they occur: the table's rows, in an order of their own."""
        return np.repeat(self.codes[name].astype(code_dtype(size)), self.counts)

    def once(self, class_of: NDArray[np.int32]) -> NDArray[np.int32]:
        """Of each combination what `class_of` says of its repeated rows, which must be one and the same."""
        mine: NDArray[np.int32] = class_of[np.cumsum(self.counts) - self.counts]
        if not (np.repeat(mine, self.counts) == class_of).all():
            raise RecipeError("On Spark, rows with the same values must be in the same class", "others")
        return mine

    def summed(self, sizes: Mapping[str, int]) -> tuple[tuple[Codes, ...], NDArray[np.uint32]]:
        """The combinations of some of the columns, and how often each occurs."""
        if self.records > _MOST:
            raise SourceError(f"A table to be generalised must have at most {_MOST} rows", str(self.records))
        layout = Layout(tuple(Ladder(name, (np.arange(size),)) for name, size in sizes.items()))
        base, index = grouped(layout, [self.codes[name] for name in sizes])
        columns = tuple(base.codes(a).astype(code_dtype(size)) for a, size in enumerate(sizes.values()))
        times = np.bincount(index, self.counts, len(base))  # sums of integers below 2^53: exact
        return columns, times.astype(np.uint32)

    def classifier(self, attributes: Sequence[Attribute], class_of: NDArray[np.int32]) -> Classify:
        """Who tells the class of any row from its combination of columns; `class_of` is of each combination."""
        layout = Layout(tuple(Ladder(a.name, (np.arange(a.coded.size),)) for a in attributes))
        base, index = grouped(layout, [self.codes[a.name] for a in attributes])
        numbers = np.empty(len(base), np.int32)
        numbers[index] = class_of
        if not (numbers[index] == class_of).all():
            raise RecipeError("On Spark, rows with the same values must be in the same class", "others")
        labels = tuple(str(i) for i in range(int(class_of.max(initial=0)) + 1))
        shown = Attribute("(class)", Role.INSENSITIVE, Domain(labels))
        return Classify(tuple(a.name for a in attributes), layout, base.keys, numbers, shown)


def combinations(table: SparkTable, attributes: Sequence[Attribute]) -> Combinations:
    """The distinct rows of some columns as coded, in an order that tells nothing of the rows' order."""
    return _combinations(table, tuple(attributes))


def stratify(table: SparkTable, domains: Mapping[str, Domain], names: Sequence[str]) -> int:
    """Give a table a column of strata, under these names; how many there are."""
    attributes = tuple(Attribute(name, Role.INSENSITIVE, domain) for name, domain in domains.items())
    found = _combinations(table, attributes)
    joint = np.zeros(len(found.counts), np.int64)
    for name, domain in domains.items():
        joint = joint * domain.size + found.codes[name]
    table.strata = Strata(tuple(names), domains, np.unique(joint))
    return len(joint)


def _combinations(table: SparkTable, attributes: tuple[Attribute, ...]) -> Combinations:
    step = Group(attributes, table.seal())
    words = step.schema.names[:-1]
    found = table.job(step).grouped(step.schema, words)
    keys = np.stack([found.column(word).to_numpy().view(np.uint64) for word in words], axis=1)
    order = np.lexsort(keys.T)
    counts = found.column("number").to_numpy()[order]
    classes = Classes(step.layout, step.layout.bottom, keys[order], np.zeros((len(keys), 1), np.uint32))
    codes = {a.name: classes.codes(i).astype(np.uint32) for i, a in enumerate(attributes)}
    return Combinations(codes, counts)
