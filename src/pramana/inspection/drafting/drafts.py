"""What a candidate for a first recipe is, and what every job does with columns outside its promise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pramana.inspection.drafting.columns import ColumnDraft, left_out, unchanged
from pramana.inspection.drafting.toml_text import Value
from pramana.inspection.guesses import Look
from pramana.inspection.inspecting import Examined
from pramana.schema import Role

MOST_VALUES = 24  # of a domain that is randomised


@dataclass(frozen=True)
class Draft:
    """The sections of a candidate, but for the source, and what is to be confirmed of the whole."""

    release: Mapping[str, Value]
    words: str
    columns: tuple[ColumnDraft, ...]
    confirm: tuple[str, ...] = ()
    sample: int | None = None  # rows on which it is tried, where all would take too long

    def without_constants(self) -> Draft:
        """For a table in which every row is a person."""
        return replace(self, columns=tuple(column.of_rows() for column in self.columns))


@dataclass(frozen=True)
class Wish:
    """What the holder said besides the table: the public table of presence, and the column that marks it."""

    public: str | None = None
    present: str | None = None


def roles_of(examined: Examined) -> dict[str, tuple[Role, str]]:
    """Guessed roles; of more quasi-identifiers than can be protected together, those that others know are dropped.

    Those that others only may know pass as insensitive, and are asked of.
    """
    chosen = set(examined.guessed_quasi())
    roles = {}
    for look in examined.looks:
        guess = examined.guesses[look.name]
        role, reason = guess.role, guess.reason
        if role is Role.QUASI_IDENTIFYING and look.name not in chosen:
            role = Role.IDENTIFYING if guess.firm or look.is_near_unique else Role.INSENSITIVE
            reason = f"{reason}, but there are too many such columns"
        roles[look.name] = role, reason
    return roles


def passed(look: Look, role: Role, reason: str) -> ColumnDraft:
    """A column outside the promise: dropped if it names people, else as it is."""
    if not look.name:
        return left_out(look, "it has no name", "they have no name")
    if role is Role.IDENTIFYING:
        return ColumnDraft(look.name, role, words=f"{reason}: dropped")
    if look.is_near_unique and role is not Role.INSENSITIVE:
        return left_out(
            look,
            "nearly every row has a value of its own, which would give people away",
            "nearly every row has a value of its own there",
        )
    return unchanged(look, role, reason)
