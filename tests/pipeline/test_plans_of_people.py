"""Plans for people of several rows: what they show is what a release of the same recipe certifies."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from tests.methods.panel import classes_of, guaranteed, k_of_units, panel, write_hierarchies

from pramana import Recipe, plan, release
from pramana.errors import RecipeError

QUASI = {"role": "quasi-identifying"}
SEX = {**QUASI, "domain": ["F", "M"], "constant": True}
JOB = {**QUASI, "domain": ["x", "y", "z"]}
UNIT = {"person": "pid", "rows": 3}
TABLE = panel(7, people=3000, homes=900)


def drawn(**setting: Any) -> Any:
    return Recipe.parse({"unit": UNIT, "release": setting, "attributes": {"sex": SEX, "job": JOB}})


@pytest.mark.parametrize(("promise", "value"), [("k", 5.0), ("epsilon", 6.0)])
def test_a_choice_is_what_the_release_reaches(promise: str, value: float, tmp_path: Path) -> None:
    outlook = plan(drawn(k=2), data=TABLE)
    assert {choice.coin for choice in outlook.choices} == {"attribute"}
    (choice,) = (c for c in outlook.choices if (c.promise, c.value) == (promise, value))
    done = release(drawn(**{promise: value}), tmp_path / "out", data=TABLE, seed=1, even_if_useless=True)
    again = plan(drawn(**{promise: value}), data=TABLE)
    assert again.records == done.records
    assert again.usefulness == done.usefulness
    epsilon = guaranteed(done, "local-differential-privacy", "person")
    assert choice.epsilon == pytest.approx(epsilon, rel=1e-9)
    assert choice.k == pytest.approx(guaranteed(done, "pk-anonymity", "person"), rel=1e-9)
    assert any(f"local-differential-privacy {epsilon:.4g}" in words for words in again.promises)


@pytest.mark.parametrize("unit", [UNIT, {"person": "pid", "rows": 2, "household": "hid", "persons": 3}])
@pytest.mark.parametrize("promise", [{"epsilon": 6.0}, {"k": 5.0}])
def test_the_way_to_keep_a_promise_counts_people_as_the_plan_does(
    unit: dict[str, Any], promise: dict[str, float], tmp_path: Path
) -> None:
    """What the release certifies of its unit, and the choice of the same promise shows; not what a row has."""
    recipe = Recipe.parse(
        {
            "unit": unit,
            "release": {**promise, "tables": [["sex"], ["job"]]},
            "attributes": {"sex": SEX, "job": JOB},
        }
    )
    outlook = plan(recipe, data=TABLE)
    done = release(recipe, tmp_path / "out", data=TABLE, seed=1, even_if_useless=True)
    (way,) = outlook.frontier
    of = "household" if "household" in unit else "person"
    assert way.epsilon == pytest.approx(guaranteed(done, "local-differential-privacy", of), rel=1e-9)
    assert way.k == pytest.approx(guaranteed(done, "pk-anonymity", of), rel=1e-9)
    (name, value), *_ = promise.items()
    (choice,) = (c for c in outlook.choices if (c.promise, c.value) == (name, value))
    assert choice.epsilon is not None and way.epsilon == pytest.approx(choice.epsilon, rel=1e-9)
    assert dict(way.errors) == pytest.approx(dict(choice.errors), rel=1e-6)
    assert way.law.retentions() == pytest.approx([choice.retention] * 2)
    assert not way.chosen, "coin = best is refused for people of several rows"
    units = len(set(TABLE.column({"person": "pid", "household": "hid"}[of]).to_pylist()))
    told = f"{units:,} {'people' if of == 'person' else 'households'}"
    assert outlook.frontier_title.endswith(f"which counts {told}:")
    assert outlook.picture().title == told


def test_what_is_out_of_reach_is_told_of_people() -> None:
    outlook = plan(drawn(epsilon=6.0), data=TABLE, ks=[2.0, 1e6], epsilons=[])
    assert outlook.remarks()[0] == "Out of reach with 3,000 people: k = 1e+06."


def test_rows_that_share_a_draw_count_as_one() -> None:
    """sex is drawn once for up to 3 rows: its error is that of a third of the rows, at most."""
    outlook = plan(drawn(epsilon=4.0, tables=[["sex"], ["job"]]), data=TABLE, epsilons=[4.0], ks=[])
    (choice,) = outlook.choices
    assert choice.retention is not None
    for name, size, shared in (("sex", 2, 3), ("job", 3, 1)):
        inflation = (1 - 1 / size) * (1 / choice.retention**2 - 1)  # one coin, V values: h - 1
        expected = math.sqrt(2 / math.pi * size * inflation * shared / outlook.records)
        assert choice.errors[name] == pytest.approx(expected, rel=1e-6)


def test_a_number_of_records_is_no_table_of_people() -> None:
    with pytest.raises(RecipeError, match="people of several rows must look at its table"):
        plan(drawn(k=2), data=TABLE, records=1000)


def test_classes_and_their_space_count_people(tmp_path: Path) -> None:
    write_hierarchies(tmp_path)
    table, columns = panel(2), ["sex", "birth"]
    content = {
        "unit": {"person": "pid"},
        "release": {"method": "generalize", "k": 4, "cells": "hierarchy", "shuffle": False},
        "attributes": {
            **{n: {**QUASI, "hierarchy": f"{n}.csv"} for n in columns},
            "illness": {"role": "sensitive"},
        },
    }
    recipe = Recipe.parse(content, tmp_path)
    outlook = plan(recipe, data=table, space=True)
    done = release(recipe, tmp_path / "out", data=table, seed=1, even_if_useless=True)
    assert outlook.usefulness == done.usefulness
    homes = Recipe.parse({**content, "unit": {"person": "pid", "household": "hid"}}, tmp_path)
    certified = release(homes, tmp_path / "homes", data=table, seed=1, even_if_useless=True)
    (choice,) = plan(homes, data=table, ks=[4.0]).choices
    assert choice.k == guaranteed(certified, "k-anonymity", "household")
    assert choice.k != guaranteed(certified, "k-anonymity", "person"), "which would be the wrong one"
    owner = table.column("pid").to_pylist()
    assert k_of_units(classes_of(done.bundle, columns), owner) == guaranteed(done, "k-anonymity", "person")
    assert outlook.space is not None
    rows = table.select(columns).to_pylist()
    for node in outlook.space.nodes:
        shown = [_at(row, node.levels) for row in rows]
        people: dict[Any, set[Any]] = {}
        for look, who in zip(shown, owner, strict=True):
            people.setdefault(look, set()).add(who)
        failing = sum(len(people[look]) < 4 for look in shown)
        assert node.fails["k"] == failing, node


def _at(row: dict[str, Any], levels: Any) -> tuple[Any, ...]:
    """sex in two levels; birth by ones, twos, fours, all."""
    sex = row["sex"] if levels[0] == 0 else "*"
    birth = [row["birth"], row["birth"] // 2, row["birth"] // 4, "*"][levels[1]]
    return sex, birth
