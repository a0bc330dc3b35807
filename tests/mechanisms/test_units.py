"""People and households of several rows: what is certified of a law, beside every world of tiny tables."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from tests.mechanisms.unit_worlds import (
    Matrix,
    Person,
    all_people,
    largest_group_link,
    largest_link,
    releases,
    sizes_shared_out,
    surplus_left_out,
)
from tests.notions.word_checks import problems_of

from pramana.errors import SchemaError
from pramana.mechanisms.channel import Channel, Dense, Retention
from pramana.mechanisms.guarantees import Circumstances
from pramana.mechanisms.table import Product
from pramana.mechanisms.units import UnitDraws, composed, k_if_counts_are_known, unit_guarantees
from pramana.notions.randomised import CentralPrivacy, LocalPrivacy, PkAnonymity
from pramana.randomness.samplers import ONE
from pramana.schema.unit import Storey
from pramana.theory import rounding

LAWS = [
    Product({"sex": Retention.at(Fraction(1, 2), 2), "job": Retention.at(Fraction(1, 3), 2)}),
    Product({"sex": Retention.at(Fraction(1, 10), 2), "job": Dense.of([[0.7, 0.3], [0.2, 0.8]])}),
    Product({"sex": Dense.of([[0.6, 0.4], [0.5, 0.5]]), "job": Retention.at(Fraction(0), 2)}),
]


def matrix_of(channel: Channel) -> Matrix:
    return [[Fraction(int(w), ONE) for w in row] for row in channel.weights.tolist()]


def draws_of(people: int, rows: int, same: bool, **more: object) -> UnitDraws:
    alike = more.pop("alike", (people, 1, rows))
    return UnitDraws(people=people, rows=rows, once={"sex": "person"}, same=same, alike=alike, **more)  # type: ignore[arg-type]


def certified_k(law: Product, draws: UnitDraws, unit: str = "person") -> float:
    (k,) = (
        g.k
        for g in unit_guarantees(law, Circumstances(100), draws)
        if isinstance(g, PkAnonymity) and g.unit == unit
    )
    return k


@pytest.mark.parametrize("law", LAWS)
def test_k_of_people_with_equally_many_rows_is_that_of_their_whole_records(law: Product) -> None:
    """Exact against someone who is told which rows belong together; who sees rows alone does no better."""
    once, each = (matrix_of(channel) for channel in law.channels.values())
    k = certified_k(law, draws_of(2, 2, True))
    told, shown = [], []
    for table in product(all_people(2, 2, 2), repeat=2):
        told.append(largest_group_link(table, once, each))
        shown.append(largest_link([(table, Fraction(1))], once, each))
    assert float(1 / max(told)) == pytest.approx(k, rel=1e-12)
    assert max(shown) <= max(told)


@pytest.mark.parametrize("law", LAWS)
def test_k_of_people_with_different_numbers_of_rows_that_the_intruder_does_not_know(law: Product) -> None:
    once, each = (matrix_of(channel) for channel in law.channels.values())
    k = certified_k(law, draws_of(2, 2, False, alike=(1, 1, 2)))
    links = [
        largest_link(sizes_shared_out(table, (1, 2)), once, each)
        for table in product(all_people(2, 2, 2), repeat=2)
    ]
    assert max(links) <= 1 / Fraction(k)


def test_k_of_three_people_with_one_row_two_and_two() -> None:
    law = LAWS[0]
    once, each = (matrix_of(channel) for channel in law.channels.values())
    k = certified_k(law, draws_of(3, 2, False, alike=(1, 1, 1)))
    tables = [((0, (0, 0)), (1, (1, 1)), (1, (1, 1))), ((0, (0, 1)), (0, (1, 1)), (1, (0, 0)))]
    assert max(largest_link(sizes_shared_out(t, (1, 2, 2)), once, each) for t in tables) <= 1 / Fraction(k)


def test_whoever_knows_how_many_rows_each_has_does_better_and_the_certificate_says_how_much() -> None:
    """A value that two rows share gives them away even where nothing is retained: the assumption is needed."""
    law = Product({"sex": Retention.at(Fraction(0), 4), "job": Retention.at(Fraction(0), 2)})
    once, each = (matrix_of(channel) for channel in law.channels.values())
    table: list[Person] = [(0, (0, 0)), (0, (0,)), (0, (0,))]
    known = largest_link([(table, Fraction(1))], once, each)
    draws = draws_of(3, 2, False, alike=(1, 1, 2))
    assert known > 1 / Fraction(certified_k(law, draws))
    assert known <= 1 / k_if_counts_are_known(law, draws) == 1


@pytest.mark.parametrize("law", LAWS[:2])
def test_k_where_numbers_of_rows_are_known_is_that_of_those_who_share_one(law: Product) -> None:
    """Two people with one row each, and two with two: the latter hide worse, as their records say more."""
    once, each = (matrix_of(channel) for channel in law.channels.values())
    draws = draws_of(4, 2, False, alike=(2, 1, 2))
    tables: list[list[Person]] = [
        [(0, (0,)), (1, (1,)), (0, (0, 0)), (1, (1, 1))],
        [(0, (0,)), (0, (0,)), (0, (0, 1)), (1, (1, 0))],
        [(1, (1,)), (1, (1,)), (1, (0, 0)), (0, (1, 1))],
    ]
    worst = max(largest_link([(table, Fraction(1))], once, each) for table in tables)
    assert worst <= 1 / k_if_counts_are_known(law, draws)


@pytest.mark.parametrize("law", LAWS[:2])
def test_surplus_rows_left_out_by_chance_do_not_weaken_k(law: Product) -> None:
    once, each = (matrix_of(channel) for channel in law.channels.values())
    k = certified_k(law, draws_of(2, 1, True))
    tables = product(all_people(2, 2, 2), all_people(2, 2, 1))
    assert max(largest_link(surplus_left_out(t, 1), once, each) for t in tables) <= 1 / Fraction(k)


@pytest.mark.parametrize("law", LAWS)
def test_epsilon_of_a_person_bounds_every_release_and_is_reached(law: Product) -> None:
    """Tables that differ in all values of one person; one who has fewer rows is covered by the bound."""
    once, each = (matrix_of(channel) for channel in law.channels.values())
    (local,) = (
        g
        for g in unit_guarantees(law, Circumstances(9), draws_of(2, 2, False, alike=(1, 1, 1)))
        if isinstance(g, LocalPrivacy)
    )
    assert local.epsilon is not None and local.unit == "person" and local.most == {"rows": 2}
    other: Person = (0, (0,))
    worst = alone = Fraction(0)
    for one, two in product(all_people(2, 2, 2), repeat=2):
        first, second = releases([one, other], once, each), releases([two, other], once, each)
        worst = max(worst, *(first[seen] / second[seen] for seen in first))
        first, second = releases([one], once, each), releases([two], once, each)
        alone = max(alone, *(first[seen] / second[seen] for seen in first))
    assert worst <= rounding.exp_up(local.epsilon)
    assert math.log(alone) == pytest.approx(local.epsilon, rel=1e-9)


def test_drawing_a_common_value_with_every_row_would_cost_more() -> None:
    """So that constant values are drawn once is what the stated epsilon rests on."""
    law = LAWS[0]
    once = composed(law, draws_of(2, 2, True), (1, 2)).likelihood_ratio
    every = composed(law, UnitDraws(people=2, rows=2, alike=(2, 1, 2)), (1, 2)).likelihood_ratio
    sex = law.channels["sex"].likelihood_ratio
    assert once is not None and every is not None and sex is not None
    assert every == once * sex


@pytest.mark.parametrize("law", LAWS[:2])
def test_the_central_pair_of_people_with_equally_many_rows_holds(law: Product) -> None:
    once, each = (matrix_of(channel) for channel in law.channels.values())
    for delta in (0.2, 0.05):
        (central,) = (
            g
            for g in unit_guarantees(law, Circumstances(6, delta=delta), draws_of(3, 2, True))
            if isinstance(g, CentralPrivacy)
        )
        worst = Fraction(0)
        factor = Fraction(math.exp(central.epsilon))
        for others in [((0, (0, 0)), (0, (0, 0))), ((0, (0, 1)), (1, (1, 1))), ((1, (1, 1)), (1, (1, 1)))]:
            for one, two in [((0, (0, 0)), (1, (1, 1))), ((1, (0, 0)), (0, (1, 1)))]:
                first = releases([one, *others], once, each)
                second = releases([two, *others], once, each)
                excess = sum((max(first[s] - factor * second[s], Fraction(0)) for s in first), Fraction(0))
                worst = max(worst, excess)
        assert worst <= Fraction(delta)


def test_no_central_pair_is_claimed_where_numbers_of_rows_differ() -> None:
    stated = unit_guarantees(LAWS[0], Circumstances(9), draws_of(3, 2, False, alike=(1, 1, 2)))
    assert [g.notion for g in stated] == ["pk-anonymity", "local-differential-privacy"]


# ---------------------------------------------------------------- households


def household_draws(shared: bool) -> UnitDraws:
    """Two households of two people with a row each; sex is the household's own where it is shared."""
    once: dict[str, Storey] = {"sex": "household"} if shared else {}
    return UnitDraws(
        people=4,
        rows=1,
        households=2,
        persons=2,
        once=once,
        same=True,
        alike=(2, 2, 2),
    )


@pytest.mark.parametrize("law", LAWS[:2])
def test_k_of_households_and_of_their_people(law: Product) -> None:
    """A household's record has the form of a person's: a common value, and a row for each of its people."""
    once, each = (matrix_of(channel) for channel in law.channels.values())
    draws = household_draws(shared=True)
    homes = list(product(all_people(2, 2, 2), repeat=2))
    links = [largest_link([(table, Fraction(1))], once, each) for table in homes]
    told = [largest_group_link(table, once, each) for table in homes]
    assert float(1 / max(told)) == pytest.approx(certified_k(law, draws, "household"), rel=1e-12)
    assert certified_k(law, draws) == certified_k(law, draws, "household")
    assert max(links) <= 1 / Fraction(certified_k(law, draws))


def test_k_of_people_whose_households_share_no_draw_is_that_of_all_people() -> None:
    law = Product({"job": LAWS[0].channels["job"]})
    each = matrix_of(law.channels["job"])
    nothing: Matrix = [[Fraction(1)]]
    draws = household_draws(shared=False)
    worst = max(
        largest_link([([(0, (v,)) for v in values], Fraction(1))], nothing, each)
        for values in product(range(2), repeat=4)
    )
    assert float(1 / worst) == pytest.approx(certified_k(law, draws), rel=1e-12)
    assert certified_k(law, draws, "household") < certified_k(law, draws)


def test_epsilon_of_a_household_adds_up_over_its_people() -> None:
    law = LAWS[0]
    draws = UnitDraws(
        people=6, rows=3, households=3, persons=2, once={"sex": "person"}, alike=(3, 2, 6), same=True
    )
    stated = {g.unit: g for g in unit_guarantees(law, Circumstances(18), draws) if isinstance(g, LocalPrivacy)}
    sex, job = (math.log(c.likelihood_ratio) for c in law.channels.values() if c.likelihood_ratio is not None)
    assert stated["person"].epsilon == pytest.approx(sex + 3 * job)
    assert stated["household"].epsilon == pytest.approx(2 * sex + 6 * job)
    assert stated["household"].most == {"rows": 3, "persons": 2}


def test_people_of_like_households_may_still_differ_in_rows_and_then_it_is_assumed() -> None:
    """Every household has a person with one row and one with two: households hide among each other, people not."""
    law = Product({"job": LAWS[0].channels["job"]})
    mixed = UnitDraws(people=4, rows=2, households=2, persons=2, same=True, alike=(2, 2, 3))
    full = UnitDraws(people=4, rows=2, households=2, persons=2, same=True, alike=(2, 2, 4))
    assumed = {
        (name, g.unit): any("must not be known" in a for a in g.assumptions)
        for name, draws in (("mixed", mixed), ("full", full))
        for g in unit_guarantees(law, Circumstances(6), draws)
        if isinstance(g, PkAnonymity)
    }
    assert assumed == {
        ("mixed", "person"): True,
        ("mixed", "household"): False,
        ("full", "person"): False,
        ("full", "household"): False,
    }


# ---------------------------------------------------------------- statements


def test_the_words_name_the_unit_and_its_bounds() -> None:
    law = LAWS[0]
    draws = UnitDraws(
        people=6, rows=3, households=3, persons=2, once={"sex": "person"}, alike=(3, 2, 6), same=True
    )
    stated = unit_guarantees(law, Circumstances(18), draws)
    assert [g.unit for g in stated] == ["person", "household", "person", "household", "household"]
    for guarantee in stated:
        assert problems_of(guarantee.to_json()) == []
    assert "counting all records of a person together, at most 3 records" in stated[0].in_words()
    assert "at most 2 people with at most 3 records each" in stated[1].in_words()
    wrong = {**stated[0].to_json(), "most": {"rows": 4}}
    assert problems_of(wrong) == ["the words have another unit"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"people": 0},
        {"rows": 0},
        {"alike": (5, 1, 2)},
        {"alike": (1, 1, 3)},
        {"alike": (1, 2, 2)},
        {"persons": 2},
        {"once": {"sex": "household"}},
    ],
)
def test_units_that_cannot_be_are_refused(wrong: dict[str, object]) -> None:
    stated: dict[str, object] = {"people": 4, "rows": 2, "alike": (4, 1, 2), **wrong}
    with pytest.raises(SchemaError):
        UnitDraws(**stated)  # type: ignore[arg-type]
