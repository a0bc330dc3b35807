"""The Spark engine on local[2]: bundles byte for byte those of the local engine, whatever happens to tasks."""

from __future__ import annotations

import base64
import os
import shutil
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pramana import Key, Recipe, SparkEngine, release, verify
from pramana.engines import combinations, spark_session
from pramana.engines.spark_jobs import hashed, labels_for
from pramana.errors import EngineError, MissingExtraError, RecipeError, SourceError
from pramana.generalize import KAnonymous, Ladder, Layout, grouped_for, measure_of, search
from pramana.schema import Attribute, Domain, Role
from pramana.sources import Source, encode

pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed: the Spark engine is not tested")
if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
    pytest.skip("Java is not installed: the Spark engine is not tested", allow_module_level=True)

RECORDS = 70_000  # four leaves and a part of a fifth
RECIPE = """\
[source]
path = "people.parquet"
dataset = "people"
[release]
epsilon = 3
[attributes.sex]
role = "quasi-identifying"
domain = ["F", "M"]
[attributes.town]
role = "quasi-identifying"
domain = "from-data"
[attributes.age]
role = "quasi-identifying"
bins = [0, 20, 40, 60, 80, 120]
[attributes.job]
role = "quasi-identifying"
domain = ["clerk", "nurse", "miner", "baker"]
[attributes.note]
role = "insensitive"
[attributes.name]
role = "identifying"
"""


def people(records: int = RECORDS) -> pa.Table:
    generator = np.random.default_rng(8)
    towns = np.array([f"town {i}" for i in range(300)])
    jobs = np.array(["clerk", "nurse", "miner", "baker"])[generator.integers(0, 4, records)]
    return pa.table(
        {
            "name": [f"Person {i}" for i in range(records)],
            "sex": np.array(["F", "M"])[generator.integers(0, 2, records)],
            "town": towns[generator.integers(0, len(towns), records)],
            "age": generator.integers(0, 120, records),
            "job": pa.array(jobs, mask=generator.random(records) < 0.01),
            "note": [None if i % 11 == 0 else f"note-{i}" for i in range(records)],
        }
    )


@pytest.fixture(scope="session")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("spark")
    found = {name: folder / name for name in ("events", "local")}
    for place in found.values():
        place.mkdir()
    return found


@pytest.fixture(scope="session")
def spark(places: dict[str, Path]) -> Iterator[Any]:
    """One session whose temporary files are NOT encrypted, so that it can be seen what would be in them."""
    options = {
        "spark.io.encryption.enabled": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": places["events"].as_uri(),
        "spark.local.dir": str(places["local"]),
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
    }
    with spark_session.session("local[2,4]", options) as made:
        yield made


@pytest.fixture
def engine(spark: Any, monkeypatch: pytest.MonkeyPatch) -> SparkEngine:
    assert spark.sparkContext.master == "local[2,4]"
    monkeypatch.setattr(spark_session, "_check", lambda *_: None)
    return SparkEngine()


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "recipe.toml").write_text(RECIPE)
    pq.write_table(people(), tmp_path / "people.parquet", row_group_size=9_000)
    return tmp_path


def same(one: Path, other: Path) -> None:
    """Two bundles, byte for byte, report and certificate included."""
    names = sorted(p.name for p in one.iterdir())
    assert names == sorted(p.name for p in other.iterdir())
    for name in names:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def both(recipe: Path, folder: Path, engine: SparkEngine, **options: Any) -> tuple[Path, Path]:
    key = Key(bytes(range(32)))
    here, there = folder / "here", folder / "there"
    release(recipe, here, key=key, **options)
    release(recipe, there, key=key, engine=engine, **options)
    return here, there


def variant(recipe: Path, *changes: tuple[str, str]) -> Path:
    text = recipe.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    recipe.write_text(text)
    return recipe


# ---------------------------------------------------------------- the same bytes


@pytest.mark.parametrize("pieces", [1, 8])
def test_a_parquet_file(desk: Path, engine: SparkEngine, pieces: int) -> None:
    here, there = both(desk / "recipe.toml", desk, SparkEngine(pieces=pieces))
    same(here, there)
    key = desk / "key"
    Key(bytes(range(32))).write(key)
    assert verify(there, source=desk / "people.parquet", key=key).valid
