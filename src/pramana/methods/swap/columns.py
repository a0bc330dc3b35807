"""What `swap` exchanges: its setting, the values of its columns by number, and the pairs of records."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Meta
from numpy.typing import NDArray

from pramana.bundle.form import Form
from pramana.errors import RecipeError, UnreachableError
from pramana.io.codes import domain_from_data, encode, has_missing
from pramana.io.columns import numbers
from pramana.methods.columns import coded, joint_appearance, number_values
from pramana.methods.perturbed import PerturbedDesign, refuse_domains
from pramana.methods.recipe import Recipe
from pramana.randomness.samplers import Codes
from pramana.rows.protocol import Columns, Rows
from pramana.schema.domain import Domain
from pramana.schema.sections import ColumnSection, Setting
from pramana.schema.typed import Count, Flag, Share

Kind = Literal["rank", "record"]
Rate = Annotated[float, Meta(gt=0, le=1, extra={"must": "a share of the records above 0"})]


class SwapSetting(Setting, frozen=True, kw_only=True, tag="swap"):
    """method = "swap": values are exchanged between records, each column on its own or several together."""

    rate: Annotated[Rate, Meta(description="The share of records that exchange their values, at least.")]
    kind: Annotated[
        Kind, Meta(description='"rank": with a record of near rank, column by column; "record": all at once.')
    ] = "rank"
    range: Annotated[Rate | None, Meta(description="How far apart ranks may be, as a share of the records.")] = (
        None
    )
    similar: Annotated[
        list[str], Meta(extra={"must": "a list of columns in which records that exchange must agree"})
    ] = msgspec.field(default_factory=list)
    below: Annotated[
        Count | None, Meta(description="Records that fewer than so many are like exchange first.")
    ] = None


class SwappedColumn(ColumnSection, frozen=True, kw_only=True):
    """A column of a table with exchanged values."""

    swap: Annotated[Flag, Meta(description="Whether its values are exchanged.")] = False


class SwapDesign(PerturbedDesign, frozen=True, kw_only=True):
    """The same as a certificate states it."""

    kind: Kind
    rate: Rate
    range: Rate | None
    similar: list[str]
    below: Count | None


SwapRecipe = Recipe[SwapSetting, SwappedColumn]
USUAL_RANGE = 0.05


def design_of(recipe: SwapRecipe) -> SwapDesign:
    """Checked with the columns, before any row is read."""
    setting = recipe.release
    columns = [name for name, column in recipe.published.items() if column.swap]
    if not columns:
        raise RecipeError("A recipe must have a column to exchange", "none", "Write swap = true in its section.")
    refuse_domains(recipe)
    if setting.kind == "rank":
        for key in ("similar", "below"):
            if getattr(setting, key):
                raise RecipeError(f'{key} must go with kind = "record"', 'kind = "rank"')
    elif setting.range is not None:
        raise RecipeError('range must go with kind = "rank"', 'kind = "record"')
    for name in setting.similar:
        if name not in recipe.published or name in columns:
            raise RecipeError("similar must name published columns that are not exchanged", repr(name))
    usual = USUAL_RANGE if setting.kind == "rank" else None
    return SwapDesign(
        kind=setting.kind,
        rate=setting.rate,
        range=usual if setting.range is None else setting.range,
        similar=list(setting.similar),
        below=setting.below,
        columns=columns,
    )


# Who exchanges values with whom: by rank, or between records that are alike. Coins decide, under the key.


Ints = NDArray[np.int64]
Words = NDArray[np.uint64]


def pairs_wanted(rate: float, records: int) -> int:
    """Two records to a pair; the share is not missed by half a record."""
    return min(math.ceil(rate * records / 2 - 1e-9), records // 2)


def pairs_by_rank(ranks: NDArray[np.integer], width: float, coins: Sequence[Words]) -> NDArray[np.int64]:
    """Pairs of rows at most `width` of all ranks apart, each row in one at most, in an order that coins decide.

    Rows are put into the order of their ranks, equal ones by coin, and cut into blocks of that width from a point
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


def pairs_of_records(alike: Ints, own: Ints, risky: NDArray[np.bool_], coins: Words, wanted: int) -> Ints:
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
    return np.array(pairs, np.int64).reshape(-1, 2)


def _partner(waiting: list[int], row: int, own: Ints, taken: NDArray[np.bool_]) -> int | None:
    while waiting and taken[waiting[-1]]:
        waiting.pop()
    for position in range(len(waiting) - 1, -1, -1):
        other = waiting[position]
        if not taken[other] and own[other] != own[row]:
            del waiting[position]
            return other
    return None


def exchanged(pairs: Ints, rows: int) -> Ints:
    """For every row the one whose value it shows."""
    source = np.arange(rows)
    source[pairs[:, 0]], source[pairs[:, 1]] = pairs[:, 1], pairs[:, 0]
    return source


# The values of exchanged columns, and what was exchanged.


_PERCENT, _BILLION = 100, 1e9


class SwapMeasures(Form, frozen=True, kw_only=True):
    """How many records take part, at least, and by column how many show another value (up to hundredths)."""

    records: Count
    rate: Share
    moved: dict[str, Annotated[float, Meta(ge=0, le=1)]]


@dataclass(frozen=True, eq=False)
class NumberedColumn:
    """A column's values, each once and of its own type, and by code which of them it is."""

    name: str
    values: pa.Array
    index: Ints
    order: Domain | None  # of its values, where they have one

    @classmethod
    def of(cls, name: str, rows: Rows) -> NumberedColumn:
        """The column with its codes beside the rows."""
        numbering, column = number_values(name, rows), rows.values([name])[name]
        values, empty = numbering.seen().combine_chunks(), numbering.labels.get("")
        index = np.arange(len(numbering.labels))
        if empty is not None:
            index = np.where(index == empty, len(values) - 1, index - (index > empty))
        return cls(name, values, index, None if has_missing(column) else domain_from_data(column))

    def published(self, columns: Columns) -> pa.Array:
        return self.values.take(numbers(self.index[columns[coded(self.name)].astype(np.int64)]))


@dataclass(frozen=True, eq=False)
class SwappedRows:
    """What is published of each exchanged column, and how much was exchanged: at the holder's only."""

    columns: Mapping[str, NumberedColumn]
    codes: Mapping[str, Codes]
    measured: SwapMeasures


def swap_rows(rows: Rows, design: SwapDesign, context: str) -> SwappedRows:
    """Values exchanged under the key; refused where too few records find a partner."""
    columns = {name: NumberedColumn.of(name, rows) for name in (*design.columns, *design.similar)}
    own = rows.whole().codes({coded(name): len(column.index) for name, column in columns.items()})
    codes = {name: own[coded(name)] for name in columns}
    if design.kind == "rank":
        sources = {n: _by_rank(columns[n], codes[n], rows, design, context) for n in design.columns}
    else:
        sources = dict.fromkeys(design.columns, _of_records(codes, rows, design, context))
    shown = {name: codes[name][source] for name, source in sources.items()}
    part = min(float(np.mean(source != np.arange(len(source)))) for source in sources.values())
    moved = {name: math.ceil(float(np.mean(shown[name] != codes[name])) * _PERCENT) / _PERCENT for name in shown}
    measured = SwapMeasures(records=rows.records, rate=math.floor(part * _BILLION) / _BILLION, moved=moved)
    return SwappedRows({n: columns[n] for n in design.columns}, shown, measured)


def _by_rank(column: NumberedColumn, codes: Codes, rows: Rows, design: SwapDesign, context: str) -> Ints:
    if column.order is None or not column.order.kind.has_order:
        raise RecipeError(
            f"Ranks must be of values that have an order, without gaps, in the column {column.name!r}",
            "missing values" if column.order is None else "names",
            'Use kind = "record".',
        )
    ranks = encode(pa.chunked_array([column.values]), column.order, column.name).astype(np.int64)
    coins = [rows.stream("exchange", context, column.name, draw).words(0, len(codes)) for draw in range(3)]
    assert design.range is not None
    pairs = pairs_by_rank(ranks[column.index[codes]], design.range, coins)
    return exchanged(_enough(pairs, design, len(codes)), len(codes))


def _of_records(codes: Mapping[str, Codes], rows: Rows, design: SwapDesign, context: str) -> Ints:
    records = rows.records
    alike, _ = joint_appearance([codes[n] for n in design.similar], records)
    own, _ = joint_appearance([codes[n] for n in design.columns], records)
    both, _ = joint_appearance([alike, own], records)
    size = np.bincount(both)[both]
    risky = size < (design.below or 0)
    coins = rows.stream("exchange", context, "", 0).words(0, records)
    wanted = max(pairs_wanted(design.rate, records), 1)
    return exchanged(_enough(pairs_of_records(alike, own, risky, coins, wanted), design, records), records)


def _enough(pairs: Ints, design: SwapDesign, records: int) -> Ints:
    wanted = pairs_wanted(design.rate, records)
    if len(pairs) < wanted or 2 * wanted < math.floor(design.rate * records):
        raise UnreachableError(
            f"A share of {design.rate:g} of the records must find a partner to exchange with",
            f"{2 * len(pairs)} of {records} records that do",
            "Lower rate, or name fewer columns in similar." if design.kind == "record" else "Lower rate.",
        )
    return pairs[:wanted]
