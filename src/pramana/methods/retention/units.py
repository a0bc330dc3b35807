"""Owners and households of several rows in a release by a drawn law: what is drawn once, and what that allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import msgspec

from pramana.bundle.form import Check
from pramana.errors import RecipeError, SourceError, UnreachableError
from pramana.mechanisms.guarantees import Circumstances
from pramana.mechanisms.table import Mechanism, Product
from pramana.mechanisms.units import UnitDraws, k_if_counts_are_known
from pramana.methods.protocol import left_out_words
from pramana.methods.recipe import Recipe
from pramana.methods.retention.calibration import Wanted, calibrate
from pramana.methods.retention.setting import DrawnColumn, DrawnSetting, RetentionSetting
from pramana.rows.owners import Owners
from pramana.rows.protocol import Rows
from pramana.schema.unit import Storey, Unit
from pramana.theory import rounding

_OF: dict[Storey, str] = {"person": "each person", "household": "each household"}


def units_of(
    recipe: Recipe[DrawnSetting, DrawnColumn], sizes: Mapping[str, int], people: Owners | None
) -> UnitDraws | None:
    """Who the people are and what they draw once; None where every row is a person."""
    once = {name: of for name, c in recipe.published.items() if (of := c.drawn_once) is not None}
    if people is None:
        if once and recipe.unit is None:
            raise RecipeError(
                "A column must be constant for a person that [unit] names", f"constant in {', '.join(once)}"
            )
        return None
    section = recipe.unit
    assert section is not None, "rows are brought together where a recipe says so"
    _check_setting(recipe.release)
    for name, of in once.items():
        if name not in sizes:
            raise RecipeError(f"The column {name!r} must be randomised to be drawn once", "one released unchanged")
        if of == "household" and section.household is None:
            raise RecipeError(f"The column {name!r} can be constant for households that [unit] names", "none")
    persons = 1 if section.household is None else section.persons or people.most_persons
    read = {"rows": section.rows is None and section.person is not None}
    read["persons"] = section.persons is None and section.household is not None
    shapes = people.shapes()
    return UnitDraws(
        people=people.people,
        rows=section.rows or people.most_rows,
        households=people.households,
        persons=persons,
        once=once,
        same=len(shapes) == 1,
        from_data=tuple(name for name, is_read in read.items() if is_read),
    )


def _check_setting(setting: DrawnSetting) -> None:
    if setting.candidates is not None:
        raise RecipeError("candidates must be stated of rows that are people", "a [unit] of several rows")
    if isinstance(setting, RetentionSetting) and (setting.coin != "attribute" or setting.allocation != "equal"):
        raise RecipeError(
            'With a [unit] of several rows the coin must be "attribute" and the allocation "equal"',
            f"coin = {setting.coin!r}, allocation = {setting.allocation!r}",
        )


def with_sizes(draws: UnitDraws, law: Mechanism, people: Owners) -> UnitDraws:
    """With those units that hide worst from an intruder who knows how many people and rows everyone has."""
    assert isinstance(law, Product), "each column of a unit has a coin of its own"
    tried = [replace(draws, alike=(shape.units, shape.persons, shape.rows)) for shape in people.shapes()]
    return min(tried, key=lambda one: (k_if_counts_are_known(law, one), one.alike))


def bounded(unit: Unit | None, draws: UnitDraws) -> Unit:
    """The unit with the bounds that its guarantees hold for."""
    assert unit is not None, "draws are of a unit"
    persons = draws.persons if unit.household is not None else None
    return msgspec.structs.replace(unit, rows=draws.rows, persons=persons, from_data=draws.from_data)


def around_units(circumstances: Circumstances, draws: UnitDraws | None) -> Circumstances:
    """The same circumstances with units for rows: the largest ones, whose promise implies the others'."""
    if draws is None:
        return circumstances
    return replace(circumstances, records=draws.units(draws.largest))


def calibrated_for_units(sizes: Mapping[str, int], wanted: Wanted, draws: UnitDraws) -> Product:
    """The largest common retention at which whole units keep the promise."""
    if wanted.central is not None and not draws.same:
        raise UnreachableError(
            f"A central epsilon can be promised of a {draws.largest} where all have equally many rows",
            "different numbers of rows",
            "Promise k or epsilon, or bound the rows so that all have as many.",
        )
    size = draws.size(draws.largest)
    whole = {f"{name}\0{draw}": v for name, v in sizes.items() for draw in range(draws.times(name, size))}
    law = calibrate(whole, wanted)
    assert isinstance(law, Product), "calibrated with a coin for each attribute"
    return Product({name: law.channels[f"{name}\0{0}"] for name in sizes})


def check_constant(rows: Rows, draws: UnitDraws, sizes: Mapping[str, int]) -> None:
    """Refuse a column that is drawn once and has several values for someone; who, and how many, is not said."""
    people = rows.owners
    if people is None or not draws.once:
        return
    codes = rows.whole().codes({name: sizes[name] for name in draws.once})
    for name, of in draws.once.items():
        common = codes[name][people.first_rows(of)][people.numbers_of(of)]
        if bool((common != codes[name]).any()):
            raise SourceError(
                f"The column {name!r} must have one value for {_OF[of]}, as the recipe says",
                "several for some",
                "Leave constant out: it is then drawn with every row, at the price of every row.",
            )


def check_people(rows: Rows, draws: UnitDraws) -> Check:
    """What the source says of its people, beside what the certificate states."""
    people, same = rows.owners, False
    if people is not None:
        shapes = people.shapes()
        stated = (draws.people, draws.households, draws.same)
        counted = (people.people, people.households, len(shapes) == 1) == stated
        alike = any((s.units, s.persons, s.rows) == draws.alike for s in shapes)
        within = people.most_rows <= draws.rows and people.most_persons <= draws.persons
        same = counted and alike and within
    return Check("people", same, "as certified" if same else "others than certified")


def unit_warnings(law: Mechanism, circumstances: Circumstances, draws: UnitDraws, unit: Unit) -> Iterator[str]:
    """What a certificate says of units besides their guarantees."""
    who = "people" if draws.largest == "person" else "households"
    if draws.from_data:
        named = " and ".join(f"{name} = ..." for name in draws.from_data)
        yield (
            f"The largest number of {' and of '.join(draws.from_data)} was read from the data, and is told by the "
            f"guarantees. State {named} in [unit] to settle it beforehand."
        )
    yield from left_out_words(unit)
    yield f"How many rows a {draws.largest} has is not hidden: no guarantee speaks of it."
    if not draws.same and circumstances.shuffled and isinstance(law, Product):
        k = rounding.shown_down(rounding.float_down(k_if_counts_are_known(law, draws)), 4)
        yield (
            f"Against anyone who knows how many rows each of the {who} has, k is {k}: only those with equally "
            "many hide among each other."
        )
        yield f"No central guarantee is claimed: it is proved where all {who} have equally many rows."
