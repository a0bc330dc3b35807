"""Releases with the columns of their source, some of which have other values: what `swap` and `noise` share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, TypeVar

import pyarrow as pa
from msgspec import Meta

from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import Certificate
from pramana.bundle.form import Check, Form
from pramana.errors import PramanaError, RecipeError
from pramana.io.writing import raw_column
from pramana.methods.protocol import Examination, Explanation, Plan, TableMaker, content_checks
from pramana.methods.recipe import Recipe
from pramana.methods.usefulness import Usefulness
from pramana.notions.guarantee import IN_EARNEST
from pramana.pages.content import Cell, Grid, Section, Text
from pramana.rows.digest import Column, ContentDigest
from pramana.rows.protocol import Columns
from pramana.schema.sections import ColumnSection, Setting

S = TypeVar("S", bound=Setting)
C = TypeVar("C", bound=ColumnSection)


class PerturbedDesign(Form, frozen=True, kw_only=True):
    """What is done to which columns, as a certificate states it."""

    columns: Annotated[list[str], Meta(min_length=1)]


@dataclass(frozen=True, kw_only=True, eq=False)
class PerturbedPlan(Plan):
    """A plan that publishes the columns of its design with other values, and bounds nothing by that.

    `secret`: what anyone undoes who knows the seed, in a warning and in an assumption.
    """

    design: PerturbedDesign
    number: ClassVar[str]  # what the guarantee's number says
    secret: ClassVar[tuple[str, str]]
    warning: ClassVar[str]
    unchecked: ClassVar[tuple[str, str]]  # what only the source tells

    def raw_names(self) -> list[str]:
        return [a.name for a in self.attributes if a.name not in self.design.columns]

    def assumptions(self, seeded: bool) -> tuple[str, ...]:
        nothing = (
            f"nothing is taken to be unknown to anyone: the number says how much was {self.number}, and no more"
        )
        return (nothing, f"{IN_EARNEST}: {self.secret[1]}") if seeded else (nothing,)

    def warnings(self, seeded: bool) -> tuple[str, ...]:
        seed = f"The key was made from a seed that anyone can guess: {self.secret[0]}."
        unbounded = (
            f"No privacy notion bounds what this release tells: {self.warning}. "
            "Where a number is needed, use another method."
        )
        order = "Published in source order, which may tell which record is whose."
        return (
            *((seed,) if seeded else ()),
            unbounded,
            *self.further_warnings(),
            *(() if self.shuffled else (order,)),
        )

    def further_warnings(self) -> tuple[str, ...]:
        return ()

    def usefulness(self) -> Usefulness:
        return Usefulness()

    def examine(self, bundle: Bundle) -> Examination:
        """The content is the certified one; what was done to it needs the source."""
        digest, records = ContentDigest(), 0
        try:
            bundle.check_columns({a.name: None for a in self.attributes})
            for piece in bundle.batches():
                table = pa.table(piece)
                take_content(digest, table)
                self.check_piece(table)
                records += piece.num_rows
        except PramanaError as error:
            return Examination((Check("data", False, str(error)),))
        name, words = self.unchecked
        return Examination(
            (
                *content_checks(bundle, digest.hexdigest(sorted(digest.parts)), records, self.records),
                Check(name, True, f"stated, not checked: {words} the source (--source and --key)", derived=False),
            ),
            usefulness=self.usefulness(),
        )

    def check_piece(self, table: pa.Table) -> None:
        """Refuse values that cannot have been published."""

    @abstractmethod
    def treatment(self, name: str) -> str:
        """What was done to a column of the design, in words."""

    def explained(self, section: str, anchor: str, rows: Sequence[Mapping[str, Cell]], use: str) -> Explanation:
        """The explanation with one section, a table by column."""
        treatments = {
            a.name: {
                "treatment": self.treatment(a.name) if a.name in self.design.columns else "released unchanged"
            }
            for a in self.attributes
        }
        return Explanation(
            treatments, sections=[Section(section, [Grid(rows), Text(use)], anchor=anchor)], use=use
        )


def refuse_domains(recipe: Recipe[S, C]) -> None:
    """Columns are published as in the source, or with values of the same kind."""
    for name, column in recipe.published.items():
        if any(part is not None for part in (column.domain, column.binning, column.hierarchy)):
            raise RecipeError(
                f"With method {recipe.method} the column {name!r} must be as in the source", "a domain of its own"
            )


def misfit(certificate: Certificate, names: Iterable[str]) -> str:
    """What a certificate of unchanged columns cannot state; empty where these columns can be stated."""
    known = {a.name for a in certificate.attributes}
    coded = [f"a domain of {a.name!r}" for a in certificate.attributes if not a.raw]
    unknown = [f"a column {name!r} that is not published" for name in names if name not in known]
    return next(iter([*coded, *unknown]), "")


def take_content(digest: ContentDigest, table: pa.Table) -> None:
    """What a file says, piece by piece: every value as its text, whatever the file."""
    digest.update({name: raw_column(table.column(name), None) for name in table.schema.names})


@dataclass(eq=False)
class PerturbedTable(TableMaker):
    """Makes the published columns: those with other values by a function each, the others as they are."""

    names: Sequence[str]
    changed: Mapping[str, Callable[[Columns], Column]]
    digest: ContentDigest = field(default_factory=ContentDigest, init=False)

    def table(self, columns: Columns) -> pa.Table:
        changed = {name: make(columns) for name, make in self.changed.items()}
        table = pa.table({name: changed[name] if name in changed else columns[name] for name in self.names})
        take_content(self.digest, table)
        return table

    def content(self) -> str:
        return self.digest.hexdigest(sorted(self.digest.parts))
