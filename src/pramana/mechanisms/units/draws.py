"""A person's rows as one record: which of its values are drawn once, which with every row, and how they compose.

A unit's record is a row of values: those that the unit has in common, drawn once, and the others as often as the
unit has rows. Each is drawn from its own channel, so all that Corollaries 1 and 4 of paper 1 say of independent
attributes holds of them: likelihood ratios and anonymity ratios multiply. See docs/decisions/0012.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pramana.errors import SchemaError
from pramana.mechanisms.table import Product
from pramana.schema import Storey


@dataclass(frozen=True)
class UnitDraws:
    """How many units there are, how large they are at most, and which columns they draw once.

    `same`: all units have equally many people and rows. `alike`: of the units whose number of people and rows
    tells most of them, how many there are, and how many people and rows each has.
    """

    people: int
    rows: int
    households: int | None = None
    persons: int = 1
    once: Mapping[str, Storey] = field(default_factory=dict)
    same: bool = False
    alike: tuple[int, int, int] = (1, 1, 1)
    from_data: tuple[str, ...] = ()  # the bounds that were read from the data

    def __post_init__(self) -> None:
        units, persons, rows = self.alike
        if min(self.people, self.rows, self.persons, units, persons, rows) < 1:
            raise SchemaError("People, rows and households must be counted from 1 on", "none")
        if units > self.units(self.largest) or persons > self.persons or rows > persons * self.rows:
            raise SchemaError("Units that are alike must be some of all, within the bounds", "others")
        if self.households is None and (self.persons > 1 or "household" in self.once.values()):
            raise SchemaError("Households must be counted where their values are drawn once", "none")

    @property
    def largest(self) -> Storey:
        return "person" if self.households is None else "household"

    @property
    def storeys(self) -> tuple[Storey, ...]:
        return ("person",) if self.households is None else ("person", "household")

    def units(self, storey: Storey) -> int:
        return self.people if storey == "person" or self.households is None else self.households

    def same_size(self, storey: Storey) -> bool:
        """Whether all units are known to have equally many rows.

        Households of one size may have people with different numbers of rows, unless all have as many as there
        can be. Where a household's values tie its people together, nothing is claimed of people beyond it.
        """
        _, persons, rows = self.alike
        if storey == self.largest or "household" in self.once.values():
            return self.same
        return self.same and rows == persons * self.rows

    def size(self, storey: Storey) -> tuple[int, int]:
        """People and rows of a unit, at most."""
        return (1, self.rows) if storey == "person" else (self.persons, self.persons * self.rows)

    def times(self, name: str, size: tuple[int, int]) -> int:
        """How often a column of a unit of so many people and rows is drawn."""
        persons, rows = size
        return {"household": 1, "person": persons}.get(self.once.get(name, ""), rows)

    def rows_sharing(self, name: str) -> int:
        """How many published rows may have one draw of a column, at most."""
        of = self.once.get(name)
        return 1 if of is None else self.size(of)[1]


def composed(law: Product, draws: UnitDraws, size: tuple[int, int]) -> Product:
    """The law of a whole unit's record: every column as often as it is drawn for a unit of this size."""
    return Product(
        {
            f"{name}\0{draw}": channel
            for name, channel in law.channels.items()
            for draw in range(draws.times(name, size))
        }
    )
