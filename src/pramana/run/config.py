"""Opening a run's table: which one it is, as its recipe or certificate says, and where its rows are held.

The engine, the bound on memory and the threads are `ExecutionConfig`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import Certificate, JsonObject
from pramana.errors import RecipeError
from pramana.files.locations import located
from pramana.io.formats import kind_by_name
from pramana.io.source import Source, size_in_memory
from pramana.io.values import ValueForm
from pramana.methods.protocol import Capabilities
from pramana.methods.recipe import AnyRecipe, Recipe
from pramana.methods.registry import method_named
from pramana.randomness.key import Key
from pramana.rows.engines import LocalEngine
from pramana.rows.memory import MemoryRows
from pramana.rows.protocol import ColumnReading, Progress, Rows, no_progress
from pramana.schema.domain import Attribute
from pramana.schema.kind import Kind, label_of
from pramana.schema.sections import ColumnSection, SourceSection
from pramana.schema.unit import UnitSection

if TYPE_CHECKING:
    from pramana.rows.spark.rows import SparkEngine

RecipeLike = AnyRecipe | str | Path
_READING = ("delimiter", "encoding", "decimal", "thousands", "trim", "sheet")


def read_recipe(recipe: RecipeLike) -> AnyRecipe:
    return recipe if isinstance(recipe, Recipe) else Recipe.read(recipe)


def source_of(recipe: AnyRecipe) -> Source:
    """The table that a recipe names."""
    return source_in(method_named(recipe.method).source(recipe), recipe.attributes)


def source_in(section: SourceSection, columns: Mapping[str, ColumnSection] | None = None) -> Source:
    stated = {key: value for key, value in msgspec.structs.asdict(section).items() if value is not None}
    source = Source.from_options(stated)
    return replace(source, forms=_forms(columns or {}, source, section.labels is not False))


def opened_source(recipe: AnyRecipe, data: object) -> Source:
    """The table that a recipe names, or the data frame in its place; read as the recipe says of its columns."""
    if data is None:
        return source_of(recipe)
    frame = Source(frame=data)
    return replace(frame, forms=_forms(recipe.attributes, frame, True))


def _forms(columns: Mapping[str, ColumnSection], source: Source, labels: bool) -> dict[str, ValueForm]:
    return {name: _form(column, source, labels) for name, column in columns.items()}


def _form(column: ColumnSection, source: Source, labels: bool) -> ValueForm:
    """How a column's values are written: by what the recipe states of them, before any is seen."""
    stated = frozenset(label_of(value) for value in column.values or ())
    kind = None if column.stated_kind is None else Kind(column.stated_kind)
    if kind is None and column.binning is not None:
        kind = column.binning.domain().kind
    elif kind is None and stated:
        kind = Kind.of_labels(stated)
    named = kind in (Kind.NOMINAL, Kind.ORDERED) and column.kind is not None
    return ValueForm(
        column.missing_codes,
        column.dates,
        kind,
        stated,
        codes=source.has_labels and (kind is Kind.NUMBER or not labels),
        as_written=named and source.has_marks,
    )


# ---------------------------------------------------------------- as a certificate says it was read


def certified_source(source: object, certificate: Certificate) -> Source:
    """The source as the certificate says it was read, but where it lies now; of a recipe, the one it names."""
    options = certificate.source
    stated = options.get("columns", {})
    forms = {a.name: _certified_form(a, stated.get(a.name, {})) for a in certificate.attributes}
    if not isinstance(source, str | os.PathLike):
        return Source(frame=source, forms=forms)
    path = located(source)
    if isinstance(path, Path) and path.suffix == ".toml":
        return source_of(Recipe.read(path))
    kind = kind_by_name(path) or options.get("format")
    written = kind == options.get("format")  # a table may have been kept in another form since
    known = {key: options[key] for key in _READING if written and options.get(key) is not None}
    if known.get("encoding") == "utf-8":  # also said of files in several encodings
        del known["encoding"]
    format_ = None if kind in (None, "frame", "database") else kind
    return Source(path=path, format=format_, missing=tuple(options.get("missing", ("",))), forms=forms, **known)


def _certified_form(attribute: Attribute, stated: JsonObject) -> ValueForm:
    declared = attribute.domain is not None and attribute.domain.origin == "declared"
    return ValueForm(
        tuple(stated.get("missing", ())),
        stated.get("dates"),
        attribute.kind if attribute.kind is Kind.DATE else None,
        frozenset(attribute.coded.labels) if declared else frozenset(),
        stated.get("codes", False),
        stated.get("as_written", False),
    )


# ---------------------------------------------------------------- one row for each person

# what columns that number people are called; looked at where the recipe leaves them out
_PERSON_NUMBERS = frozenset(
    f"{who}{what}"
    for who in (
        "p",
        "pers",
        "person",
        "patient",
        "respondent",
        "subject",
        "participant",
        "member",
        "customer",
        "client",
        "user",
        "employee",
        "student",
        "resident",
        "citizen",
    )
    for what in ("id", "nr", "no", "num", "number", "key")
)


def watched_columns(recipe: AnyRecipe, source: Source) -> tuple[str, ...]:
    """The columns that must not repeat: identifying ones, and what is called like a person's number.

    None where [unit] says whose the rows are.
    """
    if recipe.unit is not None or (source.kind == "database" and not recipe.dropped):
        return ()
    present = source.column_names()
    if present is None:
        return ()  # whoever reads it says what is wrong
    others = [name for name in present if name not in recipe.attributes and _looks_like_a_person(name)]
    return (*(name for name in recipe.dropped if name in present), *others)


def _looks_like_a_person(name: str) -> bool:
    return "".join(c for c in name.casefold() if c.isalnum()) in _PERSON_NUMBERS


def check_no_repeats(rows: Rows, watched: Sequence[str]) -> None:
    for name in watched:
        if rows.repeats(name):
            raise RecipeError(
                f"A recipe must say whose privacy is meant where the column {name!r} repeats",
                "no [unit]",
                f'Write [unit] with person = "{name}" if it tells people apart, or row = true if every row is a '
                "person.",
            )


# ---------------------------------------------------------------- where its rows are held


@dataclass(frozen=True)
class ExecutionConfig:
    """Where a run works: in memory, streaming within a bound of `memory` bytes, or on a Spark engine."""

    engine: str | SparkEngine = "local"
    memory: int | None = None
    threads: int = 0
    folder: Path = Path()
    progress: Progress = no_progress
    show_values: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.threads, bool) or not isinstance(self.threads, int) or self.threads < 0:
            raise RecipeError(
                "threads must be a whole number, or 0 for as many as there are cores", repr(self.threads)
            )

    def check(self, method: str, can: Capabilities) -> None:
        """Refuse by name what the method cannot do there. Nothing of the source is looked at for that."""
        if self.spark() is not None:
            if not can.spark:
                raise RecipeError(
                    "A release on Spark must have a method that runs there", f"{method}, {can.reason}"
                )
        elif self.memory is not None and not can.streams:
            raise RecipeError(
                "A release within a bound on memory must have a method that streams",
                f"method {method!r} {can.reason}",
                "Leave the bound out: the table is then read into memory.",
            )

    @contextlib.contextmanager
    def open(
        self,
        source: Source,
        readings: Sequence[ColumnReading],
        key: Key,
        method: str,
        can: Capabilities,
        unit: UnitSection | None = None,
        watched: Sequence[str] = (),
    ) -> Iterator[Rows]:
        """The rows, which are let go of at the end; refused by name where the method cannot work there.

        With a `unit` of several rows they are brought together. Columns that are `watched` must not repeat.
        """
        self.check(method, can)
        several = unit if unit is not None and unit.several else None
        with source.guesses(), self._opened(source, readings, key, can, watched, several) as rows:
            yield rows

    @contextlib.contextmanager
    def _opened(
        self,
        source: Source,
        readings: Sequence[ColumnReading],
        key: Key,
        can: Capabilities,
        watched: Sequence[str],
        unit: UnitSection | None,
    ) -> Iterator[Rows]:
        self.progress("reading", 0, 1)
        spark = self.spark()
        if spark is not None:
            from pramana.rows.spark.rows import SparkRows

            how = self.progress, self.show_values, unit, watched
            with SparkRows.open(source, readings, key, spark, *how) as spread:
                check_no_repeats(spread, watched)
                yield spread
            return
        readings = [
            *readings,
            *map(ColumnReading, watched),
            *map(ColumnReading, () if unit is None else unit.columns),
        ]
        bound = self._bound(source, can)
        if bound is not None:
            from pramana.rows.engines import BatchEngine
            from pramana.rows.spooled import SpooledRows

            batch = BatchEngine(bound, self.threads, self.folder)
            spooled = SpooledRows.read(source, readings, key, batch, self.progress, self.show_values)
            with contextlib.closing(spooled):
                check_no_repeats(spooled, watched)
                yield spooled if unit is None else spooled.in_units(unit)
            return
        table = source.read([reading.name for reading in readings])
        rows = MemoryRows(table, key, LocalEngine(self.threads), self.progress, self.show_values)
        check_no_repeats(rows, watched)
        yield rows if unit is None else rows.in_units(unit)

    def spark(self) -> SparkEngine | None:
        """The Spark engine that is asked for, if one is."""
        if self.engine == "local":
            return None
        if isinstance(self.engine, str) and self.engine != "spark":
            raise RecipeError("The engine must be local or spark", repr(self.engine))
        if self.memory is not None:
            raise RecipeError("A bound on memory must be one for the local engine", "the Spark engine")
        from pramana.rows.spark.rows import SparkEngine

        if not isinstance(self.engine, str | SparkEngine):
            raise RecipeError("The engine must be local or spark, or a SparkEngine", type(self.engine).__name__)
        return SparkEngine() if isinstance(self.engine, str) else self.engine

    def running(self) -> contextlib.AbstractContextManager[object]:
        """One Spark session for all that is done meanwhile, where Spark is asked for."""
        spark = self.spark()
        return contextlib.nullcontext() if spark is None else spark.running()

    @contextlib.contextmanager
    def reading(self, bundle: Bundle) -> Iterator[Bundle]:
        """The bundle; where Spark is asked for, executors read the parts of a set, in one session for all.

        What a store holds came down to this machine, and its parts are read here.
        """
        spark = self.spark()
        if spark is None or bundle.certificate.parts is None or bundle.fetched is not None:
            yield bundle
            return
        with spark.running():
            yield replace(bundle, spread=spark)

    def catalogue(self, source: Source) -> contextlib.AbstractContextManager[object]:
        """A table that only Spark knows, as a data frame."""
        spark = self.spark()
        if spark is None:
            source.check_engine()
        assert spark is not None, "refused above"
        return spark.table(source)

    def in_memory(self, source: Source, can: Capabilities) -> bool:
        return self.engine == "local" and self._bound(source, can) is None

    def check_in_memory(self, source: Source, can: Capabilities, what: str) -> None:
        """Refuse what is made from all published rows at once where they are not in memory."""
        if not self.in_memory(source, can):
            raise RecipeError(
                f"{what} must be of a table in memory",
                "a table that streams, or the Spark engine",
                'Use format = "parquet", and `pramana export` where there is room.',
            )

    def _bound(self, source: Source, can: Capabilities) -> int | None:
        """The bytes within which a table streams through, or None where it is read into memory."""
        if self.memory is not None:
            return self.memory
        own = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if can.streams and size_in_memory(source) > own // 2:
            from pramana.rows.engines import LEAST_MEMORY

            return max(LEAST_MEMORY, own // 4)
        return None
