"""Data frames on Spark that look rows of files up in other tables: the same rows in the same order."""

from __future__ import annotations

import datetime
import itertools
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.rows.people import RECIPE, laid_out, people, read_again, same
from tests.rows.test_spark_frames import in_files

from pramana import Key, SparkEngine, release
from pramana.errors import SourceError
from pramana.rows.spark.frames import copies, copying
from pramana.rows.spark.frames.joins import lookup_of
from pramana.sources import Source

pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed: the Spark engine is not tested")
if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
    pytest.skip("Java is not installed: the Spark engine is not tested", allow_module_level=True)
from pyspark.sql import functions as F  # noqa: E402, N812 - where it is installed, and as everyone calls it

pytestmark = pytest.mark.xdist_group("spark")
KEY = Key(bytes(range(32)))


@pytest.fixture
def small_partitions(spark: Any) -> Iterator[None]:
    """Several of each file, in another order than by name."""
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "20k")
    yield
    spark.conf.set("spark.sql.files.maxPartitionBytes", before)


def facts(folder: Path, spark: Any) -> Any:
    """Texts, whole numbers with gaps, fractions, truth values and dates, in files."""
    whole = people(4_700).append_column("stay", pa.array(range(4_700), pa.int64()))
    whole = whole.append_column("born", pa.array(range(4_700), pa.int32()).cast(pa.date32()))
    whole = whole.append_column("old", pc.greater(whole.column("age"), 60))
    return spark.read.parquet(str(in_files(whole, folder / "all")))


def jobs(spark: Any) -> Any:
    """What is known of some jobs, of one of them twice, and of one that nobody has."""
    odd = [
        ("clerk", "it's \U0001f600", 1),
        ("nurse", "\u0141\u00f3d\u017a", 2),
        ("nurse", "", 3),
        ("king", "K", 4),
    ]
    table = spark.createDataFrame(odd, "job string, trade string, rank int")
    return F.broadcast(table)


LOOKUPS = {
    "inner": lambda facts, jobs: facts.join(jobs, "job"),
    "outer": lambda facts, jobs: facts.join(jobs, "job", "left"),
    "from the right": lambda facts, jobs: jobs.join(facts, "job", "right"),
    "those that have one": lambda facts, jobs: facts.join(jobs, "job", "left_semi"),
    "those that have none": lambda facts, jobs: facts.join(jobs, "job", "left_anti"),
    "filtered": lambda facts, jobs: facts.filter("stay % 3 > 0").join(jobs, "job").filter("rank < 3 or sex = 'F'"),
    "computed": lambda facts, jobs: facts.join(jobs, "job", "left").withColumn("trade", F.upper("trade")),
    "renamed": lambda facts, jobs: facts.withColumnRenamed("town", "place").join(jobs, "job"),
    "twice": lambda facts, jobs: facts.join(jobs, "job").join(
        jobs.selectExpr("rank as other"), F.expr("other = stay % 9")
    ),
    "nobody": lambda facts, jobs: facts.join(jobs.filter("rank = 4"), "job"),
    "aggregated beside": lambda facts, jobs: facts.join(
        F.broadcast(facts.groupBy("job").agg(F.max("stay").alias("rank"))), "job"
    ).join(jobs.select("job"), "job", "left_semi"),
}


@pytest.mark.parametrize("name", LOOKUPS)
@pytest.mark.usefixtures("small_partitions")
def test_rows_that_are_looked_up_come_from_the_files(name: str, tmp_path: Path, spark: Any) -> None:
    frame = LOOKUPS[name](facts(tmp_path, spark), jobs(spark))
    wanted = ("town", "stay", "job", "trade", "rank", "income", "old", "born", "place")
    names = tuple(n for n in wanted if n in frame.columns)
    found = lookup_of(Source(frame=frame), names)
    assert found is not None and {"stay", "income", "old"} <= set(found.plain)
    assert not {"born", "trade", "rank", "place"} & set(found.plain)
    expected = frame.select(*names).toArrow()
    stated = {"trade": ("it's \U0001f600", "IT'S \U0001f600", "\u0141\u00f3d\u017a", "\u0141\u00d3D\u0179", "")}
    with copying.copied(spark, Source(frame=frame), names, stated) as copy:
        assert copy.columns.places is not None and copy.columns.covers(names)
        assert sum(copy.rows) == expected.num_rows
        again = read_again(copy, names)
    assert again == expected.to_pydict()
    assert (len(again["stay"]) > 0 and again["stay"] != sorted(again["stay"])) or name == "nobody"


def test_rows_are_taken_from_a_batch_as_they_are_told() -> None:
    """Every way to have some of four rows, any of them several times."""
    batch = pa.record_batch({"a": pa.array(["w", "x", "y", "z"])})
    for many in range(1, 6):
        for rows in itertools.combinations_with_replacement(range(4), many):
            taken = copies._taken(batch, np.array(rows) + 7, 7)
            assert taken.column("a").to_pylist() == ["wxyz"[row] for row in rows]


def test_joins_of_other_kinds_are_made_by_spark(tmp_path: Path, spark: Any) -> None:
    table, other = facts(tmp_path, spark), jobs(spark)
    plain = spark.createDataFrame([("clerk", 1)], "job string, rank int")
    frames = {
        "no join": table.filter("stay > 3"),
        "sorted on both sides": table.join(plain.hint("merge"), "job"),
        "the files are broadcast": plain.join(F.broadcast(table), "job"),
        "every pair": table.crossJoin(other.select("rank")),
        "aggregated": table.join(other, "job").groupBy("town").agg(F.max("stay").alias("stay")),
        "several": table.join(other, "job").union(table.join(other, "job")),
        "by chance": table.filter(F.rand(1) > 0.5).join(other, "job"),
        "by another table": table.join(other, "job").filter("stay > (select 7 + count(*) from range(3))"),
        "sorted": table.join(other, "job").orderBy("stay"),
        "limited": table.join(other, "job").limit(7),
        "nothing of the files": table.join(other, "job").selectExpr("upper(town) as town", "stay + 1 as stay"),
    }
    names = ("town", "stay")
    found = [n for n, one in frames.items() if lookup_of(Source(frame=one), names) is not None]
    assert found == []


@pytest.mark.usefixtures("small_partitions")
def test_rows_at_other_places_than_told_are_made_by_spark(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = facts(tmp_path, spark).join(jobs(spark), "job")
    names = ("town", "stay", "trade")
    found = lookup_of(Source(frame=frame), names)
    assert found is not None
    moved = replace(found, computing=found.computing.coalesce(1))
    monkeypatch.setattr(copying, "lookup_of", lambda *_: moved)
    with copying.copied(spark, Source(frame=frame), names, {}) as copy:
        assert copy.columns.files is None and copy.columns.columns == names
        assert sum(copy.rows) == frame.count()


# ---------------------------------------------------------------- what is published

JOINED = RECIPE + '[attributes.trade]\nrole = "quasi-identifying"\ndomain = DOMAIN\n'
JOINED += '[attributes.old]\nrole = "insensitive"\n[attributes.born]\nrole = "insensitive"\n'
JOINED += '[attributes.income]\nrole = "insensitive"\n'
STATED = '["it\'s \U0001f600", "\u0141\u00f3d\u017a", "none"]'


def more(table: pa.Table) -> pa.Table:
    table = table.append_column("old", pc.greater(table.column("age"), 60))
    day = datetime.date(1970, 1, 1)
    days = [day + datetime.timedelta(days=int(age)) for age in table.column("age").to_pylist()]
    return table.append_column("born", pa.array(days, pa.date32()))


MADE = {
    "looked up": lambda facts, trades: facts.join(F.broadcast(trades), "job", "left"),
    "sorted and merged": lambda facts, trades: facts.join(trades.hint("merge"), "job", "left"),
    "several": lambda facts, trades: (
        facts.filter("age < 60")
        .join(F.broadcast(trades), "job", "left")
        .union(facts.filter("age >= 60").join(F.broadcast(trades), "job", "left"))
    ),
    "aggregated": lambda facts, trades: (
        facts.join(trades, "job", "left")
        .groupBy("name", "sex", "town", "age", "job", "old", "born", "trade")
        .agg(F.max("note").alias("note"), F.max("income").alias("income"))
    ),
}


@pytest.mark.parametrize("domain", [STATED, '"from-data"'], ids=["stated", "from the data"])
@pytest.mark.parametrize("name", MADE)
def test_the_release_of_a_frame_that_spark_makes(
    name: str, domain: str, tmp_path: Path, engine: SparkEngine, spark: Any
) -> None:
    """The same bytes as of its rows on one machine; a trade that is in few rows is in none of the first files."""
    desk = laid_out(tmp_path)
    (desk / "recipe.toml").write_text(JOINED.replace("DOMAIN", domain), "utf-8")
    table = more(people())
    frame = spark.read.parquet(str(in_files(table, tmp_path / "all")))
    trades = spark.createDataFrame(
        [("clerk", "it's \U0001f600"), ("nurse", "\u0141\u00f3d\u017a"), ("miner", "\u0141\u00f3d\u017a")],
        "job string, trade string",
    )
    frame = MADE[name](frame, trades)
    frame = frame.withColumn("trade", F.when(F.col("name") == "Person 39999", "none").otherwise(F.col("trade")))
    release(desk / "recipe.toml", desk / "here", data=frame.toArrow(), key=KEY)
    release(desk / "recipe.toml", desk / "there", data=frame, key=KEY, engine=engine)
    same(desk / "here", desk / "there")


@pytest.mark.parametrize("column", ["job", "trade"])
def test_other_values_are_told_as_by_the_local_engine(
    column: str, tmp_path: Path, engine: SparkEngine, spark: Any
) -> None:
    """Whether the files have them or what is looked up."""
    desk = laid_out(tmp_path)
    recipe = JOINED.replace("DOMAIN", '["a", "b"]' if column == "trade" else '["a", "b", "c"]')
    (desk / "recipe.toml").write_text(recipe if column == "trade" else recipe.replace('"miner", ', ""))
    pq.write_table(more(people()), desk / "more.parquet", row_group_size=9_000)
    trades = spark.createDataFrame([("clerk", "a"), ("nurse", "b"), ("miner", "c")], "job string, trade string")
    frame = spark.read.parquet(str(desk / "more.parquet")).join(F.broadcast(trades), "job")
    told = []
    homes: list[tuple[Any, str | SparkEngine]] = [(frame.toArrow(), "local"), (frame, engine)]
    for data, home in homes:
        with pytest.raises(SourceError) as error:
            release(desk / "recipe.toml", desk / "out", data=data, engine=home)
        told.append(str(error.value))
    assert told[0] == told[1]
    assert f"{column!r}" in told[0] and "rows outside it" in told[0]


def test_a_join_without_rows_is_refused(tmp_path: Path, engine: SparkEngine, spark: Any) -> None:
    desk = laid_out(tmp_path)
    nobody = F.broadcast(spark.createDataFrame([("king",)], "job string"))
    frame = spark.read.parquet(str(desk / "people.parquet")).join(nobody, "job")
    with pytest.raises(SourceError, match="at least one record"):
        release(desk / "recipe.toml", desk / "out", data=frame, engine=engine)
