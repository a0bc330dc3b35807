"""A table that is not said to have several rows per person, and looks as if it had: the release stops."""

from __future__ import annotations

from collections.abc import Sequence

from pramana.errors import RecipeError
from pramana.methods import AnyRecipe
from pramana.rows import Rows
from pramana.sources import Source, names_of

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
    present = names_of(source)
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
