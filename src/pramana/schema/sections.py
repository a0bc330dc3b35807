"""The sections of a recipe that every method has; a method adds its own keys by inheritance."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from pramana.errors import RecipeError
from pramana.schema.bins import Binning, BinsSection, Bound
from pramana.schema.domain import Role
from pramana.schema.kind import Publish, label_of
from pramana.schema.typed import Count, FilePath, Flag, Ordinal, Positive, Text

Tables = Annotated[
    list[Annotated[list[str], Meta(min_length=1)]],
    Meta(extra={"must": 'a list of lists of attributes, such as [["sex", "age"], ["income"]]'}),
]
Url = Annotated[str, Meta(extra={"must": "text", "secret": True})]  # it may hold a password, and is never shown
Weights = Annotated[dict[str, float], Meta(extra={"must": "a table of attributes and numbers"})]


class RecipeSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What every section is: known keys, known types, nothing that changes."""


class SourceSection(RecipeSection, frozen=True, kw_only=True):
    """[source]: where the table is, and how to read it."""

    path: Annotated[
        FilePath | None,
        Meta(
            description="A CSV or Parquet file or a folder of them, here or in a store (s3://bucket/name); "
            "an SPSS, Stata, SAS, Excel or Arrow file."
        ),
    ] = None
    url: Annotated[Url | None, Meta(description="A database: postgresql://..., sqlite:///file, env:NAME.")] = None
    query: Text | None = None
    table: Annotated[
        Text | None, Meta(description="Of the database; without a url, one that Spark knows (engine spark).")
    ] = None
    schema: Text | None = None
    options: Annotated[
        dict[str, str] | None,
        Meta(
            description="What Spark's reader is told of a table without a url.",
            extra={"must": "a table of names and texts", "secret": True},
        ),
    ] = None
    format: Text | None = None
    delimiter: Text | None = None
    encoding: Text | None = None
    missing: Annotated[
        list[str] | None, Meta(extra={"must": "a list of texts that stand for a missing value"})
    ] = None
    decimal: Annotated[
        Literal[".", ","] | None,
        Meta(
            description="The decimal mark of numbers in a CSV file or workbook.",
            extra={"must": 'a point or a comma: "." or ","'},
        ),
    ] = None
    thousands: Annotated[Text | None, Meta(description="The mark between thousands there, if any.")] = None
    trim: Annotated[Flag | None, Meta(description="Whether blanks around values there are nothing.")] = None
    sheet: Annotated[Text | None, Meta(description="The sheet of a workbook; the first one without it.")] = None
    labels: Annotated[
        Flag | None, Meta(description="Whether values with labels (SPSS, Stata) are published by their labels.")
    ] = None
    dataset: Annotated[Text, Meta(description="A name that coins are bound to.")] = ""

    @property
    def of_catalogue(self) -> bool:
        """Whether it is a table that only Spark finds."""
        return self.table is not None and self.url is None and self.path is None


Statement = Annotated[str, Meta(min_length=1, max_length=500, extra={"must": "text of 1 to 500 characters"})]


class AboutSection(RecipeSection, frozen=True, kw_only=True):
    """[about]: what the holder says of the release. It goes into certificate and report as it is written."""

    title: Statement | None = None
    holder: Annotated[Statement | None, Meta(description="Who publishes, and answers for it.")] = None
    contact: Statement | None = None
    recipient: Annotated[Statement | None, Meta(description="For whom this release is made.")] = None
    purpose: Statement | None = None
    date: Annotated[Statement | None, Meta(description="As text, such as 2026-03-31.")] = None
    release_model: Annotated[
        Statement | None, Meta(description="How it is handed out, such as: public file, under a licence, on site.")
    ] = None
    storage_period: Annotated[Statement | None, Meta(description="How long it is kept, and by whom.")] = None
    region: Annotated[Statement | None, Meta(description="The region that the data are about.")] = None
    license: Annotated[Statement | None, Meta(description="On what terms recipients may use it.")] = None
    holder_kind: Annotated[
        Literal["government", "industry", "nonprofit"] | None,
        Meta(
            description="What the holder is, as registries of releases sort them.",
            extra={"must": '"government", "industry" or "nonprofit"'},
        ),
    ] = None


class LedgerSection(RecipeSection, frozen=True, kw_only=True):
    """[ledger]: where releases about the same people are added up, before this one is made."""

    path: Annotated[Url, Meta(description="A SQLite file, a postgresql:// URL, or env:NAME.")]
    people: Annotated[Text, Meta(description="Whom the table is about; their releases add up.")]
    recipient: Annotated[Statement | None, Meta(description="Who gets it, if not as [about] says.")] = None
    again: Annotated[
        Flag, Meta(description="Release a table that was released before, as an independent second release.")
    ] = False


MANY_ROWS = 50_000_000  # published rows from which on the data is a set of files, if nothing else is said
PART_ROWS = 1 << 22
LEAST_PART_ROWS, MOST_PART_ROWS = 1_000, 1 << 27
PartRows = Annotated[
    int,
    Meta(
        ge=LEAST_PART_ROWS,
        le=MOST_PART_ROWS,
        description=f"Rows of each part but the last, where there are many; {PART_ROWS:,} unless it is stated.",
        extra={"must": f"a whole number from {LEAST_PART_ROWS:,} to {MOST_PART_ROWS:,}"},
    ),
]


class OutputSection(RecipeSection, frozen=True, kw_only=True):
    """[output]: the form of the data, and a table of a database to copy it to."""

    format: Annotated[
        Literal["parquet", "csv", "sav", "dta", "xlsx", "arrow"],
        Meta(description="Of the data; beside a file for SPSS, Stata, Excel or Arrow there is one in Parquet."),
    ] = "parquet"
    escape_formulas: Annotated[
        Flag, Meta(description="Put an apostrophe before texts of a CSV that a spreadsheet would run.")
    ] = False
    synthetic: Annotated[
        Flag,
        Meta(description="Put records drawn from the release, corrected, into the bundle as well."),
    ] = False
    files: Annotated[
        Literal["one", "many"] | None,
        Meta(
            description="One data file, or a folder of parts; many where more than "
            f"{MANY_ROWS:,} rows are published and nothing is stated.",
            extra={"must": '"one" or "many"'},
        ),
    ] = None
    part_rows: PartRows | None = None
    url: Url | None = None
    table: Text | None = None
    schema: Text | None = None

    def __post_init__(self) -> None:
        if self.files == "one" and self.part_rows is not None:
            raise RecipeError('output.part_rows must go with files = "many"', 'files = "one"')
        if self.escape_formulas and self.format != "csv":
            raise RecipeError('output.escape_formulas must go with format = "csv"', f"format = {self.format!r}")

    @property
    def data_format(self) -> Literal["parquet", "csv"]:
        """Of the file that the certificate speaks of, from which every other is made."""
        return "csv" if self.format == "csv" else "parquet"

    def rows_of_parts(self, records: int) -> int | None:
        """Of a release of so many rows, where it is a set of files; None where it is one file."""
        many = records > MANY_ROWS if self.files is None else self.files == "many"
        return (self.part_rows or PART_ROWS) if many else None

    @property
    def copy_format(self) -> str | None:
        """Of the copy for another program, where one is asked for."""
        return None if self.format == self.data_format else self.format


class ColumnSection(RecipeSection, frozen=True, kw_only=True):
    """[attributes.NAME]: what a column is, whatever the method."""

    role: Role
    domain: Annotated[
        Annotated[list[str | int | float | bool], Meta(min_length=1)] | Literal["from-data"] | None,
        Meta(extra={"must": 'a list of texts or numbers, or "from-data"'}),
    ] = None
    bins: Annotated[
        list[Bound] | BinsSection | None,
        Meta(extra={"must": "a list of numbers or dates, or a section such as { width = 5, from = 0, to = 100 }"}),
    ] = None
    bottom: Annotated[Bound | None, Meta(description="Everything below it is one bin.")] = None
    top: Annotated[Bound | None, Meta(description="Everything from it on is one bin.")] = None
    round: Annotated[Positive | None, Meta(description="Numbers are rounded to multiples of it.")] = None
    hierarchy: Annotated[FilePath | None, Meta(description="A hierarchy file as ARX has them.")] = None
    level: Annotated[Ordinal, Meta(description="The level of the hierarchy to begin with.")] = 0
    missing: Annotated[
        Literal["auto", "category", "never"] | Annotated[list[str | int | float], Meta(min_length=1)],
        Meta(
            description="Whether missing is a category; or codes that stand for it, which then is one.",
            extra={"must": 'auto, category, never, or a list of codes such as ["99", "refused"]'},
        ),
    ] = "auto"
    dates: Annotated[Text | None, Meta(description="How its dates are written, such as %d.%m.%Y.")] = None
    kind: Annotated[
        Literal["nominal", "ordered", "number", "date"] | None,
        Meta(description="What its values are, where it is not what they look like: order, filters, reports."),
    ] = None

    def __post_init__(self) -> None:
        stated = {key: value for key, value in msgspec.structs.asdict(self).items() if value is not None}
        given = [key for key in ("domain", "bins", "hierarchy", "round") if key in stated]
        bounds = isinstance(self.bins, BinsSection) and self.bins.only_bounds
        if len(given) > 1 and not (given == ["bins", "round"] and bounds):
            raise RecipeError("A column must state its domain one way", " and ".join(given))
        ends = [key for key in ("bottom", "top") if key in stated]
        if ends and self.binning is None:
            raise RecipeError(
                f"{ends[0]} must be of a column with bins or round", " and ".join(given) or "neither of them"
            )
        if self.dates is not None and self.kind not in (None, "date"):
            raise RecipeError('dates must go with the kind "date"', repr(self.kind))
        codes = self.missing_codes
        if "" in codes or len(set(codes)) != len(codes):
            raise RecipeError("The codes of missing values must be distinct texts", "an empty one or one twice")
        if both := {label_of(value) for value in self.values or ()} & set(codes):
            raise RecipeError("A code of missing values must be no value of the domain", f"{len(both)} that are")

    @property
    def binning(self) -> Binning | None:
        """Its bins, if it has any."""
        if self.bins is None and self.round is None:
            return None
        return Binning(self.bins, self.bottom, self.top, self.round)

    @property
    def missing_codes(self) -> tuple[str, ...]:
        """What stands for a missing value in this column alone."""
        return tuple(map(label_of, self.missing)) if isinstance(self.missing, list) else ()

    @property
    def missing_rule(self) -> str:
        """Who states codes for missing values says that there may be some: they are a category beforehand."""
        return "category" if isinstance(self.missing, list) else self.missing

    @property
    def stated_kind(self) -> str | None:
        return "date" if self.dates is not None else self.kind

    @property
    def from_data(self) -> bool:
        return self.domain == "from-data"

    @property
    def values(self) -> list[str | int | float | bool] | None:
        """A declared domain."""
        return self.domain if isinstance(self.domain, list) else None


class RandomisedColumn(ColumnSection, frozen=True, kw_only=True):
    """A column of a method that draws published values by chance."""

    randomise: Annotated[Flag | None, Meta(description="Whether it is randomised, if not as its role says.")] = (
        None
    )
    publish: Annotated[Publish, Meta(description="What is published of a bin.")] = "interval"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.publish != "interval" and self.binning is None:
            raise RecipeError(
                f"publish = {self.publish!r} must be of a column with bins or round", "neither of them"
            )


class Setting(RecipeSection, frozen=True, kw_only=True, tag_field="method"):
    """[release]: the method and its parameters."""

    tables: Annotated[Tables, Meta(description="The tables that recipients need most.")] = []
    shuffle: Annotated[Flag, Meta(description="Publish in an order that only the key tells.")] = True

    @property
    def waived(self) -> tuple[str, ...]:
        """Promises that the holder has said need not be kept."""
        return ()


# [survey]: how a recipe's columns are asked of people, each on a device of their own.


_SAID = "text of 1 to 2,000 characters, or a section of such texts by language"
Said = Annotated[str, Meta(min_length=1, max_length=2000)]
Language = Annotated[str, Meta(pattern="^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$", max_length=35)]
Wording = Annotated[
    Said | dict[Language, Said],
    Meta(description="One text, or one for each language.", extra={"must": _SAID}),
]
Value = str | int | float | bool
Names = Annotated[list[str], Meta(extra={"must": "a list of attributes"})]


class QuestionSection(RecipeSection, frozen=True, kw_only=True):
    """[survey.questions.NAME]: what people read, and whom the question concerns."""

    text: Wording
    help: Wording | None = None
    options: Annotated[
        dict[str, Wording],
        Meta(description="What people read for a value.", extra={"must": "a section of values and their words"}),
    ] = {}
    when: Annotated[
        dict[str, list[Value]],
        Meta(
            description="Ask only who gave one of these answers to each of these earlier questions.",
            extra={"must": 'a section of earlier questions and lists of answers, such as { smokes = ["yes"] }'},
        ),
    ] = {}
    otherwise: Annotated[
        Value | None,
        Meta(description="The value of those who are not asked; without, the one of those who do not answer."),
    ] = None


class SurveySection(RecipeSection, frozen=True, kw_only=True):
    """[survey]: the page that people answer on, each for themselves."""

    title: Wording | None = None
    introduction: Wording | None = None
    languages: Annotated[
        list[Language],
        Meta(
            description="Those of the page, the first one first; without, English.",
            extra={"must": 'a list of languages such as ["en", "de"]'},
        ),
    ] = []
    order: Annotated[Names, Meta(description="The order of the questions; without, that of the columns.")] = []
    questions: Annotated[
        dict[str, QuestionSection], Meta(extra={"must": "a section [survey.questions.NAME] for each column"})
    ] = {}
    invitations: Annotated[
        Count | None, Meta(description="How many links to make, each for one answer; without, anyone may answer.")
    ] = None
    fewer: Annotated[
        Flag,
        Meta(description="Publish also if so few answer that k or central is not reached; what is, is certified."),
    ] = False
