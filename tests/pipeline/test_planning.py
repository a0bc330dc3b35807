"""A plan shows every promise that was asked for: with its cost, or as one that no retention keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pramana import plan
from pramana.errors import PramanaError, UnreachableError
from pramana.methods.recipe import Recipe

DOCUMENT: dict[str, Any] = {
    "source": {"path": "none.csv"},
    "release": {"method": "retention", "k": 5},
    "attributes": {"sex": {"role": "quasi-identifying", "domain": ["F", "M"]}},
}
RECIPE = Recipe.parse(DOCUMENT, Path())


def test_the_recipes_own_promise_is_among_those_shown() -> None:
    found = plan(RECIPE, records=50)
    assert [c.value for c in found.choices if c.promise == "k" and c.coin == "record"] == [2, 5, 10, 50]
    assert found.unreachable == ("k = 100", "k = 1000")
    own = Recipe.parse({**DOCUMENT, "release": {"method": "retention", "k": 7, "epsilon": 1.25}}, Path())
    found = plan(own, records=50)
    assert {("k", 7.0), ("epsilon", 1.25)} <= {(c.promise, c.value) for c in found.choices}
    assert {c.value for c in plan(own, records=50, ks=[3], epsilons=[]).choices} == {3}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"ks": [-5, 10]}, "k must be a number of at least 1, got -5"),
        ({"ks": [float("nan")]}, "k must be a number of at least 1, got nan"),
        ({"ks": [float("inf")]}, "k must be a number of at least 1, got inf"),
        ({"epsilons": [2, -1]}, "epsilon"),
        ({"epsilons": [0]}, "epsilon"),
        ({"epsilons": [float("nan")]}, "epsilon"),
        ({"with_data": True}, "got with_data and records"),
    ],
)
def test_what_makes_no_promise_is_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(PramanaError, match=said):
        plan(RECIPE, records=50, **asked)


def test_what_was_not_looked_at_is_said() -> None:
    assert "sex" in plan(RECIPE, records=50).notes[0]
    sex = {"role": "quasi-identifying", "domain": ["F", "M"], "missing": "category"}
    assert plan(Recipe.parse({**DOCUMENT, "attributes": {"sex": sex}}, Path()), records=50).notes == ()


def test_a_plan_is_not_put_into_a_bundle(tmp_path: Path) -> None:
    (tmp_path / "certificate.json").write_text("{}")
    with pytest.raises(PramanaError, match="got a bundle"):
        plan(RECIPE, records=50).write(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["certificate.json"]


def test_promises_out_of_reach_are_named() -> None:
    found = plan(RECIPE, records=50, ks=[2, 51, 1000], epsilons=[1.0])
    assert found.unreachable == ("k = 51", "k = 1000")
    assert {(c.promise, c.value) for c in found.choices} == {("k", 2), ("epsilon", 1.0)}
    assert found.to_json()["unreachable"] == ["k = 51", "k = 1000"]
    assert plan(RECIPE, records=51, ks=[51], epsilons=[]).unreachable == ()
    with pytest.raises(UnreachableError, match="none with 50 records"):
        plan(RECIPE, records=50, ks=[51], epsilons=[])
