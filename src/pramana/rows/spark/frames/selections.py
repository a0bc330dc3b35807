"""Data frames that choose rows of Parquet files and compute some columns: files tell the rest.

The plan of such a frame is a list of columns, a condition, and a scan of files. Spark is asked for no more than
what it alone knows, row by row of the files: whether the row stays, what is computed of it, and columns of kinds
that not everyone reads alike. The other columns are read as files are. Any other plan is none of these, nor is one
with anything that may differ from time to time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pramana.rows.spark.frames.scans import Pieces, class_of, is_column, listed, new_name, read_alike, scanned_by
from pramana.sources import Source

_PROJECT = "org.apache.spark.sql.catalyst.plans.logical.Project"
_FILTER = "org.apache.spark.sql.catalyst.plans.logical.Filter"
_RELATION = "org.apache.spark.sql.execution.datasources.LogicalRelation"


@dataclass(frozen=True)
class FrameSelection:
    """What Spark computes of every row of some files, and where each of its partitions has the other columns."""

    computing: Any  # a frame
    computed: tuple[str, ...]
    kept: str | None  # its column that says whether a row stays; None: all stay
    plain: tuple[str, ...]
    files: Any  # a frame, too
    pieces: tuple[Pieces, ...]


def selection_of(source: Source, columns: Sequence[str]) -> FrameSelection | None:
    """None where Spark must make the rows."""
    try:
        return _selection(source, columns)
    except Exception:  # another Spark has other plans, and a file that is gone is told by who reads the frame
        return None


def _selection(source: Source, columns: Sequence[str]) -> FrameSelection | None:
    from pyspark.sql.classic.column import Column
    from pyspark.sql.classic.dataframe import DataFrame

    plan, chosen, condition = source.frame._jdf.queryExecution().optimizedPlan(), None, None
    if class_of(plan) == _PROJECT:
        chosen, plan = list(listed(plan.projectList())), plan.child()
    if class_of(plan) == _FILTER:
        condition, plan = plan.condition(), plan.child()
    if class_of(plan) != _RELATION:
        return None
    by_name = {one.name(): one for one in (listed(plan.output()) if chosen is None else chosen)}
    alike = read_alike(source.frame)
    plain = tuple(name for name in columns if is_column(by_name[name]) and name in alike)
    others = {name: by_name[name] for name in columns if name not in plain}
    computed = {name: one if is_column(one) else one.child() for name, one in others.items()}
    spark = source.frame.sparkSession
    classes: Any = spark.sparkContext._jvm.org.apache.spark.sql
    asked = [*computed.values(), *([] if condition is None else [condition])]
    if not plain or not asked or not all(_settled(classes, one) for one in asked):
        return None

    def column(expression: Any) -> Any:
        return Column(classes.classic.ExpressionUtils.column(expression))

    files = DataFrame(classes.classic.Dataset.ofRows(spark._jsparkSession, plan), spark)
    kept = None if condition is None else new_name("kept", source.frame.columns)
    stays = None if condition is None else column(condition)
    computing = files.select(*_asked(kept, stays, {name: column(one) for name, one in computed.items()}))
    pieces = scanned_by(source, files, plain, computing)
    return None if pieces is None else FrameSelection(computing, tuple(computed), kept, plain, files, pieces)


def _asked(kept: str | None, stays: Any, computed: Mapping[str, Any]) -> Iterator[Any]:
    """Nothing is computed of a row that does not stay: it may be what the condition guards against."""
    from pyspark.sql import functions as F  # noqa: N812 - as everyone calls it

    if kept is not None:
        yield F.coalesce(stays, F.lit(False)).alias(kept)
    for name, column in computed.items():
        yield (column if kept is None else F.when(stays, column)).alias(name)


def _settled(classes: Any, expression: Any) -> bool:
    """Whether an expression is the same each time, of the row alone."""
    subqueries = classes.catalyst.expressions.SubqueryExpression
    return bool(expression.deterministic()) and not subqueries.hasSubquery(expression)
