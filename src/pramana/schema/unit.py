"""[unit]: whose privacy is meant, where several rows can be one person's, or several people one household's."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from pramana.errors import RecipeError, SchemaError
from pramana.schema.sections import RecipeSection
from pramana.schema.typed import Count, Flag, PlainText

_Column = Annotated[str, Meta(max_length=1 << 16)]
Storey = Literal["person", "household"]
MOST_IN_A_UNIT = 10_000
Bound = Annotated[int, Meta(ge=1, le=MOST_IN_A_UNIT, extra={"must": f"a whole number from 1 to {MOST_IN_A_UNIT}"})]


class UnitSection(RecipeSection, frozen=True, kw_only=True):
    """[unit]: the columns that tell people and households apart, or that every row is a person."""

    person: Annotated[PlainText | None, Meta(description="The column whose values are people; dropped.")] = None
    household: Annotated[PlainText | None, Meta(description="The column whose values are households.")] = None
    rows: Annotated[Bound | None, Meta(description="Of a person, at most; surplus rows are left out.")] = None
    persons: Annotated[Bound | None, Meta(description="Of a household, at most; the others are left out.")] = None
    row: Annotated[Flag | None, Meta(description="Every row is a person, whatever repeats.")] = None

    def __post_init__(self) -> None:
        others = [key for key in ("person", "household", "rows", "persons") if _given(self, key)]
        if self.row and others:
            raise RecipeError("[unit] must say either row = true or who is meant", f"row and {', '.join(others)}")
        if not self.row and not self.columns:
            raise RecipeError(
                "[unit] must say whose privacy is meant",
                "row = false" if self.row is False else ", ".join(others) or "nothing",
                'Write person = "COLUMN", household = "COLUMN", or row = true.',
            )
        if self.rows is not None and self.person is None:
            raise RecipeError("unit.rows must go with person", "no person")
        if self.persons is not None and self.household is None:
            raise RecipeError("unit.persons must go with household", "no household")
        if len(set(self.columns)) < len(self.columns):
            raise RecipeError("[unit] must name one column for people and another for households", "one for both")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read to tell people and households apart, and never published."""
        return tuple(column for column in (self.person, self.household) if column is not None)

    @property
    def several(self) -> bool:
        """Whether rows are to be brought together."""
        return not self.row


def _given(section: UnitSection, key: str) -> bool:
    return msgspec.structs.asdict(section)[key] is not None


class Unit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Whose privacy is meant: the columns that told people and households apart, and bounds on what each has."""

    # Bounds are the recipe's, or what the data has at most where `from_data` names them; None where nothing
    # depends on one. Without a column for people every row is a person.
    kind: Literal["row", "person", "household"]
    person: _Column | None = None
    household: _Column | None = None
    rows: Count | None = None
    persons: Count | None = None
    people: Count | None = None
    households: Count | None = None
    from_data: tuple[Literal["rows", "persons"], ...] = ()

    def __post_init__(self) -> None:
        if self.kind == "row":
            fits = set(self.to_json()) == {"kind"}
        elif self.kind == "person":
            fits = self.person is not None and self.household is None and self.households is None
            fits = fits and self.persons is None and bool(self.people)
        else:
            fits = self.household is not None and bool(self.people) and bool(self.households)
            fits = fits and (self.people or 0) >= (self.households or 0)
        if not fits or not set(self.from_data) <= {"rows", "persons"}:
            raise SchemaError(
                "The unit of a release must be stated in full, and nothing of another", ", ".join(self.to_json())
            )

    @property
    def storeys(self) -> tuple[Storey, ...]:
        """For whom guarantees are stated, from the smallest unit on."""
        if self.kind == "row":
            return ()
        return ("person",) if self.kind == "person" else ("person", "household")

    @property
    def largest(self) -> Storey | None:
        """Whose guarantee implies the others'; None where rows are people."""
        return self.storeys[-1] if self.storeys else None

    def most(self, storey: Storey) -> dict[str, int]:
        """The bounds that guarantees for people, or for households, are stated with."""
        bounds = {"rows": self.rows} if storey == "person" else {"rows": self.rows, "persons": self.persons}
        return {name: bound for name, bound in bounds.items() if bound is not None}

    @property
    def section(self) -> UnitSection:
        """What the recipe must have said, so that the rows are brought together again in the same way."""
        if self.kind == "row":
            return UnitSection(row=True)
        return UnitSection(
            person=self.person,
            household=self.household,
            rows=None if self.person is None or "rows" in self.from_data else self.rows,
            persons=None if "persons" in self.from_data else self.persons,
        )

    def to_json(self) -> dict[str, Any]:
        stated: dict[str, Any] = msgspec.to_builtins(self)
        return {**stated, "from_data": list(self.from_data)} if self.from_data else stated
