"""A person's rows as one record: which of its values are drawn once, which with every row, and how they compose.

A unit's record is a row of values: those that the unit has in common, drawn once, and the others as often as the
unit has rows. Each is drawn from its own channel, so all that Corollaries 1 and 4 of paper 1 say of independent
attributes holds of them: likelihood ratios and anonymity ratios multiply. See docs/decisions/0012.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from pramana.errors import SchemaError
from pramana.mechanisms.channel import central_epsilon
from pramana.mechanisms.guarantees import Circumstances, common_assumptions
from pramana.mechanisms.table import Product
from pramana.notions.guarantee import ANY_TABLE, Guarantee
from pramana.notions.randomised import CentralPrivacy, LocalPrivacy, PkAnonymity
from pramana.schema.unit import Storey
from pramana.theory import pk, rounding


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
            raise SchemaError("Units that are alike must be some of all, within the bounds", str(self.alike))
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


# What is proved of a law for people, or households, that have several rows. See docs/decisions/0012.


_MANY: dict[Storey, str] = {"person": "people", "household": "households"}
_ONLY = "this is the only release about these people"


def unit_guarantees(law: Product, circumstances: Circumstances, draws: UnitDraws) -> tuple[Guarantee, ...]:
    """k and local epsilon for people, and for households where there are any; a central pair where one is proved.

    `circumstances` count rows; here units are counted.
    """
    guarantees: list[Guarantee] = []
    if circumstances.shuffled:
        guarantees += [_pk(law, circumstances, draws, storey) for storey in draws.storeys]
    guarantees += [_local(law, circumstances, draws, storey) for storey in draws.storeys]
    central = _central(law, circumstances, draws)
    return (*guarantees, *([] if central is None else [central]))


def k_of_units(law: Product, draws: UnitDraws, storey: Storey) -> Fraction:
    """Theorem 3 for units of the largest size.

    Where values are drawn once for a household they tie its people together: whoever links a person links the
    household, and nothing better is proved of the person.
    """
    of = draws.largest if "household" in draws.once.values() else storey
    return pk.k_from_ratio(draws.units(of), composed(law, draws, draws.size(of)).anonymity_ratio)


def k_if_counts_are_known(law: Product, draws: UnitDraws) -> Fraction:
    """The same against an intruder who knows how many people and rows every unit has: only those alike hide."""
    units, *size = draws.alike
    return pk.k_from_ratio(units, composed(law, draws, (size[0], size[1])).anonymity_ratio)


def _most(draws: UnitDraws, storey: Storey) -> dict[str, int]:
    return {"rows": draws.rows, **({"persons": draws.persons} if storey == "household" else {})}


def _pk(law: Product, circumstances: Circumstances, draws: UnitDraws, storey: Storey) -> PkAnonymity:
    units, raw = draws.units(storey), tuple(circumstances.raw_columns)
    assumptions = [
        f"the release has the rows of exactly {units} {_MANY[storey]}, in an order that only the key tells",
        "the intruder may know "
        + ("every true value of the randomised columns" if raw else "every true value")
        + ", the method and all its parameters, but not the key",
    ]
    if not draws.same_size(storey):
        assumptions.append(
            "to the intruder every way of sharing out the numbers of rows among the "
            f"{_MANY[storey]} is equally likely: how many rows a {storey} has is not hidden, and must not be known"
        )
    if raw:
        assumptions.append(
            "the intruder does not know the people's values of the columns released unchanged: " + ", ".join(raw)
        )
    return PkAnonymity(
        ANY_TABLE,
        f"paper 1, Theorem 3 with Corollaries 4 and 5, for all rows of a {storey} as one record",
        k=rounding.float_down(k_of_units(law, draws, storey)),
        uncovered=raw,
        unit=storey,
        most=_most(draws, storey),
        assumptions=(*assumptions, _ONLY, *_common(circumstances, draws, storey)),
    )


def _local(law: Product, circumstances: Circumstances, draws: UnitDraws, storey: Storey) -> LocalPrivacy:
    ratio = composed(law, draws, draws.size(storey)).likelihood_ratio
    return LocalPrivacy(
        ANY_TABLE,
        f"paper 1, Theorem 1 and Corollaries 1 and 2, for all rows of a {storey} as one record",
        epsilon=None if ratio is None else rounding.log_up(ratio),
        uncovered=tuple(circumstances.raw_columns),
        unit=storey,
        most=_most(draws, storey),
        assumptions=(
            f"neighbouring tables differ in the randomised attributes of one {storey}'s rows; how many rows there "
            "are is the same in both",
            f"{_ONLY}; the epsilons of several releases add up",
            *_common(circumstances, draws, storey),
        ),
    )


def _central(law: Product, circumstances: Circumstances, draws: UnitDraws) -> CentralPrivacy | None:
    """Only where all units are of one size: then they are records of one law, and shuffled among each other.

    Splitting them into rows and shuffling these tells no more.
    """
    storey = draws.largest
    whole = composed(law, draws, (draws.alike[1], draws.alike[2]))
    ratio, blankets = whole.likelihood_ratio, whole.blankets
    if not circumstances.shuffled or circumstances.raw_columns or not draws.same:
        return None
    if ratio is None or blankets is None:
        return None
    units = draws.units(storey)
    epsilon, statement = central_epsilon(blankets, ratio, units, circumstances.delta)
    return CentralPrivacy(
        ANY_TABLE,
        f"{statement}, for all rows of a {storey} as one record",
        epsilon=epsilon,
        delta=circumstances.delta,
        unit=storey,
        most=_most(draws, storey),
        assumptions=(
            f"the number of {_MANY[storey]}, {units}, and of the rows of each, {draws.alike[2]}, are public and "
            f"the same in neighbouring tables, which differ in the rows of one {storey}",
            "the order of the release is random to everyone without the key",
            _ONLY,
            *_common(circumstances, draws, storey),
        ),
    )


def _common(circumstances: Circumstances, draws: UnitDraws, storey: Storey) -> tuple[str, ...]:
    assumptions = list(common_assumptions(circumstances))
    for owner in ("person", "household"):
        once = [name for name, of in draws.once.items() if of == owner]
        if once and owner in (storey, "person"):
            columns = ", ".join(once)
            assumptions.append(
                f"every {owner} has one value in each of these columns, drawn once and repeated: {columns}"
            )
    bounds = [name for name in draws.from_data if name == "rows" or storey == "household"]
    if bounds:
        assumptions.append(
            f"the largest number of {' and of '.join(bounds)} that occurs is taken as public although it was read "
            "from the data"
        )
    return tuple(assumptions)
