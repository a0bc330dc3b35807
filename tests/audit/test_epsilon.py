"""Lower bounds on epsilon: below the claim where the law is the claimed one, above it where it is not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.audit.test_linkage import LAW, LAWS, SIZES, published

from pramana.holder.audit.anonymity import attribute_inference, control_inference
from pramana.holder.audit.epsilon import epsilon_by_attribute, epsilon_in_one_run, neighbouring_runs, worst_pair
from pramana.holder.audit.linkage import LinkedTable
from pramana.holder.audit.together import averaged_epsilon, reused_coins
from pramana.holder.audit.verdict import Attack, NotRun, Outcome
from pramana.mechanisms.channel import Retention
from pramana.mechanisms.table import CoinGroups, Product, RecordRetention
from pramana.randomness.samplers import ONE

STRONGER = Product(
    {"a": Retention.at(Fraction(9, 10), 4), "b": Retention.at(Fraction(1, 10), 3)}
)  # a's is forgotten


def attacks(found: Any) -> list[Attack]:
    return [one for one in (found if isinstance(found, list) else [found]) if isinstance(one, Attack)]


def value_inference(table: LinkedTable) -> Outcome:
    return attribute_inference([table])


@pytest.mark.parametrize("law", LAWS, ids=["attributes", "record", "matrix"])
@pytest.mark.parametrize("attack", [epsilon_by_attribute, epsilon_in_one_run, value_inference])
def test_honest_records_stay_below_the_claim(attack: Any, law: Any) -> None:
    for found in attacks(attack(published(law, law, rows=20_000))):
        assert found.ok, found.detail


@pytest.mark.parametrize("attack", [epsilon_by_attribute, epsilon_in_one_run, value_inference])
def test_an_attribute_whose_epsilon_was_forgotten_is_noticed(attack: Any) -> None:
    found = attacks(attack(published(LAW, STRONGER, rows=20_000)))
    assert any(not one.ok for one in found), [one.detail for one in found]


def test_the_attribute_that_is_at_fault_is_named() -> None:
    found = {one.name: one.ok for one in attacks(epsilon_by_attribute(published(LAW, STRONGER)))}
    assert found == {"epsilon of a, from its records": False, "epsilon of b, from its records": True}


def test_bounds_have_power() -> None:
    """They come near the claim: an attack that finds nothing anywhere proves nothing."""
    law = Product({"a": Retention.at(Fraction(1, 2), 4)})
    claimed = float(np.log(float(law.likelihood_ratio or 0)))
    [found] = attacks(epsilon_by_attribute(published(law, law, rows=50_000)))
    assert 0.8 * claimed < found.measured <= claimed
    one_run = epsilon_in_one_run(published(law, law, rows=50_000))
    assert 0.8 * claimed < one_run.measured <= claimed
    local, central = neighbouring_runs(law)
    assert 0.8 * claimed < local.measured <= claimed
    assert central.claimed is not None and 0.2 * central.claimed < central.measured <= central.claimed


@pytest.mark.parametrize("law", LAWS, ids=["attributes", "record", "matrix"])
def test_canaries_stay_below_the_claim(law: Any) -> None:
    local, central = neighbouring_runs(law)
    assert local.ok and central.ok, (local.detail, central.detail)


def test_canaries_notice_another_coin() -> None:
    """Kept more often than claimed, and a coin of so few bits that some value is never shown."""
    local, central = neighbouring_runs(LAW, STRONGER)
    assert not local.ok and not central.ok
    even = Product({"a": Retention.at(Fraction(1, 100), 4), "b": Retention.at(Fraction(1, 100), 3)})
    coarse = Product({name: Retention.at(round(0.01 * 4 + 0.5) / 4, size) for name, size in SIZES.items()})
    assert all(found.ok for found in neighbouring_runs(even))
    assert not neighbouring_runs(even, coarse)[0].ok


def test_the_worst_pair_of_a_matrix_has_its_ratio() -> None:
    law = LAWS[2]
    pair = worst_pair(law)
    matrix = law.channels["b"].weights
    ratio = (matrix[pair.one["b"]] / matrix[pair.other["b"]]).max()
    assert ratio == pytest.approx(float(law.channels["b"].likelihood_ratio))


def test_coins_that_were_thrown_once_for_two_releases_are_noticed() -> None:
    one = published(LAW, LAW, rows=20_000)
    again = published(LAW, LAW, rows=20_000)  # under the same stream: the same coins
    found = reused_coins(one, again)
    assert isinstance(found, Attack) and not found.ok
    other = _anew(one)
    found = reused_coins(one, other)
    assert isinstance(found, Attack) and found.ok
    claimed = 2 * float(np.log(float(LAW.likelihood_ratio or 0)))
    assert averaged_epsilon([one, other], claimed).ok
    stronger = published(LAW, STRONGER, rows=20_000)
    assert not averaged_epsilon([one, stronger], claimed).ok


GROUPED = {
    "record": RecordRetention(SIZES, ONE // 2),
    "group and attribute": CoinGroups(
        {"a": 4, "b": 3, "c": 5},
        (RecordRetention({"a": 4, "b": 3}, ONE // 2),),
        {"c": Retention.at(Fraction(1, 2), 5)},
    ),
}


@pytest.mark.parametrize("name", GROUPED)
def test_coins_of_records_and_of_groups_are_looked_at_as_such(name: str) -> None:
    law = GROUPED[name]
    one = published(law, law, rows=20_000)
    other = _anew(one)
    found = reused_coins(one, other)
    assert isinstance(found, Attack) and found.ok, found
    again = replace(other, published={**other.published, "a": one.published["a"], "b": one.published["b"]})
    found = reused_coins(one, again)
    assert isinstance(found, Attack) and not found.ok and found.detail.startswith("a, b: ")
    assert isinstance(reused_coins(one, published(LAW, LAW, rows=20_000)), NotRun)  # of one attribute each


def _anew(table: Any) -> Any:
    from pramana.randomness.key import Key

    key = Key(bytes(range(1, 33)))
    out = {name: np.empty_like(codes) for name, codes in table.true.items()}
    table.law.publish(lambda purpose, column: key.stream(purpose, "test", column), 0, table.true, out)
    return replace(table, published={name: codes[table.order] for name, codes in out.items()})


def test_people_in_the_release_are_guessed_better_than_others_only_where_it_copies_them() -> None:
    """Values that follow from nothing: who is not in the table is guessed by chance, in it by their own row."""
    rng = np.random.default_rng(5)
    true = {name: rng.integers(0, 30, 900).astype(np.uint8) for name in "abc"}
    control = {name: rng.integers(0, 30, 900).astype(np.uint8) for name in "abc"}
    copied = control_inference(true, control, true, (0.1, 1e-6))
    assert isinstance(copied, Attack) and not copied.ok
    drawn = {name: rng.integers(0, 30, 900).astype(np.uint8) for name in "abc"}
    honest = control_inference(true, control, drawn, (0.1, 1e-6))
    assert isinstance(honest, Attack) and honest.ok
    unclaimed = control_inference(true, control, true, None)
    assert isinstance(unclaimed, Attack) and unclaimed.ok and unclaimed.claimed is None
    assert isinstance(control_inference({"a": true["a"]}, control, true, None), NotRun)
