"""Where Spark works: the session that is asked, and the tables that it opens."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from pramana.errors import SourceError
from pramana.rows.protocol import R
from pramana.rows.spark.frames.catalogue import catalogue_frame
from pramana.rows.spark.frames.copying import copied
from pramana.rows.spark.frames.scans import pieces_of_scan
from pramana.rows.spark.jobs import done_for_each, done_there
from pramana.rows.spark.session import check_frame, session
from pramana.rows.spark.table import SparkTable
from pramana.sources import EvenCut, Source, TaperedCut, pieces_of

T = TypeVar("T")


@dataclass(frozen=True)
class SparkEngine:
    """Where to work: in the active session, or in a new one at `master`, a Spark URL such as local[2].

    `pieces` is about how many tasks a table is cut into (as many as keep all cores busy, unless it is given);
    `options` are settings of a new session.

    >>> pramana.release("recipe.toml", "published", engine=pramana.SparkEngine("local[2]"))  # doctest: +SKIP
    """

    master: str | None = None
    pieces: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    watch: Callable[[int], None] | None = field(default=None, repr=False)  # called by tasks as they read

    @property
    def workers(self) -> int:
        """Of the driver, which only collects."""
        return 1

    def running(self) -> contextlib.AbstractContextManager[Any]:
        """A session for all that is done meanwhile; without, every question starts one of its own."""
        return session(self.master, dict(self.options))

    def each(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """What `work` makes of each item, a task for each; both travel, and so do the results, sealed."""
        with self.running() as spark:
            return done_for_each(spark, work, items)

    def table(self, source: Source) -> contextlib.AbstractContextManager[Any]:
        """A table that Spark's reader finds by its name, as a data frame."""
        return catalogue_frame(self.master, self.options, source)

    @contextlib.contextmanager
    def open(
        self, source: Source, columns: Sequence[str], stated: Mapping[str, Sequence[str]] | None = None
    ) -> Iterator[SparkTable]:
        """A table that lies where the executors can read it, or a Spark DataFrame.

        `stated` are values that texts should have; a frame is read faster where they do.
        """
        if source.kind == "database":
            raise SourceError(
                "A table for the Spark engine must be a path or a Spark DataFrame",
                "a database",
                "Let Spark read it (spark.read.jdbc), and write it to files first.",
            )
        if source.path is None:
            check_frame(source.frame, columns)
            if settled := [name for name in columns if name in source.forms and source.forms[name].to_json()]:
                raise SourceError(
                    "Missing codes and date formats on Spark must be of files",
                    f"a Spark DataFrame, and some for {settled[0]!r}",
                    "Turn them into nulls and dates in the frame.",
                )
        elif not source.path.is_dir():
            pieces_of(source, columns)  # faults show before Spark starts
        names = tuple(columns)
        with session(self.master, dict(self.options), source.frame) as spark:
            cores = spark.sparkContext.defaultParallelism
            cut = EvenCut(self.pieces) if self.pieces else TaperedCut(cores)
            if source.path is None:
                if (pieces := pieces_of_scan(source, names, cut)) is not None:
                    yield SparkTable(spark, names, pieces, None, self.watch)
                    return
                with copied(spark, source, names, stated or {}) as copy:
                    yield SparkTable(spark, names, None, source.frame, self.watch, copy)
                return
            pieces = pieces_of(source, columns, cut, partial(done_there, spark))
            yield SparkTable(spark, names, pieces, None, self.watch)
