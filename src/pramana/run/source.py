"""The table of a run: as its recipe names it, or as a certificate says it was read; and what must not repeat."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from pramana.bundle.certificate import Certificate, JsonObject
from pramana.errors import RecipeError
from pramana.files.locations import located
from pramana.io.formats import kind_by_name
from pramana.io.source import Source
from pramana.io.values import ValueForm
from pramana.methods.recipe import AnyRecipe, Recipe
from pramana.methods.registry import method_named
from pramana.rows.protocol import Rows
from pramana.schema.domain import Attribute
from pramana.schema.kind import Kind, label_of
from pramana.schema.sections import ColumnSection, SourceSection

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
