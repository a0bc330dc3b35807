"""What a method is. Everything that is its own stands in its folder; this is all the rest of the house knows.

A method turns a recipe and a table's rows into a plan; a plan is public, and publishes rows under their key. It is
all of a certificate that is known before the coins are thrown, so `verify` reads one back from a certificate, asks
it again for its guarantees, and has it publish the source again.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypedDict, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import Certificate, JsonObject, canonical
from pramana.bundle.form import Check, Form
from pramana.errors import BundleError, PramanaError, RecipeError
from pramana.files.store_path import AnyPath
from pramana.mechanisms.table import CoinGroups, Exchange, Product, RecordRetention
from pramana.mechanisms.units import UnitDraws
from pramana.methods.recipe import Recipe
from pramana.methods.usefulness import Usefulness
from pramana.notions.guarantee import Guarantee
from pramana.pages.content import Cell, Section
from pramana.rows.protocol import ColumnReading, Columns, Draw, Rows
from pramana.schema.domain import Attribute, Role
from pramana.schema.sections import ColumnSection, Setting, SourceSection
from pramana.schema.typed import read_section
from pramana.schema.unit import Unit, UnitSection
from pramana.theory.composition import PrivacyProfile

if TYPE_CHECKING:
    from pramana.mechanisms.channel import Channel
    from pramana.methods.generalize.space import SolutionSpace
    from pramana.methods.presence.plan import PresencePlan
    from pramana.methods.retention.frontier import Candidate
    from pramana.methods.retention.plan import RandomisedPlan


S = TypeVar("S", bound=Setting)
C = TypeVar("C", bound=ColumnSection)
F = TypeVar("F", bound=Form)
Law = Product | RecordRetention | CoinGroups | Exchange  # by which recipients can estimate true counts
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class ColumnUncertainty:
    """How published values may differ from the true ones beyond what their cells say.

    `moved`: the largest share of the records that have another value than published.
    `lost`: of numbers, the largest share of their squared deviations that the published ones lost.
    `deviation`: of columns changed `together`, a bound on the standard deviation of how often any set of their
    values is published, which on average is as often as it occurs; of a single record nothing is known.
    """

    moved: float = 0.0
    lost: float | None = None
    together: tuple[str, ...] = ()
    deviation: float | None = None


TRUSTED = ColumnUncertainty()


@dataclass(frozen=True)
class Capabilities:
    """What a method can do with a setting. `reason` says why it does not stream or run on Spark."""

    streams: bool = False  # within a bound on memory
    spark: bool = False
    single_records: bool = False  # a person can randomise their own record by it
    reason: str = "which needs all rows at once"


@dataclass(frozen=True)
class Version:
    """One of several releases of a table, of which the one that keeps most tells all that they tell together."""

    of: str
    kept: Fraction


@dataclass(eq=False)
class TableMaker(ABC):
    """Makes the published columns from pieces of rows, in published order, and digests what they say."""

    @abstractmethod
    def table(self, columns: Columns) -> pa.Table:
        """Some rows as they are published."""

    @abstractmethod
    def content(self) -> str:
        """The digest of all that was published."""

    def counts(self) -> Mapping[str, Counts]:
        """How often each published code occurred, for the report."""
        return {}

    def kept(self, columns: Columns) -> NDArray[np.bool_]:
        """Which of some rows are published; rows can be left out only as they are made."""
        return np.ones(len(next(iter(columns.values()))), np.bool_)

    def at(self, row: int) -> TableMaker:
        """A maker of its own for the rows from this number on, which can be sent to where they lie."""
        del row
        return replace(self)


@dataclass(frozen=True)
class Publication:
    """A release as it is known before its rows are drawn: promises are checked by it, and nothing is written yet.

    `plan` is the plan with everything that was known only from the encoded rows. `pieces` gives the published
    rows, piece by piece in their order; the coins of a piece are thrown when it is taken. They are for the one
    writer of the release: `table` digests what it makes of them, so they are taken once.
    """

    plan: Plan
    pieces: Callable[[], Iterator[Columns]]
    table: TableMaker
    commitment: str
    extra: Mapping[str, pa.Table] = field(default_factory=dict)  # further files of the bundle, as CSV
    checks: tuple[Check, ...] = ()  # what only the source can tell of the plan
    usefulness: Usefulness = field(default_factory=Usefulness)  # of what is published, from nothing else
    notes: tuple[str, ...] = ()  # measured against the source: for its holder alone, and in no file


@dataclass(frozen=True)
class Examination:
    """What was derived again from published data, and how often each published code occurs."""

    checks: tuple[Check, ...]
    counts: Mapping[str, Counts] = field(default_factory=dict)
    usefulness: Usefulness = field(default_factory=Usefulness)


@dataclass(frozen=True)
class Explanation:
    """What the report says of a release besides its promises."""

    treatments: Mapping[str, Mapping[str, Cell]]  # by column, as the table of what happened to them shows it
    notes: Sequence[str] = ()  # below that table
    sections: Sequence[Section] = ()
    use: str = ""  # what a recipient must know before counting anything
    verified: str = ""  # what `pramana verify` does about the promises; it checks the files in any case


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan(ABC):
    """A method with all its parameters, for one table."""

    whole_table: ClassVar[bool] = False  # whether it needs all rows at once
    attributes: tuple[Attribute, ...]
    dropped: tuple[str, ...] = ()
    dataset: str = ""
    shuffled: bool = True
    output: str = "parquet"
    unit: Unit | None = None  # whose privacy is meant, where the recipe says so
    tables: tuple[tuple[str, ...], ...] = ()  # those that recipients need most

    @property
    @abstractmethod
    def records(self) -> int:
        """As many as are published."""

    @abstractmethod
    def statement(self) -> JsonObject:
        """The certificate's `mechanism`: every parameter, large integers as text."""

    @abstractmethod
    def guarantees(self, seeded: bool) -> tuple[Guarantee, ...]: ...

    @abstractmethod
    def warnings(self, seeded: bool) -> tuple[str, ...]: ...

    @abstractmethod
    def publish(self, rows: Rows) -> Publication: ...

    @abstractmethod
    def examine(self, bundle: Bundle) -> Examination:
        """What is derived again from the published data alone, which is bounded before it is read."""

    def examine_part(self, bundle: Bundle) -> Check:
        """What one part of the data tells on its own, `bundle` being narrowed to it: so many rows can be read."""
        return part_check(bundle, lambda: sum(batch.num_rows for batch in bundle.batches()))

    @abstractmethod
    def explain(self) -> Explanation: ...

    @property
    def law(self) -> Law | None:
        """The law by which recipients can estimate true counts, where there is one and they may see it."""
        return None

    @property
    def draws(self) -> UnitDraws | None:
        """What people and households draw, where rows are not people."""
        return None

    def usefulness_by_law(self) -> Usefulness | None:
        """What tables are worth whatever the table, where the law alone tells; else publishing does."""
        return None

    def profile(self) -> PrivacyProfile | None:
        """Its central guarantee at every epsilon, where it has one: for adding several releases up."""
        return None

    @property
    def repeated(self) -> Mapping[str, int]:
        """By column, how many published rows may share one draw, where that is more than one."""
        return {}

    @property
    def countable(self) -> bool:
        """Whether recipients can count it: by its law, or because published values are right as far as they go."""
        return True

    @property
    def celled(self) -> tuple[Attribute, ...]:
        """The columns whose published cells stand for several values; `PublishedCells` reads them."""
        return ()

    def doubt(self, name: str) -> ColumnUncertainty:
        """How far a column's published values are to be trusted where there is no law to correct them by."""
        del name
        return ColumnUncertainty()

    @property
    def version(self) -> Version | None:
        """Of a release that is one of many of the same table: which table, and how much of it this one keeps."""
        return None

    @property
    def withheld(self) -> bool:
        """Whether the certificate keeps the law to itself, so that its numbers can be compared and not derived."""
        return False

    def channel_by_rule(self, columns: tuple[str, ...], counts: Counts) -> Channel:
        """The channel that the public rule makes of such counts, where the law is withheld: for an audit."""
        raise NotImplementedError

    @property
    def presence(self) -> PresencePlan | None:
        """Itself, where being listed is the secret: for an audit."""
        return None

    @property
    def derivation(self) -> str:
        """How `guarantees` come about when they are asked for again."""
        return "as the stated risks have it" if self.withheld else "derived again"

    @property
    def companions(self) -> tuple[str, ...]:
        """Files of the bundle beside certificate, data and report."""
        return ()

    @property
    def source_records(self) -> int:
        """As many as the source has; some may have been left out."""
        return self.records

    @property
    def capabilities(self) -> Capabilities:
        """Where rows may be for it."""
        return Capabilities(streams=not self.whole_table, spark=not self.whole_table)

    def readings(self) -> tuple[ColumnReading, ...]:
        """How the source is read to be published again."""
        return tuple(ColumnReading.of(a) for a in self.attributes)

    @property
    def in_units(self) -> UnitSection | None:
        """How rows are brought together before they are published."""
        return None if self.unit is None else self.unit.section

    def beside(self, source: AnyPath | None) -> Plan:
        """The plan with whatever else lies beside the source."""
        del source
        return self

    def raw_names(self) -> list[str]:
        """The columns released unchanged."""
        return [a.name for a in self.attributes if a.raw]

    def draw_in_order(
        self, rows: Rows, context: str, columns: Sequence[str], stage: str
    ) -> Callable[[], Iterator[Columns]]:
        """Rows with `columns`, which were made before, and the unchanged ones: coins decide their order alone."""
        names = (*columns, *self.raw_names())
        return partial(rows.publish, Draw(Product({}), context, self.shuffled, names, stage))


def coins_context(dataset: str, method: str, design: object, commitment: str) -> str:
    """What coins and order are bound to: the same key gives another table, or another design, others."""
    stated = hashlib.sha256(canonical(msgspec.to_builtins(design))).hexdigest()
    return f"{dataset}\n{method}\n{stated}\n{commitment}"


def content_checks(bundle: Bundle, content: str, records: int, certified: int) -> tuple[Check, Check]:
    """Whether what was read has the certified content, and as many records as certified."""
    same = bundle.has_content(content)
    return (
        Check("content", same, "as certified" if same else "other content"),
        Check("records", records == certified, f"{records} found"),
    )


def part_check(bundle: Bundle, count: Callable[[], int]) -> Check:
    """Of the part that a bundle is narrowed to: `count` reads its rows, and raises where one cannot be."""
    expected = sum(bundle.data_files.values())
    try:
        rows = count()
    except PramanaError as error:
        return Check("data", False, str(error))
    words = f"{rows} records of this part" if rows == expected else f"{expected} records certified, {rows} found"
    return Check("data", rows == expected, words)


USUAL_KS = (2.0, 5.0, 10.0, 50.0, 100.0)  # that a plan tries where rows decide
StatedTables = tuple[tuple[str, ...], ...]  # in a certificate, where a recipe names them


def stated_tables(tables: StatedTables) -> JsonObject:
    """A key of the certificate's `mechanism`, which is not there where no table is named."""
    return {"tables": [list(table) for table in tables]} if tables else {}


class PlanFields(TypedDict):
    """What plans of all methods have in common."""

    attributes: tuple[Attribute, ...]
    dropped: tuple[str, ...]
    dataset: str
    shuffled: bool
    output: str
    unit: Unit | None
    tables: StatedTables


def fields_of_recipe(
    recipe: Recipe[S, C], attributes: tuple[Attribute, ...], rows: Rows | None = None
) -> PlanFields:
    """`rows` tell how many people they are of, where the recipe counts people."""
    return PlanFields(
        attributes=attributes,
        dropped=recipe.dropped,
        dataset=recipe.source.dataset,
        shuffled=recipe.release.shuffle,
        output=recipe.output.data_format,
        unit=None if recipe.unit is None else unit_in(recipe.unit, rows),
        tables=recipe.tables,
    )


def unit_in(section: UnitSection, rows: Rows | None) -> Unit:
    """The recipe's unit with what the rows say of it: how many people and households there are."""
    people = None if rows is None else rows.owners
    if section.row or people is None:
        return Unit(kind="row")
    kind: Literal["person", "household"] = "person" if section.household is None else "household"
    return Unit(
        kind=kind,
        person=section.person,
        household=section.household,
        rows=section.rows,
        persons=section.persons,
        people=people.people,
        households=people.households,
    )


def statement_of(certificate: Certificate, form: type[F]) -> F:
    """What a certificate states of its mechanism, in a method's own form; refuses anything else."""
    return read_section(form, certificate.mechanism, "The mechanism of a certificate", BundleError)


def fields_of_certificate(certificate: Certificate, tables: Sequence[Sequence[str]]) -> PlanFields:
    """`tables` as the certificate's mechanism states them."""
    names = {a.name for a in certificate.attributes}
    if unknown := [name for table in tables for name in table if name not in names]:
        raise BundleError("The tables of a certificate must be of its columns", repr(unknown[0]))
    return PlanFields(
        attributes=certificate.attributes,
        dropped=certificate.dropped,
        dataset=certificate.dataset,
        shuffled=certificate.shuffled,
        output=certificate.output,
        unit=certificate.unit,
        tables=tuple(tuple(table) for table in tables),
    )


class Method(ABC, Generic[S, C]):
    """A value of `release.method`."""

    name: ClassVar[str]
    counts_people: ClassVar[bool] = False  # states its guarantees for people of several rows, too
    whole_table: ClassVar[bool] = False  # needs all rows at once
    setting: type[S]
    column: type[C]
    statement: type[Form]  # the form of its certificates' `mechanism`

    def capabilities(self, setting: S) -> Capabilities:
        """Where rows may be for it."""
        del setting
        return Capabilities(streams=not self.whole_table, spark=not self.whole_table)

    @abstractmethod
    def readings(self, recipe: Recipe[S, C]) -> tuple[ColumnReading, ...]:
        """The columns to read; nothing else of the source is touched."""

    @abstractmethod
    def plan(self, recipe: Recipe[S, C], rows: Rows) -> Plan: ...

    @abstractmethod
    def restore(self, certificate: Certificate) -> Plan:
        """The plan a certificate states; raises InputError where it states none."""

    def variants(self, setting: S) -> Mapping[str, Sequence[float]]:
        """The promises that a plan varies, by their key of [release], and the values it tries."""
        del setting
        return {}

    def advise(self, recipe: Recipe[S, C], plan: Plan, rows: Rows | None) -> tuple[str, ...]:
        """What would make a release useful of which nothing can be learned, with the numbers it would reach."""
        del recipe, plan, rows
        return ()

    def space(self, recipe: Recipe[S, C], rows: Rows) -> SolutionSpace:
        """Every node that could be published, for a method that searches a lattice of levels."""
        del recipe, rows
        raise RecipeError("A space of solutions must be of a generalisation", repr(self.name))

    def source(self, recipe: Recipe[S, C]) -> SourceSection:
        """The table that is read."""
        return recipe.source

    # Where `capabilities` says that single records can be randomised, no row decides the law:

    def law_without_rows(self, recipe: Recipe[S, C]) -> RandomisedPlan:
        """The plan of a recipe for single records."""
        raise NotImplementedError

    def plan_for(
        self, recipe: Recipe[S, C], attributes: tuple[Attribute, ...], records: int, rows: Rows | None
    ) -> RandomisedPlan:
        """The plan for so many records; `rows` tell of people, where these have several."""
        raise NotImplementedError

    def frontier(
        self, recipe: Recipe[S, C], attributes: tuple[Attribute, ...], records: int, draws: UnitDraws | None
    ) -> tuple[Candidate, ...]:
        """Ways to keep the recipe's promise, where a law is calculated at all, the one of coin = "best" marked."""
        del recipe, attributes, records, draws
        return ()


def left_out_words(unit: Unit | None) -> Iterator[str]:
    """The rule by which surplus rows are left out. Whether there were any would tell of someone's rows."""
    if unit is None or unit.kind == "row":
        return
    stated = unit.section
    if stated.rows is not None:
        yield (
            f"Of a person with more than {stated.rows} rows a keyed choice of {stated.rows} is used; whether "
            "anyone has more, and how many rows were left out, is not told."
        )
    if stated.persons is not None:
        yield (
            f"Of a household with more than {stated.persons} people a keyed choice of {stated.persons} is used; "
            "whether any has more is not told."
        )


def same_people(unit: Unit | None, rows: Rows) -> tuple[Check, ...]:
    """Whether the source has as many people and households as the certificate states."""
    if rows.owners is None or unit is None:
        return ()
    same = (rows.owners.people, rows.owners.households) == (unit.people, unit.households)
    return (Check("people", same, "as certified" if same else "others than certified"),)


# What a recipe would be worth with something changed, tried on the same rows: advice for their holder.


Change = tuple[str, Mapping[str, Any]]  # in words, and as keys of [release] with their values


def first_useful(
    method: Method[S, C], recipe: Recipe[S, C], rows: Rows, changes: Iterable[Change]
) -> Iterator[str]:
    """A sentence of the first change of [release] with which something is learned, and of what."""
    for words, keys in changes:
        try:
            changed = replace(recipe, release=msgspec.structs.replace(recipe.release, **keys))
        except PramanaError:
            continue
        if said := _said(method, changed, rows, words):
            yield said
            return


def without_a_column(method: Method[S, C], recipe: Recipe[S, C], rows: Rows) -> Iterator[str]:
    """The same of leaving one quasi-identifying column out, of those that no named table needs."""
    needed = {name for table in recipe.tables for name in table}
    quasi = [name for name, column in recipe.published.items() if column.role is Role.QUASI_IDENTIFYING]
    for name in quasi if len(quasi) > 1 else ():
        if name not in needed:
            others = {other: column for other, column in recipe.attributes.items() if other != name}
            if said := _said(method, replace(recipe, attributes=others), rows, f"Without {name}"):
                yield said
                return


def _said(method: Method[S, C], recipe: Recipe[S, C], rows: Rows, words: str) -> str:
    try:
        plan = method.plan(recipe, rows)
        rows.encode(plan.attributes)
        worth = plan.publish(rows).usefulness
    except PramanaError:
        return ""
    return "" if worth.useless or worth.best is None else f"{words} {worth.best.words}."
