"""The sections of a recipe that every method has; a method adds its own keys by inheritance."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from pramana.errors import RecipeError
from pramana.schema.attribute import Role
from pramana.schema.typed import FilePath, Flag, Ordinal, Text

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

    path: Annotated[FilePath | None, Meta(description="A CSV or Parquet file, or a folder of them.")] = None
    url: Annotated[Url | None, Meta(description="A database: postgresql://..., sqlite:///file, env:NAME.")] = None
    query: Text | None = None
    table: Text | None = None
    schema: Text | None = None
    format: Text | None = None
    delimiter: Text | None = None
    encoding: Text | None = None
    missing: Annotated[
        list[str] | None, Meta(extra={"must": "a list of texts that stand for a missing value"})
    ] = None
    dataset: Annotated[Text, Meta(description="A name that coins are bound to.")] = ""


Statement = Annotated[str, Meta(min_length=1, max_length=500, extra={"must": "text of 1 to 500 characters"})]


class AboutSection(RecipeSection, frozen=True, kw_only=True):
    """[about]: what the holder says of the release. It goes into certificate and report as it is written."""

    title: Statement | None = None
    holder: Annotated[Statement | None, Meta(description="Who publishes, and answers for it.")] = None
    contact: Statement | None = None
    recipient: Annotated[Statement | None, Meta(description="For whom this release is made.")] = None
    purpose: Statement | None = None
    date: Annotated[Statement | None, Meta(description="As text, such as 2026-03-31.")] = None


class OutputSection(RecipeSection, frozen=True, kw_only=True):
    """[output]: the form of the data, and a table of a database to copy it to."""

    format: Literal["parquet", "csv"] = "parquet"
    escape_formulas: Annotated[
        Flag, Meta(description="Put an apostrophe before texts of a CSV that a spreadsheet would run.")
    ] = False
    synthetic: Annotated[
        Flag,
        Meta(description="Put records drawn from the release, corrected, into the bundle as well."),
    ] = False
    url: Url | None = None
    table: Text | None = None
    schema: Text | None = None

    def __post_init__(self) -> None:
        if self.escape_formulas and self.format != "csv":
            raise RecipeError('output.escape_formulas must go with format = "csv"', f"format = {self.format!r}")


class ColumnSection(RecipeSection, frozen=True, kw_only=True):
    """[attributes.NAME]: what a column is, whatever the method."""

    role: Role
    domain: Annotated[
        Annotated[list[str | int | float | bool], Meta(min_length=1)] | Literal["from-data"] | None,
        Meta(extra={"must": 'a list of texts or numbers, or "from-data"'}),
    ] = None
    bins: Annotated[list[float] | None, Meta(extra={"must": "a list of numbers"})] = None
    hierarchy: Annotated[FilePath | None, Meta(description="A hierarchy file as ARX has them.")] = None
    level: Annotated[Ordinal, Meta(description="The level of the hierarchy to begin with.")] = 0
    missing: Literal["auto", "category", "never"] = "auto"
    kind: Annotated[
        Literal["nominal", "ordered", "number", "date"] | None,
        Meta(description="What its values are, where it is not what they look like: order, filters, reports."),
    ] = None

    def __post_init__(self) -> None:
        given = [key for key in ("domain", "bins", "hierarchy") if msgspec.structs.asdict(self)[key] is not None]
        if len(given) > 1:
            raise RecipeError("A column must state its domain one way", " and ".join(given))

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


class Setting(RecipeSection, frozen=True, kw_only=True, tag_field="method"):
    """[release]: the method and its parameters."""

    tables: Annotated[Tables, Meta(description="The tables that recipients need most.")] = []
    shuffle: Annotated[Flag, Meta(description="Publish in an order that only the key tells.")] = True

    @property
    def waived(self) -> tuple[str, ...]:
        """Promises that the holder has said need not be kept."""
        return ()
