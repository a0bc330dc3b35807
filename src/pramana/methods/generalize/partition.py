"""Multidimensional classes: Mondrian, strict or relaxed, and the partition of least KL cost.

Mondrian (LeFevre, DeWitt and Ramakrishnan, 2006) cuts the widest attribute as evenly as it can, again and again,
as long as both sides satisfy the conditions. Ordered attributes are cut between two values, or, relaxed, anywhere;
the others along their hierarchy, into the children of the label all rows share.

The KL partition takes, each time, the cut that lowers the KL cost of the distributions in the cells most (paper 4,
Eq. 1), over all attributes, in their own order and from the commonest value down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pramana.counting.classes import ClassFinder, Counts, Ladder, Layout, grouped
from pramana.counting.value_counts import Ints, JointValues
from pramana.errors import RecipeError, SchemaError, UnreachableError
from pramana.methods.cell_table import CLASS_NUMBER
from pramana.methods.columns import Quasi
from pramana.methods.generalize import _partition
from pramana.methods.generalize.conditions import Condition, InUnits
from pramana.methods.generalize.lines import counted_lines, occurring_lines
from pramana.methods.generalize.models import Tree
from pramana.methods.generalize.recoding import Generalised, local_recoding
from pramana.methods.generalize.setting import GeneralizeDesign
from pramana.methods.sensitive import Sensitive, lines_of_units
from pramana.randomness.samplers import Codes, code_dtype
from pramana.rows.protocol import Columns, Rows

CUTS = {"mondrian": 0, "mondrian-relaxed": 1, "kl": 2}  # by algorithm, as the kernel numbers them
MOST_LEAVES = 1 << 16
_MOST_ROWS = 2**32 - 1
COPIES = 8  # of the combinations that are in memory at one time, measured where they are most of it


def partition(
    ladders: Sequence[Ladder],
    columns: Sequence[Codes],
    k: int,
    algorithm: str = "mondrian",
    *,
    ordered: Sequence[bool] | None = None,
    weights: Mapping[str, float] | None = None,
    condition: Condition | None = None,
    sensitive: tuple[Codes, int] | None = None,
    times: Counts | None = None,
) -> Generalised:
    """Classes of at least k rows. `condition` sees class size and counts of the sensitive values, if given.

    `times`: how many rows each line stands for. Strict cuts lie between values, so that counts are all they need:
    the classes are those of the rows, in the same order.
    """
    if algorithm not in CUTS:
        raise RecipeError(f"The algorithm must be one of {', '.join(CUTS)}", repr(algorithm))
    if times is not None and algorithm != "mondrian":
        raise RecipeError("Lines that stand for several rows must be cut between values", repr(algorithm))
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
    holds = None if condition is None else _every_piece_holds(condition, values)
    if holds is not None and not holds(_counts(codes, len(ladders), values, times).tobytes()):
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
        CUTS[algorithm],
        values,
        holds,
        class_of,
    )
    return Generalised(tuple(ladders), tuple(columns), class_of.astype(np.int32), classes, times=times)


def _matrix(columns: Sequence[Codes], rows: int) -> NDArray[np.uint16]:
    codes = np.empty((rows, len(columns)), np.uint16)
    for a, column in enumerate(columns):
        if len(column) != rows:
            raise SchemaError("The columns of a table must be equally long", f"{rows} and {len(column)} rows")
        codes[:, a] = column
    return codes


def _counts(codes: NDArray[np.uint16], attributes: int, values: int, times: Counts | None) -> NDArray[np.uint32]:
    """The whole table as one class."""
    inner = np.bincount(codes[:, attributes], times, values) if values else np.zeros(0)
    rows = len(codes) if times is None else times.sum(dtype=np.int64)
    return np.concatenate([[rows], inner]).astype(np.uint32)


def _every_piece_holds(condition: Condition, values: int) -> Callable[[bytes], bool]:
    """What the kernel asks of the pieces of a cut, which come as the bytes of their counts."""

    def holds(counts: bytes) -> bool:
        return bool(condition.held(np.frombuffer(counts, np.uint32).reshape(-1, values + 1)).all())

    return holds


# ------------------------------------------------------------------ from the rows of a release


def by_combinations(
    rows: Rows,
    design: GeneralizeDesign,
    quasi: Sequence[Quasi],
    looked: Sequence[Sensitive],
    joints: Sequence[JointValues],
) -> Generalised:
    """Classes that rows of the same values share: cut, or taken out, from the combinations that occur."""
    _check_one_column(design, looked)
    occurring = occurring_lines(rows, quasi, looked, joints)
    beside = [own for _, own in occurring.beside]
    rows.check_room(COPIES * sum(len(own.times) * (8 * len(quasi) + 4) for own in (occurring.lines, *beside)))
    if design.algorithm == "local":
        condition = condition_in(design, occurring.totals(joints), joints)
        counted = counted_lines(quasi, occurring, joints)
        generalised = local_recoding(counted, condition, design.measure, design.weights or None)
    else:
        lines = beside[0] if looked else occurring.lines
        generalised = _cut(design, quasi, looked, lines.columns, times=lines.times)
    layout = Layout(tuple(Ladder.flat(q.name, q.attribute.coded.size) for q in quasi))
    base, index = grouped(layout, generalised.columns, generalised.times)
    numbers = np.empty(len(base), np.int64)
    numbers[index] = generalised.class_of
    finder = ClassFinder(layout, layout.bottom, base.keys, numbers)

    names = tuple(q.name for q in quasi)

    def number(columns: Columns) -> Codes:
        return finder.find([columns[name] for name in names])

    rows.derive(CLASS_NUMBER, names, number)
    return generalised


def condition_in(
    design: GeneralizeDesign, totals: list[tuple[Ints, Tree]], joints: Sequence[JointValues]
) -> Condition:
    """What classes must satisfy, counted in rows or, with joint values, in people."""
    condition = design.condition(totals)
    return InUnits(condition, tuple(joints)) if joints else condition


def _cut(
    design: GeneralizeDesign,
    quasi: Sequence[Quasi],
    looked: Sequence[Sensitive],
    columns: Sequence[Codes],
    k: int | None = None,
    times: Counts | None = None,
) -> Generalised:
    """A partition of lines whose last column, where one is looked at, is the sensitive one."""
    totals = [(np.bincount(columns[-1], times, s.size).astype(np.int64), s.parents) for s in looked]
    return partition(
        tuple(q.ladder for q in quasi),
        columns[: len(quasi)],
        design.k if k is None else k,
        design.algorithm,
        ordered=[q.ordered for q in quasi],
        weights=design.weights,
        condition=design.condition(totals) if looked else None,
        sensitive=(columns[-1], looked[0].size) if looked else None,
        times=times,
    )


def _check_one_column(design: GeneralizeDesign, looked: Sequence[Sensitive]) -> None:
    if len(looked) > 1 and design.algorithm != "local":
        raise RecipeError(
            f"The algorithm {design.algorithm} takes l and t of one sensitive column", f"{len(looked)}"
        )


def by_rows(
    rows: Rows, design: GeneralizeDesign, quasi: Sequence[Quasi], looked: Sequence[Sensitive]
) -> Generalised:
    """A partition that may cut between rows of the same values: the codes of all rows are held."""
    _check_one_column(design, looked)
    whole = rows.whole()
    codes = _codes(whole, quasi, looked)
    return _attached(whole, _cut(design, quasi, looked, list(codes.values())))


def by_unit_lines(
    rows: Rows, design: GeneralizeDesign, quasi: Sequence[Quasi], looked: Sequence[Sensitive]
) -> Generalised:
    """A partition of people: a person's rows that agree in all quasi-identifiers are one line.

    Of lines of people with at most m lines each, (k - 1) m + 1 are of k people at least.
    """
    whole = rows.whole()
    codes = _codes(whole, quasi, looked)
    lines = lines_of_units(rows, codes)
    if looked and (len(looked) > 1 or lines.most > 1):
        raise RecipeError(
            f"The algorithm {design.algorithm} takes l and t of one sensitive column, of people whose rows agree",
            f"{len(looked)} columns" if len(looked) > 1 else "people whose rows differ",
            'Use algorithm = "incognito" or "local".',
        )
    at = lines.first_rows
    k = min((design.k - 1) * lines.most + 1, len(at))
    of_lines = _cut(design, quasi, looked, [column[at] for column in codes.values()], k)
    columns = tuple(codes[q.name] for q in quasi)
    return _attached(whole, replace(of_lines, columns=columns, class_of=of_lines.class_of[lines.line_of_row]))


def _codes(whole: Rows, quasi: Sequence[Quasi], looked: Sequence[Sensitive]) -> Mapping[str, Codes]:
    """Those of the quasi-identifying columns, and of the sensitive ones behind them."""
    names = {**{q.name: q.attribute.coded.size for q in quasi}, **{s.coded: s.size for s in looked}}
    codes = whole.codes(names)
    return {name: codes[name] for name in names}


def _attached(whole: Rows, generalised: Generalised) -> Generalised:
    number = np.where(generalised.class_of < 0, generalised.classes, generalised.class_of)
    whole.attach(CLASS_NUMBER, number.astype(code_dtype(generalised.classes + 1)))
    return generalised
