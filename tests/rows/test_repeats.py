"""Identifying columns that repeat: found in every home, within a bound on memory, and the release stops."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pramana
from pramana import Recipe
from pramana.errors import RecipeError
from pramana.rows.repeats import repeats, repeats_in_blocks

release = partial(pramana.release, even_if_useless=True)  # of a few people nothing can be learned


SEX = {"role": "quasi-identifying", "domain": ["F", "M"]}


def test_a_column_without_any_value_repeats_none() -> None:
    """It may have no type: as a table of SQLite whose column is empty."""
    assert not repeats(pa.chunked_array([pa.nulls(3)]))
    assert not repeats_in_blocks(lambda: [pa.chunked_array([pa.nulls(3)])], 3, 1 << 20)


@pytest.mark.parametrize("kind", ["text", "number", "dictionary", "decimal"])
@pytest.mark.parametrize("seed", range(12))
def test_blocks_and_buckets_agree_with_a_set(kind: str, seed: int) -> None:
    draw = np.random.default_rng(seed)
    numbers = draw.permutation(2_000)[:400]
    if seed % 2:
        numbers[draw.integers(400)] = numbers[draw.integers(400)]
    values: list[Any] = [f"id {n * 7919}" if kind in ("text", "dictionary") else int(n) for n in numbers]
    column = pa.array(values)
    column = column.dictionary_encode() if kind == "dictionary" else column
    column = column.cast(pa.decimal128(25, 2)) if kind == "decimal" else column
    blocks = [pa.chunked_array([column[i : i + 60]]) for i in range(0, 400, 60)]
    twice = len(set(values)) < len(values)
    assert repeats(pa.chunked_array([column])) == twice
    for room in (1 << 30, 4_000, 500):  # one bucket, some, many
        assert repeats_in_blocks(lambda: blocks, 400, room) == twice


def test_missing_values_do_not_repeat() -> None:
    assert not repeats(pa.chunked_array([pa.array(["a", None, None, "", ""])]))
    assert repeats(pa.chunked_array([pa.array(["a", None]), pa.array(["a"])]))


def recipe(folder: Path, **unit: Any) -> Recipe[Any, Any]:
    content: dict[str, Any] = {
        "source": {"path": "people.parquet"},
        "release": {"epsilon": 1.0},
        "attributes": {"name": {"role": "identifying"}, "sex": SEX},
    }
    return Recipe.parse({**content, **({"unit": unit} if unit else {})}, folder)


@pytest.mark.parametrize("memory", [None, 600 << 20])
def test_a_release_stops_where_an_identifying_column_repeats(memory: int | None, tmp_path: Path) -> None:
    table = pa.table({"name": ["Ada", "Bo", "Ada"], "sex": ["F", "M", "F"]})
    pq.write_table(table, tmp_path / "people.parquet")
    with pytest.raises(RecipeError, match="'name' repeats") as refused:
        release(recipe(tmp_path), tmp_path / "out", seed=1, memory=memory)
    assert "Ada" not in str(refused.value)
    assert not (tmp_path / "out").exists()
    assert release(recipe(tmp_path, row=True), tmp_path / "out", seed=1, memory=memory).records == 3
    pq.write_table(table.slice(1), tmp_path / "people.parquet")
    assert release(recipe(tmp_path), tmp_path / "one", seed=1, memory=memory).records == 2


@pytest.mark.parametrize("name", ["pid", "Person_ID", "respondent-number"])
def test_a_column_that_looks_like_a_persons_number_stops_it_too(name: str, tmp_path: Path) -> None:
    content = {"release": {"epsilon": 1.0}, "attributes": {"sex": SEX}}
    table = pa.table({name: [1, 2, 1], "sex": ["F", "M", "F"]})
    with pytest.raises(RecipeError, match=f"{name!r} repeats"):
        release(Recipe.parse(content), tmp_path / "out", data=table, seed=1)
    other = pa.table({"paid": [1, 2, 1], "sex": ["F", "M", "F"]})
    assert release(Recipe.parse(content), tmp_path / "out", data=other, seed=1).records == 3


def test_an_identifying_column_that_the_source_does_not_have_is_no_obstacle(tmp_path: Path) -> None:
    content = {"release": {"epsilon": 1.0}, "attributes": {"sex": SEX, "name": {"role": "identifying"}}}
    table = pa.table({"sex": ["F", "M", "F"]})
    assert release(Recipe.parse(content), tmp_path / "out", data=table, seed=1).records == 3
