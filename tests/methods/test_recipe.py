"""Recipes as every method reads them: typed sections, and what is refused before any data is touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.errors import PramanaError, RecipeError
from pramana.methods.recipe import Recipe
from pramana.methods.registry import METHODS, method_named
from pramana.schema.domain import Role
from pramana.schema.typed import keys_of


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
METHOD = st.fixed_dictionaries({"method": st.sampled_from(METHODS)})
SETTINGS = sorted({key for name in METHODS for key in keys_of(method_named(name).setting)})
COLUMNS = sorted({key for name in METHODS for key in keys_of(method_named(name).column)})
ROLES = st.sampled_from([role.value for role in Role])


def sections(keys: list[str]) -> st.SearchStrategy[Any]:
    return st.dictionaries(st.sampled_from(keys), JSONISH, max_size=4)


def joined(*parts: dict[str, Any]) -> dict[str, Any]:
    return {key: value for part in parts for key, value in part.items()}


@given(
    st.dictionaries(
        st.sampled_from(["source", "release", "attributes", "output", "x"]),
        sections(["path", "missing", "format", "url", "sex", *SETTINGS]) | JSONISH,
        max_size=4,
    )
    | st.fixed_dictionaries(
        {
            "release": st.builds(joined, sections(SETTINGS), METHOD),
            "attributes": st.fixed_dictionaries(
                {"sex": st.builds(joined, sections(COLUMNS), st.fixed_dictionaries({"role": ROLES}))}
            ),
        }
    )
)
def test_any_content_is_a_recipe_or_refused(content: dict[str, object]) -> None:
    try:
        Recipe.parse(content)
    except PramanaError as error:
        assert "\n" not in str(error)


# ---------------------------------------------------------------- what the types of a method refuse

LEAF = {"age": {"role": "quasi-identifying", "hierarchy": "age.csv"}}
FOUND: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        {"method": "generalize", "k": 5, "epsilon": 0.1},
        LEAF,
        "with method 'generalize', got 'epsilon'. It is a key of the methods retention, matrix, levels",
    ),
    (
        {"method": "invariant", "xi": 0.1, "kind": "sinkhorn", "retention": 7.0},
        LEAF,
        "release.retention must be a number between 0 and 1, got 7.0",
    ),
    ({"method": "invariant", "xi": 0.1, "retention": 0.5}, LEAF, 'retention must go with kind = "sinkhorn"'),
    (
        {"method": "invariant", "xi": 0.1, "delta": "nonsense"},
        LEAF,
        "a key of the methods retention, matrix, levels, generalize, presence; invariant makes no such",
    ),
    ({"method": "levels", "k": 0.5}, LEAF, "release.k must be a number of at least 1, got 0.5"),
    (
        {"method": "presence"},
        LEAF,
        "[release] must state delta, two numbers, such as delta = [0.01, 0.5], got none",
    ),
    ({"method": "generalize"}, LEAF, "[release] must state k, a whole number of at least 1, got none"),
    ({"method": "generalize", "k": 5.5}, LEAF, "release.k must be a whole number of at least 1, got 5.5"),
    ({"method": "generalize", "k": True}, LEAF, "release.k must be a whole number of at least 1, got True"),
    (
        {"method": "generalize", "k": 5, "cells": "box"},
        LEAF,
        "release.cells must be one of hierarchy, interval, pdf, set, got 'box'",
    ),
    ({"method": "generalize", "k": 5, "suppresion": 0.1}, LEAF, "Did you mean 'suppression'?"),
    ({"method": "retentoin", "k": 5}, LEAF, "Did you mean 'retention'?"),
    ({"epsilon": 1}, {"age": {"domain": ["a", "b"]}}, "[attributes.age] must state role, one of"),
    (
        {"epsilon": 1},
        {"age": {"role": "quasi-identifyin"}},
        "attributes.age.role must be one of",
    ),
    (
        {"method": "generalize", "k": 5},
        {"age": {**LEAF["age"], "retention": 0.5}},
        "a key of [attributes.age] with method 'generalize', got 'retention'",
    ),
    ({"epsilon": 1}, {"age": {**LEAF["age"], "randomize": True}}, "Did you mean 'randomise'?"),
    ({"epsilon": 1}, {"age": 5}, "[attributes.age] must be a section of the recipe, got int"),
]


@pytest.mark.parametrize(("release", "attributes", "said"), FOUND)
def test_what_a_method_has_no_use_for_is_refused(
    release: dict[str, Any], attributes: dict[str, Any], said: str
) -> None:
    with pytest.raises(RecipeError) as found:
        Recipe.parse({"release": release, "attributes": attributes})
    assert said in str(found.value)
