"""Synthetic records: drawn from a fitted model of the private table, or the published records themselves.

A release with a law is modelled, and records are drawn from the model, exactly, by key, and as many as wanted. One
without has records that are true as far as they go: each is taken equally often, in an order of the key, and a
cell that stands for several values becomes one of them, drawn by the cell's published distribution.

Probabilities become integers out of 2^62, and every value is drawn from its own place of a keyed stream, so row
i of a draw is a pure function of model, key and i, whatever the batches.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.bundle.bundle import Bundle
from pramana.io.codes import decode
from pramana.io.columns import numbers
from pramana.mechanisms.table import Exchange
from pramana.methods.protocol import Plan
from pramana.methods.published_cells import PublishedCells
from pramana.randomness._kernels import alias as draw_from_table
from pramana.randomness.key import Key
from pramana.randomness.samplers import ONE, Codes, alias_table, code_dtype, joint_codes, split_codes
from pramana.randomness.shuffle import shuffled_order
from pramana.recipient.analysis import BundleAxes
from pramana.recipient.junction import Dependence, JunctionFit, Learner
from pramana.recipient.law import Array, PublishedTable, check_memory
from pramana.recipient.likelihood import fit
from pramana.recipient.study import Study
from pramana.schema.domain import Axis
from pramana.schema.kind import Kind

# The variables of a model of a published table, and their tables, counted in one pass over the records.
#
# A variable is one column, or several that were randomised together and can only be read together. A column
# released unchanged with more values than a table can tell apart is modelled by groups of neighbouring
# values; a value within its group is then drawn as often as it was published.


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
    raw = [name for name in names if name not in mechanism.sizes]
    counts = dict(zip(raw, _value_counts(study, raw), strict=True))
    columns = {name: ModelColumn.of(study.axis(name), counts.get(name)) for name in names}
    variables: list[ModelVariable] = []
    for name in names:
        group = next((g for g in joined if name in g), (name,))
        if name == group[0]:
            variables.append(ModelVariable(tuple(columns[n] for n in group)))
    return tuple(variables)


def _value_counts(study: Study, names: Sequence[str]) -> list[Ints]:
    """How often each value of columns released unchanged was published."""
    counts = [np.zeros(study.axis(name).size, np.int64) for name in names]
    if names:
        for codes in study.codes(names):
            for name, count in zip(names, counts, strict=True):
                count += np.bincount(codes[name], minlength=len(count))
    return counts


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
    counts = work(study.codes(list(needed))) if parts is None else [sum(own) for own in zip(*parts, strict=True)]
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


MOST_JOINT_CELLS = 1 << 17
ROWS = 1 << 18  # drawn at a time
_PURPOSE = "synthetic records"


@dataclass(frozen=True, eq=False)
class DrawingStep:
    """One step of drawing a record: a variable given others that were drawn before."""

    variable: int
    given: tuple[int, ...]
    weights: NDArray[np.int64]  # by combination of what is given: integers that sum to ONE

    @cached_property
    def table(self) -> tuple[NDArray[np.uint64], int]:
        return alias_table(self.weights)


@dataclass(frozen=True, eq=False)
class RecordModel:
    """What a bundle tells of the private table as a distribution of records."""

    variables: tuple[ModelVariable, ...]
    steps: tuple[DrawingStep, ...]
    kind: str  # "joint" or "graphical"
    tables: tuple[tuple[str, ...], ...]  # that it is made of
    converged: bool

    def draw(self, key: Key, context: str, first: int, count: int) -> dict[str, Codes]:
        """The codes of records first, first+1, ..., column by column."""
        drawn: dict[int, NDArray[np.uint32]] = {}
        for step in self.steps:
            stream = key.stream("synthesise", context, "\n".join(self.variables[step.variable].names))
            row = np.zeros(count, np.uint32)
            if step.given:
                sizes = [self.variables[v].size for v in step.given]
                row = joint_codes([drawn[v] for v in step.given], sizes).astype(np.uint32)
            out = np.empty(count, np.uint32)
            draw_from_table(stream.words(first, count), row, out, *step.table)
            drawn[step.variable] = out
        columns: dict[str, Codes] = {}
        for number, variable in enumerate(self.variables):
            parts = split_codes(drawn[number], [column.size for column in variable.columns])
            for column, codes in zip(variable.columns, parts, strict=True):
                columns[column.axis.name] = _within_groups(column, codes, key, context, first)
        return columns


def _within_groups(column: ModelColumn, codes: NDArray[np.uint32], key: Key, context: str, first: int) -> Codes:
    """Values of the column; of a group, one of its values as often as it was published."""
    if column.group_of is None or column.counts is None:
        return codes.astype(code_dtype(column.axis.size))
    order = np.argsort(column.group_of, kind="stable")
    running = np.cumsum(column.counts[order])
    ends = np.searchsorted(column.group_of[order], np.arange(column.size), side="right")
    before = np.concatenate([[0], running])[np.searchsorted(column.group_of[order], np.arange(column.size))]
    inside = running[ends - 1] - before
    words = key.stream("synthesise", context, f"\0within {column.axis.name}").words(first, len(codes))
    # floor(word * size / 2^64) in integers: uniform below `size` to a relative 2^-32 or better
    size = inside[codes].astype(np.uint64)
    high, low = words >> np.uint64(32), words & np.uint64(2**32 - 1)
    offset = (high * size + ((low * size) >> np.uint64(32))) >> np.uint64(32)
    at = np.searchsorted(running, before[codes] + offset.astype(np.int64), side="right")
    return np.asarray(order[at].astype(code_dtype(column.axis.size)))


def fit_records(study: Study, names: Sequence[str], *, most_joint_cells: int = MOST_JOINT_CELLS) -> RecordModel:
    """The model of these columns: a junction tree of low-order tables, as the noise lets them be seen.

    Where the joint table fits, and the published one says that the tree does not explain it, it is the
    maximum-likelihood joint table itself.
    """
    variables = variables_of(study, names)
    sizes = [variable.size for variable in variables]

    def tables(scopes: Sequence[tuple[int, ...]]) -> list[PublishedTable]:
        return tables_of(study, [[variables[v] for v in scope] for scope in scopes])

    fitted = Learner(sizes, tables).learn()
    if math.prod(sizes) <= most_joint_cells:
        joint = tables([tuple(range(len(variables)))])[0]
        if not _explains(fitted, joint, sizes):
            return _joint_model(variables, joint)
    return _tree_model(variables, fitted)


def _explains(fitted: JunctionFit, joint: PublishedTable, sizes: Sequence[int]) -> bool:
    """Whether the published table of all variables differs from the model's by no more than chance."""
    shares = fitted.joint(sizes)
    freedom = float((shares > 0).sum()) - 1 - fitted.parameters
    return freedom <= 0 or not Dependence.of(joint, shares, freedom).seen


def _joint_model(variables: tuple[ModelVariable, ...], table: PublishedTable) -> RecordModel:
    """Variables one after the other, each given all before it: the joint law, without one table of all."""
    fitted = fit(table)
    shares = fitted.values.reshape([variable.size for variable in variables])
    steps = []
    for number in range(len(variables)):
        margin = shares.sum(axis=tuple(range(number + 1, shares.ndim)))
        rows = margin.reshape(-1, variables[number].size)
        steps.append(DrawingStep(number, tuple(range(number)), exact_weights(rows)))
    names = tuple(name for variable in variables for name in variable.names)
    return RecordModel(variables, tuple(steps), "joint", (names,), fitted.converged)


def _tree_model(variables: tuple[ModelVariable, ...], fitted: JunctionFit) -> RecordModel:
    steps = []
    for clique, log in zip(fitted.junction.cliques, fitted.conditionals, strict=True):
        rows = np.exp(log).reshape(-1, log.shape[-1])
        steps.append(DrawingStep(clique.child, clique.parents, exact_weights(rows)))
    tables = tuple(tuple(name for v in scope for name in variables[v].names) for scope in fitted.tables)
    return RecordModel(variables, tuple(steps), "graphical", tables, fitted.converged)


def exact_weights(rows: Array) -> NDArray[np.int64]:
    """Every row as integers that sum to ONE; zeros stay zeros. Rows of zeros are never drawn from."""
    totals = rows.sum(axis=1, keepdims=True)
    shares = np.where(totals > 0, rows / np.where(totals > 0, totals, 1.0), 1.0 / rows.shape[1])
    weights = np.floor(shares * float(ONE)).astype(np.int64)
    weights[np.arange(len(rows)), shares.argmax(axis=1)] += ONE - weights.sum(axis=1)
    return weights


# Where the synthetic records of a bundle come from.


_WORDS = {  # by kind of source
    "joint": "Records were drawn from the maximum-likelihood table of all columns.",
    "graphical": "Records were drawn from a graphical model of the tables named here; columns together in none of "
    "them hang together only through others.",
    "cells": "Every published record was taken equally often, with a value drawn for each of its cells.",
    "published": "Every published record was taken equally often; its values are the published ones.",
}


class RecordSource(ABC):
    """Synthetic records of a bundle, as many as wanted, in pieces."""

    @abstractmethod
    def pieces(self, key: Key, records: int) -> Iterator[pa.Table]: ...

    @abstractmethod
    def statement(self) -> dict[str, Any]:
        """What the records were drawn from, for programs and in words."""


class ModelledRecords(RecordSource):
    """Drawn from a model of the private table that was fitted through the law of the release."""

    def __init__(self, axes: BundleAxes, model: RecordModel) -> None:
        self.axes, self.model = axes, model

    def pieces(self, key: Key, records: int) -> Iterator[pa.Table]:
        context = self.axes.bundle.certificate.content
        for first in range(0, records, ROWS):
            codes = self.model.draw(key, context, first, min(ROWS, records - first))
            yield pa.table({name: self.axes.shown(name, codes[name]) for name in self.axes})

    def statement(self) -> dict[str, Any]:
        return {
            "kind": self.model.kind,
            "tables": [list(names) for names in self.model.tables],
            "converged": self.model.converged,
            "words": _WORDS[self.model.kind],
        }


class PublishedRecords(RecordSource):
    """The published records, each equally often, with one value for every cell."""

    def __init__(self, bundle: Bundle, plan: Plan) -> None:
        self.bundle, self.several = bundle, plan.celled
        self.cells = PublishedCells.of_bundle(bundle) if self.several else None
        self.table = self.cells.others if self.cells is not None else pa.Table.from_batches(bundle.batches())

    def pieces(self, key: Key, records: int) -> Iterator[pa.Table]:
        own, context = self.bundle.certificate.records, self.bundle.certificate.content
        for turn, first in enumerate(range(0, records, own)):
            whole = self._one_of_each(key, turn)
            order = shuffled_order(key, f"{_PURPOSE}\n{context}\n{turn}", own)[: records - first]
            for start in range(0, len(order), ROWS):
                yield whole.take(numbers(order[start : start + ROWS].astype(np.int64)))

    def _one_of_each(self, key: Key, turn: int) -> pa.Table:
        drawn: dict[str, Any] = {}
        if self.cells is not None:
            codes = self.cells.codes(key, turn)
            drawn = {a.name: decode(c, a.coded) for a, c in zip(self.several, codes, strict=True)}
        names = [a.name for a in self.bundle.certificate.attributes]
        return pa.table({n: drawn[n] if n in drawn else self.table.column(n) for n in names})

    def statement(self) -> dict[str, Any]:
        kind = "cells" if self.several else "published"
        return {"kind": kind, "tables": [], "converged": True, "words": _WORDS[kind]}
