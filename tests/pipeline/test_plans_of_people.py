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
