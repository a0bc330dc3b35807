"""What `microaggregate` publishes: its setting, the classes of a table, what stands for them, and what is lost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Literal

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import UNSET, Meta, UnsetType
from numpy.typing import NDArray

from pramana.bundle.bundle import Bundle
from pramana.bundle.form import Check, Form
from pramana.counting.value_counts import ValueCounts
from pramana.errors import PramanaError, RecipeError, UnreachableError
from pramana.io.columns import numbers
from pramana.methods.cell_table import ShownCells, ShownColumn
from pramana.methods.cells import label_column
from pramana.methods.columns import (
    LARGEST_WHOLE,
    MOST_PLACES,
    Decimals,
    NumberUse,
    ShownNumbers,
    check_reach,
    coded,
    joint_appearance,
    leaves_of,
    number_of,
    number_values,
    refuse_others,
    stated_decimals,
)
from pramana.methods.microaggregate.grouping import (
    ExactColumn,
    Microaggregation,
    Numbers,
    by_row,
    class_medians,
    class_modes,
    information_loss,
    mdav,
    optimal_univariate,
    standardised_loss,
)
from pramana.methods.protocol import Examination, content_checks
from pramana.methods.recipe import Recipe
from pramana.methods.sensitive import UnitsInClasses, derive_codes, lines_of_units, sensitive_in
from pramana.randomness.samplers import Codes
from pramana.rows.digest import Column
from pramana.rows.protocol import Rows
from pramana.schema.domain import Attribute, Role
from pramana.schema.sections import ColumnSection, Setting
from pramana.schema.typed import Ordinal, Share
from pramana.schema.unit import Storey

Algorithm = Literal["mdav", "optimal"]
Aggregate = Literal["mean", "median"]
K = Annotated[int, Meta(ge=2, extra={"must": "a whole number of at least 2"})]


class MicroaggregateSetting(Setting, frozen=True, kw_only=True, tag="microaggregate"):
    """method = "microaggregate": k-anonymity of this table, by means or medians of small classes."""

    k: K
    algorithm: Annotated[Algorithm, Meta(description='"optimal" takes one column of numbers.')] = "mdav"
    aggregate: Annotated[Aggregate, Meta(description="What of a class is published.")] = "mean"
    decimals: Annotated[Decimals | None, Meta(description="Places to round to, where a column has none.")] = None


class AggregatedColumn(ColumnSection, frozen=True, kw_only=True):
    """A column of a microaggregated table."""

    decimals: Annotated[Decimals | None, Meta(description="Places to round its numbers to.")] = None

    @property
    def is_quasi(self) -> bool:
        return self.role is Role.QUASI_IDENTIFYING

    @property
    def has_categories(self) -> bool:
        """Whether it is published by its commonest values: an intruder may know it, and it has a domain."""
        stated = (self.domain, self.binning, self.hierarchy)
        return self.is_quasi and any(part is not None for part in stated)

    @property
    def has_numbers(self) -> bool:
        return self.is_quasi and not self.has_categories


class MicroaggregateDesign(Form, frozen=True, kw_only=True):
    """The same as a certificate states it; `decimals` is of the columns that are rounded."""

    k: K
    algorithm: Algorithm
    aggregate: Aggregate
    decimals: dict[str, Decimals]

    def rounding(self, name: str) -> str:
        """In words."""
        places = self.decimals.get(name)
        if places is None:
            return "not rounded"
        return f"to {places} decimals" if places >= 0 else f"to multiples of {10**-places:,}"


MicroaggregateRecipe = Recipe[MicroaggregateSetting, AggregatedColumn]


def design_of(recipe: MicroaggregateRecipe) -> MicroaggregateDesign:
    """Checked with the columns, before any row is read."""
    setting, columns = recipe.release, recipe.published
    numbers = [name for name, column in columns.items() if column.has_numbers]
    if not numbers:
        raise RecipeError(
            "A recipe must have a quasi-identifying column of numbers, by which rows are put into classes",
            "none",
            "A column of numbers is one without domain, bins and hierarchy; without any, use method generalize.",
        )
    if setting.algorithm == "optimal" and len(numbers) > 1:
        raise RecipeError(
            'algorithm = "optimal" must have exactly one quasi-identifying column of numbers',
            f"{len(numbers)}",
            'Use algorithm = "mdav" for several.',
        )
    own = {name: column.decimals for name, column in columns.items()}
    places = stated_decimals(own, numbers, setting.decimals, "a quasi-identifying column of numbers")
    return MicroaggregateDesign(
        k=setting.k, algorithm=setting.algorithm, aggregate=setting.aggregate, decimals=places
    )


# Columns of numbers, and what is published of their classes.


MICROAGGREGATED = NumberUse("be microaggregated", "A column of categories must have a domain or hierarchy")


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """For every row its number times 10^places: integers, or doubles where no such integers fit into 53 bits."""

    name: str
    values: Numbers
    places: int = 0

    @property
    def numbers(self) -> Numbers:
        """The numbers themselves: integers, or the doubles nearest to them."""
        return self.values if self.places == 0 else np.asarray(self.values / float(10**self.places))

    def published(self, groups: Microaggregation, aggregate: Aggregate, decimals: int | None) -> Numbers:
        """The mean or median of each class, exact until it is rounded to decimals, halves to the even digit.

        Integers where decimals are none, and for medians of integers; the nearest doubles otherwise.
        """
        unit = 10**self.places
        if aggregate == "median":
            exact = [Fraction(number) / unit for number in class_medians(groups, self.values).tolist()]
        else:
            column = ExactColumn.of(self.values)
            sums = zip(groups.sums(column.whole), groups.sizes.tolist(), strict=True)
            exact = [Fraction(total, size * column.unit * unit) for total, size in sums]
        if decimals is not None:
            exact = [Fraction(round(number, decimals)) for number in exact]
        keeps_integers = aggregate == "median" and self.places == 0
        if self.values.dtype.kind == "i" and (keeps_integers if decimals is None else decimals <= 0):
            return np.array([int(number) for number in exact], np.int64)
        return np.array([float(number) for number in exact])


def number_column(name: str, rows: Rows) -> NumberColumn:
    """A column of the source; refused with counts where a row has no number."""
    labels = list(number_values(name, rows).labels)
    codes = rows.whole().codes({coded(name): len(labels)})[coded(name)]
    numbers = [number_of(label) for label in labels]
    times = zip(labels, numbers, np.bincount(codes, minlength=len(labels)).tolist(), strict=True)
    without = [(label, n) for label, number, n in times if number is None]
    missing = sum(n for label, n in without if label == "")
    refuse_others(name, missing, sum(n for _, n in without) - missing, MICROAGGREGATED)
    known = [n for n in numbers if n is not None]
    table, places = _as_table(name, known, pa.types.is_floating(rows.values([name])[name].type))
    return NumberColumn(name, table[codes], places)


def _as_table(name: str, numbers: list[Decimal], floating: bool) -> tuple[Numbers, int]:
    """The numbers of the labels times 10^places, and the places."""
    places = max(0, *(-int(n.as_tuple().exponent) for n in numbers))
    if places <= MOST_PLACES:
        whole = [int(Fraction(n) * 10**places) for n in numbers]
        if max(map(abs, whole)) <= LARGEST_WHOLE:
            return np.array(whole, np.int64), places
    doubles = np.array([float(n) for n in numbers]) + 0.0  # a zero has no sign
    check_reach(name, places, float(np.abs(doubles).max()), floating, MICROAGGREGATED)
    return doubles, 0


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
    modes = {a.name: class_modes(groups, codes[a.name], a.coded.size) for a in categories}
    labels = {a.name: [leaves_of(a)[code] for code in modes[a.name]] for a in categories}
    published = [*aggregates.values(), *map(np.array, labels.values())]
    # classes with the same published cells share a number
    alike, _ = joint_appearance([np.unique(cells, return_inverse=True)[1] for cells in published], groups.classes)
    sizes = np.bincount(alike, groups.sizes).astype(np.int64)
    losses = {c.name: information_loss(groups, c.numbers, aggregates[c.name]) for c in columns}
    units = None  # whose the rows of each class are, where people have several
    if rows.owners is not None:
        units = UnitsInClasses(rows.owners, np.ones(rows.records, np.bool_), alike[groups.class_of], {})
    single, inferred = _inferences(rows, attributes, alike[groups.class_of], units)
    measured = AggregateMeasures(
        records=rows.records,
        classes=len(sizes),
        k=int(sizes.min()) if units is None else units.k(units.owners.largest),
        lost={name: _up(loss.share, _PERCENT) for name, loss in losses.items()},
        total=_up(standardised_loss(list(losses.values()), rows.records), _PERCENT),
        changed={n: _up(float(np.mean(modes[n][groups.class_of] != codes[n])), _PERCENT) for n in modes},
        single_valued=single,
        inferred=inferred,
    )
    if units is not None:
        persons = {} if units.owners.largest == "person" else {"persons": units.k("person")}
        fewest = int(sizes.min())
        measured = msgspec.structs.replace(measured, unit=units.owners.largest, fewest_records=fewest, **persons)
    cells: dict[str, Column] = {name: numbers(values) for name, values in aggregates.items()}
    cells |= {name: label_column(of_classes) for name, of_classes in labels.items()}
    return Aggregated(groups, cells, measured)


def _grouped(
    design: MicroaggregateDesign,
    columns: Sequence[NumberColumn],
    categories: Sequence[Codes],
    coins: NDArray[np.uint64],
) -> Microaggregation:
    """By the numbers. Rows that have the same are taken by category, so that modes do not depend on the order of
    the rows, and then by coins, so that nothing that is published tells of it."""
    order = np.lexsort((coins, *categories[::-1]))
    ordered = [c.values[order] for c in columns]
    groups = optimal_univariate(ordered[0], design.k) if design.algorithm == "optimal" else mdav(ordered, design.k)
    return Microaggregation(by_row(groups.class_of, order), design.k)


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
    return Examination(
        (
            *content_checks(bundle, content, shown.records, stated.records),
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


def _shown(attribute: Attribute) -> ShownColumn | ShownNumbers:
    if attribute.domain is None:
        return ShownNumbers(attribute.name)
    labels = leaves_of(attribute)
    return ShownColumn(attribute.name, "hierarchy", labels, frozenset(labels))
