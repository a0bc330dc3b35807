"""Data frames on Spark: evaluated once, read from a sealed copy; the bytes of their rows on one machine."""

from __future__ import annotations

import datetime
import logging
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests import needs
from tests.rows.people import RECIPE, RECORDS, laid_out, people, read_again, same

from pramana import Key, SparkEngine, release
from pramana.errors import EngineError, SourceError
from pramana.io.source import Source
from pramana.rows.spark import session
from pramana.rows.spark.frames import copied

pyspark = needs.package("pyspark")
from pyspark.sql import functions as F  # noqa: E402, N812 - where it is installed, and as everyone calls it

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.needs("java")]
KEY = Key(bytes(range(32)))
SET = '[output]\nfiles = "many"\npart_rows = 9000\n'


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    return laid_out(tmp_path)


@pytest.mark.parametrize(("rows", "partitions"), [(777, "250k"), (10_000, "100m")])
def test_a_spark_frame(desk: Path, engine: SparkEngine, spark: Any, rows: int, partitions: str) -> None:
    names = ["spark.sql.execution.arrow.maxRecordsPerBatch", "spark.sql.files.maxPartitionBytes"]
    before = {name: spark.conf.get(name) for name in names}
    try:
        for name, value in zip(names, [str(rows), partitions], strict=True):
            spark.conf.set(name, value)
        frame = spark.read.parquet(str(desk / "people.parquet"))
        nobody = spark.createDataFrame([], frame.schema)
        frame = nobody.union(frame).union(nobody)  # partitions without rows, at either end
        release(desk / "recipe.toml", desk / "here", data=people(), key=KEY)
        release(desk / "recipe.toml", desk / "there", data=frame, key=KEY, engine=engine)
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
    same(desk / "here", desk / "there")


def test_other_values_of_a_frame_are_told_as_by_the_local_engine(
    desk: Path, engine: SparkEngine, spark: Any
) -> None:
    recipe = desk / "recipe.toml"
    recipe.write_text(RECIPE.replace('"miner", ', ""))
    frame = spark.read.parquet(str(desk / "people.parquet"))
    frame = frame.union(spark.createDataFrame([], frame.schema))  # no plain file
    told = []
    homes: list[tuple[Any, str | SparkEngine]] = [(people(), "local"), (frame, engine)]
    for data, home in homes:
        with pytest.raises(SourceError) as error:
            release(recipe, desk / "out", data=data, engine=home)
        told.append(str(error.value))
    assert told[0] == told[1]
    assert "rows outside it" in told[0]


def in_files(table: pa.Table, folder: Path) -> Path:
    folder.mkdir()
    third = len(table) // 8
    for number, part in enumerate([table.slice(0, third), table.slice(third, 5 * third), table.slice(6 * third)]):
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=333)
    return folder


def test_the_release_of_a_filtered_frame(desk: Path, engine: SparkEngine, spark: Any) -> None:
    frame = spark.read.parquet(str(desk / "people.parquet")).filter("age <> 33 and town <> 'town 7'")
    frame = frame.withColumn("note", F.concat("note", F.lit("!")))
    table = people()
    stays = pc.and_(pc.not_equal(table.column("age"), 33), pc.not_equal(table.column("town"), "town 7"))
    table = table.filter(stays)
    noted = pc.binary_join_element_wise(table.column("note"), "!", "")
    table = table.set_column(table.column_names.index("note"), "note", noted)
    release(desk / "recipe.toml", desk / "here", data=table, key=KEY)
    release(desk / "recipe.toml", desk / "there", data=frame, key=KEY, engine=engine)
    same(desk / "here", desk / "there")


# ---------------------------------------------------------------- frames that join, group and put together

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


# ---------------------------------------------------------------- evaluated once


OWN_FUNCTION = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")


def never_the_same(spark: Any, desk: Path) -> Any:
    """Other notes each time it is evaluated."""
    note = F.udf(lambda: os.urandom(8).hex(), "string").asNondeterministic()
    return spark.read.parquet(str(desk / "people.parquet")).withColumn("note", note())


@OWN_FUNCTION
@pytest.mark.parametrize("files", ["one", "many"])
def test_a_frame_is_evaluated_once(desk: Path, engine: SparkEngine, spark: Any, files: str) -> None:
    (desk / "recipe.toml").write_text(RECIPE + (SET if files == "many" else ""))
    released = release(desk / "recipe.toml", desk / "there", data=never_the_same(spark, desk), engine=engine)
    assert released.certificate.records == RECORDS
    assert not spark.sparkContext._jsc.getPersistentRDDs(), "the copy is forgotten"


@OWN_FUNCTION
@pytest.mark.parametrize("files", ["one", "many"])
def test_a_frame_that_is_evaluated_again_with_other_rows_is_refused(
    files: str, desk: Path, engine: SparkEngine, spark: Any
) -> None:
    """The copy is lost, as with an executor, when coins are about to be thrown."""
    (desk / "recipe.toml").write_text(RECIPE + (SET if files == "many" else ""))

    def losing(stage: str, *_: int) -> None:
        if stage == "randomising":
            spark.catalog.clearCache()

    with pytest.raises(EngineError, match="a data frame that gave other rows when evaluated again"):
        release(
            desk / "recipe.toml", desk / "there", data=never_the_same(spark, desk), engine=engine, progress=losing
        )
    assert not (desk / "there").exists()


# ---------------------------------------------------------------- what is odd about a frame


def test_columns_that_spark_finds_by_their_numbers_are_read_by_spark(tmp_path: Path, spark: Any) -> None:
    """Files may call a column by the name that the frame has for another."""
    numbers = {"a": b"1", "b": b"2"}
    fields = [pa.field(n, pa.string(), metadata={b"PARQUET:field_id": i}) for n, i in numbers.items()]
    table = pa.table({"a": ["a1", "a2"], "b": ["b1", "b2"]}, pa.schema(fields))
    pq.write_table(table, tmp_path / "one.parquet")
    kinds = pyspark.sql.types
    exchanged = kinds.StructType(
        [
            kinds.StructField(name, kinds.StringType(), True, {"parquet.field.id": i})
            for name, i in (("a", 2), ("b", 1))
        ]
    )
    spark.conf.set("spark.sql.parquet.fieldId.read.enabled", "true")
    try:
        frame = spark.read.schema(exchanged).parquet(str(tmp_path))
        for one in (frame, frame.filter("a <> 'b2'")):
            with copied(spark, one, ("a", "b")) as copy:
                assert read_again(copy, ("a", "b")) == one.toArrow().to_pydict() != table.to_pydict()
    finally:
        spark.conf.unset("spark.sql.parquet.fieldId.read.enabled")


def test_columns_that_differ_in_the_case_of_letters(engine: SparkEngine, spark: Any) -> None:
    frame = spark.createDataFrame([("x", "X", 1)], "a string, A string, n int")
    for names in (["a"], ["a", "A"], ["n", "A"]):
        with pytest.raises(SourceError, match="must differ in more than the case") as told:
            engine.open(Source(frame=frame), names).__enter__()
        assert "AMBIGUOUS" not in str(told.value)
    with engine.open(Source(frame=frame), ["n"]) as table:
        assert table.records == 1


class _Heard(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.words = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.words += record.getMessage()


def test_an_expression_that_fails_tells_no_value(
    engine: SparkEngine, spark: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    loggers, heard = session._loggers(), _Heard()
    frame = spark.createDataFrame([("17",), ("Thiruvananthapuram",)], "v string")
    failing = (frame.selectExpr("cast(v as int) as n"), frame.select(F.col("v").cast("int").alias("n")))
    try:
        for logger in loggers:
            logger.addHandler(heard)
            logger.disabled = False  # as in a session that somebody else started
        for one in failing:
            with pytest.raises(EngineError, match="a task that failed") as told:
                engine.open(Source(frame=one), ["n"]).__enter__()
            said = capfd.readouterr()
            assert "Thiruvananthapuram" not in f"{told.value}{said.out}{said.err}{heard.words}"
        assert not any(logger.disabled for logger in loggers)
        with pytest.raises(Exception, match="Thiruvananthapuram"):
            failing[0].collect()
        assert "Thiruvananthapuram" in heard.words, "Spark does tell it where nobody keeps it from that"
    finally:
        for logger in loggers:
            logger.removeHandler(heard)
