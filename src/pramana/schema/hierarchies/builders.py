"""Hierarchies that need no file: intervals, groups of ordered values, masked codes, dates, and trees."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from pramana.errors import SchemaError
from pramana.schema.binning.calendar import calendar_day, label_of_period
from pramana.schema.hierarchies.hierarchy import TOP, Hierarchy

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
