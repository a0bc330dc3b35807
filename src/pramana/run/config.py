"""Opening a run's table: which one it is, as its recipe or certificate says, and where its rows are held.

The engine, the bound on memory and the threads are `ExecutionConfig`.
"""

from __future__ import annotations

import contextlib
import os
import re
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
from pramana.schema.sections import ColumnSection
from pramana.schema.unit import UnitSection

if TYPE_CHECKING:
    from pramana.rows.spark.rows import SparkEngine
    from pramana.rows.spooled import SpooledRows

RecipeLike = AnyRecipe | str | Path
_READING = ("delimiter", "encoding", "decimal", "thousands", "trim", "sheet")


def read_recipe(recipe: RecipeLike) -> AnyRecipe:
    return recipe if isinstance(recipe, Recipe) else Recipe.read(recipe)


def source_of(recipe: AnyRecipe) -> Source:
    """The table that a recipe names."""
    section = method_named(recipe.method).source(recipe)
    stated = {key: value for key, value in msgspec.structs.asdict(section).items() if value is not None}
    return _with_forms(Source.from_options(stated), recipe.attributes, section.labels is not False)


def opened_source(recipe: AnyRecipe, data: object) -> Source:
    """The table that a recipe names, or the data frame in its place; read as the recipe says of its columns."""
    if data is None:
        return source_of(recipe)
    return _with_forms(Source(frame=data), recipe.attributes)


def _with_forms(source: Source, columns: Mapping[str, ColumnSection], labels: bool = True) -> Source:
    return replace(source, forms={name: _form(column, source, labels) for name, column in columns.items()})


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
_PERSON_NUMBER = re.compile(
    "(p|pers|person|patient|respondent|subject|participant|member|customer|client|user|employee|student|resident"
    "|citizen)(id|nr|no|num|number|key)"
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
    letters = {name: "".join(c for c in name.casefold() if c.isalnum()) for name in present}
    others = [name for name in present if name not in recipe.attributes]
    numbers = [name for name in others if _PERSON_NUMBER.fullmatch(letters[name])]
    return (*(name for name in recipe.dropped if name in present), *numbers)


def _check_no_repeats(rows: Rows, watched: Sequence[str]) -> None:
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
        can: Capabilities,
        unit: UnitSection | None = None,
        watched: Sequence[str] = (),
    ) -> Iterator[Rows]:
        """The rows, which are let go of at the end.

        With a `unit` of several rows they are brought together. Columns that are `watched` must not repeat.
        """
        several = unit if unit is not None and unit.several else None
        with contextlib.ExitStack() as opened:
            opened.enter_context(source.guesses())
            self.progress("reading", 0, 1)
            if (spark := self.spark()) is not None:
                from pramana.rows.spark.rows import SparkRows

                how = self.progress, self.show_values, several, watched
                spread = opened.enter_context(SparkRows.open(source, readings, key, spark, *how))
                _check_no_repeats(spread, watched)
                yield spread
                return
            also_read = (*watched, *(() if several is None else several.columns))
            readings = [*readings, *map(ColumnReading, also_read)]
            rows: MemoryRows | SpooledRows
            if (bound := self._bound(source, can)) is not None:
                from pramana.rows.engines import BatchEngine
                from pramana.rows.spooled import SpooledRows

                batch = BatchEngine(bound, self.threads, self.folder)
                rows = SpooledRows.read(source, readings, key, batch, self.progress, self.show_values)
                opened.callback(rows.close)
            else:
                table = source.read([reading.name for reading in readings])
                rows = MemoryRows(table, key, LocalEngine(self.threads), self.progress, self.show_values)
            _check_no_repeats(rows, watched)
            yield rows if several is None else rows.in_units(several)

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

    def check_in_memory(self, source: Source, can: Capabilities, what: str) -> None:
        """Refuse what is made from all published rows at once where they are not in memory."""
        if self.engine != "local" or self._bound(source, can) is not None:
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
