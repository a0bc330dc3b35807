"""Rows on Spark: surveyed, digested and drawn where they lie, collected by the driver in published order.

Row numbers come first: rows are numbered in source order, so that a task that is run again, or elsewhere, throws
the same coins. Executors get subkeys inside the pickled function and nowhere else; the key stays with the driver.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.counting.classes import Classes, CombinationCounter, CountedCombinations
from pramana.errors import EngineError, RecipeError, SourceError
from pramana.io.codes import domain_from_data
from pramana.io.pieces import Cut, ordered_columns, pieces_of
from pramana.io.source import Source
from pramana.mechanisms.table import Product, streams_of
from pramana.randomness.key import Key, Stream
from pramana.randomness.samplers import Codes, available_cores, code_dtype
from pramana.randomness.shuffle import bucket_counts, tag_stream
from pramana.rows.digest import commitment_secret
from pramana.rows.engines import BatchEngine
from pramana.rows.owners import Owners
from pramana.rows.protocol import (
    ROW_NUMBER,
    ColumnReading,
    Columns,
    Draw,
    Kept,
    Progress,
    R,
    Rows,
    S,
    SpreadPieces,
    Work,
    no_progress,
)
from pramana.rows.spark.blocks import ATTACHED, DerivedColumn, refuse, root_of_digests
from pramana.rows.spark.frames import SparkTable, catalogue_frame, check_frame, copied
from pramana.rows.spark.jobs import done_for_each, failing
from pramana.rows.spark.owners import brought_together
from pramana.rows.spark.parts import Buckets, CountKept, DrawRun, OrderPart, PartBorders, PartWork, WorkOnPart
from pramana.rows.spark.session import session
from pramana.rows.spark.steps import (
    REPORT,
    GroupRun,
    ReadRun,
    RepeatRun,
    RunReport,
    SumReport,
    SumRun,
    changed_source,
    new_seal,
)
from pramana.rows.spooled import SpooledRows
from pramana.schema.domain import Attribute, Domain, Role
from pramana.schema.unit import UnitSection

_BUCKET = 1 << 25  # bytes that one task puts in order at a time
_ENTRY = 8  # bytes that tell a row's position and the top of its tag
_MOST_BITS = 14
_MOST_ROWS = 2**32 - 1  # of a table whose combinations are counted
_COUNTED = 1 << 24  # rows whose buckets a task counts

# Where Spark works: the session that is asked, and the tables that it opens.


T = TypeVar("T")


@dataclass(frozen=True)
class SparkEngine:
    """A Spark session to work in: the active one, or a new one.

    Args:
        master: The Spark URL of a new session, such as local[2].
        pieces: About how many tasks a table is cut into; without it, as many as keep all cores busy.
        options: Settings of a new session.
        watch: Called by tasks as they read, with the number of the piece.

    Raises:
        EngineError: Spark cannot be started, or work on it failed.
        MissingExtraError: pyspark is not installed.

    >>> import pramana
    >>> pramana.SparkEngine("local[2]").master
    'local[2]'
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
            if formed := [name for name in columns if name in source.forms and source.forms[name].to_json()]:
                raise SourceError(
                    "Missing codes and date formats on Spark must be of files",
                    f"a Spark DataFrame, and some for {formed[0]!r}",
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
            cut = Cut(self.pieces or None, spark.sparkContext.defaultParallelism)
            pieces = pieces_of(source, columns, cut, partial(done_for_each, spark, operator.call))
            yield SparkTable(spark, names, pieces, None, self.watch)


@dataclass(frozen=True)
class Reading:
    """One reading of a whole table as coded by some attributes, and the digest of it under a key."""

    attributes: tuple[Attribute, ...]
    key: Key = field(repr=False)
    root: str


class SparkRows(Rows):
    """A table in runs of rows on executors, under a key that stays with the driver."""

    def __init__(
        self,
        table: SparkTable,
        key: Key,
        attributes: Sequence[Attribute],
        progress: Progress,
        show: bool,
        owners: Owners | None = None,
    ) -> None:
        super().__init__(key, progress, show)
        self._table, self._attributes, self._owners = table, tuple(attributes), owners
        self._known: dict[str, pa.ChunkedArray] = {}
        self._missing: frozenset[str] = frozenset()
        self._derived: dict[str, DerivedColumn] = {}
        self._raw_bytes = 0
        self._last: Reading | None = None
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
                attached, owners = brought_together(table, unit, key)
                closing.callback(attached.close)
                table = table.of_people(attached)
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
                known = table.survey(listed, listed)
            rows = cls(table, key, [_provisional(r, known) for r in readings], progress, show, owners)
            rows._known = known
            closing.callback(rows._close_others)
            progress("reading", 0, 1)
            rows._missing = rows._read(rows._attributes, key)
            yield rows

    def _close_others(self) -> None:
        for other in self._others:
            other.close()

    @property
    def records(self) -> int:
        return self._table.records

    def repeats(self, name: str) -> bool:
        """The driver learns no more than that, and Spark stops at the first."""
        step = RepeatRun(name, new_seal())
        with failing():
            return bool(self._table.job(step).grouped(step.words).filter("number > 1").limit(1).collect())

    def values(self, names: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        unknown = [name for name in names if name not in self._known]
        if unknown:
            self._known |= self._table.survey(unknown, unknown)
        return {name: self._known[name] for name in names}

    def has_missing(self, name: str) -> bool:
        return name in self._missing

    def _encode(self, attributes: Sequence[Attribute]) -> None:
        before = {a.name: a.coded for a in self._attributes if not a.raw}
        if any(self._is_unfit(a, before.get(a.name)) for a in attributes if not a.raw):
            self._read(tuple(attributes), self._key)  # which refuses them, and counts

    def _is_unfit(self, attribute: Attribute, read: Domain | None) -> bool:
        """Whether a column may have values that its domain has no room for."""
        if attribute.coded.missing_code is None and attribute.name in self._missing:
            return True
        if read is None or attribute.name not in self._known:
            return False
        return any(attribute.coded.code_of(label) is None for label in read.labels)

    def _read(self, attributes: tuple[Attribute, ...], key: Key) -> frozenset[str]:
        """Read everything once: refuse what does not fit its domain, and digest the source.

        Returns the columns with missing values.
        """
        secret = commitment_secret(key)
        step = ReadRun(attributes=attributes, seal=new_seal(), secret=secret, show=self._show)
        reports: dict[int, RunReport] = self._table.reports(step)
        refuse((report.faults for report in reports.values()), attributes, self._show)
        self._raw_bytes = sum(report.raw_bytes for report in reports.values())
        self._last = Reading(attributes, key, self._root(reports, secret))
        return frozenset().union(*(report.missing for report in reports.values()))

    def _root(self, reports: Mapping[int, RunReport], secret: bytes) -> str:
        """The digest of the table from what its runs report."""
        runs = reports.values()
        if sum(report.rows for report in runs) != self.records or any(report.faults for report in runs):
            raise changed_source()
        return root_of_digests((report.digests for report in runs), secret, self.records)

    def _digest_under(self, key: Key, names: Sequence[str]) -> str:
        del names  # all that are published
        last = self._last
        if last is None or last.key != key or not codes_alike(last.attributes, self._attributes):
            self._read(self._attributes, key)
        assert self._last is not None
        return self._last.root

    def derive(self, name: str, of: Sequence[str], work: Work) -> None:
        self._derived[name] = DerivedColumn(name, tuple(of), work)

    def _needed(self, names: Iterable[str]) -> tuple[tuple[Attribute, ...], tuple[DerivedColumn, ...]]:
        """What some columns are made from: the attributes to read, and the derived ones in the order of making."""
        derived: dict[str, DerivedColumn] = {}
        read: set[str] = set()
        attached = self._table.attached

        def need(name: str) -> None:
            column = self._derived.get(name)
            if column is None:
                if attached is None or not attached.has(name):
                    read.add(name)
            elif name not in derived:
                for one in column.of:
                    need(one)
                derived[name] = column

        for name in names:
            need(name)
        read.discard(ROW_NUMBER)
        published = tuple(a for a in self._attributes if a.name in read)
        others = sorted(read - {a.name for a in published})
        return (*published, *(Attribute(n, Role.INSENSITIVE, None) for n in others)), tuple(derived.values())

    def combinations(self, groups: Sequence[Mapping[str, int]]) -> list[CountedCombinations]:
        """One job for all groups: the driver sums the combinations of some columns from those of all."""
        if not groups:
            return []
        sizes = {name: size for group in groups for name, size in group.items()}
        attributes, derived = self._needed(sizes)
        step = GroupRun(attributes=attributes, seal=new_seal(), derived=derived, group=sizes)
        with failing():
            table = self._table.job(step).grouped(step.words).toArrow()
        keys = np.stack([table.column(i).to_numpy().view(np.uint64) for i in range(step.words)], axis=1)
        order = np.lexsort(keys.T)  # which tells nothing of the rows' order
        counts = table.column("number").to_numpy()[order]
        if int(counts.sum()) > _MOST_ROWS:
            raise SourceError(f"A table to be generalised must have at most {_MOST_ROWS} rows", str(counts.sum()))
        layout = CombinationCounter(list(sizes.values())).layout
        classes = Classes(layout, layout.bottom, keys[order], np.zeros((len(keys), 1), np.uint32))
        columns = tuple(classes.codes(i).astype(code_dtype(size)) for i, size in enumerate(sizes.values()))
        counted = CountedCombinations(columns, counts.astype(np.uint32))
        index = {name: i for i, name in enumerate(sizes)}
        return [counted.of_columns([index[name] for name in group], list(group.values())) for group in groups]

    def summed(self, names: Sequence[str], work: Callable[[Columns], S]) -> S:
        attributes, derived = self._needed(names)
        step = SumRun(attributes=attributes, seal=new_seal(), derived=derived, shown=tuple(names), summand=work)
        reports: dict[int, SumReport[S]] = self._table.reports(step)
        return reduce(operator.add, (part for report in reports.values() for part in report.total))

    def in_order(self, names: Sequence[str]) -> Iterator[Columns]:
        return self.collected(Draw(Product({}), "", False, tuple(names)), {})

    def marked(self, name: str) -> SparkRows:
        table = self._table.marked(self._derived[name])
        rows = SparkRows(table, self._key, self._attributes, self._progress, self._show)
        rows._known, rows._missing, rows._derived = dict(self._known), self._missing, dict(self._derived)
        return rows

    def open_reference_table(self, source: Source, readings: Sequence[ColumnReading]) -> SpooledRows:
        """On the driver, within a bound; no coin is drawn from its key."""
        other = SpooledRows.read(source, readings, Key.create(), BatchEngine(), no_progress, self._show)
        self._others.append(other)
        return other

    def whole(self) -> Rows:
        """Codes of people's rows come to the driver; methods that need all of any table are refused before."""
        if self._owners is None:
            raise RecipeError("A method that needs all rows at once must have them in memory", "the Spark engine")
        return self

    def codes(self, sizes: Mapping[str, int]) -> dict[str, Codes]:
        parts = list(self.in_order(list(sizes)))
        return {name: np.concatenate([part[name] for part in parts]) for name in sizes}

    def attach(self, name: str, codes: Codes) -> None:
        assert self._table.attached is not None, "columns are attached to the rows of people"
        self._derived.pop(name, None)
        self._table.attached.attach({name: codes})

    # ------------------------------------------------------------ publishing

    def publish(self, draw: Draw) -> SparkPieces:
        shared = self._draw_once(draw, available_cores())
        drawn = {name: f"{ATTACHED}drawn {name}" for name in draw.once}
        for name, codes in shared.of_rows(0, self.records).items():
            self.attach(drawn[name], codes)
        return SparkPieces(self, replace(draw, mechanism=shared.each), drawn, self._progress)

    def _law(self, draw: Draw, drawn: Mapping[str, str], buckets: Buckets) -> dict[str, Any]:
        """What every step that draws gets; `drawn`: columns drawn beforehand, and where they are attached."""
        wanted = streams_of(draw.mechanism)
        needed, derived = self._needed([*draw.names, *draw.mechanism.sizes])
        return {
            "attributes": self._attributes,
            "seal": new_seal(),
            "derived": derived,
            "unpublished": tuple(a.name for a in needed if a not in self._attributes),
            "shown": draw.names,
            "mechanism": draw.mechanism,
            "streams": {(use, name): self._key.stream(use, draw.context, name) for use, name in wanted},
            "buckets": buckets,
            "secret": commitment_secret(self._key),
            "drawn": drawn,
        }

    def collected(self, draw: Draw, drawn: Mapping[str, str]) -> Iterator[Columns]:
        """The rows in published order, in blocks of any sizes.

        Nothing comes out before the source is known to be the same as when it was read before.
        """
        expected, buckets = self.commitment(), self._buckets(draw)
        step = DrawRun(**self._law(draw, drawn, buckets), borders=PartBorders.of_buckets(buckets))
        job, order = self._table.job(step), OrderPart(buckets, step.borders, step.seal)
        reports: dict[int, RunReport] = {}
        last = (0, -1)
        for slot, number, content in job.ordered(order, buckets.count):
            if slot == REPORT:
                reports[number] = job.report(number, content)
                continue
            if last == (0, -1) and self._root(reports, step.secret) != expected:
                raise changed_source()
            if (slot, number) <= last:
                raise EngineError("Buckets must arrive in their order", f"bucket {slot} after {last[0]}")
            last = (slot, number)
            yield order.opened(slot, number, content).columns
        if last == (0, -1):
            raise changed_source()

    def worked_on(
        self, draw: Draw, drawn: Mapping[str, str], rows: int, work: PartWork, kept: Kept | None
    ) -> list[Any]:
        """What `work`, done by the executors, makes of each run of so many rows in published order."""
        expected = self.commitment()
        buckets = Buckets.of_parts(self.records, self._tags(draw), rows)
        law = {**self._law(draw, drawn, buckets), "kept": kept}
        if kept is None:
            sizes = self._sizes(buckets)
        else:
            reports = self._table.reports(CountKept(**law, borders=PartBorders.of_buckets(buckets)))
            sizes = np.asarray(sum(report.total[0] for report in reports.values()), np.int64)
        step = DrawRun(**law, borders=PartBorders.of(sizes, rows))
        job = self._table.job(step)
        seen, results = job.parted(WorkOnPart(buckets, step.borders, step.seal, work))
        if self._root(seen, step.secret) != expected:
            raise changed_source()
        return results

    def _sizes(self, buckets: Buckets) -> NDArray[np.int64]:
        """How many rows each has, told from their numbers: no row is read for it."""
        records, spark = self.records, self._table.spark
        if buckets.tags is None:
            return np.diff(np.minimum(np.arange(buckets.count + 1, dtype=np.int64) * buckets.span, records))
        tasks = min(-(-records // _COUNTED), 2 * spark.sparkContext.defaultParallelism)
        if tasks == 1:
            return bucket_counts(buckets.tags, 0, records, buckets.bits)  # done before a task would have begun
        ranges = list(pairwise(records * task // tasks for task in range(tasks + 1)))
        parts = done_for_each(spark, partial(_counted, buckets.tags, buckets.bits), ranges)
        return np.asarray(sum(parts), np.int64)

    def _buckets(self, draw: Draw) -> Buckets:
        coded = (a for a in self._attributes if not a.raw)
        width = sum(np.dtype(code_dtype(a.coded.size)).itemsize for a in coded) + _ENTRY
        wanted = -(-(self.records * width + self._raw_bytes) // _BUCKET)
        bits = min((wanted - 1).bit_length(), _MOST_BITS)
        return Buckets(bits, self._tags(draw), -(-self.records // (1 << bits)))

    def _tags(self, draw: Draw) -> Stream | None:
        return tag_stream(self._key, draw.context) if draw.shuffled else None


class SparkPieces(SpreadPieces):
    """Published rows, which the driver takes piece by piece or has the executors work on."""

    def __init__(self, rows: SparkRows, draw: Draw, drawn: Mapping[str, str], progress: Progress) -> None:
        self._rows, self._draw, self._drawn, self._progress = rows, draw, drawn, progress
        self._coming = self._pieces()

    def __next__(self) -> Columns:
        return next(self._coming)

    def _pieces(self) -> Iterator[Columns]:
        records, done = self._rows.records, 0
        self._progress(self._draw.stage, 0, records)
        for columns in self._rows.collected(self._draw, self._drawn):
            done += len(next(iter(columns.values())))
            self._progress("writing in keyed order" if self._draw.shuffled else "writing", done, records)
            yield columns

    def each_part(
        self, rows: int, work: Callable[[int, Iterator[Columns]], R], kept: Kept | None = None
    ) -> list[R]:
        self._progress(self._draw.stage, 0, self._rows.records)
        return self._rows.worked_on(self._draw, self._drawn, rows, work, kept)


def _counted(tags: Stream, bits: int, rows: tuple[int, int]) -> NDArray[np.int64]:
    return bucket_counts(tags, rows[0], rows[1] - rows[0], bits)


def codes_alike(read: Sequence[Attribute], others: Sequence[Attribute]) -> bool:
    """Whether codes read under one set of domains are those of another: nothing but a missing category differs.

    That category has the last code; where no row had it, only the type of the codes can change.
    """

    def codes(a: Attribute) -> tuple[object, ...]:
        return (a.name,) if a.raw else (a.name, a.coded.labels, code_dtype(a.coded.size))

    return [codes(a) for a in read] == [codes(a) for a in others]


def _provisional(reading: ColumnReading, known: Mapping[str, pa.ChunkedArray]) -> Attribute:
    """The attribute with room for missing values where it is open whether there are any."""
    domain = domain_from_data(known[reading.name]) if reading.discovered else reading.domain
    if domain is not None and (reading.open_ended or reading.discovered):
        domain = domain.with_missing()
    return Attribute(reading.name, Role.INSENSITIVE, domain)
