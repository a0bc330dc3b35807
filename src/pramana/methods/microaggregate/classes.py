"""The classes of a table, what is published of them, and what that comes to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import isfinite
from typing import Annotated, Any

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import UNSET, Meta, UnsetType
from numpy.typing import NDArray

from pramana.bundle.bundle import Bundle
from pramana.bundle.form import Check, Form
from pramana.counting.value_counts import ValueCounts
from pramana.errors import BundleError, PramanaError, UnreachableError
from pramana.io.columns import numbers
from pramana.methods.cell_table import CheckedColumn, ShownCells, ShownColumn
from pramana.methods.cells import label_column
from pramana.methods.columns import MISSING_LABEL
from pramana.methods.microaggregate.grouping import (
    Microaggregation,
    class_modes,
    information_loss,
    mdav,
    optimal_univariate,
)
from pramana.methods.microaggregate.setting import MicroaggregateDesign
from pramana.methods.numbers import NumberColumn, number_column
from pramana.methods.protocol import Examination
from pramana.methods.sensitive import UnitsInClasses, derive_codes, lines_of_units, sensitive_in
from pramana.randomness.samplers import Codes
from pramana.rows.digest import Column
from pramana.rows.protocol import Rows
from pramana.schema.domain import Attribute, Role
from pramana.schema.kind import decimal_number
from pramana.schema.typed import Ordinal, Share
from pramana.schema.unit import Storey

_PERCENT = 100
_FINE = 10**9
Loss = Annotated[float, Meta(ge=0)]


class AggregateMeasures(Form, frozen=True, kw_only=True):
    """Numbers of this table, by column; `total` is of all columns of numbers together.

    Losses are rounded up to hundredths. In full they would tell how far apart the values of a class are where few
    classes have different values, which is more than the published means do.
    """

    records: Annotated[int, Meta(ge=1)]
    classes: Annotated[int, Meta(ge=1)]  # that look different
    k: Annotated[int, Meta(ge=1)]
    lost: dict[str, Loss]  # SSE/SST of a column of numbers
    total: Loss
    changed: dict[str, Share]  # of the records, in a column of categories
    single_valued: dict[str, Ordinal]  # classes that have one value only of a sensitive column
    inferred: dict[str, Share]  # the largest share of one value in a class
    unit: Storey | UnsetType = UNSET  # who is counted, where people have several rows
    fewest_records: Annotated[int, Meta(ge=1)] | UnsetType = UNSET  # of a class, then
    persons: Annotated[int, Meta(ge=1)] | UnsetType = UNSET  # of the smallest class, where households are counted


@dataclass(frozen=True, eq=False)
class Aggregated:
    """A table's classes: at the holder's only. `cells` has what each class publishes of a column."""

    groups: Microaggregation
    cells: Mapping[str, Column]
    measured: AggregateMeasures


def aggregate(
    rows: Rows, design: MicroaggregateDesign, attributes: Sequence[Attribute], context: str
) -> Aggregated:
    """Classes of near rows; refused where there are fewer rows than k."""
    if design.k > (most := rows.records if rows.owners is None else rows.owners.largest_units):
        who = "rows" if rows.owners is None else f"{rows.owners.largest}s"
        raise UnreachableError(f"k must be at most the number of {who}, {most}", str(design.k))
    quasi = [a for a in attributes if a.role is Role.QUASI_IDENTIFYING]
    columns = [number_column(a.name, rows) for a in quasi if a.raw]
    categories = [a for a in quasi if not a.raw]
    codes = rows.whole().codes({a.name: a.coded.size for a in categories})
    coins = rows.stream("ties", context, "", 0).words(0, rows.records)
    if rows.owners is None:
        groups = _grouped(design, columns, list(codes.values()), coins)
    else:
        groups = _grouped_units(rows, design, columns, codes, coins)
    aggregates = {c.name: c.published(groups, design.aggregate, design.decimals.get(c.name)) for c in columns}
    modes = {a.name: class_modes(groups, a.name, codes[a.name], a.coded.size) for a in categories}
    labels = {a.name: _labels(a, modes[a.name]) for a in categories}
    alike = _alike([*aggregates.values(), *map(np.array, labels.values())])
    sizes = np.bincount(alike, groups.sizes).astype(np.int64)
    loss = information_loss(groups, {c.name: c.numbers for c in columns}, aggregates)
    units = _units_in(rows, alike[groups.class_of])
    single, inferred = _inferences(rows, attributes, alike[groups.class_of], units)
    measured = AggregateMeasures(
        records=rows.records,
        classes=len(sizes),
        k=int(sizes.min()) if units is None else units.k(units.owners.largest),
        lost={c.name: _up(c.share, _PERCENT) for c in loss.columns},
        total=_up(loss.share, _PERCENT),
        changed={n: _up(float(np.mean(modes[n][groups.class_of] != codes[n])), _PERCENT) for n in modes},
        single_valued=single,
        inferred=inferred,
        **({} if units is None else _of_units(units, int(sizes.min()))),
    )
    cells: dict[str, Column] = {name: numbers(values) for name, values in aggregates.items()}
    cells |= {name: label_column(of_classes) for name, of_classes in labels.items()}
    return Aggregated(groups, cells, measured)


def _labels(attribute: Attribute, codes: Codes) -> list[str]:
    labels = [*attribute.coded.labels, *([MISSING_LABEL] if attribute.coded.missing else [])]
    return [labels[code] for code in codes]


def _grouped(
    design: MicroaggregateDesign,
    columns: Sequence[NumberColumn],
    categories: Sequence[Codes],
    coins: NDArray[np.uint64],
) -> Microaggregation:
    """By the numbers. Rows that have the same are taken by category, so that modes do not depend on the order of
    the rows, and then by coins, so that nothing that is published tells of it."""
    order = np.lexsort((coins, *categories[::-1]))
    ordered = {c.name: c.values[order] for c in columns}
    if design.algorithm == "optimal":
        ((name, values),) = ordered.items()
        groups = optimal_univariate(name, values, design.k)
    else:
        groups = mdav(ordered, design.k)
    class_of = np.empty_like(groups.class_of)
    class_of[order] = groups.class_of
    return Microaggregation(class_of, design.k)


def _grouped_units(
    rows: Rows,
    design: MicroaggregateDesign,
    columns: Sequence[NumberColumn],
    categories: Mapping[str, Codes],
    coins: NDArray[np.uint64],
) -> Microaggregation:
    """Classes of at least k people: a person's rows that are alike are one line, and stay together.

    Of lines of people with at most m lines each, (k - 1) m + 1 are of k people at least.
    """
    known = {c.name: np.unique(c.values, return_inverse=True)[1].astype(np.uint32) for c in columns}
    lines = lines_of_units(rows, {**known, **categories})
    at = lines.first_rows
    wanted = min((design.k - 1) * lines.most + 1, len(at))
    own = [NumberColumn(c.name, c.values[at], c.places) for c in columns]
    of_lines = _grouped(
        msgspec.structs.replace(design, k=wanted), own, [codes[at] for codes in categories.values()], coins[at]
    )
    return Microaggregation(of_lines.class_of[lines.line_of_row], wanted, uncut=True)


def _units_in(rows: Rows, class_of: NDArray[np.int64]) -> UnitsInClasses | None:
    """Whose the rows of each class are, where people have several."""
    if rows.owners is None:
        return None
    return UnitsInClasses(rows.owners, np.ones(len(class_of), np.bool_), class_of, {})


def _of_units(units: UnitsInClasses, fewest: int) -> dict[str, Any]:
    largest = units.owners.largest
    persons = {} if largest == "person" else {"persons": units.k("person")}
    return {"unit": largest, "fewest_records": fewest, **persons}


def _alike(published: Sequence[NDArray[np.generic]]) -> NDArray[np.int64]:
    """For each class a number that classes with the same published cells share."""
    cells = [np.unique(column, return_inverse=True)[1] for column in published]
    return np.unique(np.stack(cells), axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _inferences(
    rows: Rows, attributes: Sequence[Attribute], class_of: NDArray[np.int64], units: UnitsInClasses | None
) -> tuple[dict[str, int], dict[str, float]]:
    """How surely sensitive values follow from a class."""
    sensitive = [sensitive_in(a.name, rows) for a in attributes if a.role is Role.SENSITIVE]
    derive_codes(rows, sensitive)
    codes = rows.whole().codes({s.coded: s.size for s in sensitive})
    counts: dict[str, ValueCounts] = {}
    for s in sensitive:
        if units is None:
            counts[s.name] = ValueCounts.of(class_of, codes[s.coded], None, s.size)
        else:
            own = replace(units, codes={s.name: codes[s.coded]})
            counts[s.name] = own.counts(units.owners.largest, s)
    inferred = {name: min(_up(count.largest_share, _FINE), 1.0) for name, count in counts.items()}
    return {name: count.single_valued for name, count in counts.items()}, inferred


def _up(share: float, parts: int) -> float:
    return math.ceil(share * parts) / parts


# What `verify` counts again in the published data of a microaggregated table, piece by piece.


@dataclass(frozen=True)
class ShownNumbers:
    """A published column of means or medians."""

    name: str

    def check(self, cell: object) -> None:
        number = decimal_number(cell) if isinstance(cell, str) else cell
        if isinstance(number, bool) or not isinstance(number, int | float | Decimal) or not isfinite(number):
            raise BundleError(f"Every cell of {self.name!r} must be a number", "another")


def examine_aggregates(
    bundle: Bundle, attributes: Sequence[Attribute], quasi: Sequence[Attribute], stated: AggregateMeasures
) -> Examination:
    """k: how many records at least agree in all quasi-identifiers. The losses need the source."""
    shown = ShownCells([_shown(a) for a in quasi], bundle.certificate.output)
    try:
        bundle.check_columns({a.name: pa.string() if a.domain is not None else None for a in attributes})
        for piece in bundle.batches():
            shown.take(piece)
        content, k = shown.content(), int(shown.sizes.min())
    except PramanaError as error:
        return Examination((Check("data", False, str(error)),))
    except (KeyError, ValueError, TypeError, AttributeError):
        return Examination((Check("data", False, "the columns are not those of a microaggregated table"),))
    same = bundle.has_content(content)
    return Examination(
        (
            Check("content", same, "as certified" if same else "other content"),
            Check("records", shown.records == stated.records, f"{shown.records} found"),
            Check("classes counted again", len(shown.sizes) == stated.classes, f"{len(shown.sizes)} differ"),
            _smallest(k, stated),
            Check("information loss", True, "stated, not checked: it needs the source", derived=False),
        )
    )


def _smallest(k: int, stated: AggregateMeasures) -> Check:
    """The records of the smallest class; how many people they are of, only the source can tell."""
    if stated.fewest_records is UNSET:
        return Check("k counted again", k == stated.k, f"{k} records in the smallest class")
    right = k == stated.fewest_records and stated.k <= k
    return Check("records of the smallest class counted again", right, f"{k}; whose they are is stated only")


def _shown(attribute: Attribute) -> CheckedColumn:
    if attribute.domain is None:
        return ShownNumbers(attribute.name)
    labels = (*attribute.coded.labels, *([MISSING_LABEL] if attribute.coded.missing else []))
    return ShownColumn(attribute.name, "hierarchy", labels, frozenset(labels))
