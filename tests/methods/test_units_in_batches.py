"""People of several rows within a bound on memory: the bytes of the way in memory, and refusals."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.methods.panel import panel, write_hierarchies

import pramana
from pramana import Recipe, verify
from pramana.errors import RecipeError, SourceError
from pramana.rows.engines import BatchEngine
from pramana.rows.repeats import numbered_in_blocks

BOUND = 512 << 20
release = partial(pramana.release, even_if_useless=True)  # of a few people nothing can be learned
QUASI = {"role": "quasi-identifying"}
DRAWN: dict[str, dict[str, Any]] = {
    "sex": {**QUASI, "domain": ["F", "M"], "constant": True},
    "region": {**QUASI, "domain": "from-data", "constant": "household"},
    "job": {**QUASI, "domain": ["x", "y", "z"]},
    "illness": {"role": "sensitive"},
}
ONE_BY_ONE = {name: {k: v for k, v in column.items() if k != "constant"} for name, column in DRAWN.items()}
CLASSES = {
    "sex": {**QUASI, "hierarchy": "sex.csv"},
    "birth": {**QUASI, "hierarchy": "birth.csv"},
    "illness": {"role": "sensitive"},
}
HOMES = {"person": "pid", "household": "hid"}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "drawn once": (HOMES, {"retention": 0.4}, DRAWN),
    "bounded": ({**HOMES, "rows": 2, "persons": 2}, {"retention": 0.4, "shuffle": False}, DRAWN),
    "with every row": ({"person": "pid", "rows": 3}, {"epsilon": 9.0}, ONE_BY_ONE),
    "households alone": ({"household": "hid", "persons": 3}, {"epsilon": 9.0}, ONE_BY_ONE),
    "classes": ({"person": "pid"}, {"method": "generalize", "k": 3, "cells": "hierarchy"}, CLASSES),
    "diverse classes": (
        {**HOMES, "rows": 3},
        {"method": "generalize", "k": 2, "l": 2, "suppression": 0.2, "cells": "set"},
        CLASSES,
    ),
    "cut classes": ({"person": "pid"}, {"method": "generalize", "k": 3, "algorithm": "mondrian"}, CLASSES),
    "classes taken out": (HOMES, {"method": "generalize", "k": 2, "l": 2, "algorithm": "local"}, CLASSES),
}


@pytest.fixture(autouse=True)
def pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small batches and many buckets, as tables a thousand times as large would have."""
    monkeypatch.setattr(BatchEngine, "batch_rows", lambda *_: 37)
    monkeypatch.setattr(BatchEngine, "bucket_bits", lambda *_: 3)


def recipe_of(
    folder: Path, unit: dict[str, Any], setting: dict[str, Any], columns: dict[str, Any], **more: Any
) -> Any:
    write_hierarchies(folder)
    pq.write_table(panel(5, people=90), folder / "panel.parquet")
    content = {
        "source": {"path": "panel.parquet", "dataset": "panel"},
        "unit": unit,
        "release": setting,
        "attributes": {"pid": {"role": "identifying"}, **columns},
        **more,
    }
    return Recipe.parse(content, folder)


@pytest.mark.parametrize("case", CASES)
def test_the_same_bytes_within_a_bound(case: str, tmp_path: Path) -> None:
    recipe = recipe_of(tmp_path, *CASES[case])
    release(recipe, tmp_path / "one", seed=4)
    for threads in (1, 2):
        out = tmp_path / f"bounded {threads}"
        release(recipe, out, seed=4, memory=BOUND, threads=threads)
        for file in (tmp_path / "one").iterdir():
            assert file.read_bytes() == (out / file.name).read_bytes(), file.name
    checked = verify(tmp_path / "one", source=tmp_path / "panel.parquet", seed=4, memory=BOUND)
    assert checked.valid, [check for check in checked.checks if not check.ok]


def left_out_values(folder: Path) -> Any:
    """Of someone with forty rows one stays: values that only the others have, a missing one among them."""
    table = pa.table(
        {
            "pid": ["p0"] * 40 + [f"p{i}" for i in range(1, 30)],
            "job": [f"j{i}" for i in range(40)] + ["k"] * 29,
            "sex": [None] * 20 + ["F"] * 49,
        }
    )
    pq.write_table(table, folder / "panel.parquet", row_group_size=20)
    columns = {"job": {**QUASI, "domain": "from-data"}, "sex": {**QUASI, "domain": ["F", "M"]}}
    content = {
        "source": {"path": "panel.parquet"},
        "unit": {"person": "pid", "rows": 1},
        "release": {"retention": 0.4},
        "attributes": columns,
    }
    return Recipe.parse(content, folder)


def test_what_only_left_out_rows_have_is_in_no_domain(tmp_path: Path) -> None:
    recipe, missing = left_out_values(tmp_path), set()
    for seed in range(4):
        one = release(recipe, tmp_path / f"one {seed}", seed=seed).certificate
        bounded = release(recipe, tmp_path / f"bounded {seed}", seed=seed, memory=BOUND).certificate
        assert one == bounded
        job, sex = one.attributes
        assert len(job.coded.labels) == 2 and "k" in job.coded.labels
        assert sex.coded.missing == (job.coded.labels[0] in {f"j{i}" for i in range(20)})
        missing.add(sex.coded.missing)
    assert missing == {True, False}, "the row that stays is one without a value by some of the keys"


@pytest.mark.parametrize("wrong", [["zz"], ["x ", "zz", None]])
def test_what_only_left_out_rows_have_is_not_refused(wrong: list[str | None], tmp_path: Path) -> None:
    """Neither does a refusal count rows that were left out: what is told is what the way in memory tells."""
    jobs = [*(wrong * 20)[:20], *["x"] * 20, *["x", "y"] * 15]
    people = pa.table({"pid": ["p0"] * 40 + [f"p{i}" for i in range(1, 31)], "job": jobs})
    pq.write_table(people, tmp_path / "panel.parquet", row_group_size=20)
    content = {
        "source": {"path": "panel.parquet"},
        "unit": {"person": "pid", "rows": 1},
        "release": {"retention": 0.4},
        "attributes": {"job": {**QUASI, "domain": ["x", "y"], "missing": "never"}},
    }
    told: list[list[str]] = []
    for seed in range(8):
        told.append([])
        for home, bound in (("one", None), ("bounded", BOUND)):
            try:
                release(Recipe.parse(content, tmp_path), tmp_path / f"{home} {seed}", seed=seed, memory=bound)
                told[-1].append("")
            except SourceError as error:
                told[-1].append(str(error))
    assert all(one == bounded for one, bounded in told)
    assert {"" in pair for pair in told} == {True, False}, "rows of either kind stay, by some of the keys"
    assert all("1 row " in pair[0] for pair in told if pair[0])


def test_what_needs_all_rows_is_refused_by_name(tmp_path: Path) -> None:
    setting = {"method": "generalize", "k": 3, "algorithm": "kl", "cells": "hierarchy"}
    with pytest.raises(RecipeError, match="needs all rows at once"):
        release(recipe_of(tmp_path, {"person": "pid"}, setting, CLASSES), tmp_path / "out", seed=1, memory=BOUND)


def test_too_many_rows_for_the_bound_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BatchEngine, "room", 1000)
    with pytest.raises(RecipeError, match="Whose the rows are must fit in memory"):
        release(recipe_of(tmp_path, *CASES["drawn once"]), tmp_path / "out", seed=1, memory=BOUND)
    assert not (tmp_path / "out").exists()


def test_a_row_without_a_person_is_refused_without_counting(tmp_path: Path) -> None:
    recipe = recipe_of(tmp_path, *CASES["with every row"])
    table = panel(5, people=90)
    pid = table.column("pid").to_pylist()
    pid[100] = None
    pq.write_table(table.set_column(0, "pid", pa.array(pid)), tmp_path / "panel.parquet")
    with pytest.raises(SourceError, match="must tell of every row whose") as refused:
        release(recipe, tmp_path / "out", seed=1, memory=BOUND)
    assert not any(c.isdigit() for c in str(refused.value))


def test_a_column_that_is_not_constant_is_refused(tmp_path: Path) -> None:
    columns = {**DRAWN, "job": {**DRAWN["job"], "constant": True}}
    recipe = recipe_of(tmp_path, HOMES, {"retention": 0.4}, columns)
    with pytest.raises(SourceError, match="must have one value for each person"):
        release(recipe, tmp_path / "out", seed=1, memory=BOUND)


@pytest.mark.parametrize("room", [10**9, 4_000, 500], ids=["one bucket", "a few", "many"])
def test_numbers_in_blocks_are_those_of_first_appearance(room: int) -> None:
    draw = np.random.default_rng(3)
    values = [f"person {i}" for i in draw.integers(0, 60, 300)]
    seen: dict[str, int] = {}
    expected = [seen.setdefault(value, len(seen)) for value in values]
    blocks = [pa.chunked_array([pa.array(values[i : i + 41])]) for i in range(0, 300, 41)]
    assert numbered_in_blocks(lambda: iter(blocks), 300, room).tolist() == expected
