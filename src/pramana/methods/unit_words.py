"""What every certificate says of a unit of several rows besides its guarantees, and what the source says of it."""

from __future__ import annotations

from collections.abc import Iterator

from pramana.bundle import Check
from pramana.rows import Rows
from pramana.schema import Unit


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
