"""From a recipe's columns to attributes with domains, looking at the data only where the recipe says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Protocol

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Meta
from numpy.typing import NDArray

from pramana.bundle.form import Form
from pramana.counting.classes import Ladder
from pramana.errors import BundleError, RecipeError, SchemaError, SourceError
from pramana.files.locations import named_in
from pramana.files.store_path import StorePath
from pramana.io.codes import Numbering, domain_from_data
from pramana.methods.recipe import Recipe, naming
from pramana.randomness.samplers import Codes, code_dtype
from pramana.rows.protocol import ColumnReading, Columns, Rows, chunks_of
from pramana.schema.domain import Attribute, Domain, Role
from pramana.schema.hierarchy import TOP, Hierarchy
from pramana.schema.kind import Kind, decimal_number
from pramana.schema.sections import ColumnSection, RandomisedColumn, Setting
from pramana.schema.typed import Flag, Ordinal


class Values(Protocol):
    """What `resolve` may ask of a table; `Rows` can answer it."""

    def values(self, names: Sequence[str]) -> dict[str, pa.ChunkedArray]: ...

    def has_missing(self, name: str) -> bool: ...


def is_randomised(name: str, column: RandomisedColumn) -> bool:
    """Quasi-identifying columns are randomised; sensitive and insensitive ones only when the recipe asks."""
    if column.randomise is None:
        return column.role is Role.QUASI_IDENTIFYING
    if not column.randomise and column.role is Role.QUASI_IDENTIFYING:
        raise RecipeError(
            f"The quasi-identifying column {name!r} must be randomised",
            "randomise = false",
            'Give it the role "insensitive" if no intruder can know it.',
        )
    return column.randomise


def reading_of(name: str, column: ColumnSection, folder: Path, coded: bool) -> ColumnReading:
    """How a column is read, before anything of it is known."""
    if not coded:
        return ColumnReading(name)
    if column.from_data:
        return ColumnReading(name, discovered=True)
    domain = resolve(name, column, folder, None).coded
    return ColumnReading(name, domain, open_ended=column.missing_rule == "auto" and not domain.missing)


def randomised_readings(recipe: Recipe[Setting, RandomisedColumn]) -> tuple[ColumnReading, ...]:
    columns = recipe.published.items()
    return tuple(reading_of(name, column, recipe.folder, is_randomised(name, column)) for name, column in columns)


def randomised_attributes(recipe: Recipe[Setting, RandomisedColumn], rows: Values | None) -> tuple[Attribute, ...]:
    return tuple(
        resolve(name, column, recipe.folder, rows) if is_randomised(name, column) else unchanged(name, column)
        for name, column in recipe.published.items()
    )


def sizes_of(attributes: Sequence[Attribute]) -> dict[str, int]:
    """How many values each randomised column has."""
    return {a.name: a.coded.size for a in attributes if not a.raw}


def unchanged(name: str, column: ColumnSection) -> Attribute:
    """A column that is released as it is."""
    stated = [key for key in ("bottom", "top", "round") if msgspec.structs.asdict(column)[key] is not None]
    if isinstance(column, RandomisedColumn) and column.publish != "interval":
        stated.append("publish")
    if stated:
        raise RecipeError(f"{stated[0]} must be of a column that is randomised", f"{name!r}, released unchanged")
    return Attribute(name, column.role, None, Kind(column.stated_kind or Kind.NOMINAL))


def coded(name: str) -> str:
    """The column of a column's codes, under a name that no column of a source has."""
    return f"\0{name}"


def number_values(name: str, rows: Rows) -> Numbering:
    """The values of a column, numbered as they first appear; rows get the column of its codes."""
    numbering = Numbering()
    for chunk in rows.values([name])[name].chunks:
        numbering.number(chunk)

    def codes_of(columns: Columns) -> Codes:
        codes = [numbering.number(chunk) for chunk in chunks_of(columns[name]).chunks]
        return np.concatenate(codes).astype(code_dtype(len(numbering.labels)))

    rows.derive(coded(name), (name,), codes_of)
    return numbering


def hierarchy_of(name: str, column: ColumnSection, folder: Path) -> Hierarchy | None:
    """The hierarchy of a column, read from its file."""
    if column.hierarchy is None:
        return None
    path = named_in(folder, column.hierarchy, f"attributes.{name}.hierarchy")
    with naming(name):
        try:
            if not isinstance(path, StorePath):
                stated = path.stat()
                return _read_once(path, stated.st_mtime_ns, stated.st_size)
        except (OSError, ValueError):
            pass  # reading it says what is wrong
        return Hierarchy.read(path)


@lru_cache(maxsize=32)
def _read_once(path: Path, changed: int, size: int) -> Hierarchy:
    """A release asks for its hierarchies as it opens the source and as it plans: the same file is read once."""
    del changed, size
    return Hierarchy.read(path)


def resolve(
    name: str, column: ColumnSection, folder: Path, rows: Values | None, hierarchy: Hierarchy | None = None
) -> Attribute:
    """The attribute with its domain; `rows` is None where an individual randomises one record.

    `hierarchy`: that of the column, where it was read already.
    """
    domain = _stated_domain(name, column, folder, rows, hierarchy)
    if isinstance(column, RandomisedColumn) and column.publish != "interval":
        with naming(name):
            domain = replace(domain, publish=column.publish)
    if column.stated_kind is not None:
        domain = _of_kind(name, domain, Kind(column.stated_kind))
    if column.missing_rule == "category" and not domain.missing:
        domain = domain.with_missing(from_data=False)
    if column.missing_rule == "auto" and not domain.missing and rows is not None and rows.has_missing(name):
        domain = domain.with_missing()
    if domain.size == 1 and domain.origin != "from-data":
        raise SchemaError(
            f"The domain of {name!r} must have at least two values",
            "one",
            'Drop the column, or give it the role "insensitive": a constant has nothing to hide.',
        )
    return Attribute(name, column.role, domain)


def _of_kind(name: str, domain: Domain, kind: Kind) -> Domain:
    if domain.edges and kind is not domain.kind:
        raise SchemaError(f"The bins of {name!r} must be of the kind {domain.kind.value}", kind.value)
    if kind in (Kind.NUMBER, Kind.DATE) and not domain.edges and not kind.reads(domain.labels):
        others = sum(kind.ends_of(label) is None for label in domain.labels)
        raise SchemaError(f"The values of {name!r} must all be of the kind {kind.value}", f"{others} that are not")
    return replace(domain, kind=kind)


def _stated_domain(
    name: str, column: ColumnSection, folder: Path, rows: Values | None, hierarchy: Hierarchy | None
) -> Domain:
    tree = hierarchy
    if column.values is None and column.binning is None and tree is None:
        tree = hierarchy_of(name, column, folder)
    with naming(name):
        if column.values is not None:
            return Domain.declared(column.values)
        if column.binning is not None:
            return column.binning.domain()
        if tree is not None:
            return _cut(tree, column.level)
    if not column.from_data:
        raise RecipeError(
            f"The randomised column {name!r} must have a domain",
            "none",
            'Write domain = [...], bins = [...] or hierarchy = "file.csv"; domain = "from-data" reads it from the '
            "rows and is flagged.",
        )
    if rows is None:
        raise RecipeError(f"The domain of {name!r} must be declared to randomise a single record", '"from-data"')
    return domain_from_data(rows.values([name])[name])


def _cut(hierarchy: Hierarchy, level: int) -> Domain:
    """The values of a hierarchy at one level; finer values are mapped to them."""
    if level >= hierarchy.height:
        raise SchemaError(f"level must be below the {hierarchy.height} levels of the hierarchy", str(level))
    codes, labels = hierarchy.level_map(level)
    members = {} if level == 0 else {leaf: labels[c] for leaf, c in zip(hierarchy.leaves, codes, strict=True)}
    return Domain(tuple(labels), "hierarchy", members=members)


_JOINED = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 50)  # neighbouring bins that are tried as one


def coarser_domains(name: str, column: ColumnSection, folder: Path, domain: Domain) -> tuple[Domain, ...]:
    """Every coarser domain of a column, finest first: the levels of its hierarchy, or neighbouring bins joined."""
    tree = hierarchy_of(name, column, folder)
    if tree is None and (not domain.edges or domain.calendar is not None or domain.rounded is not None):
        raise RecipeError(
            f"The column {name!r} must have a hierarchy or bins to be coarsened",
            "neither, or periods or rounded numbers",
            'Write hierarchy = "file.csv" or bins = [...].',
        )
    if tree is None:
        wider = (domain.joined(times) for times in _JOINED if 2 * times <= len(domain.labels) + times - 1)
        return tuple(one for one in wider if len(one.labels) > 1)
    domains: list[Domain] = []
    for level in range(column.level + 1, tree.height):
        cut = replace(_cut(tree, level), missing=domain.missing, missing_from_data=domain.missing_from_data)
        if 1 < len(cut.labels) < len((domains or [domain])[-1].labels):
            domains.append(cut)
    return tuple(domains)


def read_from_data(attributes: Sequence[Attribute], data: str = "the data") -> list[str]:
    """What a certificate warns of where its domains tell something of the rows."""
    coded = [a for a in attributes if a.domain is not None]
    warnings = []
    if domains := [a.name for a in coded if a.coded.origin == "from-data"]:
        warnings.append(f"Domains read from {data}, which tells which values occur in it: {', '.join(domains)}.")
    if missing := [a.name for a in coded if a.coded.missing_from_data]:
        warnings.append(
            f"A missing category was added because {data} has missing values there, which tells that it has: "
            f'{", ".join(missing)}. State missing = "category" to settle it beforehand.'
        )
    return warnings


# Quasi-identifiers with their levels, for methods whose rows fall into classes.


MISSING_LABEL = "(missing)"
Code = Annotated[int, Meta(ge=0, lt=1 << 31)]
GivenLevels = Annotated[
    dict[str, Ordinal],
    Meta(extra={"must": "a level for every quasi-identifying column, such as levels = { age = 1, sex = 0 }"}),
]
Weight = Annotated[float, Meta(ge=0, extra={"must": "a number of at least 0"})]


class ClassifiedColumn(ColumnSection, frozen=True, kw_only=True):
    """A column of a method whose rows fall into classes."""

    ordered: Annotated[Flag | None, Meta(description="Whether it is cut in the order of its values.")] = None
    weight: Annotated[Weight | None, Meta(description="How much its loss counts in the search.")] = None


class QuasiForm(Form, frozen=True, kw_only=True):
    """A quasi-identifier as a certificate states it: by level, a code for each leaf and a label for each code."""

    name: str
    levels: Annotated[list[list[Code]], Meta(min_length=1)]
    labels: Annotated[list[list[str]], Meta(min_length=1)]
    ordered: bool


@dataclass(frozen=True, eq=False)
class Quasi:
    """A quasi-identifier: its leaves, its levels, and whether it is cut in the order of its leaves."""

    attribute: Attribute
    ladder: Ladder
    labels: tuple[tuple[str, ...], ...]  # by level and code
    ordered: bool

    @property
    def name(self) -> str:
        return self.attribute.name

    @property
    def leaf_labels(self) -> tuple[str, ...]:
        return self.labels[0]

    def members(self) -> dict[str, list[str]]:
        """For every label of every level the leaves it stands for; a lower level wins where labels repeat."""
        leaves_of: dict[str, list[str]] = {}
        for maps, labels in reversed(list(zip(self.ladder.maps, self.labels, strict=True))):
            for code, label in enumerate(labels):
                leaves_of[label] = [self.leaf_labels[leaf] for leaf in np.flatnonzero(maps == code)]
        return leaves_of

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "levels": [level.tolist() for level in self.ladder.maps],
            "labels": [list(labels) for labels in self.labels],
            "ordered": self.ordered,
        }

    @classmethod
    def of_form(cls, form: QuasiForm, attributes: Mapping[str, Attribute]) -> Quasi:
        attribute = attributes.get(form.name)
        ladder = Ladder(form.name, tuple(np.array(level, np.int64) for level in form.levels))
        labels = tuple(tuple(level) for level in form.labels)
        if (
            attribute is None
            or attribute.raw
            or len({len(level) for level in form.levels}) != 1
            or [len(level) for level in labels] != list(ladder.sizes)
            or labels[0] != leaves_of(attribute)
            or ladder.maps[0].tolist() != list(range(ladder.leaves))
            or any(len(set(level)) < len(level) for level in labels)
        ):
            raise SchemaError(f"The levels of {form.name} must begin with its values, and label each group once")
        return cls(attribute, ladder, labels, form.ordered)


def quasi_of(name: str, column: ClassifiedColumn, folder: Path, rows: Values) -> Quasi:
    """A quasi-identifier as the recipe has it; a column without a hierarchy has its values and the top."""
    hierarchy = hierarchy_of(name, column, folder)
    attribute = resolve(name, column, folder, rows, hierarchy)
    leaves = leaves_of(attribute)
    maps: list[NDArray[np.int64]] = [np.arange(len(leaves))]
    labels = [leaves]
    if hierarchy is not None:
        upper = _upper(hierarchy, column.level, attribute.coded)
        maps += [level for level, _ in upper]
        labels += [names for _, names in upper]
    elif len(leaves) > 1:
        maps.append(np.zeros(len(leaves), np.int64))
        labels.append((TOP,))
    ordered = column.hierarchy is None if column.ordered is None else column.ordered
    return Quasi(attribute, Ladder(name, tuple(maps)), tuple(labels), ordered)


def leaves_of(attribute: Attribute) -> tuple[str, ...]:
    """The values of a column, the missing one last."""
    return (*attribute.coded.labels, *((MISSING_LABEL,) if attribute.coded.missing else ()))


def restored_quasi(forms: Sequence[QuasiForm], attributes: Sequence[Attribute]) -> tuple[Quasi, ...]:
    """Every column with a domain, in the order of the columns."""
    if [form.name for form in forms] != [a.name for a in attributes if not a.raw]:
        raise SchemaError(
            "The quasi-identifying columns must be those with a domain, in their order",
            ", ".join(form.name for form in forms),
        )
    by_name = {a.name: a for a in attributes}
    return tuple(Quasi.of_form(form, by_name) for form in forms)


def check_levels(levels: Sequence[int], quasi: Sequence[Quasi]) -> None:
    """Refuse levels of a certificate that its columns do not have."""
    heights = [q.ladder.height for q in quasi]
    if len(levels) != len(heights) or any(a >= b for a, b in zip(levels, heights, strict=True)):
        raise BundleError(
            f"The levels of a certificate must be levels of its columns, which have {heights}", str(list(levels))
        )


def levels_given(given: Mapping[str, int] | None, heights: Mapping[str, int]) -> tuple[int, ...] | None:
    """`levels`: a level for each quasi-identifying column, so that nothing is searched for."""
    if given is None:
        return None
    if set(given) != set(heights):
        raise RecipeError(
            "levels must give a level for every quasi-identifying column, such as levels = { age = 1, sex = 0 }",
            repr(given)[:80],
        )
    for name, height in heights.items():
        if given[name] >= height:
            raise RecipeError(f"The level of {name!r} must be from 0 to {height - 1}", repr(given[name]))
    return tuple(given[name] for name in heights)


def _upper(hierarchy: Hierarchy, level: int, domain: Domain) -> list[tuple[NDArray[np.int64], tuple[str, ...]]]:
    """The levels above the leaves; a missing category keeps a label of its own until the top."""
    codes, _ = hierarchy.level_map(level)
    steps = []
    for above in range(level + 1, hierarchy.height):
        upper, names = hierarchy.level_map(above)
        step = np.zeros(int(codes.max()) + 1, np.int64)
        step[codes] = upper
        if domain.missing and len(names) > 1:
            step, names = np.append(step, len(names)), (*names, MISSING_LABEL)
        elif domain.missing:
            step = np.append(step, 0)
        steps.append((step, names))
    return steps


# Rows numbered by what they have in common.


def joint_appearance(
    columns: Sequence[NDArray[np.integer]], rows: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`by_appearance` of rows by several columns of codes together."""
    number, first = np.zeros(rows, np.int64), np.zeros(0, np.int64)
    for codes in columns:
        appeared, first = by_appearance(number * (int(codes.max(initial=0)) + 1) + codes)
        number = appeared.astype(np.int64)
    return number, first


def by_appearance(keys: NDArray[Any]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Keys numbered in the order they first appear, and where that is."""
    _, rows, codes = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(rows)
    number = np.empty(len(order), np.uint32)
    number[order] = np.arange(len(order), dtype=np.uint32)
    return number[codes], rows[order].astype(np.int64)


# Columns of numbers, read as the decimals that they are written as; what cannot be read so is refused.
#
# A number of a file of doubles is the shortest decimal that is read as it: 0.1 is one tenth, in Parquet as in CSV.


LARGEST_WHOLE = 2**53  # integers up to here are doubles as well
MOST_PLACES = 15
FARTHEST = 1e140  # sums of squares up to here are doubles
_EXACT = Context(prec=20_000)  # digits: more than a label may have
Decimals = Annotated[int, Meta(ge=-15, le=15, extra={"must": "a whole number from -15 to 15"})]


def stated_decimals(
    own: Mapping[str, int | None], columns: Sequence[str], otherwise: int | None, whose: str
) -> dict[str, int]:
    """Places to round `columns` to: their own, and those of [release] where a column has none."""
    stated = {name: places for name, places in own.items() if places is not None}
    for name in stated:
        if name not in columns:
            raise RecipeError(f"decimals must be of {whose}", repr(name))
    return stated if otherwise is None else {**dict.fromkeys(columns, otherwise), **stated}


@dataclass(frozen=True)
class ShownNumbers:
    """A published column of numbers."""

    name: str

    def check(self, cell: object) -> None:
        number = decimal_number(cell) if isinstance(cell, str) else cell
        if isinstance(number, bool) or not isinstance(number, int | float | Decimal) or not isfinite(number):
            got = "text that is none" if isinstance(cell, str) else f"a cell of the type {type(cell).__name__}"
            raise BundleError(f"Every cell of {self.name!r} must be a number", got)


@dataclass(frozen=True)
class NumberUse:
    """What numbers are wanted for, and what a column of others needs."""

    words: str
    otherwise: str


def number_of(label: str) -> Decimal | None:
    """The one number that a label is. 01067 is a code, and 20-24 an interval."""
    ends = Kind.NUMBER.ends_of(label)
    return None if ends is None or ends[0] != ends[1] else ends[0].normalize(_EXACT)


def refuse_others(name: str, missing: int, others: int, use: NumberUse) -> None:
    """Refuse a column with so many rows that have no value, or something else than a number."""
    if missing:
        raise SourceError(
            f"The column {name!r} must have no missing values to {use.words}",
            f"{missing} {'row' if missing == 1 else 'rows'} without one",
            "Leave these rows out, or fill the values in, before the release.",
        )
    if others:
        raise SourceError(
            f"Every value of the column {name!r} must be a number to {use.words}",
            f"{others} {'row' if others == 1 else 'rows'} with something else",
            f"{use.otherwise}; digits with a leading zero are a code.",
        )


def check_reach(name: str, places: int, largest: float, floating: bool, use: NumberUse) -> None:
    """Refuse numbers too large to be worked with, where those times 10^places are not all integers of 53 bits."""
    if places == 0 and not floating:
        raise SourceError(
            f"The column {name!r} must hold integers from -2^53 to 2^53 to {use.words}",
            "larger ones",
            'Such numbers are mostly identifiers: give the column the role "identifying".',
        )
    if largest > FARTHEST:
        raise SourceError(f"The column {name!r} must hold numbers below 1e140 to {use.words}", "larger ones")
