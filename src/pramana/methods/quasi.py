"""Quasi-identifiers with their levels, for methods whose rows fall into classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from pramana.bundle import Form
from pramana.errors import RecipeError, SchemaError
from pramana.generalize import Ladder
from pramana.methods.columns import Values, hierarchy_of, resolve
from pramana.schema import TOP, Attribute, ColumnSection, Domain, Flag, Hierarchy, Ordinal

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
        if attribute is None or attribute.raw or len({len(level) for level in form.levels}) != 1:
            raise SchemaError(f"The levels of {form.name} must be those of a column with a domain")
        ladder = Ladder(attribute.name, tuple(np.array(level, np.int64) for level in form.levels))
        labels = tuple(tuple(level) for level in form.labels)
        if [len(level) for level in labels] != list(ladder.sizes) or labels[0] != leaves_of(attribute):
            raise SchemaError(f"The levels of {attribute.name} must fit its domain")
        if ladder.maps[0].tolist() != list(range(ladder.leaves)) or any(
            len(set(level)) < len(level) for level in labels
        ):
            raise SchemaError(
                f"The levels of {attribute.name} must begin with its values, and label each group once"
            )
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
        raise SchemaError("The quasi-identifying columns must be those with a domain, in their order", "others")
    by_name = {a.name: a for a in attributes}
    return tuple(Quasi.of_form(form, by_name) for form in forms)


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


def require_hierarchy(name: str, column: ColumnSection) -> None:
    if column.hierarchy is None:
        raise RecipeError(
            f"The quasi-identifying column {name!r} must have a hierarchy",
            "none",
            'Write hierarchy = "file.csv" (ARX format), or use algorithm = "mondrian", which needs none.',
        )


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
