"""The classes of a table, what is published of them, and what that comes to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import UNSET, Meta, UnsetType
from numpy.typing import NDArray

from pramana.bundle import Form
from pramana.errors import UnreachableError
from pramana.generalize import (
    Microaggregation,
    SensitiveCounts,
    class_modes,
    information_loss,
    label_column,
    mdav,
    optimal_univariate,
)
from pramana.methods.generalize.sensitive import derive_codes, sensitive_in
from pramana.methods.generalize.units import UnitsInClasses, lines_of_units
from pramana.methods.microaggregate.numbers import NumberColumn, number_column
from pramana.methods.microaggregate.setting import MicroaggregateDesign
from pramana.methods.quasi import MISSING_LABEL
from pramana.randomness import Codes
from pramana.rows import Column, Rows
from pramana.schema import Attribute, Ordinal, Role, Share, Storey
from pramana.sources import numbers

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
    counts: dict[str, SensitiveCounts] = {}
    for s in sensitive:
        if units is None:
            counts[s.name] = SensitiveCounts.of([class_of.astype(np.uint32)], codes[s.coded], None, s.size)
        else:
            own = replace(units, codes={s.name: codes[s.coded]})
            counts[s.name] = own.counts(units.owners.largest, s)
    inferred = {name: min(_up(count.largest_share, _FINE), 1.0) for name, count in counts.items()}
    return {name: count.single_valued for name, count in counts.items()}, inferred


def _up(share: float, parts: int) -> float:
    return math.ceil(share * parts) / parts
