"""Sensitive columns of a generalised release: published unchanged, and looked at by l and t."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from pramana.bundle.form import Form
from pramana.counting.value_counts import Risks, UnitCounts
from pramana.errors import SchemaError
from pramana.io.codes import domain_from_data, encode, has_missing
from pramana.methods.cell_table import CLASS_NUMBER
from pramana.randomness.samplers import Codes
from pramana.rows.owners import Owners
from pramana.rows.protocol import Columns, Rows, chunks_of
from pramana.schema.domain import Domain
from pramana.schema.unit import Storey
from pramana.theory import rounding

Code = Annotated[int, Meta(ge=0, lt=1 << 31)]


class SensitiveForm(Form, frozen=True, kw_only=True):
    """A sensitive column as a certificate states it: what of it is published, and its tree."""

    name: str
    values: list[str]
    missing: bool
    parents: list[list[Code]] | None


@dataclass(frozen=True, eq=False)
class Sensitive:
    """A sensitive column: its values, and their tree where distances follow one."""

    name: str
    values: tuple[str, ...]
    missing: bool
    parents: tuple[NDArray[np.int64], ...] | None = None

    @property
    def coded(self) -> str:
        """The name of the column of its codes, which no column of a source has."""
        return f"\0{self.name}"

    @property
    def size(self) -> int:
        return len(self.values) + self.missing

    def codes_of(self, columns: Columns) -> Codes:
        domain = Domain(self.values, missing=self.missing)
        return encode(chunks_of(columns[self.name]), domain, self.name)

    def in_rows(self, rows: Rows) -> Sensitive:
        """With the values that occur in the rows; a tree has its own."""
        return sensitive_in(self.name, rows) if self.parents is None else self

    def published(self, codes: NDArray[np.integer]) -> Sensitive:
        """With the values that occur among these codes alone: what was suppressed stays unsaid."""
        if self.parents is not None:
            return self
        shown = np.unique(codes)
        values = tuple(self.values[code] for code in shown if code < len(self.values))
        return replace(self, values=values, missing=bool(self.missing and len(self.values) in shown))

    def to_json(self) -> dict[str, Any]:
        parents = None if self.parents is None else [level.tolist() for level in self.parents]
        return {"name": self.name, "values": list(self.values), "missing": self.missing, "parents": parents}

    @classmethod
    def of_form(cls, form: SensitiveForm) -> Sensitive:
        if form.parents is not None:
            _check_tree(form.parents, len(form.values))
        tree = None if form.parents is None else tuple(np.array(level, np.int64) for level in form.parents)
        return cls(form.name, tuple(form.values), form.missing, tree)


def _check_tree(parents: Sequence[Sequence[int]], leaves: int) -> None:
    """Every node has one parent, and every parent a child: no level is larger than the one below it."""
    below = leaves
    for level in parents:
        if len(level) != below or set(level) != set(range(max(level, default=-1) + 1)):
            raise SchemaError(
                "The tree of a sensitive column must give every value one parent",
                f"a level of {len(level)} parents for {below} values",
            )
        below = len(set(level))


def sensitive_in(name: str, rows: Rows) -> Sensitive:
    column = rows.values([name])[name]
    return Sensitive(name, domain_from_data(column).labels, has_missing(column))


def derive_codes(rows: Rows, sensitive: Sequence[Sensitive]) -> None:
    for s in sensitive:
        rows.derive(s.coded, (s.name,), s.codes_of)


def inference_words(inferred: Mapping[str, float], single_valued: Mapping[str, int]) -> Iterator[str]:
    """How surely sensitive values follow from a class, in the order a certificate has them."""
    for name, share in sorted(inferred.items()):
        alone = f"; {single_valued.get(name, 0)} classes have one value only." if share == 1 else "."
        yield (
            f"Anyone who knows a person's quasi-identifiers can infer their {name} with a confidence of up to "
            f"{rounding.shown_up(share, 4)}{alone}"
        )


# Classes of people, or households, that have several rows: what they are counted by, and what they come to.


@dataclass(frozen=True, eq=False)
class UnitLines:
    """Rows of one unit that agree in some columns, as one line."""

    line_of_row: NDArray[np.int64]
    first_rows: NDArray[np.int64]
    most: int  # lines of a unit, at most


def lines_of_units(rows: Rows, codes: Mapping[str, Codes]) -> UnitLines:
    """Of the largest units, by the columns of `codes`."""
    owners = rows.owners
    assert owners is not None, "rows are brought together where their units are asked for"
    units = owners.numbers_of(owners.largest)
    table = np.stack([units, *(column.astype(np.int64) for column in codes.values())], axis=1)
    lines, first, line_of_row = np.unique(table, axis=0, return_index=True, return_inverse=True)
    most = int(np.bincount(lines[:, 0]).max())
    return UnitLines(line_of_row.reshape(-1), first, most)


@dataclass(frozen=True, eq=False)
class UnitsInClasses:
    """Whose the rows of each class are, and what sensitive values they have; suppressed rows are left out.

    `class_of` has the classes as they are shown: those that look the same are one.
    """

    owners: Owners
    kept: NDArray[np.bool_]
    class_of: NDArray[np.int64]
    codes: Mapping[str, Codes]

    def shown(self, alike: NDArray[np.int64]) -> UnitsInClasses:
        """With classes that share a number in `alike` as one."""
        return UnitsInClasses(self.owners, self.kept, alike[self.class_of], self.codes)

    def _units(self, storey: Storey) -> NDArray[np.int64]:
        return self.owners.numbers_of(storey)[self.kept].astype(np.int64)

    def counts(self, storey: Storey, sensitive: Sensitive) -> UnitCounts:
        """How many units of each class have each value."""
        codes = self.codes[sensitive.name][self.kept].astype(np.int64)
        classes = int(self.class_of.max()) + 1
        return UnitCounts.of_units(self.class_of, self._units(storey), codes, classes, sensitive.size)

    def k(self, storey: Storey) -> int:
        """Units in the class that has the fewest."""
        pairs = np.unique(np.stack([self.class_of, self._units(storey)], axis=1), axis=0)
        return int(np.bincount(pairs[:, 0]).min())

    def risks(self, storey: Storey) -> Risks:
        """Of picking a record of the right class that is not of the unit one looks for.

        A unit with most of the rows of a class is found most of the time, however many others are in it.
        """
        table = np.stack([self.class_of, self._units(storey)], axis=1)
        pairs, rows = np.unique(table, axis=0, return_counts=True)
        share = rows / np.bincount(self.class_of)[pairs[:, 0]]
        return Risks(float(share.max()), None, float((share * rows).sum() / rows.sum()))


def units_in_classes(rows: Rows, sensitive: Sequence[Sensitive], classes: int) -> UnitsInClasses | None:
    """Of rows that have the number of their class; None where rows are people."""
    owners = rows.owners
    if owners is None:
        return None
    derive_codes(rows, sensitive)
    codes = rows.whole().codes({CLASS_NUMBER: classes + 1, **{s.coded: s.size for s in sensitive}})
    number = codes[CLASS_NUMBER].astype(np.int64)
    kept = number < classes
    return UnitsInClasses(owners, kept, number[kept], {s.name: codes[s.coded] for s in sensitive})
