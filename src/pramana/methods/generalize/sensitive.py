"""Sensitive columns of a generalised release: published unchanged, and looked at by l and t."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from pramana.bundle import Form
from pramana.errors import RecipeError, SchemaError
from pramana.methods.columns import hierarchy_of
from pramana.methods.quasi import ClassifiedColumn
from pramana.randomness import Codes
from pramana.rows import Columns, Rows, chunks_of
from pramana.schema import Domain
from pramana.sources import domain_from_data, encode, has_missing

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
        if self.parents is not None:
            return self
        return sensitive_in(self.name, rows)

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
            raise SchemaError("The tree of a sensitive column must give every value one parent", "another")
        below = len(set(level))


def sensitive_in(name: str, rows: Rows) -> Sensitive:
    column = rows.values([name])[name]
    return Sensitive(name, domain_from_data(column).labels, has_missing(column))


def sensitive_along_tree(name: str, column: ClassifiedColumn, folder: Path, rows: Rows) -> Sensitive:
    """With the values of its hierarchy, along which t is measured."""
    hierarchy = hierarchy_of(name, column, folder)
    if hierarchy is None:
        raise RecipeError(
            f"The hierarchical distance must have a hierarchy for the sensitive column {name!r}",
            "none",
            'Write hierarchy = "file.csv", or t_distance = "equal".',
        )
    if has_missing(rows.values([name])[name]):
        raise RecipeError(f"The sensitive column {name!r} must have no missing values", "some")
    parents = []
    for level in range(1, hierarchy.height):
        below, above = hierarchy.level_map(level - 1)[0], hierarchy.level_map(level)[0]
        step = np.zeros(int(below.max()) + 1, np.int64)
        step[below] = above
        parents.append(step)
    return Sensitive(name, hierarchy.leaves, False, tuple(parents))


def sensitive_in_order(name: str, rows: Rows) -> Sensitive:
    """With its values in their order, along which t is measured: numbers, dates, or categories that have one."""
    values = rows.values([name])[name]
    if has_missing(values):
        raise RecipeError(
            f"The sensitive column {name!r} must have no missing values",
            "some",
            "They have no place in an order.",
        )
    domain = domain_from_data(values)
    if not domain.kind.has_order:
        raise RecipeError(
            f"The ordered distance must have values with an order in the sensitive column {name!r}",
            "names",
            'Code them as numbers, or write t_distance = "equal".',
        )
    return Sensitive(name, domain.labels, False)


def derive_codes(rows: Rows, sensitive: Sequence[Sensitive]) -> None:
    for s in sensitive:
        rows.derive(s.coded, (s.name,), s.codes_of)
