"""Multidimensional classes: Mondrian, strict or relaxed, and the partition of least KL cost.

Mondrian (LeFevre, DeWitt and Ramakrishnan, 2006) cuts the widest attribute as evenly as it can, again and again,
as long as both sides satisfy the conditions. Ordered attributes are cut between two values, or, relaxed, anywhere;
the others along their hierarchy, into the children of the label all rows share.

The KL partition takes, each time, the cut that lowers the KL cost of the distributions in the cells most (paper 4,
Eq. 1), over all attributes, in their own order and from the commonest value down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pramana.counting.classes import Counts, Ladder
from pramana.errors import RecipeError, SchemaError, UnreachableError
from pramana.methods.generalize import _partition
from pramana.methods.generalize.conditions import Condition
from pramana.randomness.samplers import Codes

MODES = {"strict": 0, "relaxed": 1, "kl": 2}
MOST_LEAVES = 1 << 16
_MOST_ROWS = 2**32 - 1


@dataclass(frozen=True, eq=False)
class Partition:
    """For every row its class, or -1 where the row is suppressed; classes are numbered from 0.

    Where lines stand for rows, for every line; `times` then tells how many.
    """

    class_of: NDArray[np.int32]
    classes: int
    times: Counts | None = None

    @property
    def sizes(self) -> NDArray[np.int64]:
        kept = self.class_of >= 0
        times = None if self.times is None else self.times[kept]
        return np.bincount(self.class_of[kept], times, self.classes).astype(np.int64)

    @property
    def suppressed(self) -> int:
        return int((self.class_of < 0).sum())


def partition(
    ladders: Sequence[Ladder],
    columns: Sequence[Codes],
    k: int,
    mode: str = "strict",
    *,
    ordered: Sequence[bool] | None = None,
    weights: Mapping[str, float] | None = None,
    condition: Condition | None = None,
    sensitive: tuple[Codes, int] | None = None,
    times: Counts | None = None,
) -> Partition:
    """Classes of at least k rows. `condition` sees class size and counts of the sensitive values, if given.

    `times`: how many rows each line stands for. Strict cuts lie between values, so that counts are all they need:
    the classes are those of the rows, in the same order.
    """
    if mode not in MODES:
        raise RecipeError(f"The partition must be one of {', '.join(MODES)}", repr(mode))
    if times is not None and mode != "strict":
        raise RecipeError("Lines that stand for several rows must be cut between values", repr(mode))
    lines = len(columns[0]) if columns else 0
    rows = lines if times is None else int(times.sum(dtype=np.int64))
    if rows > _MOST_ROWS:
        raise UnreachableError(f"A table to be cut must have at most {_MOST_ROWS} rows", str(rows))
    if k < 1 or k > rows:
        raise UnreachableError(f"k must be from 1 to the number of rows, {rows}", str(k))
    for ladder in ladders:
        if ladder.leaves > MOST_LEAVES:
            raise SchemaError(
                f"An attribute to be cut must have at most {MOST_LEAVES} values",
                f"{ladder.leaves} for {ladder.name}",
                "Group its values first, with bins or a higher level of its hierarchy.",
            )
    values = sensitive[1] if sensitive is not None else 0
    codes = _matrix([*columns, sensitive[0]] if sensitive is not None else columns, lines)
    flags = [ordered is None or ordered[a] for a in range(len(ladders))]
    shape = [(ladder.leaves, 0 if flag else ladder.height) for ladder, flag in zip(ladders, flags, strict=True)]
    labels = [m for ladder, flag in zip(ladders, flags, strict=True) if not flag for m in ladder.maps]
    held = None if condition is None else _asked(condition, values)
    if held is not None and not held(_counts(codes, len(ladders), values, times).tobytes()):
        raise UnreachableError(
            "The whole table as one class must satisfy the conditions",
            "a table that does not",
            "Lower l or c, or raise t.",
        )
    class_of = np.empty(lines, np.uint32)
    classes = _partition.partition(
        codes,
        None if times is None else times.astype(np.uint32),  # its own: they move with the lines
        np.array(shape, np.int64),
        np.concatenate([*labels, np.zeros(1)]).astype(np.int32),
        np.array([float((weights or {}).get(ladder.name, 1.0)) for ladder in ladders]),
        k,
        MODES[mode],
        values,
        held,
        class_of,
    )
    return Partition(class_of.astype(np.int32), classes, times)


def _matrix(columns: Sequence[Codes], rows: int) -> NDArray[np.uint16]:
    codes = np.empty((rows, len(columns)), np.uint16)
    for a, column in enumerate(columns):
        if len(column) != rows:
            raise SchemaError("The columns of a table must be equally long")
        codes[:, a] = column
    return codes


def _counts(codes: NDArray[np.uint16], attributes: int, values: int, times: Counts | None) -> NDArray[np.uint32]:
    """The whole table as one class."""
    inner = np.bincount(codes[:, attributes], times, values) if values else np.zeros(0)
    rows = len(codes) if times is None else times.sum(dtype=np.int64)
    return np.concatenate([[rows], inner]).astype(np.uint32)


class _asked:  # noqa: N801 - called by the kernel like a function
    """Whether every piece of a cut holds; pieces come as the bytes of their counts."""

    def __init__(self, condition: Condition, values: int) -> None:
        self.condition, self.columns = condition, values + 1

    def __call__(self, counts: bytes) -> bool:
        table = np.frombuffer(counts, np.uint32).reshape(-1, self.columns)
        return bool(self.condition.held(table).all())
