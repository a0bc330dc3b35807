"""Rows of databases as streams of Arrow batches: every type, every failure, and nothing said that must not be."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import secrets
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.servers import Place, Server

from pramana.errors import MissingExtraError, SourceError
from pramana.io.database import TableName, batches, open_database, quoted, storable, stored
from pramana.io.source import Source

SECRET = "hunter2-in-the-url"
MOMENT = datetime.datetime(2020, 2, 29, 12, 30)
ROWS = (
    "CREATE TABLE people (name varchar(40), sex varchar(1), age integer)",
    *(f"INSERT INTO people VALUES ('Person {i}', '{'FM'[i % 2]}', {i})" for i in range(25)),
)


WHOLE_TABLE: list[dict[str, Any]] = [{"table": "t"}, {"query": "SELECT * FROM t"}]


def read(url: str, wanted: list[str] | None = None, **more: Any) -> pa.Table:
    return pa.Table.from_batches(list(batches(url, wanted, **more)))


def test_a_table_and_a_query_are_read_in_batches(base: Place) -> None:
    base.run(*ROWS)
    found = list(batches(base.url, ["age", "sex"], table="people", rows=10))
    assert [batch.num_rows for batch in found] == [10, 10, 5] and len({batch.schema for batch in found}) == 1
    assert pa.Table.from_batches(found).to_pylist() == [{"age": i, "sex": "FM"[i % 2]} for i in range(25)]
    query = "SELECT age * 2 AS twice, name FROM people WHERE age > 20 ORDER BY age DESC -- the last ones\n ;\n"
    assert read(base.url, ["twice"], query=query).to_pylist() == [{"twice": 2 * i} for i in (24, 23, 22, 21)]
    assert read(base.url, query=query).column_names == ["twice", "name"]
    table = Source(url=base.url, table="people").read(["sex"])
    assert table.records == 25 and list(table.columns) == ["sex"]


def test_a_query_that_needs_casts_keeps_its_order(base: Place) -> None:
    base.run("CREATE TABLE t (a integer, u char(36))")
    base.run(*(f"INSERT INTO t VALUES ({i * 7919 % 1000}, 'x')" for i in range(1000)))
    kind = "u" if base.kind == "sqlite" else "cast('7a31e8a4-8f5d-4cbb-8f0d-6d3e0c8d1b11' AS uuid)"
    found = read(base.url, query=f"SELECT a, {kind} AS u FROM t ORDER BY a DESC")
    assert found.column("a").to_pylist() == list(range(999, -1, -1))
    assert pa.types.is_string(found.schema.field("u").type)


def test_an_empty_result_has_a_schema_and_is_no_table(base: Place) -> None:
    base.run("CREATE TABLE t (a integer, b varchar(3))")
    for more in WHOLE_TABLE:
        found = list(batches(base.url, **more))
        assert [(b.num_rows, b.schema.names) for b in found] == [(0, ["a", "b"])]
        with pytest.raises(SourceError, match="at least one record, got none"):
            Source(url=base.url, **more).read(["a"])


def test_nulls_unicode_and_quotes_come_through(base: Place) -> None:
    names = ['a "quoted" name', "it's", "größe µ", "Case", "with space"]
    table = "the \"people\" of 'Köln'"
    columns = ", ".join(f"{quoted(name)} varchar(20)" for name in names)
    base.run(f"CREATE TABLE {quoted(table)} ({columns})")
    assert base.tables() == [table]
    base.run(f"INSERT INTO {quoted(table)} VALUES ('é', NULL, '', '日本', 'a;b'), (NULL, 'b', 'c', 'd', 'e')")
    found = read(base.url, names[::-1], table=table)
    assert found.column_names == names[::-1]
    assert found.column("it's").to_pylist() == [None, "b"] and found.column(names[2]).to_pylist() == ["", "c"]
    assert found.column("Case").to_pylist() == ["日本", "d"]


def test_a_column_that_is_not_there_gets_a_hint(base: Place) -> None:
    base.run(*ROWS)
    for more in ({"table": "people"}, {"query": "SELECT * FROM people"}):
        with pytest.raises(SourceError, match=r"'agee', got no such column. Did you mean its column 3\?"):
            read(base.url, ["agee"], **more)
        with pytest.raises(SourceError, match=r"'agee', got no such column. Did you mean 'age'\?"):
            read(base.url, ["name", "agee", "sex"], **more)
    with pytest.raises(SourceError, match="distinct names"):
        read(base.url, ["age"], query="SELECT age, sex, age FROM people")


# Type, value in SQL, what is read. Texts of types without a like in Arrow are those the database writes itself.
POSTGRESQL = [
    ("smallint", "7", 7),
    ("integer", "-7", -7),
    ("bigint", "9007199254740993", 9007199254740993),
    ("real", "1.5", 1.5),
    ("double precision", "'NaN'", pytest.approx(float("nan"), nan_ok=True)),
    ("numeric", "1.50", "1.50"),
    ("numeric", "123456789012345678901234567890123456789012345", "123456789012345678901234567890123456789012345"),
    ("numeric", "'NaN'", None),
    ("numeric(5, 2)", "1.5", decimal.Decimal("1.50")),
    ("numeric(5, 2)", "'NaN'", None),
    ("numeric(5, 2)", "-0.25", decimal.Decimal("-0.25")),
    ("numeric(60, 2)", "1.5", "1.50"),
    ("text", "'é'", "é"),
    ("varchar(9)", "'a'", "a"),
    ("char(9)", "'a'", "a"),
    ("boolean", "true", True),
    ("date", "'2020-02-29'", MOMENT.date()),
    ("timestamp", "'2020-02-29 12:30'", MOMENT),
    ("timestamptz", "'2020-02-29 13:30+01'", MOMENT.replace(tzinfo=datetime.UTC)),
    ("time", "'12:30'", MOMENT.time()),
    ("timetz", "'12:30+01'", "12:30:00+01"),
    ("interval", "'1 day'", "1 day"),
    ("uuid", "'7a31e8a4-8f5d-4cbb-8f0d-6d3e0c8d1b11'", "7a31e8a4-8f5d-4cbb-8f0d-6d3e0c8d1b11"),
    ("json", "'[1]'", "[1]"),
    ("jsonb", "'[1]'", "[1]"),
    ("bytea", "'\\xff'", b"\xff"),
    ("inet", "'10.0.0.1'", "10.0.0.1/32"),
    ("mood", "'glad'", "glad"),
    ("positive", "5", 5),
    ("oid", "4294967295", "4294967295"),
    ("int4range", "'[1,3)'", "[1,3)"),
]
DUCKDB = [
    ("tinyint", "7", 7),
    ("ubigint", "18446744073709551615", 18446744073709551615),
    ("hugeint", "170141183460469231731687303715884105727", "170141183460469231731687303715884105727"),
    ("decimal(5, 2)", "1.5", decimal.Decimal("1.50")),
    ("double", "1.5", 1.5),
    ("varchar", "'é'", "é"),
    ("boolean", "true", True),
    ("date", "'2020-02-29'", MOMENT.date()),
    ("timestamp", "'2020-02-29 12:30'", MOMENT),
    ("timestamptz", "'2020-02-29 13:30:00+01'", MOMENT.replace(tzinfo=datetime.UTC)),
    ("time", "'12:30:00'", MOMENT.time()),
    ("timetz", "'12:30:00+01'", "12:30:00+01"),
    ("interval", "'1 day'", "1 day"),
    ("uuid", "'7a31e8a4-8f5d-4cbb-8f0d-6d3e0c8d1b11'", "7a31e8a4-8f5d-4cbb-8f0d-6d3e0c8d1b11"),
    ("blob", "'\\xFF'::blob", b"\xff"),
    ("bit", "'101'", "101"),
    ("enum('sad', 'glad')", "'glad'", "glad"),
]
SQLITE = [
    ("integer", "7", 7),
    ("real", "1.5", 1.5),
    ("text", "'é'", "é"),
    ("blob", "x'ff'", b"\xff"),
    ("date", "'2020-02-29'", "2020-02-29"),
    ("boolean", "true", 1),
]


def check_types(base: Place, kinds: list[tuple[str, str, Any]]) -> None:
    columns = ", ".join(f"c{i} {kind}" for i, (kind, _, _) in enumerate(kinds))
    base.run(
        f"CREATE TABLE t ({columns})",
        f"INSERT INTO t VALUES ({', '.join(value for _, value, _ in kinds)})",
        f"INSERT INTO t VALUES ({', '.join('NULL' for _ in kinds)})",
    )
    for more in WHOLE_TABLE:
        found = read(base.url, **more).to_pylist()
        for i, (kind, _, value) in enumerate(kinds):
            assert found[0][f"c{i}"] == value, kind
            assert found[1][f"c{i}"] is None, kind
        assert Source(url=base.url, **more).read().records == 2, "all of them are kinds a table may have"


@pytest.mark.parametrize("base", ["postgresql"], indirect=True)
def test_types_of_postgresql(base: Place) -> None:
    base.run("CREATE TYPE mood AS ENUM ('sad', 'glad')", "CREATE DOMAIN positive AS integer CHECK (value > 0)")
    check_types(base, POSTGRESQL)


@pytest.mark.parametrize("base", ["duckdb"], indirect=True)
def test_types_of_duckdb(base: Place) -> None:
    check_types(base, DUCKDB)


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
def test_types_of_sqlite(base: Place) -> None:
    check_types(base, SQLITE)


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
def test_sqlite_is_typed_by_all_of_its_rows(base: Place) -> None:
    """A column's first thousand rows say nothing of the next one."""
    base.run("CREATE TABLE t (a, b, c, d, e)")
    connection = base.connect()
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", [(1, None, 1, None, 2.0)] * 20_000)
    connection.execute("INSERT INTO t VALUES (1.5, 'late', 'text', NULL, 'x')")
    connection.commit()
    connection.close()
    found = read(base.url, table="t")
    assert [str(kind) for kind in found.schema.types] == ["double", "string", "string", "null", "string"]
    assert found.slice(19_999).to_pylist() == [
        {"a": 1.0, "b": None, "c": "1", "d": None, "e": "2"},
        {"a": 1.5, "b": "late", "c": "text", "d": None, "e": "x"},
    ]
    base.run("INSERT INTO t VALUES (1, x'ff', 1, 1, 1)")
    with pytest.raises(SourceError, match="The column 'b' must hold values of one kind, got blob and text"):
        read(base.url, table="t")
    base.run("DELETE FROM t", "INSERT INTO t (a) VALUES (9007199254740993), (1.5)")
    with pytest.raises(SourceError, match="values it cannot take"):
        read(base.url, table="t")
    base.run("DELETE FROM t", "INSERT INTO t (a) VALUES (CAST(x'53ff' AS TEXT))")
    with pytest.raises(SourceError, match="must answer the table 't', got"):
        read(base.url, table="t")


@pytest.mark.parametrize("base", ["postgresql", "duckdb"], indirect=True)
def test_lists_are_no_single_values(base: Place) -> None:
    base.run("CREATE TABLE t (a integer[])")
    with pytest.raises(SourceError, match="The column 'a' must hold single values, got nested ones"):
        read(base.url, table="t")


def test_reading_changes_nothing(base: Place) -> None:
    base.run(*ROWS)
    for query in ("DELETE FROM people", "DELETE FROM people RETURNING age", "DROP TABLE people", "COMMIT",
                  "CREATE TABLE other (a integer)", "SELECT 1; DROP TABLE people",
                  "COPY people TO 'people.csv'", ""):  # fmt: skip
        with pytest.raises(SourceError, match=r"The database of .source. must answer the query, got"):
            read(base.url, query=query)
    assert base.tables() == ["people"] and base.rows("SELECT count(*) FROM people") == [(25,)]


@pytest.mark.parametrize("what", ["SELECT * FROM nowhere", "SELEKT", "SELECT nothing FROM people", "(", "--"])
def test_a_query_that_fails_is_one_plain_line(base: Place, what: str) -> None:
    base.run(*ROWS)
    with pytest.raises(SourceError, match=r"must answer the query, got [^:]*$") as failed:
        read(base.url, query=what)
    assert "nowhere" not in str(failed.value) and "nothing" not in str(failed.value)


@pytest.mark.parametrize("base", ["postgresql", "duckdb"], indirect=True)
def test_a_failure_in_the_middle_quotes_no_row(base: Place) -> None:
    base.run("CREATE TABLE t (a varchar(20))", "INSERT INTO t SELECT '1' FROM generate_series(1, 100000)",
             "INSERT INTO t VALUES ('Secret')")  # fmt: skip
    with pytest.raises(SourceError, match="must answer the query, got") as failed:
        read(base.url, query="SELECT cast(a AS integer) AS a FROM t")
    assert "Secret" not in str(failed.value) and failed.value.__cause__ is None
    assert failed.value.__suppress_context__


def test_a_stream_may_be_left_before_its_end(base: Place) -> None:
    base.run(*ROWS)
    stream = batches(base.url, table="people", rows=3)
    assert next(stream).num_rows == 3
    stream.close()
    base.run("DROP TABLE people")
    assert base.tables() == []


WORDS = [
    "select",
    "age",
    "from",
    "people",
    "*",
    "(",
    ")",
    ";",
    "--",
    "'",
    '"',
    ",",
    "1",
    "/",
    "0",
    "order",
    "by",
    "é",
    "union",
    "limit",
    "pragma",
    "attach",
    "with",
    "x",
    "as",
    "values",
    "null",
    "sex",
    "cast",
    "int",
]


def test_any_query_is_answered_or_refused(base: Place) -> None:
    base.run(*ROWS)

    @settings(max_examples=40)
    @given(
        start=st.sampled_from(["", "select", "select age from people", "select age as"]),
        words=st.lists(st.sampled_from([*WORDS, "\0", "\n"]), max_size=6),
    )
    def check(start: str, words: list[str]) -> None:
        try:
            read(base.url, query=" ".join([start, *words]))
        except SourceError as error:
            assert "Person" not in str(error)

    check()
    assert base.tables() == ["people"] and base.rows("SELECT count(*) FROM people") == [(25,)]


def test_a_missing_table_is_named(base: Place) -> None:
    with pytest.raises(SourceError, match="must answer the table 'nowhere', got"):
        read(base.url, table="nowhere")
    with pytest.raises(SourceError, match="must be asked by a query or for a table, got both"):
        next(batches(base.url, query="SELECT 1", table="t"))


@pytest.mark.parametrize("base", ["postgresql", "duckdb"], indirect=True)
def test_a_table_may_be_in_a_schema(base: Place) -> None:
    base.run('CREATE SCHEMA "the office"', 'CREATE TABLE "the office".t (a integer)')
    base.run('INSERT INTO "the office".t VALUES (5)')
    assert read(base.url, table="t", schema="the office").to_pylist() == [{"a": 5}]


# ---------------------------------------------------------------- connections


@pytest.mark.parametrize(
    "url",
    [
        f"mysql://reader:{SECRET}@example.invalid/people",
        f"host=example.invalid password={SECRET}",
        SECRET,
        "",
        f"postgresql+psycopg://reader:{SECRET}@example.invalid/people",
    ],
)
def test_an_unknown_kind_of_database_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        SourceError, match=r"must be one of a known database, got no such scheme. postgresql://"
    ) as refused:
        read(url, table="t")
    assert SECRET not in str(refused.value)
    monkeypatch.setenv("PRAMANA_TEST_URL", url)
    with pytest.raises(SourceError, match=r"PRAMANA_TEST_URL must hold|must be one of a known") as refused:
        read("env:PRAMANA_TEST_URL", table="t")
    assert SECRET not in str(refused.value)


def test_the_environment_holds_the_connection_string(base: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    base.run(*ROWS)
    monkeypatch.setenv("PRAMANA_TEST_URL", f"  {base.url}\n")
    source = Source.from_options({"url": "env:PRAMANA_TEST_URL", "table": "people"})
    assert source.read(["age"]).records == 25
    assert source.to_json() == {"format": "database"}
    monkeypatch.delenv("PRAMANA_TEST_URL")
    with pytest.raises(SourceError, match="The environment variable PRAMANA_TEST_URL must hold"):
        source.read(["age"])


def test_a_source_shows_no_connection_string() -> None:
    assert SECRET not in repr(Source(url=f"postgresql://u:{SECRET}@h/d", query=f"select '{SECRET}'"))


@pytest.mark.parametrize("name", [f"postgresql://u:{SECRET}@h/d", f"postgres://u:{SECRET}@h/d"])
def test_a_url_in_the_place_of_a_file_is_not_repeated(name: str) -> None:
    with pytest.raises(SourceError, match="A source must be a file, got a URL") as refused:
        Source(path=Path(name)).read()
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    "url, got",
    [
        (f"postgresql://reader:{SECRET}@127.0.0.1:1/people", "a refused connection"),
        (f"postgresql://reader:{SECRET}@example.invalid/people", "no such host|no connection"),
        (f"postgresql://reader:{SECRET}@/people?host=/nowhere", "no server at that socket"),
        (f"postgresql://reader:{SECRET}@host:no/people", "no connection|password"),
        (f"postgresql://reader:{SECRET}%ZZ@host/people", "no connection|password"),
        (f"postgresql://reader:{SECRET}@127.0.0.1/people?unknown={SECRET}", "no connection|password"),
    ],
)
def test_no_connection_is_one_plain_line(url: str, got: str) -> None:
    for section, writing in (("source", False), ("output", True)):
        with pytest.raises(
            SourceError, match=rf"The database of .{section}. must be reachable, got ({got})$"
        ) as no:
            open_database(url, section, writing)
        for word in (SECRET, "reader", "people", "invalid", "127", "nowhere"):
            assert word not in str(no.value)


def test_a_wrong_password_is_one_plain_line(postgresql: Server) -> None:
    role = f"r{secrets.token_hex(4)}"
    postgresql.guard(role, SECRET)
    good = f"postgresql://{role}:{SECRET}@/postgres?host={postgresql.folder}"
    assert read(good, query="SELECT 1 AS a").to_pylist() == [{"a": 1}]
    for bad in (good.replace(SECRET, SECRET + "x"), good.replace(f":{SECRET}", ""), good.replace(role, "nobody")):
        with pytest.raises(SourceError, match=r"must be reachable, got a wrong user or password$") as refused:
            read(bad, query="SELECT 1 AS a")
        for word in (SECRET, role, str(postgresql.folder)):
            assert word not in str(refused.value)
    with pytest.raises(SourceError, match=r"must be reachable, got no such database$"):
        read(good.replace("/postgres?", "/nowhere?"), query="SELECT 1 AS a")
    with (
        contextlib.closing(open_database(good, "output", True)) as database,
        pytest.raises(SourceError, match="must take the table 't', got no permission"),
    ):
        database.create(TableName("t"), pa.schema([("a", pa.int64())]), iter(()))


@pytest.mark.parametrize("scheme", ["sqlite", "duckdb"])
def test_a_file_must_be_a_database(scheme: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="must be a file that exists, got none"):
        read(f"{scheme}:///{tmp_path / 'absent'}", table="t")
    assert list(tmp_path.iterdir()) == []
    file = tmp_path / "people.csv"
    file.write_text("name,sex\n" + "Secret,F\n" * 5000)
    for writing in (False, True):
        with pytest.raises(SourceError, match=r"The database of .source. must be a .* file") as refused:
            open_database(f"{scheme}:///{file}", writing=writing)
        assert "Secret" not in str(refused.value)


@pytest.mark.parametrize(
    "url, package", [("postgresql://h/d", "adbc_driver_postgresql"), ("duckdb:///x", "duckdb")]
)
def test_without_the_extra_it_is_asked_for(url: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'pramana-privacy.database.'"):
        read(url, table="t")


# ---------------------------------------------------------------- writing

COLUMNS = {
    "whole": pa.array([1, None, -4]),
    "byte": pa.array([1, None, 255], pa.uint8()),
    "short": pa.array([1, None, 65535], pa.uint16()),
    "word": pa.array([1, None, 2**32 - 1], pa.uint32()),
    "large": pa.array([1, None, 2**64 - 1], pa.uint64()),
    "small": pa.array([-128, None, 127], pa.int8()),
    "real": pa.array([1.5, None, -0.25]),
    "single": pa.array([1.5, None, -0.25], pa.float32()),
    "text": pa.array(["a", None, 'x,"y"\n']),
    "long text": pa.array(["a", None, "é"], pa.large_string()),
    "category": pa.array(["b", None, "b"]).dictionary_encode(),
    "truth": pa.array([True, None, False]),
    "day": pa.array([MOMENT.date(), None, datetime.date(1, 1, 1)]),
    "moment": pa.array([MOMENT, None, MOMENT], pa.timestamp("ns")),
    "zoned": pa.array([MOMENT, None, MOMENT], pa.timestamp("s", tz="Europe/Berlin")),
    "time": pa.array([MOMENT.time(), None, MOMENT.time()], pa.time32("s")),
    "decimal": pa.array([decimal.Decimal("1.10"), None, decimal.Decimal("0.00")]),
    "wide": pa.array([decimal.Decimal("1.10"), None, decimal.Decimal("0.00")], pa.decimal256(60, 2)),
    "duration": pa.array([1, None, 4], pa.duration("s")),
    "bytes": pa.array([b"\xff", None, b""]),
    "fixed": pa.array([b"\xff", None, b"\x00"], pa.binary(1)),
    "nothing": pa.nulls(3),
    'the "odd" name': pa.array(["1", None, "2"]),
}


def test_every_type_is_written_and_read_back(base: Place) -> None:
    table = pa.table(COLUMNS)
    made = storable(table.schema)
    database = open_database(base.url, "output", writing=True)
    database.create(TableName("new"), made, stored(iter(table.to_batches(2) * 2), made))
    if base.kind == "postgresql":
        assert base.tables() == [], "no one sees it before it is committed"
    database.commit()
    database.close()
    found = read(base.url, table="new")
    expected = pa.Table.from_batches(list(stored(iter(table.to_batches() * 2), made)))
    assert found.column_names == expected.column_names
    for name in found.column_names:
        values = found.column(name).to_pylist()
        if base.kind == "sqlite" and not pa.types.is_boolean(made.field(name).type) and values[0] is not None:
            kept = pa.types.is_floating, pa.types.is_integer, pa.types.is_binary
            column = expected.column(name)
            column = column if any(is_kind(column.type) for is_kind in kept) else column.cast(pa.string())
            assert values == column.to_pylist(), name
        else:
            assert values == expected.column(name).to_pylist(), name
    assert found.num_rows == 6


def test_what_is_not_committed_was_never_there(base: Place) -> None:
    schema = pa.schema([("a", pa.int64())])
    database = open_database(base.url, "output", writing=True)
    database.create(TableName("t"), schema, iter([pa.record_batch({"a": [1]})]))
    database.close()
    assert base.tables() == []

    def failing() -> Any:
        yield pa.record_batch({"a": [1]})
        raise SourceError("of this test")

    database = open_database(base.url, "output", writing=True)
    with pytest.raises(SourceError, match="of this test"):
        database.create(TableName("t"), schema, failing())
    database.close()
    assert base.tables() == []


def test_an_existing_table_is_left_alone(base: Place) -> None:
    base.run(*ROWS)
    for name in ("people", *(["PEOPLE"] if base.kind != "postgresql" else [])):
        database = open_database(base.url, "output", writing=True)
        with pytest.raises(SourceError, match=f"The table '{name}' already exists"):
            database.create(TableName(name), pa.schema([("a", pa.int64())]), iter(()))
        database.close()
    assert base.rows("SELECT count(*) FROM people") == [(25,)]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1], pa.timestamp("ns")),
        pa.array([1], pa.time64("ns")),
        pa.array([2**62], pa.timestamp("s")),
    ],
)
def test_a_value_that_would_change_is_an_error(column: pa.Array) -> None:
    table = pa.table({"a": column})
    made = storable(table.schema)
    with pytest.raises(SourceError, match="Every published value must be one that a table can hold"):
        list(stored(iter(table.to_batches()), made))


def test_nested_values_are_refused() -> None:
    with pytest.raises(SourceError, match="The column 'a' must hold single values to be written"):
        storable(pa.schema([("a", pa.list_(pa.int64()))]))


@pytest.mark.parametrize("base", ["postgresql"], indirect=True)
def test_postgresql_cuts_no_name(base: Place) -> None:
    long = "é" * 32
    for name, column in ((long, "a"), ("t", long)):
        database = open_database(base.url, "output", writing=True)
        with pytest.raises(SourceError, match="at most 63 bytes"):
            database.create(TableName(name), pa.schema([(column, pa.int64())]), iter(()))
        database.close()
