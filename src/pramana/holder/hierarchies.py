"""`pramana hierarchy`: build a hierarchy for a column of a table, check one, and show how it looks."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError, SchemaError
from pramana.files.atomic import check_free, regular_text, write_all
from pramana.files.locations import local_path
from pramana.holder.draft_recipe import hierarchy_text
from pramana.holder.inspect import source_for
from pramana.holder.values import ColumnValues
from pramana.schema.hierarchy import (
    TOP,
    Hierarchy,
    hierarchy_by_masking,
    hierarchy_of_dates,
    hierarchy_of_groups,
    hierarchy_of_intervals,
    hierarchy_of_tree,
)
from pramana.schema.kind import Kind
from pramana.schema.typed import near

KINDS = ("intervals", "ordered", "mask", "dates", "tree")
_MUST = {
    "intervals": "every value must be a whole number",
    "ordered": "the order must have every value",
    "mask": f"no value may have the sign {TOP}",
    "dates": "every value must be a date like 2024-03-31",
    "tree": "the tree must have every value",
}
_OPTIONS = {"widths": "intervals", "origin": "intervals", "sizes": "ordered", "order": "ordered"}
_OPTIONS |= {"levels": "mask", "units": "dates", "tree": "tree"}  # the kind that each option goes with
_MOST_SHOWN = 20


@dataclass(frozen=True)
class HierarchyPlan:
    """How a hierarchy is built; each kind takes what is its own."""

    kind: str
    widths: tuple[int, ...] = ()  # intervals
    origin: int = 0
    sizes: tuple[int, ...] = ()  # ordered: neighbours in a group
    order: tuple[str, ...] = ()  # ordered: the values from first to last
    levels: int | None = None  # mask: characters to hide
    units: tuple[str, ...] = ()  # dates
    tree: str | None = None  # a TOML file of nested tables that end in lists

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(
                f"The kind must be one of {', '.join(KINDS)}", repr(self.kind), near(self.kind, KINDS)
            )
        for name, kind in _OPTIONS.items():
            if self.__dict__[name] not in ((), 0, None) and kind != self.kind:
                raise InputError(f"--{name} must go with --kind {kind}", f"--kind {self.kind}")

    def fits(self, value: str) -> bool:
        """Whether a value can be a leaf."""
        if self.kind == "intervals":
            return re.fullmatch(r"[+-]?[0-9]{1,300}", value) is not None
        if self.kind == "dates":
            return Kind.DATE.ends_of(value) is not None
        if self.kind == "ordered":
            return not self.order or value in self.order
        return TOP not in value if self.kind == "mask" else True

    def build(self, values: Sequence[str]) -> Hierarchy:
        """Of values that fit."""
        if self.kind == "intervals":
            return hierarchy_of_intervals(values, self.widths or (5, 10, 20), self.origin)
        if self.kind == "mask":
            return hierarchy_by_masking(sorted(values), levels=self.levels)
        if self.kind == "dates":
            return hierarchy_of_dates(values, self.units) if self.units else hierarchy_of_dates(values)
        order = self.order or Kind.of_labels(values).in_order(values)  # as stated; else of numbers, dates, letters
        return hierarchy_of_groups(list(order), self.sizes or (2, 4))


def build_hierarchy(
    data: Any, column: str, plan: HierarchyPlan, out: str | Path, *, encoding: str | None = None,
    delimiter: str | None = None, show_values: bool = False,
) -> tuple[Path, Hierarchy]:  # fmt: skip
    """Write the hierarchy of a column's values to a new file."""
    target = local_path(out, "A hierarchy", InputError)
    check_free([target])
    read = read_column(data, column, encoding, delimiter)
    values = read.texts()
    if not values:
        raise SchemaError(f"The column {column!r} must have values", "only missing ones")
    grown = _grown(plan.tree) if plan.kind == "tree" else None
    leaves = None if grown is None else set(grown.leaves)
    lost = [not plan.fits(value) if leaves is None else value not in leaves for value in values]
    if any(lost):
        hint = None if show_values else "Run with --show-values to see them on this screen."
        raise SchemaError(f"{column}: {_MUST[plan.kind]}", _located(read, values, lost, show_values), hint)
    hierarchy = plan.build(values) if grown is None else grown
    write_all({target: hierarchy_text(hierarchy)})
    return target, hierarchy


def _located(column: ColumnValues, values: Sequence[str], lost: Sequence[bool], show_values: bool) -> str:
    """How many values do not fit, in how many rows, and which rows come first; the values only where asked for."""
    rows = _rows_of(column, np.array(lost, np.bool_))
    wrong = list(compress(values, lost))
    several = "s" if len(wrong) > 1 else ""
    words = f"{len(wrong)} value{several} that do not, in {len(rows)} rows, the first in row {int(rows[0]) + 1}"
    return words + (f": {', '.join(map(repr, wrong[:_MOST_SHOWN]))}" if show_values else "")


def _rows_of(column: ColumnValues, wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The rows that have one of the wanted values."""
    return np.flatnonzero(np.append(wanted, False)[column.codes])


def read_column(data: Any, column: str, encoding: str | None = None, delimiter: str | None = None) -> ColumnValues:
    table = source_for(data, encoding, delimiter).read([column])
    return ColumnValues.of(column, table.column(column))


@dataclass(frozen=True)
class HierarchyCheck:
    """Whether every value of a column has a leaf: how many have none, and in which rows the first of them are."""

    leaves: int
    levels: int
    values: int | None = None
    lost: int = 0
    rows: int = 0
    first_rows: tuple[int, ...] = ()  # counted from 1, without the header
    shown: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        return self.lost == 0

    def to_json(self) -> dict[str, Any]:
        content: dict[str, Any] = {"valid": self.valid, "leaves": self.leaves, "levels": self.levels}
        if self.values is not None:
            content |= {"values": self.values, "missing_leaves": self.lost, "rows": self.rows}
            content["first_rows"] = list(self.first_rows)
        if self.shown:
            content["shown"] = list(self.shown)
        return content


def check_hierarchy(
    path: str | Path, data: Any = None, column: str | None = None, *, encoding: str | None = None,
    delimiter: str | None = None, show_values: bool = False,
) -> HierarchyCheck:  # fmt: skip
    """Read a hierarchy file, which checks it, and hold a column of a table against its leaves."""
    hierarchy = Hierarchy.read(path)
    if (data is None) != (column is None):
        given = "a column alone" if data is None else "a table alone"
        raise InputError("A table must come with the column to look at, and the other way round", given)
    if data is None or column is None:
        return HierarchyCheck(len(hierarchy.leaves), hierarchy.height)
    read = read_column(data, column, encoding, delimiter)
    texts = read.texts()
    leaves = set(hierarchy.leaves)
    lost = np.array([text not in leaves for text in texts], np.bool_)
    at = _rows_of(read, lost)
    return HierarchyCheck(
        leaves=len(hierarchy.leaves),
        levels=hierarchy.height,
        values=read.distinct,
        lost=int(lost.sum()),
        rows=len(at),
        first_rows=tuple(int(row) + 1 for row in at[:_MOST_SHOWN]),
        shown=tuple(compress(texts, lost))[:_MOST_SHOWN] if show_values else (),
    )


@dataclass(frozen=True)
class HierarchyPreview:
    """How many labels each level has, and some lines of the file."""

    labels: tuple[int, ...]
    lines: tuple[tuple[str, ...], ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "levels": len(self.labels),
            "labels": list(self.labels),
            "lines": [list(line) for line in self.lines],
        }


def preview_hierarchy(path: str | Path, lines: int = 10) -> HierarchyPreview:
    """The sizes of the levels, and lines spread evenly over the file."""
    hierarchy = Hierarchy.read(path)
    rows = list(zip(*hierarchy.levels, strict=True))
    step = max(1, -(-len(rows) // max(lines, 1)))
    return HierarchyPreview(tuple(len(set(level)) for level in hierarchy.levels), tuple(rows[::step]))


def _grown(path: str | None) -> Hierarchy:
    if path is None:
        raise InputError(
            "A tree must be stated in a TOML file of nested tables that end in lists", "none", "Use --tree."
        )
    try:
        content = tomllib.loads(regular_text(path))
    except OSError as error:
        raise InputError(f"The tree {path} must be readable", error.strerror) from None
    except (RecursionError, ValueError) as error:  # no text, or no TOML
        raise InputError(f"The tree {path} must be valid TOML", type(error).__name__) from None
    return hierarchy_of_tree(content)
