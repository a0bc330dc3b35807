"""Spark reads tables in a store through Arrow, writes bundles there, and reads what its own catalogue names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.object_store import Bucket, StoreServer

import pramana
from pramana.errors import EngineError, InputError, SourceError

pytestmark = [
    pytest.mark.xdist_group("s3"),
    pytest.mark.needs("java"),
]
PEOPLE = pa.table(
    {"sex": ["F", "M", "F"] * 100, "age": list(range(100)) * 3, "name": [f"P{n}" for n in range(300)]}
)
ATTRIBUTES = {
    "name": {"role": "identifying"},
    "sex": {"role": "quasi-identifying", "domain": ["F", "M"]},
    "age": {"role": "quasi-identifying", "bins": [0, 20, 40, 60, 120]},
}


@pytest.fixture(scope="module")
def spark(store_server: StoreServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session whose executors are told of the store by their environment, as those of a cluster are."""
    from pyspark.sql import SparkSession

    from pramana.rows.spark.session import session

    assert SparkSession.getActiveSession() is None
    told = {f"spark.executorEnv.{name}": value for name, value in store_server.environment().items()}
    warehouse = tmp_path_factory.mktemp("warehouse")
    with session("local[2]", {**told, "spark.sql.warehouse.dir": str(warehouse)}) as started:
        yield started


def recipe(source: Mapping[str, object] | None = None, **more: object) -> Any:
    told = {"source": source or {}, "release": {"epsilon": 2}, "attributes": ATTRIBUTES}
    return pramana.Recipe.parse({**told, **more})


@pytest.mark.usefixtures("spark")
def test_a_table_and_its_bundle_in_a_store(bucket: Bucket, desk: Path) -> None:
    for number in range(3):
        sink = pa.BufferOutputStream()
        pq.write_table(PEOPLE.slice(100 * number, 100), sink, row_group_size=40)
        bucket.put(f"people/part-{number}.parquet", sink.getvalue().to_pybytes())
    key, read = pramana.Key.create(), recipe({"path": bucket.url("people")})
    pramana.release(read, "here", key=key, even_if_useless=True)
    out = bucket.url("out/published")
    pramana.release(read, out, key=key, engine="spark", even_if_useless=True)
    for name in ("certificate.json", "data.parquet", "report.html"):
        assert bucket.get(f"out/published/{name}") == (desk / "here" / name).read_bytes()
    one, other = (pramana.crosstab(out, ["sex"], engine=engine).cells() for engine in ("local", "spark"))
    assert one == other


@pytest.mark.usefixtures("spark")
def test_executors_write_the_parts_of_a_set_into_the_store(
    bucket: Bucket, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No part is on this machine at any time, and those of the store are the local engine's."""
    from pramana.files.parts import PartFolder

    people = pa.concat_tables([PEOPLE] * 8)
    pq.write_table(people, desk / "rows.parquet", row_group_size=500)
    key, output = pramana.Key.create(), {"output": {"files": "many", "part_rows": 1_000}, "unit": {"row": True}}
    read = recipe({"path": str(desk / "rows.parquet")}, **output)
    pramana.release(read, "here", key=key, even_if_useless=True)
    monkeypatch.setattr(PartFolder, "create", None)
    out = bucket.url("out/published")
    pramana.release(read, out, key=key, engine="spark", even_if_useless=True)
    names = sorted(str(path.relative_to("here")) for path in Path("here").rglob("*") if path.is_file())
    assert len(names) == 5 and bucket.objects() == [f"out/published/{name}" for name in names]
    for name in names:
        assert bucket.get(f"out/published/{name}") == (desk / "here" / name).read_bytes()


def test_a_table_of_spark_s_catalogue(spark: Any, desk: Path) -> None:
    """By its name, and by a format of Spark's own; the bundles are those of the same rows in memory."""
    pq.write_table(PEOPLE, desk / "rows.parquet")
    rows = spark.read.parquet(str(desk / "rows.parquet")).coalesce(1)
    rows.write.saveAsTable("people")
    rows.write.orc(str(desk / "rows.orc"))
    key = pramana.Key.create()
    pramana.release(recipe(), "frame", data=PEOPLE, key=key, even_if_useless=True)
    named = {"table": "spark_catalog.default.people"}, {"table": str(desk / "rows.orc"), "format": "orc"}
    for number, source in enumerate(named):
        pramana.release(recipe(source), str(number), key=key, engine="spark", even_if_useless=True)
        for file in ("certificate.json", "data.parquet"):
            assert (desk / str(number) / file).read_bytes() == (desk / "frame" / file).read_bytes()


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("form", ["delta", "iceberg"])
def test_a_format_that_the_session_has_not(form: str, desk: Path) -> None:
    with pytest.raises(EngineError, match=rf"must have what reads '{form}'.*spark.jars.packages"):
        pramana.release(recipe({"table": "db.people", "format": form}), "out", engine="spark")
    with pytest.raises(SourceError, match=r"must know the table 'nowhere.people'"):
        pramana.release(recipe({"table": "nowhere.people"}), "out", engine="spark")
    assert {path.name for path in desk.iterdir()} == {"people.csv", "recipe.toml"}


def test_such_a_table_without_spark_or_with_secrets_is_refused(desk: Path, refused: Callable[..., str]) -> None:
    text = (desk / "recipe.toml").read_text().replace('path = "people.csv"', 'table = "db.people"')
    (desk / "recipe.toml").write_text(text)
    for command in (["release", "recipe.toml", "--out", "out"], ["plan", "recipe.toml"]):
        assert "must be read by the Spark engine" in refused(*command)
    for source in (
        {"table": "people", "format": "delta", "options": {"fs.s3a.secret.key": "hidden"}},
        {"table": "s3a://user:hidden@bucket/people", "format": "delta"},
        {"table": "people", "delimiter": ";"},
        {"path": "people.csv", "options": {"a": "b"}},
        {"table": "people", "options": {"a": 1}},
    ):
        with pytest.raises(InputError) as told:
            recipe(source)
        assert "hidden" not in str(told.value)
