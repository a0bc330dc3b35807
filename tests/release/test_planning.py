"""A plan shows every promise that was asked for: with its cost, or as one that no retention keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from pramana import plan
from pramana.errors import UnreachableError
from pramana.schema import Recipe

RECIPE = Recipe.parse(
    {
        "source": {"path": "none.csv"},
        "release": {"method": "retention", "k": 5},
        "attributes": {"sex": {"role": "quasi-identifying", "domain": ["F", "M"]}},
    },
    Path(),
)


def test_promises_out_of_reach_are_named() -> None:
    found = plan(RECIPE, records=50, ks=[2, 51, 1000], epsilons=[1.0])
    assert found.unreachable == ("k = 51", "k = 1000")
    assert {(c.promise, c.value) for c in found.choices} == {("k", 2), ("epsilon", 1.0)}
    assert found.to_json()["unreachable"] == ["k = 51", "k = 1000"]
    assert plan(RECIPE, records=51, ks=[51], epsilons=[]).unreachable == ()
    with pytest.raises(UnreachableError, match="none with 50 records"):
        plan(RECIPE, records=50, ks=[51], epsilons=[])
