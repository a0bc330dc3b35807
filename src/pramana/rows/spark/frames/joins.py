"""Data frames that join Parquet files with tables that Spark broadcasts: files tell what comes from them.

Where every join of a frame looks rows up in a table that all executors have, the rows of the other table stay
where they lie and in their order: some are gone, some occur several times. So Spark is asked which row of the
files each row of the frame is, and for what does not come from the files. A number for each row crosses to Python
instead of its texts, and Spark does not even read the columns that it has nothing to do with.

Spark's plan is taken apart for this and put together again. Whether it came out as meant is seen in the plan that
Spark then makes of it; anything else is no such frame, and Spark makes its rows as before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pramana.rows.spark.frames.numbered import quoted
from pramana.rows.spark.frames.scans import Pieces, class_of, is_column, listed, new_name, read_alike, scanned
from pramana.sources import Source

_PLANS = "org.apache.spark.sql.catalyst.plans.logical."
_PROJECT, _FILTER, _JOIN = (_PLANS + name for name in ("Project", "Filter", "Join"))
_RELATION = "org.apache.spark.sql.execution.datasources.LogicalRelation"
_DONE = "org.apache.spark.sql.execution."
_SELECTING, _FILTERING, _SCANNING = (_DONE + name for name in ("ProjectExec", "FilterExec", "FileSourceScanExec"))
_LOOKING_UP = _DONE + "joins.BroadcastHashJoinExec"
_ALIAS = "org.apache.spark.sql.catalyst.expressions.Alias"
_NUMBERING = "org.apache.spark.sql.catalyst.expressions.MonotonicallyIncreasingID"
_MOST_TABLES = 4  # that are tried as the one whose rows stay where they lie


@dataclass(frozen=True)
class FrameLookup:
    """Which rows of some files a frame has, and what it has beside them."""

    computing: Any  # a frame
    computed: tuple[str, ...]
    places: str  # its column with the places of rows as Spark numbers them: the partition, and the row in it
    plain: tuple[str, ...]
    files: Any  # a frame, too
    pieces: tuple[Pieces, ...]


def lookup_of(source: Source, columns: Sequence[str]) -> FrameLookup | None:
    """None where Spark must make the rows."""
    try:
        plan = source.frame._jdf.queryExecution().optimizedPlan()
        if not _has_joins(plan) or not plan.deterministic() or plan.subqueriesAll().nonEmpty():
            return None
        own = source.frame.select(*map(quoted, columns))
        for path in islice(_paths(plan), _MOST_TABLES):
            if (found := _lookup(source, columns, own, plan, path)) is not None:
                return found
    except Exception:  # another Spark has other plans, and a file that is gone is told by who reads the frame
        return None
    return None


def _has_joins(plan: Any) -> bool:
    while class_of(plan) in (_PROJECT, _FILTER):
        plan = plan.child()
    return class_of(plan) == _JOIN


def _paths(plan: Any) -> Iterator[tuple[int, ...]]:
    """The ways down to tables in files: which child to take at every node."""
    kind = class_of(plan)
    if kind == _RELATION:
        yield ()
    elif kind in (_PROJECT, _FILTER, _JOIN):
        for place, child in enumerate(listed(plan.children())):
            yield from ((place, *rest) for rest in _paths(child))


def _lookup(
    source: Source, columns: Sequence[str], own: Any, plan: Any, path: tuple[int, ...]
) -> FrameLookup | None:
    places = new_name("place", source.frame.columns)
    parts = _NumberedPlan(source.frame.sparkSession, places)
    numbered = parts.numbered(plan, path)
    of_files = {one.name(): parts.origins.get(_identity(one)) for one in listed(plan.output())}
    alike = read_alike(source.frame)
    plain = tuple(name for name in columns if of_files[name] == name and name in alike)
    if not plain:
        return None
    computed = tuple(name for name in columns if name not in plain)
    computing = parts.frame(numbered).select(*map(quoted, (places, *computed)))
    steps, asked = (list(_streamed(one._jdf.queryExecution().sparkPlan())) for one in (computing, own))
    if not _looked_up_alike(steps, asked) or not _numbers_rows(steps[-2]):
        return None
    pieces = scanned(steps[-1], source, parts.files, plain)
    return None if pieces is None else FrameLookup(computing, computed, places, plain, parts.files, pieces)


class _NumberedPlan:
    """A plan with the rows of one of its tables numbered, and what becomes of the columns of that table."""

    def __init__(self, spark: Any, places: str) -> None:
        self.spark, self.places = spark, places
        self.files: Any = None  # the table, as a frame
        self.number: Any = None  # the column of numbers
        self.origins: dict[int, str] = {}  # columns of the table, by their identities in the plan

    def frame(self, plan: Any) -> Any:
        from pyspark.sql.classic.dataframe import DataFrame

        classes: Any = self.spark.sparkContext._jvm.org.apache.spark.sql
        return DataFrame(classes.classic.Dataset.ofRows(self.spark._jsparkSession, plan), self.spark)

    def numbered(self, plan: Any, path: tuple[int, ...]) -> Any:
        """The plan again; `path` leads to the table."""
        from pyspark.sql import functions as F  # noqa: N812 - as everyone calls it

        kind = class_of(plan)
        if kind == _RELATION:
            self.files = self.frame(plan)
            self.origins = {_identity(one): one.name() for one in listed(plan.output())}
            made = self.files.withColumn(self.places, F.monotonically_increasing_id())
            table = made._jdf.queryExecution().analyzed()
            self.number = next(one for one in listed(table.output()) if one.name() == self.places)
            return table
        below = self.numbered(plan.children().apply(path[0]), path[1:])
        jvm = self.spark.sparkContext._jvm
        if kind == _PROJECT:
            for one in listed(plan.projectList()):
                if class_of(one) == _ALIAS and is_column(one.child()) and _identity(one.child()) in self.origins:
                    self.origins[_identity(one)] = self.origins[_identity(one.child())]
            chosen = plan.projectList().appended(self.number)
            return jvm.org.apache.spark.sql.catalyst.plans.logical.Project(chosen, below)
        children = jvm.java.util.ArrayList()
        for place, child in enumerate(listed(plan.children())):
            children.add(below if place == path[0] else child)
        return plan.withNewChildren(jvm.scala.jdk.javaapi.CollectionConverters.asScala(children).toSeq())


def _identity(column: Any) -> int:
    return int(column.exprId().id())


def _streamed(plan: Any) -> Iterator[Any]:
    """From the top of Spark's plan down to where the rows come from that are looked up in other tables."""
    while True:
        yield plan
        kind = class_of(plan)
        if kind in (_SELECTING, _FILTERING):
            plan = plan.child()
        elif kind == _LOOKING_UP:
            plan = plan.left() if plan.buildSide().toString() == "BuildRight" else plan.right()
        else:
            return


def _looked_up_alike(steps: Sequence[Any], asked: Sequence[Any]) -> bool:
    """Whether two plans look the same rows up in the same way: another join has another order."""
    one, other = (
        [(str(step.buildSide().toString()), str(step.joinType().toString())) for step in plan[:-1] if _joins(step)]
        for plan in (steps, asked)
    )
    ends = (steps[-1], asked[-1])
    if one != other or any(class_of(end) != _SCANNING for end in ends):
        return False
    return bool(ends[0].relation().location().equals(ends[1].relation().location()))


def _joins(step: Any) -> bool:
    return class_of(step) == _LOOKING_UP


def _numbers_rows(step: Any) -> bool:
    """Whether rows are numbered here, which is right above the scan: no row has gone yet."""
    return class_of(step) == _SELECTING and any(
        class_of(one) == _ALIAS and class_of(one.child()) == _NUMBERING for one in listed(step.projectList())
    )
