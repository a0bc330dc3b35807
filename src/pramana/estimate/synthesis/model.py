"""A fitted model of the private table, and records drawn from it: exactly, by key, and as many as wanted.

Probabilities become integers out of 2^62, and every value is drawn from its own place of a keyed stream, so row
i of a draw is a pure function of model, key and i, whatever the batches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pramana.estimate.law import Array
from pramana.estimate.likelihood import fit
from pramana.estimate.study import Study
from pramana.estimate.synthesis.junction import JunctionFit
from pramana.estimate.synthesis.learning import Learner
from pramana.estimate.synthesis.structure import Dependence
from pramana.estimate.synthesis.variables import ModelColumn, ModelVariable, tables_of, variables_of
from pramana.estimate.table import PublishedTable
from pramana.randomness import ONE, Codes, Key, alias_table, code_dtype, draw_from_table, joint_codes, split_codes

MOST_JOINT_CELLS = 1 << 17


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

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for variable in self.variables for name in variable.names)

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
    place = (high * size + ((low * size) >> np.uint64(32))) >> np.uint64(32)
    at = np.searchsorted(running, before[codes] + place.astype(np.int64), side="right")
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


__all__ = ["MOST_JOINT_CELLS", "DrawingStep", "RecordModel", "exact_weights", "fit_records"]
