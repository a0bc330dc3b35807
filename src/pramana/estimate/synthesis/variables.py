"""The variables of a model of a published table, and their tables, counted in one pass over the records.

A variable is one column, or several that were randomised together and can only be read together. A column released
unchanged with more values than a table can tell apart is modelled by groups of neighbouring values; a value within
its group is then drawn as often as it was published.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pramana.estimate.axis import Axis
from pramana.estimate.study import Study
from pramana.estimate.table import PublishedTable, check_memory
from pramana.mechanisms import Exchange, Mechanism, Product, RecordRetention
from pramana.randomness import joint_codes
from pramana.schema import Kind

Ints = NDArray[np.int64]
MOST_GROUPS = 64  # of a column released unchanged
_ORDERED = (Kind.NUMBER, Kind.DATE, Kind.ORDERED)


@dataclass(frozen=True, eq=False)
class ModelColumn:
    """A column in the model: its axis, or groups of its values with how often each was published."""

    axis: Axis
    group_of: Ints | None = None  # by code
    counts: Ints | None = None  # by code

    @property
    def size(self) -> int:
        return self.axis.size if self.group_of is None else int(self.group_of.max()) + 1

    @property
    def modelled(self) -> Axis:
        """The axis of the groups."""
        return self.axis if self.group_of is None else Axis(self.axis.name, tuple(map(str, range(self.size))))

    @classmethod
    def of(cls, axis: Axis, counts: Ints | None, most: int = MOST_GROUPS) -> ModelColumn:
        """`counts`: how often each value was published; None for a randomised column, which is never grouped."""
        if counts is None or axis.size <= most:
            return cls(axis)
        known = axis.size - axis.missing
        if axis.kind in _ORDERED:  # neighbours, in groups that are about equally frequent
            before = np.cumsum(counts[:known]) - counts[:known]
            group = before * (most - 1) // max(int(counts[:known].sum()), 1)
        else:  # the most frequent on their own, all others together
            rank = np.empty(known, np.int64)
            rank[np.argsort(-counts[:known], kind="stable")] = np.arange(known)
            group = np.minimum(rank, most - 2)
        _, dense = np.unique(group, return_inverse=True)
        last = [int(dense.max()) + 1] if axis.missing else []
        return cls(axis, np.concatenate([dense, np.array(last, np.int64)]).astype(np.int64), counts)


@dataclass(frozen=True, eq=False)
class ModelVariable:
    """Columns that are modelled as one."""

    columns: tuple[ModelColumn, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.axis.name for column in self.columns)

    @property
    def size(self) -> int:
        return math.prod(column.size for column in self.columns)


def variables_of(study: Study, names: Sequence[str]) -> tuple[ModelVariable, ...]:
    """The variables of these columns; what was randomised together is one of them."""
    mechanism = study.mechanism
    joined = [g.columns for g in mechanism.groups if len(g.columns) > 1] if isinstance(mechanism, Exchange) else []
    randomised = randomised_names(mechanism)
    raw = [name for name in names if name not in randomised]
    counts = dict(zip(raw, _value_counts(study, raw), strict=True))
    columns = {name: ModelColumn.of(study.axis(name), counts.get(name)) for name in names}
    variables: list[ModelVariable] = []
    for name in names:
        group = next((g for g in joined if name in g), (name,))
        if name == group[0]:
            variables.append(ModelVariable(tuple(columns[n] for n in group)))
    return tuple(variables)


def randomised_names(mechanism: Mechanism) -> frozenset[str]:
    if isinstance(mechanism, Product):
        return frozenset(mechanism.channels)
    if isinstance(mechanism, RecordRetention):
        return frozenset(mechanism.domains)
    return frozenset(mechanism.sizes)


def _value_counts(study: Study, names: Sequence[str]) -> list[Ints]:
    """How often each value of columns released unchanged was published."""
    counts = [np.zeros(study.axis(name).size, np.int64) for name in names]
    if names:
        for codes in pieces_of(study, names):
            for name, count in zip(names, counts, strict=True):
                count += np.bincount(codes[name], minlength=len(count))
    return counts


def pieces_of(study: Study, names: Sequence[str]) -> Iterable[Mapping[str, NDArray[np.unsignedinteger]]]:
    return [study.columns(list(names))] if study.pieces is None else study.pieces(list(names))


def tables_of(study: Study, scopes: Sequence[Sequence[ModelVariable]]) -> list[PublishedTable]:
    """The published tables of some sets of variables, all counted in one pass over the records."""
    if not scopes:
        return []
    columns = [[column for variable in scope for column in variable.columns] for scope in scopes]
    axes = [tuple(column.modelled for column in listed) for listed in columns]
    shapes = [[axis.size for axis in listed] for listed in axes]
    check_memory([sum(map(math.prod, shapes))])
    needed = {column.axis.name: column for listed in columns for column in listed}
    work = partial(_counted, {name: column.group_of for name, column in needed.items()}, axes, shapes)
    parts = None if study.parted is None else study.parted(list(needed), work)
    counts = (
        work(pieces_of(study, list(needed))) if parts is None else [sum(own) for own in zip(*parts, strict=True)]
    )
    return [
        PublishedTable.of_counts(listed, np.asarray(count).reshape(shape), study.mechanism)
        for listed, shape, count in zip(axes, shapes, counts, strict=True)
    ]


def _counted(
    groups: Mapping[str, Ints | None],
    axes: Sequence[Sequence[Axis]],
    shapes: Sequence[Sequence[int]],
    pieces: Iterable[Mapping[str, NDArray[np.unsignedinteger]]],
) -> list[Ints]:
    """How often each combination occurs, of several tables; values of a column may be grouped."""
    counts = [np.zeros(math.prod(shape), np.int64) for shape in shapes]
    for codes in pieces:
        grouped = {name: codes[name] if own is None else own[codes[name]] for name, own in groups.items()}
        for listed, shape, count in zip(axes, shapes, counts, strict=True):
            cells = joint_codes([grouped[axis.name] for axis in listed], shape)
            count += np.bincount(cells, minlength=len(count))
    return counts
