"""Generalisation hierarchies, read and written as ARX has them: semicolon CSV, no header, leaf first, `*` last.

A hierarchy is a table of labels: one column per leaf, one row per level, level 0 the leaves themselves. Checked
at construction, so that everything that searches or publishes by one may rely on it: every level is as long as
the leaves, leaves are distinct, a label has one parent, no label is its own ancestor, the top is one label.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pramana.errors import SchemaError
from pramana.files.atomic import regular_text
from pramana.files.locations import local_path, located
from pramana.files.store_path import AnyPath, StorePath
from pramana.schema.kind import calendar_day, check_lengths, label_of_period

TOP = "*"
MOST_LEAVES = 1 << 24
_MOST_BYTES = 1 << 32  # of a file in a store


@dataclass(frozen=True)
class Hierarchy:
    """A generalisation hierarchy: for every leaf its label at each level.

    Args:
        levels: `levels[level][leaf]` is the label that stands for the leaf at that level; level 0 is the leaf
            itself.

    Raises:
        SchemaError: A label has two parents, a leaf stands in two lines, or the top is more than one label.

    >>> import pramana
    >>> pramana.Hierarchy((("Rome", "Lyon"), ("Italy", "France"), ("*", "*"))).height
    3
    """

    levels: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if not self.levels or not self.levels[0]:
            raise SchemaError("A hierarchy must have at least one leaf")
        if len(self.leaves) > MOST_LEAVES:
            raise SchemaError(f"A hierarchy must have at most {MOST_LEAVES} leaves", f"{len(self.leaves)}")
        for _, labels in self._maps:
            check_lengths(labels, "a hierarchy")
        for number, level in enumerate(self.levels):
            if len(level) != len(self.leaves):
                raise SchemaError(
                    f"Level {number} of a hierarchy must have a label for each of {len(self.leaves)} leaves",
                    f"{len(level)}",
                )
        _check_distinct(self._maps[0][0])
        for number, ((below, _), (above, _)) in enumerate(pairwise(self._maps), 1):
            _check_one_parent(below, above, number)
        if not _level_by_level(self._maps):
            _check_no_loop(self.levels)
        if len(self._maps[-1][1]) != 1:
            raise SchemaError(
                "The last level of a hierarchy must be one label for every leaf",
                f"{len(self._maps[-1][1])} labels",
                f"Add a last column that holds {TOP} in every line.",
            )

    # ------------------------------------------------------------------ looking

    @property
    def leaves(self) -> tuple[str, ...]:
        return self.levels[0]

    @property
    def height(self) -> int:
        """The number of levels, leaves included."""
        return len(self.levels)

    @cached_property
    def _maps(self) -> tuple[tuple[NDArray[np.int64], tuple[str, ...]], ...]:
        return tuple(_codes_in_order(level) for level in self.levels)

    def level_map(self, level: int) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        """For every leaf the code of its label at `level`, and those labels, in the order the leaves meet them."""
        codes, labels = self._maps[level]
        return codes.copy(), labels

    def members(self, level: int) -> dict[str, tuple[str, ...]]:
        """For every label at `level` the leaves it stands for, in the hierarchy's order."""
        leaves_of: dict[str, list[str]] = {}
        for leaf, label in zip(self.leaves, self.levels[level], strict=True):
            leaves_of.setdefault(label, []).append(leaf)
        return {label: tuple(leaves) for label, leaves in leaves_of.items()}

    # ------------------------------------------------------------------ fitting a column

    def missing(self, values: Iterable[str]) -> tuple[str, ...]:
        """The values that are no leaf, each once, in the order met."""
        leaves = set(self.leaves)
        return tuple(dict.fromkeys(value for value in values if value not in leaves))

    def must_cover(self, column: str, rows_of: Mapping[str, int]) -> None:
        """`rows_of`: value -> number of rows. The error counts what is missing; it never names a value."""
        lost = self.missing(rows_of)
        if lost:
            rows = sum(rows_of[value] for value in lost)
            raise SchemaError(
                f"The hierarchy of column {column} must have a leaf for every value",
                f"{len(lost)} value{'s' * (len(lost) > 1)} in {rows} row{'s' * (rows != 1)} without one",
                "Add the missing leaves to the file; nothing is suppressed silently.",
            )

    def for_values(self, column: str, values: Sequence[str]) -> Hierarchy:
        """The same hierarchy with exactly `values` as its leaves, in that order: leaf i is then code i."""
        self.must_cover(column, dict.fromkeys(values, 1))
        code_of = {leaf: i for i, leaf in enumerate(self.leaves)}
        order = [code_of[value] for value in values]
        return Hierarchy(tuple(tuple(level[i] for i in order) for level in self.levels))

    # ------------------------------------------------------------------ files

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[str]]) -> Hierarchy:
        """One row per leaf, leaf first."""
        lengths = set(map(len, rows))
        if len(lengths) > 1:
            usual = max(lengths, key=lambda n: (sum(len(row) == n for row in rows), n))
            odd = next(i for i, row in enumerate(rows) if len(row) != usual)
            raise SchemaError(
                f"Every line of a hierarchy must have as many labels as the others ({usual})",
                f"{len(rows[odd])} in line {odd + 1}",
                "Repeat the last label before the top where a branch is shorter.",
            )
        return cls(tuple(tuple(map(itemgetter(level), rows)) for level in range(max(lengths, default=0))))

    @classmethod
    def read(cls, path: str | AnyPath) -> Hierarchy:
        try:
            file = located(path, "The hierarchy", SchemaError)
            if isinstance(file, StorePath):
                text = file.read_bytes(_MOST_BYTES).decode("utf-8-sig")
            else:
                text = regular_text(file)
        except UnicodeDecodeError:
            raise SchemaError(f"The hierarchy file {path} must be text in UTF-8") from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "a name that is none"
            raise SchemaError(f"The hierarchy file {path} must be readable", reason) from None
        try:
            rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=";", strict=True) if row]
        except csv.Error as error:
            raise SchemaError(f"The hierarchy file {path} must be semicolon CSV", str(error)) from None
        try:
            return cls.from_rows(rows)
        except SchemaError as error:
            raise SchemaError(f"In the hierarchy file {path}: {error.what}", error.got, error.hint) from None

    def write(self, path: str | Path) -> None:
        path = local_path(path, "The hierarchy", SchemaError)
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=";", lineterminator="\n").writerows(zip(*self.levels, strict=True))
        try:
            path.write_text(text.getvalue(), "utf-8", newline="")
        except OSError as error:
            raise SchemaError(f"The hierarchy file {path} must be writable", error.strerror) from None


def _codes_in_order(labels: tuple[str, ...]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    code = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return np.fromiter(map(code.__getitem__, labels), np.int64, len(labels)), tuple(code)


def _first_with_same(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """For every position the first one that has the same code."""
    first = np.empty(int(codes.max()) + 1, np.int64)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return first[codes]


def _check_distinct(leaves: NDArray[np.int64]) -> None:
    first = _first_with_same(leaves)
    repeated = np.flatnonzero(first != np.arange(len(leaves)))
    if len(repeated):
        raise SchemaError(
            "Every leaf of a hierarchy must stand in one line, under one parent",
            f"the leaf of line {first[repeated[0]] + 1} again in line {repeated[0] + 1}",
            "Keep one of the two lines.",
        )


def _check_one_parent(below: NDArray[np.int64], above: NDArray[np.int64], level: int) -> None:
    first = _first_with_same(below)
    differing = np.flatnonzero(above[first] != above)
    if len(differing):
        raise SchemaError(
            f"A label at level {level - 1} of a hierarchy must have one parent at level {level}",
            f"two parents for one label, in lines {first[differing[0]] + 1} and {differing[0] + 1}",
        )


def _level_by_level(maps: Sequence[tuple[NDArray[np.int64], tuple[str, ...]]]) -> bool:
    """Whether a label that stands at several levels is its own parent from the first of them to the last.

    Then every step to another label leads to one that ends at a higher level, and no ancestry comes back.
    """
    repeated = 0
    for (below, labels), (above, parents) in pairwise(maps):
        shared = set(labels).intersection(parents)
        if shared:
            parent = np.zeros(len(labels), np.int64)
            parent[below] = above
            repeated += sum(parents[parent[code]] == label for code, label in enumerate(labels) if label in shared)
    occurrences = sum(len(labels) for _, labels in maps)
    return occurrences - repeated == len(set().union(*(labels for _, labels in maps)))


def _check_no_loop(levels: tuple[tuple[str, ...], ...]) -> None:
    """Labels that repeat from one level to the next are one node; over that, ancestry must not come back."""
    parents: dict[str, set[str]] = {}
    for below, above in pairwise(levels):
        for label, parent in set(zip(below, above, strict=True)):
            if label != parent:
                parents.setdefault(label, set()).add(parent)
    open_, done = 1, 2
    state: dict[str, int] = {}
    for start in parents:
        stack = [(start, False)]
        while stack:
            label, leaving = stack.pop()
            if leaving:
                state[label] = done
            elif state.get(label) == open_:
                line = 1 + min(level.index(label) for level in levels if label in level)
                raise SchemaError(
                    "No label of a hierarchy may be its own ancestor",
                    f"one that returns, first seen in line {line}",
                )
            elif label not in state:
                state[label] = open_
                stack.append((label, True))
                stack += [(parent, False) for parent in parents.get(label, ()) if state.get(parent) != done]


# Hierarchies that need no file: intervals, groups of ordered values, masked codes, dates, and trees.


Tree: TypeAlias = "Mapping[str, Tree] | Sequence[str]"
_MOST_DIGITS = 300  # what a float can hold
_WHOLE = re.compile(rf"[+-]?[0-9]{{1,{_MOST_DIGITS}}}")
DATE_UNITS = ("month", "quarter", "year", "decade")


def hierarchy_of_intervals(values: Iterable[str | int], widths: Sequence[int], origin: int = 0) -> Hierarchy:
    """Whole numbers in intervals of growing width, labelled `20-24`; every width a multiple of the one before.

    The leaves stand in ascending order, whatever order they come in.
    """
    leaves = [str(value) for value in values]
    _check_all(
        [leaf for leaf in leaves if _WHOLE.fullmatch(leaf) is None],
        f"The values of an interval hierarchy must be whole numbers of at most {_MOST_DIGITS} digits",
    )
    _check_multiples(widths, "widths")
    leaves.sort(key=lambda leaf: (int(leaf), leaf))
    numbers = [int(leaf) for leaf in leaves]
    levels = [leaves]
    for width in widths:
        lows = [origin + (number - origin) // width * width for number in numbers]
        levels.append([f"{low}-{low + width - 1}" if width > 1 else str(low) for low in lows])
    return _with_top(levels)


def hierarchy_of_groups(values: Sequence[str], sizes: Sequence[int]) -> Hierarchy:
    """Ordered values in groups of neighbours, labelled `first..last`; every size a multiple of the one before."""
    _check_multiples(sizes, "sizes")
    levels = [list(values)]
    for size in sizes:
        starts = [i // size * size for i in range(len(values))]
        levels.append([_span(values[i : i + size]) for i in starts])
    return _with_top(levels)


def _span(group: Sequence[str]) -> str:
    return group[0] if len(group) == 1 else f"{group[0]}..{group[-1]}"


def hierarchy_by_masking(values: Sequence[str], mask: str = "*", levels: int | None = None) -> Hierarchy:
    """Codes such as postcodes, one more character masked from the right at each level; then the top."""
    if len(mask) != 1 or any(mask in value for value in values):
        holding = [value for value in values if len(mask) == 1 and mask in value]
        _check_all(holding, "The mask must be one character that no value contains")
        raise SchemaError("The mask must be one character that no value contains", repr(mask))
    longest = max((len(value) for value in values), default=0)
    padded = [value.ljust(longest, mask) for value in values]
    count = longest - 1 if levels is None else levels
    if not 0 <= count < max(longest, 1):
        raise SchemaError(f"The masked levels must be from 0 to {longest - 1}", f"{levels}")
    masked = [[value[: longest - hidden] + mask * hidden for value in padded] for hidden in range(1, count + 1)]
    return _with_top([list(values), *masked])


def hierarchy_of_dates(values: Sequence[str], units: Sequence[str] = DATE_UNITS) -> Hierarchy:
    """Dates written as 2024-03-31, by growing units: month `2024-03`, quarter `2024-Q1`, year, decade `2020s`.

    The leaves stand in the order of the calendar, whatever order they come in.
    """
    unknown = [unit for unit in units if unit not in DATE_UNITS]
    if unknown or sorted(units, key=DATE_UNITS.index) != list(units) or len(set(units)) != len(units):
        raise SchemaError(f"The units of a date hierarchy must be of {', '.join(DATE_UNITS)}, in this order")
    dates = [day for value in sorted(values) if (day := calendar_day(value)) is not None]  # ISO text sorts by day
    _check_all(
        [value for value in values if calendar_day(value) is None],
        "The values of a date hierarchy must be dates like 2024-03-31",
    )
    ordinals = [date.toordinal() for date in dates]
    levels = [[label_of_period(unit, day) for day in ordinals] for unit in units]
    return _with_top([[date.isoformat() for date in dates], *levels])


def hierarchy_of_tree(tree: Tree) -> Hierarchy:
    """Nested mappings that end in lists of leaves, such as {"Europe": ["France", "Italy"], "Asia": [...]}.

    Shorter branches keep their leaf's label on the way up, until the level at which their parents stand.
    """
    paths = list(_paths(tree, ()))
    deepest = max((len(path) for path in paths), default=0)
    rows = [[path[0]] * (deepest - len(path)) + list(path) for path in paths]
    if not rows:
        raise SchemaError("A tree must have at least one leaf")
    return _with_top([list(level) for level in zip(*rows, strict=True)])


def _paths(tree: Tree, above: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    """Every leaf with its ancestors, leaf first."""
    if len(above) > 100:
        raise SchemaError("A tree must be at most 100 levels deep")
    if isinstance(tree, Mapping):
        for label, below in tree.items():
            yield from _paths(below, (str(label), *above))
    elif isinstance(tree, str) or not isinstance(tree, Sequence):
        raise SchemaError("A tree must be nested mappings that end in lists of leaves")
    else:
        yield from ((str(leaf), *above) for leaf in tree)


def _with_top(levels: list[list[str]]) -> Hierarchy:
    if len(levels) == 1 or set(levels[-1]) != {TOP}:
        levels = [*levels, [TOP] * len(levels[0])]
    return Hierarchy(tuple(tuple(level) for level in levels))


def _check_multiples(steps: Sequence[int], name: str) -> None:
    wrong = any(b <= a or b % a for a, b in pairwise(steps))
    if wrong or any(step < 1 for step in steps):
        raise SchemaError(
            f"The {name} must grow, each a multiple of the one before",
            ", ".join(map(str, steps)) or "none",
        )


def _check_all(offending: Sequence[str], must: str) -> None:
    """Refuse values that do not fit: how many there are, and the first of them. They are the caller's own list."""
    if offending:
        shown = ", ".join(map(repr, offending[:3]))
        raise SchemaError(must, f"{len(offending)} others: {shown}{', ...' if len(offending) > 3 else ''}")
