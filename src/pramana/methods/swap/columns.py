"""Columns whose values are exchanged: their values by number, and the rows that show each after the exchange."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.bundle.certificate import canonical
from pramana.errors import RecipeError, UnreachableError
from pramana.io.codes import Numbering, domain_from_data, encode, has_missing
from pramana.io.columns import numbers
from pramana.io.writing import raw_column
from pramana.methods.protocol import TableMaker
from pramana.methods.swap.setting import SwapDesign
from pramana.randomness.samplers import Codes, code_dtype
from pramana.rows.digest import Column, ContentDigest
from pramana.rows.protocol import Columns, Rows, chunks_of
from pramana.schema.domain import Attribute, Domain

# Who exchanges values with whom: by rank, or between records that are alike. Coins decide, under the key.


Ints = NDArray[np.int64]
Words = NDArray[np.uint64]


def pairs_wanted(rate: float, records: int) -> int:
    """Two records to a pair; the share is not missed by half a record."""
    return min(math.ceil(rate * records / 2 - 1e-9), records // 2)


def pairs_by_rank(ranks: NDArray[np.integer], width: float, coins: Sequence[Words]) -> NDArray[np.int64]:
    """Pairs of rows at most `width` of all ranks apart, each row in one at most, in an order that coins decide.

    Rows are put into the order of their ranks, equal ones by coin, and cut into blocks of that width from a place
    that a coin decides; within a block coins match them. `coins`: three for every row, for these in turn. Moore's
    rank swapping (1996) draws each partner from a window around a row instead: the largest distance is the same.
    """
    rows = len(ranks)
    block = max(2, math.floor(width * rows) + 1)
    ties, matching, choosing = coins
    order = np.lexsort((ties, ranks))
    block_of = (np.arange(rows) + int(choosing[0] % np.uint64(block))) // block
    matched = order[np.lexsort((matching[order], block_of))]
    first = np.searchsorted(block_of, block_of, side="left")
    inner = np.arange(rows) - first
    ends = np.searchsorted(block_of, block_of, side="right") - first
    opens = np.flatnonzero((inner % 2 == 0) & (inner + 1 < ends))
    pairs = np.stack([matched[opens], matched[opens + 1]], axis=1).astype(np.int64)
    return pairs[np.argsort(choosing[pairs[:, 1]], kind="stable")]


def pairs_of_records(
    alike: Ints, own: Ints, risky: NDArray[np.bool_], coins: Words, wanted: int
) -> list[tuple[int, int]]:
    """At most `wanted` pairs of rows with the same `alike` and different `own`; rows at risk are matched first."""
    waiting: dict[int, list[int]] = defaultdict(list)
    order = np.lexsort((coins, ~risky))
    for row in order[::-1].tolist():
        waiting[int(alike[row])].append(row)  # the last of each list comes first
    taken = np.zeros(len(alike), np.bool_)
    pairs: list[tuple[int, int]] = []
    for row in order.tolist():
        if len(pairs) == wanted:
            break
        if taken[row]:
            continue
        partner = _partner(waiting[int(alike[row])], row, own, taken)
        if partner is not None:
            taken[[row, partner]] = True
            pairs.append((row, partner))
    return pairs


def _partner(waiting: list[int], row: int, own: Ints, taken: NDArray[np.bool_]) -> int | None:
    while waiting and taken[waiting[-1]]:
        waiting.pop()
    for place in range(len(waiting) - 1, -1, -1):
        other = waiting[place]
        if not taken[other] and own[other] != own[row]:
            del waiting[place]
            return other
    return None


def exchanged(pairs: Sequence[tuple[int, int]] | NDArray[np.int64], rows: int) -> Ints:
    """For every row the one whose value it shows."""
    source = np.arange(rows)
    for_pairs = np.array(pairs, np.int64).reshape(-1, 2)
    source[for_pairs[:, 0]], source[for_pairs[:, 1]] = for_pairs[:, 1], for_pairs[:, 0]
    return source


_PERCENT = 100


def coded(name: str) -> str:
    """The column of a column's codes, which no column of a source is called."""
    return f"\0{name}"


@dataclass(frozen=True, eq=False)
class NumberedColumn:
    """A column's values, each once and of its own type, and by code which of them it is."""

    name: str
    values: pa.Array
    place: NDArray[np.int64]
    order: Domain | None  # of its values, where they have one

    @property
    def size(self) -> int:
        return len(self.place)


def numbered(name: str, rows: Rows) -> NumberedColumn:
    """The column with its codes beside the rows."""
    values = rows.values([name])[name]
    numbering = Numbering()
    for chunk in values.chunks:
        numbering.number(chunk)

    def codes_of(columns: Columns) -> Codes:
        found = [numbering.number(chunk) for chunk in chunks_of(columns[name]).chunks]
        return np.concatenate(found).astype(code_dtype(len(numbering.labels)))

    rows.derive(coded(name), (name,), codes_of)
    seen = numbering.seen().combine_chunks()
    empty = numbering.labels.get("")
    place = np.arange(len(numbering.labels))
    if empty is not None:
        place = np.where(place == empty, len(seen) - 1, place - (place > empty))
    domain = None if has_missing(values) else domain_from_data(values)
    return NumberedColumn(name, seen, place, domain)


@dataclass(frozen=True, eq=False)
class SwappedRows:
    """What is published of each exchanged column, and how many records show another value than their own."""

    columns: Mapping[str, NumberedColumn]
    codes: Mapping[str, Codes]
    rate: float  # of records that take part, in the column that has the fewest
    moved: Mapping[str, float]  # records with another value, rounded up to hundredths


def swap_rows(rows: Rows, design: SwapDesign, context: str) -> SwappedRows:
    """Values exchanged under the key; refused where too few records find a partner."""
    columns = {name: numbered(name, rows) for name in (*design.columns, *design.similar)}
    whole = rows.whole()
    own = whole.codes({coded(name): column.size for name, column in columns.items()})
    codes = {name: own[coded(name)] for name in columns}
    if design.kind == "rank":
        sources = {n: _by_rank(columns[n], codes[n], rows, design, context) for n in design.columns}
    else:
        sources = dict.fromkeys(design.columns, _of_records(columns, codes, rows, design, context))
    shown = {name: codes[name][source] for name, source in sources.items()}
    part = [float(np.mean(source != np.arange(len(source)))) for source in sources.values()]
    moved = {name: math.ceil(float(np.mean(shown[name] != codes[name])) * _PERCENT) / _PERCENT for name in shown}
    return SwappedRows({n: columns[n] for n in design.columns}, shown, min(part), moved)


def _by_rank(
    column: NumberedColumn, codes: Codes, rows: Rows, design: SwapDesign, context: str
) -> NDArray[np.int64]:
    if column.order is None or not column.order.kind.has_order:
        raise RecipeError(
            f"Ranks must be of values that have an order, without gaps, in the column {column.name!r}",
            "missing values" if column.order is None else "names",
            'Use kind = "record".',
        )
    ranks = encode(pa.chunked_array([column.values]), column.order, column.name).astype(np.int64)
    coins = [rows.stream("exchange", context, column.name, draw).words(0, len(codes)) for draw in range(3)]
    assert design.range is not None
    pairs = pairs_by_rank(ranks[column.place[codes]], design.range, coins)
    return exchanged(_enough(pairs, design, len(codes)), len(codes))


def _of_records(
    columns: Mapping[str, NumberedColumn], codes: Mapping[str, Codes], rows: Rows, design: SwapDesign, context: str
) -> NDArray[np.int64]:
    records = rows.records
    alike = _joint([codes[n] for n in design.similar], records)
    own = _joint([codes[n] for n in design.columns], records)
    size = np.bincount(both := _joint([alike, own], records))[both]
    risky = size < (design.below or 0)
    coins = rows.stream("exchange", context, "", 0).words(0, records)
    wanted = max(pairs_wanted(design.rate, records), 1)
    pairs = np.array(pairs_of_records(alike, own, risky, coins, wanted), np.int64).reshape(-1, 2)
    del columns
    return exchanged(_enough(pairs, design, records), records)


def _enough(pairs: NDArray[np.int64], design: SwapDesign, records: int) -> NDArray[np.int64]:
    wanted = pairs_wanted(design.rate, records)
    if len(pairs) < wanted or 2 * wanted < math.floor(design.rate * records):
        raise UnreachableError(
            f"A share of {design.rate:g} of the records must find a partner to exchange with",
            f"{2 * len(pairs)} of {records} records that do",
            "Lower rate, or name fewer columns in similar." if design.kind == "record" else "Lower rate.",
        )
    return pairs[:wanted]


def _joint(columns: Sequence[NDArray[np.integer]], records: int) -> NDArray[np.int64]:
    found = np.zeros(records, np.int64)
    for column in columns:
        found = np.unique(found * (int(column.max(initial=0)) + 1) + column, return_inverse=True)[1].reshape(-1)
    return found


class SwappedTable(TableMaker):
    """Makes the published columns: exchanged ones from their codes, the others as they are."""

    def __init__(self, attributes: Sequence[Attribute], columns: Mapping[str, NumberedColumn]) -> None:
        self._attributes, self._columns = attributes, columns
        self._names = [a.name for a in attributes]
        self._digest = ContentDigest()

    def table(self, columns: Columns) -> pa.Table:
        made: dict[str, Column] = {}
        for name in self._names:
            if name in self._columns:
                column = self._columns[name]
                made[name] = column.values.take(numbers(column.place[columns[coded(name)].astype(np.int64)]))
            else:
                made[name] = columns[name]
        table = pa.table(made)
        take_content(self._digest, table)
        return table

    def content(self) -> str:
        return self._digest.hexdigest(sorted(self._digest.parts))

    def at(self, row: int) -> SwappedTable:
        del row
        return SwappedTable(self._attributes, self._columns)


def take_content(digest: ContentDigest, table: pa.Table) -> None:
    """What a file says, piece by piece: every value as its text, whatever the file."""
    digest.update({name: raw_column(table.column(name), None) for name in table.schema.names})


def context_of(dataset: str, design: SwapDesign, rows: Rows) -> str:
    """What coins and order are bound to: the same key gives another table, or another design, others."""
    stated = hashlib.sha256(canonical(msgspec.to_builtins(design))).hexdigest()
    return f"{dataset}\nswap\n{stated}\n{rows.commitment()}"
