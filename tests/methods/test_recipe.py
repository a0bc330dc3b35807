"""Recipes as every method reads them: typed sections, and what is refused before any data is touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import RECIPE, Refused

from pramana.errors import PramanaError, RecipeError
from pramana.methods import METHODS, Recipe


def test_a_recipe_is_read_with_paths_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "r.toml"
    path.write_text('[source]\npath = "p.csv"\n[attributes.a]\nrole = "sensitive"\nhierarchy = "h.csv"\n')
    recipe = Recipe.read(path)
    assert recipe.source.path == str(tmp_path / "p.csv")
    assert recipe.folder / (recipe.attributes["a"].hierarchy or "") == tmp_path / "h.csv"
    assert recipe.with_source("q.csv").source.path == "q.csv"


JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = [
    "path",
    "missing",
    "method",
    "k",
    "epsilon",
    "delta",
    "coin",
    "tables",
    "retention",
    "role",
    "domain",
    "bins",
]


@given(
    st.dictionaries(
        st.sampled_from(["source", "release", "attributes", "output", "x"]),
        st.dictionaries(st.sampled_from([*KEYS, "sex"]), JSONISH, max_size=4) | JSONISH,
        max_size=4,
    )
)
def test_any_content_is_a_recipe_or_refused(content: dict[str, object]) -> None:
    try:
        Recipe.parse(content)
    except PramanaError as error:
        assert "\n" not in str(error)
