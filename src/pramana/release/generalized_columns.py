"""The columns of a generalised release: quasi-identifiers with their levels, sensitive ones with their values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import RecipeError, SchemaError
from pramana.generalize import Ladder
from pramana.randomness import Codes
from pramana.release.generalized_setting import Setting
from pramana.release.resolve import resolve
from pramana.schema import TOP, Attribute, AttributeRecipe, Domain, Hierarchy
from pramana.sources import Table, domain_from_data, encode, has_missing

MISSING_LABEL = "(missing)"


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
        found: dict[str, list[str]] = {}
        for maps, labels in reversed(list(zip(self.ladder.maps, self.labels, strict=True))):
            for code, label in enumerate(labels):
                found[label] = [self.leaf_labels[leaf] for leaf in np.flatnonzero(maps == code)]
        return found

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "levels": [level.tolist() for level in self.ladder.maps],
            "labels": [list(labels) for labels in self.labels],
            "ordered": self.ordered,
        }

    @classmethod
    def from_json(cls, statement: Mapping[str, Any], attribute: Attribute) -> Quasi:
        ladder = Ladder(attribute.name, tuple(np.array(level, np.int64) for level in statement["levels"]))
        labels = tuple(tuple(str(label) for label in level) for level in statement["labels"])
        if [len(level) for level in labels] != list(ladder.sizes) or ladder.leaves != attribute.coded.size:
            raise SchemaError(f"The levels of {attribute.name} must fit its domain")
        return cls(attribute, ladder, labels, bool(statement["ordered"]))


def check_hierarchy(recipe: AttributeRecipe, algorithm: str) -> None:
    if recipe.hierarchy is None and algorithm == "incognito":
        raise RecipeError(
            f"The quasi-identifying column {recipe.name!r} must have a hierarchy",
            "none",
            'Write hierarchy = "file.csv" (ARX format), or use algorithm = "mondrian", which needs none.',
        )


def quasi_of(recipe: AttributeRecipe, table: Table, algorithm: str) -> Quasi:
    check_hierarchy(recipe, algorithm)
    attribute = resolve(recipe, table)
    leaves = [*attribute.coded.labels, *([MISSING_LABEL] if attribute.coded.missing else [])]
    maps: list[NDArray[np.int64]] = [np.arange(len(leaves))]
    labels = [tuple(leaves)]
    if recipe.hierarchy is not None:
        upper = _upper(Hierarchy.read(recipe.hierarchy), recipe.level, attribute.coded)
        maps += [level for level, _ in upper]
        labels += [names for _, names in upper]
    elif len(leaves) > 1:
        maps.append(np.zeros(len(leaves), np.int64))
        labels.append((TOP,))
    stated = recipe.options.get("ordered")
    if stated is not None and not isinstance(stated, bool):
        raise RecipeError(f"attributes.{recipe.name}.ordered must be true or false", repr(stated))
    ordered = recipe.hierarchy is None if stated is None else stated
    return Quasi(attribute, Ladder(recipe.name, tuple(maps)), tuple(labels), ordered)


def _upper(hierarchy: Hierarchy, level: int, domain: Domain) -> list[tuple[NDArray[np.int64], tuple[str, ...]]]:
    """The levels above the leaves; a missing category keeps a label of its own until the top."""
    codes, _ = hierarchy.level_map(level)
    found = []
    for above in range(level + 1, hierarchy.height):
        upper, names = hierarchy.level_map(above)
        step = np.zeros(int(codes.max()) + 1, np.int64)
        step[codes] = upper
        if domain.missing and len(names) > 1:
            step, names = np.append(step, len(names)), (*names, MISSING_LABEL)
        elif domain.missing:
            step = np.append(step, 0)
        found.append((step, names))
    return found


@dataclass(frozen=True, eq=False)
class Sensitive:
    """A sensitive column: published unchanged; its values, and their tree where distances follow one."""

    name: str
    values: tuple[str, ...]
    missing: bool
    parents: tuple[NDArray[np.int64], ...] | None = None

    def codes_of(self, column: Any) -> Codes:
        return encode(column, Domain(self.values, missing=self.missing), self.name)

    @property
    def size(self) -> int:
        return len(self.values) + self.missing

    def to_json(self) -> dict[str, Any]:
        parents = None if self.parents is None else [level.tolist() for level in self.parents]
        return {"name": self.name, "values": list(self.values), "missing": self.missing, "parents": parents}

    @classmethod
    def from_json(cls, statement: Mapping[str, Any]) -> Sensitive:
        parents = statement["parents"]
        tree = None if parents is None else tuple(np.array(level, np.int64) for level in parents)
        values = tuple(str(v) for v in statement["values"])
        return cls(str(statement["name"]), values, bool(statement["missing"]), tree)


def sensitive_of(recipe: AttributeRecipe, table: Table, setting: Setting) -> Sensitive:
    column: pa.ChunkedArray = table.column(recipe.name)
    missing = has_missing(column)
    if setting.t is None or setting.t_distance == "equal":
        return Sensitive(recipe.name, domain_from_data(column).labels, missing)
    if recipe.hierarchy is None:
        raise RecipeError(
            f"The hierarchical distance must have a hierarchy for the sensitive column {recipe.name!r}",
            "none",
            'Write hierarchy = "file.csv", or t_distance = "equal".',
        )
    if missing:
        raise RecipeError(f"The sensitive column {recipe.name!r} must have no missing values", "some")
    hierarchy = Hierarchy.read(recipe.hierarchy)
    parents = []
    for level in range(1, hierarchy.height):
        below, above = hierarchy.level_map(level - 1)[0], hierarchy.level_map(level)[0]
        step = np.zeros(int(below.max()) + 1, np.int64)
        step[below] = above
        parents.append(step)
    return Sensitive(recipe.name, hierarchy.leaves, False, tuple(parents))
