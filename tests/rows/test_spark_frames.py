"""Data frames on Spark: read as files where they are or choose from files, else made by Spark; the same bytes."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.rows.people import RECIPE, RECORDS, laid_out, people, read_again, same

from pramana import Key, SparkEngine, release
from pramana.errors import EngineError, SourceError
from pramana.rows.spark import session
from pramana.rows.spark.frames import copying
from pramana.rows.spark.frames.scans import pieces_of_scan
from pramana.rows.spark.frames.selections import selection_of
from pramana.sources import EvenCut, Piece, Source

pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed: the Spark engine is not tested")
if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
    pytest.skip("Java is not installed: the Spark engine is not tested", allow_module_level=True)
from pyspark.sql import functions as F  # noqa: E402, N812 - where it is installed, and as everyone calls it

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    return laid_out(tmp_path)


@pytest.mark.parametrize(("rows", "partitions"), [(777, "250k"), (10_000, "100m")])
def test_a_spark_frame(desk: Path, engine: SparkEngine, spark: Any, rows: int, partitions: str) -> None:
    names = ["spark.sql.execution.arrow.maxRecordsPerBatch", "spark.sql.files.maxPartitionBytes"]
    bounds = {name: spark.conf.get(name) for name in copying._BATCHES}
    before = {name: spark.conf.get(name) for name in names}
    try:
        for name, value in zip(names, [str(rows), partitions], strict=True):
            spark.conf.set(name, value)
        frame = spark.read.parquet(str(desk / "people.parquet"))
        nobody = spark.createDataFrame([], frame.schema)
        frame = nobody.union(frame).union(nobody)  # partitions without rows, at either end
        key = Key(bytes(range(32)))
        release(desk / "recipe.toml", desk / "here", data=people(), key=key)
        release(desk / "recipe.toml", desk / "there", data=frame, key=key, engine=engine)
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
    same(desk / "here", desk / "there")
    assert {name: spark.conf.get(name) for name in copying._BATCHES} == bounds


def test_a_frame_whose_values_are_all_stated(desk: Path, spark: Any) -> None:
    """No text reaches Python; quotes, slashes, other scripts and empty texts are told apart as anywhere."""
    values = ["it's", 'a "b"', "back\\slash", "$1 `x`", "\u0141\u00f3d\u017a", "\U0001f600", "a", "A", "a "]
    generator = np.random.default_rng(3)
    drawn = {f"c{i}": generator.choice(np.array([*values, None, ""], object), 3_000) for i in range(9)}
    table = pa.table({name: pa.array(column, pa.string()) for name, column in drawn.items()})
    pq.write_table(table, desk / "stated.parquet")
    frame = spark.read.parquet(str(desk / "stated.parquet"))
    stated = dict.fromkeys(drawn, (*values, ""))
    with copying.copied(spark, Source(frame=frame), tuple(drawn), stated) as copy:
        assert copy.columns.plain == ()
        batches = copy.frame.toArrow().to_batches()
        (again,) = copy.columns.tables(0, batches)
        assert again.cast(table.schema).equals(table)
    with copying.copied(spark, Source(frame=frame), tuple(drawn), stated | {"c4": values}) as copy:
        assert copy.columns.plain == tuple(drawn), "an empty text was not stated"


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


def groups_of(pieces: Sequence[Piece]) -> Iterator[tuple[str, int]]:
    return ((str(piece.source.path), group) for piece in pieces for group in piece.part)


def test_a_frame_of_files_is_read_as_files_are_and_in_its_own_order(tmp_path: Path, spark: Any) -> None:
    whole = people().append_column("stay", pa.array(range(RECORDS), pa.int64()))
    for number, (first, rows) in enumerate([(0, 500), (500, 3_000), (3_500, 1_200)]):
        path = tmp_path / "all" / f"{number}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(whole.slice(first, rows), path, row_group_size=333)
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    try:
        spark.conf.set("spark.sql.files.maxPartitionBytes", "20k")
        frame = spark.read.parquet(str(tmp_path / "all"))
        names = ("town", "stay")
        pieces = pieces_of_scan(Source(frame=frame.select("stay", "job", "town")), names)
        assert pieces is not None and len({piece.source.path for piece in pieces}) == 3 < len(pieces)
        cut = pieces_of_scan(Source(frame=frame), names, EvenCut(12))
        assert cut is not None and len(cut) > len(pieces) and {piece.rows or 0 for piece in cut} < set(range(401))
        assert [*groups_of(cut)] == [*groups_of(pieces)]
        read = pa.concat_tables([table for piece in pieces for table in piece.read(names)])
        expected = frame.select(*names).toArrow()
        assert read.column("stay").to_pylist() == expected.column("stay").to_pylist() != list(range(4_700))
        assert read.column("town").to_pylist() == expected.column("town").to_pylist()
    finally:
        spark.conf.set("spark.sql.files.maxPartitionBytes", before)
    frame.write.partitionBy("town").parquet(str(tmp_path / "parted"))
    frame.write.csv(str(tmp_path / "csv"), header=True)
    pq.write_table(pa.table({"town": ["x"], "stay": pa.array([1.5])}), tmp_path / "all" / "other.parquet")
    others = {
        "filtered": frame.filter("stay > 3"),
        "computed": frame.selectExpr("town", "stay + 1 as stay"),
        "renamed": frame.selectExpr("job as town", "stay"),
        "sorted": frame.orderBy("stay"),
        "limited": frame.limit(10),
        "joined": frame.union(frame),
        "made": spark.createDataFrame([("a", 1)], "town string, stay long"),
        "parted": spark.read.parquet(str(tmp_path / "parted")),
        "csv": spark.read.csv(str(tmp_path / "csv"), header=True, inferSchema=True),
        "other kinds": spark.read.schema(frame.schema).parquet(str(tmp_path / "all")),
        "another width": spark.read.schema("town string, stay int").parquet(str(tmp_path / "all" / "0.parquet")),
    }
    assert [name for name, one in others.items() if pieces_of_scan(Source(frame=one), names) is not None] == []


@pytest.fixture
def small_partitions(spark: Any) -> Iterator[None]:
    """Several of each file, in another order than by name."""
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "20k")
    yield
    spark.conf.set("spark.sql.files.maxPartitionBytes", before)


def in_files(table: pa.Table, folder: Path) -> Path:
    folder.mkdir()
    third = len(table) // 8
    for number, part in enumerate([table.slice(0, third), table.slice(third, 5 * third), table.slice(6 * third)]):
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=333)
    return folder


SELECTIONS = {
    "filtered": lambda frame: frame.filter("stay % 3 > 0 and job <> 'clerk'"),
    "chosen twice": lambda frame: frame.filter("age > 20").select("stay", "town", "job", "age").filter("age < 90"),
    "computed": lambda frame: frame.withColumn("job", F.concat(F.upper("job"), F.lit("s"))),
    "renamed": lambda frame: frame.filter("sex = 'F'").selectExpr("town", "job", "stay", "sex as kept"),
    "guarded": lambda frame: frame.filter("stay % 5 <> 0").selectExpr("town", "job", "100 / (stay % 5) as stay"),
    "dates": lambda frame: frame.select("town", "stay", "born"),
    "none stays": lambda frame: frame.filter("stay % 5000 = 77"),
}


@pytest.mark.parametrize("name", SELECTIONS)
@pytest.mark.usefixtures("small_partitions")
def test_a_frame_that_chooses_from_files_is_read_with_them(name: str, tmp_path: Path, spark: Any) -> None:
    """Spark tells which rows stay and what is computed, of a row that stays alone; the order is the frame's."""
    whole = people(4_700).append_column("stay", pa.array(range(4_700), pa.int64()))
    whole = whole.append_column("born", pa.array(range(4_700), pa.int32()).cast(pa.date32()))
    frame = SELECTIONS[name](spark.read.parquet(str(in_files(whole, tmp_path / "all"))))
    names = tuple(n for n in ("town", "job", "stay", "kept", "born") if n in frame.columns)
    chosen = selection_of(Source(frame=frame), names)
    assert (
        chosen is not None
        and "town" in chosen.plain
        and "born" not in chosen.plain
        and sum(map(len, chosen.pieces)) > 3
    )
    stated = {"job": ("CLERKS", "NURSES", "MINERS", "BAKERS"), "kept": ("F", "M")}
    expected = frame.select(*names).toArrow()
    with copying.copied(spark, Source(frame=frame), names, stated) as copy:
        assert copy.columns.covers(names) and sum(copy.rows) == expected.num_rows
        again = read_again(copy, names)
    assert again == expected.to_pydict()
    assert (len(again["stay"]) > 0 and again["stay"] != sorted(again["stay"])) or name == "none stays"


def test_the_release_of_a_filtered_frame(desk: Path, engine: SparkEngine, spark: Any) -> None:
    frame = spark.read.parquet(str(desk / "people.parquet")).filter("age <> 33 and town <> 'town 7'")
    frame = frame.withColumn("note", F.concat("note", F.lit("!")))
    table = people()
    stays = pc.and_(pc.not_equal(table.column("age"), 33), pc.not_equal(table.column("town"), "town 7"))
    table = table.filter(stays)
    noted = pc.binary_join_element_wise(table.column("note"), "!", "")
    table = table.set_column(table.column_names.index("note"), "note", noted)
    key = Key(bytes(range(32)))
    release(desk / "recipe.toml", desk / "here", data=table, key=key)
    release(desk / "recipe.toml", desk / "there", data=frame, key=key, engine=engine)
    same(desk / "here", desk / "there")


def test_a_file_that_is_replaced_after_spark_told_which_rows_stay_is_refused(
    desk: Path, engine: SparkEngine, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By one with as many rows, in another order."""
    file, as_told = desk / "people.parquet", copying._as_told

    def replaced(*arguments: Any) -> Any:
        assert as_told(*arguments)
        table = pq.read_table(file)
        pq.write_table(table.take(list(range(len(table)))[::-1]), desk / "other.parquet")
        (desk / "other.parquet").rename(file)
        return True

    monkeypatch.setattr(copying, "_as_told", replaced)
    frame = spark.read.parquet(str(file)).filter("age <> 33")
    with pytest.raises(SourceError, match="must stay as it is while it is read"):
        release(desk / "recipe.toml", desk / "there", data=frame, engine=engine)
    assert not (desk / "there").exists()


@pytest.mark.filterwarnings(
    "ignore:PySpark does not yet fully support pandas:FutureWarning"
)  # of a user's function
def test_frames_that_spark_must_make_are_no_selections(tmp_path: Path, spark: Any) -> None:
    table = people(500).append_column("stay", pa.array(range(500), pa.int64()))
    frame = spark.read.parquet(str(in_files(table, tmp_path / "all")))
    kept = frame.filter("stay > 300").cache()
    frame.write.partitionBy("sex").parquet(str(tmp_path / "parted"))
    others = {
        "all of it": frame,
        "by chance": frame.filter(F.rand(1) > 0.5),
        "by partition": frame.withColumn("stay", F.spark_partition_id().cast("long")),
        "by another table": frame.filter(f"stay > (select min(stay) from parquet.`{tmp_path / 'all'}`)"),
        "by Python": frame.filter(F.udf(lambda stay: stay > 3, "boolean")("stay")),
        "kept": kept.select("town", "stay"),
        "limited": frame.limit(10),
        "sorted": frame.filter("stay > 3").orderBy("stay"),
        "two": frame.filter("stay > 3").union(frame),
        "parted": spark.read.parquet(str(tmp_path / "parted")).filter("stay > 3"),
        "nothing of the files": frame.selectExpr("upper(town) as town", "stay + 1 as stay"),
        "another kind": frame.filter("stay > 3").selectExpr("cast(town as binary) as town", "stay + 1 as stay"),
    }
    try:
        assert kept.count() == 199
        names = ("town", "stay")
        assert [one for one in others if selection_of(Source(frame=others[one]), names) is not None] == []
    finally:
        kept.unpersist()


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
            assert pieces_of_scan(Source(frame=one), ("a", "b")) is None
            with copying.copied(spark, Source(frame=one), ("a", "b"), {}) as copy:
                assert read_again(copy, ("a", "b")) == one.toArrow().to_pydict()
                assert copy.columns.files is None
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


FRAMES_OF_FILES: dict[str, Callable[[Any, Any], Any]] = {
    "selection_of": lambda frame, _: frame.filter("age > 30"),
    "lookup_of": lambda frame, spark: frame.join(
        F.broadcast(spark.createDataFrame([("F",)], "sex string")), "sex"
    ),
}


@pytest.mark.parametrize("way", FRAMES_OF_FILES)
def test_files_that_spark_cuts_elsewhere_when_it_runs_are_not_read_beside_it(
    way: str, tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = FRAMES_OF_FILES[way](spark.read.parquet(str(in_files(people(4_700), tmp_path / "all"))), spark)
    names, setting = ("town", "age", "job"), "spark.sql.files.maxPartitionBytes"
    before, planned = spark.conf.get(setting), getattr(copying, way)

    def cut_anew(*arguments: Any) -> Any:
        found = planned(*arguments)
        assert found is not None
        spark.conf.set(setting, "20k")
        return found

    try:
        with copying.copied(spark, Source(frame=frame), names, {}) as copy:
            assert copy.columns.files is not None, "as planned"
        monkeypatch.setattr(copying, way, cut_anew)
        with copying.copied(spark, Source(frame=frame), names, {}) as copy:
            assert copy.columns.files is None
            assert read_again(copy, names) == frame.select(*names).toArrow().to_pydict()
    finally:
        spark.conf.set(setting, before)
