"""Rows on Spark: surveyed, digested and drawn where they lie, collected by the driver in published order."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.counting.classes import CountedCombinations
from pramana.errors import RecipeError, SourceError
from pramana.io.codes import domain_from_data
from pramana.io.pieces import EvenCut, TaperedCut, ordered_columns, pieces_of
from pramana.io.source import Source
from pramana.mechanisms.table import Mechanism, Product
from pramana.randomness.key import Key, Stream
from pramana.randomness.samplers import Codes, available_cores
from pramana.rows.engines import BatchEngine
from pramana.rows.memory import draw_once
from pramana.rows.owners import Owners
from pramana.rows.protocol import (
    NO_UNITS,
    ColumnReading,
    Columns,
    Kept,
    Progress,
    R,
    S,
    SpreadPieces,
    WholeRows,
    Work,
    no_progress,
)
from pramana.rows.spark.blocks import ATTACHED, DerivedColumn
from pramana.rows.spark.frames import catalogue_frame, check_frame, copied
from pramana.rows.spark.jobs import done_for_each, done_there
from pramana.rows.spark.owners import brought_together
from pramana.rows.spark.session import session
from pramana.rows.spark.table import SparkTable
from pramana.rows.spooled import SpooledRows
from pramana.schema.domain import Attribute, Domain, Role
from pramana.schema.unit import Storey, UnitSection

# Where Spark works: the session that is asked, and the tables that it opens.


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
    def open(self, source: Source, columns: Sequence[str], watched: Sequence[str] = ()) -> Iterator[SparkTable]:
        """A table that lies where the executors can read it, or a Spark DataFrame.

        Columns that are `watched` are copied from a DataFrame as well: it is not evaluated again to see them.
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
            if source.path is None:
                with copied(spark, source.frame, tuple(dict.fromkeys([*names, *watched]))) as copy:
                    yield SparkTable(spark, names, None, copy, self.watch)
                return
            cores = spark.sparkContext.defaultParallelism
            cut = EvenCut(self.pieces) if self.pieces else TaperedCut(cores)
            pieces = pieces_of(source, columns, cut, partial(done_there, spark))
            yield SparkTable(spark, names, pieces, None, self.watch)


class SparkRows:
    """A table in runs of rows on executors, under a key that stays with the driver."""

    def __init__(
        self,
        table: SparkTable,
        key: Key,
        known: Mapping[str, pa.ChunkedArray],
        missing: frozenset[str],
        progress: Progress,
        show: bool,
        owners: Owners | None = None,
    ) -> None:
        self._table, self._key, self._known, self._missing = table, key, dict(known), missing
        self._progress, self._show, self._owners = progress, show, owners
        self._others: list[SpooledRows] = []

    @classmethod
    @contextlib.contextmanager
    def open(
        cls,
        source: Source,
        readings: Sequence[ColumnReading],
        key: Key,
        engine: SparkEngine,
        progress: Progress,
        show: bool = False,
        unit: UnitSection | None = None,
        watched: Sequence[str] = (),
    ) -> Iterator[SparkRows]:
        """Read the source where it lies: once, and before that once more where domains come from the data.

        With a `unit` its rows are brought together first: what is left out is not looked at. Of columns that are
        `watched` it will be asked whether they repeat.
        """
        names = [*(reading.name for reading in readings), *(() if unit is None else unit.columns)]
        with contextlib.ExitStack() as closing:
            table = closing.enter_context(engine.open(source, list(dict.fromkeys(names)), watched))
            owners: Owners | None = None
            if unit is not None:
                progress("bringing rows together", 0, 1)
                table, owners = brought_together(table, unit, key)
                closing.callback(table.close)
            listed = [reading.name for reading in readings if reading.discovered]
            if ordered := ordered_columns(source, listed):
                raise SourceError(
                    f"On Spark the domain of the ordered categories of {ordered[0]!r} must be stated",
                    '"from-data"',
                    "Write domain = [...] in their order.",
                )
            known: dict[str, pa.ChunkedArray] = {}
            if listed:
                progress("reading domains", 0, 1)
                known = dict(table.survey(listed, listed).values)
            provisional = tuple(_provisional(reading, known) for reading in readings)
            progress("reading", 0, 1)
            seen = table.read(provisional, key, show)
            table.attributes = provisional
            rows = cls(table, key, known, seen.missing, progress, show, owners)
            closing.callback(rows._close_others)
            yield rows

    def _close_others(self) -> None:
        for other in self._others:
            other.close()

    @property
    def records(self) -> int:
        return self._table.records

    @property
    def owners(self) -> Owners | None:
        return self._owners

    def repeats(self, name: str) -> bool:
        return self._table.repeats(name)

    def values(self, names: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        asked = [name for name in names if name not in self._known]
        if asked:
            self._known |= self._table.survey(asked, asked).values
        return {name: self._known[name] for name in names}

    def has_missing(self, name: str) -> bool:
        return name in self._missing

    def encode(self, attributes: Sequence[Attribute]) -> None:
        before = {a.name: a.coded for a in self._table.attributes if not a.raw}
        self._table.attributes = tuple(attributes)
        if any(self._is_unfit(a, before.get(a.name)) for a in attributes if not a.raw):
            self._table.read(attributes, self._key, self._show)  # which refuses them, and counts

    def _is_unfit(self, attribute: Attribute, read: Domain | None) -> bool:
        """Whether a column may have values that its domain has no room for."""
        if attribute.coded.missing_code is None and attribute.name in self._missing:
            return True
        if read is None or attribute.name not in self._known:
            return False
        return any(attribute.coded.code_of(label) is None for label in read.labels)

    def derive(self, name: str, of: Sequence[str], work: Work) -> None:
        self._table.derived[name] = DerivedColumn(name, tuple(of), work)

    def counts(self, names: Sequence[str], shape: Sequence[int]) -> NDArray[np.int64]:
        return self._table.counts(names, shape)

    def combinations(self, groups: Sequence[Mapping[str, int]]) -> list[CountedCombinations]:
        """One job for all groups: the driver sums the combinations of some columns from those of all."""
        if not groups:
            return []
        sizes = {name: size for group in groups for name, size in group.items()}
        counted, places = self._table.combinations(sizes), {name: i for i, name in enumerate(sizes)}
        return [counted.of_columns([places[name] for name in group], list(group.values())) for group in groups]

    def summed(self, names: Sequence[str], work: Callable[[Columns], S]) -> S:
        return self._table.summed(names, work)

    def check_room(self, needed: int) -> None:
        """The driver holds the combinations that occur; how much it has is Spark's setting."""

    def commitment(self, key: Key | None = None) -> str:
        return self._table.commitment(self._key if key is None else key)

    def publish(
        self,
        mechanism: Mechanism,
        context: str,
        shuffled: bool,
        names: Sequence[str],
        stage: str = "randomising",
        once: Mapping[str, Storey] = NO_UNITS,
    ) -> SparkPieces:
        shared = draw_once(mechanism, self._key, context, once, self._owners, self.codes, available_cores())
        drawn = {name: f"{ATTACHED}drawn {name}" for name in once}
        if drawn:
            of_rows = shared.of_rows(0, self.records)
            self._table.attach({drawn[name]: codes for name, codes in of_rows.items()})
        law = shared.each
        return SparkPieces(self._table, self._key, law, context, shuffled, names, stage, self._progress, drawn)

    def stream(self, purpose: str, context: str, column: str, draw: int) -> Stream:
        return self._key.stream(purpose, context, column, draw)

    def in_order(self, names: Sequence[str]) -> Iterator[Columns]:
        return self._table.publish(Product({}), self._key, "", False, names, {})

    def marked(self, name: str) -> SparkRows:
        return SparkRows(
            self._table.marked(name), self._key, self._known, self._missing, self._progress, self._show
        )

    def beside(self, source: Source, readings: Sequence[ColumnReading]) -> SpooledRows:
        """On the driver, within a bound; no coin is drawn from its key."""
        other = SpooledRows.read(source, readings, Key.create(), BatchEngine(), no_progress, self._show)
        self._others.append(other)
        return other

    def whole(self) -> WholeRows:
        """Codes of people's rows come to the driver; methods that need all of any table are refused before."""
        if self._owners is None:
            raise RecipeError("A method that needs all rows at once must have them in memory", "the Spark engine")
        return self

    def codes(self, sizes: Mapping[str, int]) -> dict[str, Codes]:
        parts = list(self.in_order(list(sizes)))
        return {name: np.concatenate([part[name] for part in parts]) for name in sizes}

    def attach(self, name: str, of: Sequence[str], codes: Codes) -> None:
        del of
        self._table.attach({name: codes})


class SparkPieces(SpreadPieces):
    """Published rows, which the driver takes piece by piece or has the executors work on."""

    def __init__(
        self,
        table: SparkTable,
        key: Key,
        mechanism: Mechanism,
        context: str,
        shuffled: bool,
        names: Sequence[str],
        stage: str,
        progress: Progress,
        drawn: Mapping[str, str],
    ) -> None:
        self._table, self._key, self._mechanism, self._context = table, key, mechanism, context
        self._shuffled, self._names, self._stage, self._progress = shuffled, names, stage, progress
        self._drawn = drawn
        self._coming = self._pieces()

    def __next__(self) -> Columns:
        return next(self._coming)

    def _pieces(self) -> Iterator[Columns]:
        table, done = self._table, 0
        self._progress(self._stage, 0, table.records)
        law = self._mechanism, self._key, self._context, self._shuffled, self._names
        for columns in table.publish(*law, self._drawn):
            done += len(next(iter(columns.values())))
            self._progress("writing in keyed order" if self._shuffled else "writing", done, table.records)
            yield columns

    def each_part(
        self, rows: int, work: Callable[[int, Iterator[Columns]], R], kept: Kept | None = None
    ) -> list[R]:
        table = self._table
        self._progress(self._stage, 0, table.records)
        law = self._mechanism, self._key, self._context, self._shuffled, self._names
        return table.publish_parts(*law, rows, work, kept, self._drawn)


def _provisional(reading: ColumnReading, known: Mapping[str, pa.ChunkedArray]) -> Attribute:
    """The attribute with room for missing values where it is open whether there are any."""
    domain = domain_from_data(known[reading.name]) if reading.discovered else reading.domain
    if domain is not None and (reading.open_ended or reading.discovered):
        domain = domain.with_missing()
    return Attribute(reading.name, Role.INSENSITIVE, domain)
