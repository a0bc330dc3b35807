"""From a database to a bundle and a table: the same rows, in one piece or not at all, and no secret anywhere."""

from __future__ import annotations

import csv
import secrets
import subprocess
import sys
from pathlib import Path

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from tests.conftest import PEOPLE, RECIPE, Refused
from tests.servers import Place, Server

from pramana import verify
from pramana.app.main import run
from pramana.errors import SourceError
from pramana.io.database import open_database
from pramana.io.postgresql import PostgreSQL
from pramana.io.source import Source

FROM_TABLE = '[source]\nurl = "env:PRAMANA_TEST_URL"\ntable = "people"\n'
TO_TABLE = '[output]\nformat = "parquet"\nurl = "env:PRAMANA_TEST_URL"\ntable = "the release"\n'
RAW = '[attributes.note]\nrole = "insensitive"\n'
PASSWORD = "hunter2-of-the-database"


def recipe(source: str = FROM_TABLE, output: str = TO_TABLE, more: str = RAW) -> str:
    return RECIPE.replace('[source]\npath = "people.csv"\n', source) + more + output


@pytest.fixture
def office(desk: Path, base: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The desk's people in a database, with notes, some of them missing; and the same in people.csv."""
    header, *lines = PEOPLE.splitlines()
    notes = [("", 'a "b"', "é,;", "x")[i % 4] for i in range(len(lines))]
    quoted = ['"' + note.replace('"', '""') + '"' if note else "" for note in notes]
    rows = [f"{line},{note}" for line, note in zip(lines, quoted, strict=True)]
    (desk / "people.csv").write_text("\n".join([f"{header},note", *rows]) + "\n")
    (desk / "recipe.toml").write_text(recipe())
    base.run("CREATE TABLE people (name varchar(20), sex varchar(1), age integer, note varchar(20))")
    values = []
    for line, note in zip(lines, notes, strict=True):
        name, sex, age = line.split(",")
        values.append(f"('{name}', '{sex}', {age}, {repr(note) if note else 'NULL'})")
    base.run(f"INSERT INTO people VALUES {', '.join(values)}")
    monkeypatch.setenv("PRAMANA_TEST_URL", base.url)
    return base


def stored(base: Place) -> list[tuple[object, ...]]:
    return base.rows('SELECT * FROM "the release"')


def published(bundle: Path) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in pq.read_table(bundle / "data.parquet").to_pylist()]


def test_from_table_to_table(office: Place, desk: Path) -> None:
    assert run(["release", "recipe.toml", "--out", "out"]) == 0
    assert stored(office) == published(desk / "out"), "the rows of the bundle, in its order"
    assert {row[-1] for row in stored(office)} == {None, 'a "b"', "é,;", "x"}
    assert len(stored(office)) == 40 and office.tables() == ["people", "the release"]
    assert verify(desk / "out", source=desk / "people.csv", key=desk / "out.key").valid
    assert run(["verify", "out", "--source", "recipe.toml", "--key", "out.key"]) == 0
    assert run(["verify", "out", "--source", "recipe.toml", "--key", "out.key", "--memory", "1GiB"]) == 0
    office.run("DELETE FROM people WHERE age >= 50")
    assert run(["verify", "out", "--source", "recipe.toml", "--key", "out.key"]) == 1, "the table has changed"

    (desk / "plain.toml").write_text(recipe('[source]\npath = "people.csv"\n', ""))
    assert run(["release", "plain.toml", "--out", "plain", "--key", "out.key"]) == 0
    assert (desk / "plain/data.parquet").read_bytes() == (desk / "out/data.parquet").read_bytes()


def test_a_stream_within_a_bound_on_memory_gives_the_same_bytes(office: Place, desk: Path) -> None:
    assert run(["release", "recipe.toml", "--out", "out"]) == 0
    rows = stored(office)
    office.run('DROP TABLE "the release"')
    assert run(["release", "recipe.toml", "--out", "small", "--key", "out.key", "--memory", "1GiB"]) == 0
    assert (desk / "small/data.parquet").read_bytes() == (desk / "out/data.parquet").read_bytes()
    assert (desk / "small/certificate.json").read_bytes() == (desk / "out/certificate.json").read_bytes()
    assert stored(office) == rows


def test_a_query_and_csv(office: Place, desk: Path) -> None:
    source = FROM_TABLE.replace(
        'table = "people"', 'query = """select note, age, sex from people where age >= 50 order by age, name;"""'
    )
    (desk / "recipe.toml").write_text(recipe(source, TO_TABLE.replace("parquet", "csv")))
    assert run(["release", "recipe.toml", "--out", "out"]) == 0
    data = pacsv.read_csv(desk / "out/data.csv", convert_options=pacsv.ConvertOptions(strings_can_be_null=True))
    assert stored(office) == [tuple(row.values()) for row in data.to_pylist()]
    assert len(stored(office)) == office.rows("SELECT count(*) FROM people WHERE age >= 50")[0][0]
    assert run(["release", "recipe.toml", "--out", "again", "--key", "out.key"]) == 2, "its table is there"
    office.run('DROP TABLE "the release"')
    assert run(["release", "recipe.toml", "--out", "again", "--key", "out.key"]) == 0
    assert (desk / "again/data.csv").read_bytes() == (desk / "out/data.csv").read_bytes()


@pytest.mark.parametrize(
    "method", ['method = "levels"\nretention = 0.5', 'method = "invariant"\nxi = 0.3'], ids=["levels", "invariant"]
)
def test_other_methods_write_their_tables_too(office: Place, desk: Path, method: str) -> None:
    text = recipe(more="").replace("epsilon = 2", method)
    text = text.replace("bins = [0, 20, 40, 60, 120]", 'domain = "from-data"')
    if "levels" in method:
        text = text.replace('"quasi-identifying"', '"sensitive"')
    (desk / "recipe.toml").write_text(text)
    assert run(["release", "recipe.toml", "--out", "out"]) == 0
    assert stored(office) == published(desk / "out")


def test_cells_that_are_no_single_values_need_csv(office: Place, desk: Path, refused: Refused) -> None:
    method = 'method = "generalize"\nalgorithm = "mondrian"\ncells = "set"\nk = 5'
    text = recipe(more="").replace("epsilon = 2", method)
    (desk / "recipe.toml").write_text(text.replace("bins = [0, 20, 40, 60, 120]", 'domain = "from-data"'))
    said = refused("release", "recipe.toml", "--out", "out")
    assert "must hold single values to be written to a table" in said and office.tables() == ["people"]
    (desk / "recipe.toml").write_text((desk / "recipe.toml").read_text().replace("parquet", "csv"))
    assert run(["release", "recipe.toml", "--out", "out"]) == 0
    with (desk / "out/data.csv").open(newline="") as file:
        assert [list(row) for row in stored(office)] == list(csv.reader(file))[1:]


def test_an_existing_table_is_refused_before_any_work(
    office: Place, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.run('CREATE TABLE "the release" (a integer)', 'INSERT INTO "the release" VALUES (5)')
    monkeypatch.setattr(Source, "read", lambda *_: pytest.fail("work was done"))
    said = refused("release", "recipe.toml", "--out", "out")
    assert "The table 'the release' already exists" in said
    assert stored(office) == [(5,)]


def test_a_folder_that_cannot_be_made_leaves_no_table(
    office: Place, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rename comes after the commit: when it fails, the table is dropped again."""
    seen = []

    def broken(path: Path, _: Path) -> None:
        if office.kind == "duckdb":  # which lets in no one while its file is open for writing
            seen.append(["people", "the release"])
        else:
            seen.append(office.tables())
        raise OSError(28, "no room", str(path))

    monkeypatch.setattr(Path, "rename", broken)
    assert "a full disk" in refused("release", "recipe.toml", "--out", "out")
    assert seen == [["people", "the release"]], "it had been committed"
    assert office.tables() == ["people"]


@pytest.mark.parametrize("base", ["postgresql"], indirect=True)
def test_a_commit_that_fails_leaves_neither(
    office: Place, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends the session just before the commit."""
    real = PostgreSQL.commit

    def ended(self: PostgreSQL) -> None:
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() " \
                 "AND datname = current_database()"  # fmt: skip
        assert len(office.rows(others)) == 1
        real(self)

    monkeypatch.setattr(PostgreSQL, "commit", ended)
    said = refused("release", "recipe.toml", "--out", "out")
    assert "must commit the new table, got" in said and "No bundle was made" in said
    assert office.tables() == ["people"]


def test_a_table_that_cannot_be_dropped_again_is_named(
    office: Place, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        monkeypatch.setenv("PRAMANA_TEST_URL", "sqlite:////nowhere/at/all")
        raise OSError(28, "no room")

    monkeypatch.setattr(Path, "rename", broken)
    assert "the table 'the release' is left over: drop it" in refused("release", "recipe.toml", "--out", "out")
    assert office.tables() == ["people", "the release"]


# Stops itself with SIGKILL when so many batches have gone into the table, or just before the commit.
KILLED = """
import importlib, os, signal, sys
t = importlib.import_module("pramana.run.write")
d = importlib.import_module("pramana.io.database")
b = importlib.import_module("pramana.bundle.bundle")
moment = int(sys.argv[1])
def die():
    os.kill(os.getpid(), signal.SIGKILL)
real = d.stored
def stored(batches, schema):
    for number, batch in enumerate(real(batches, schema)):
        if number == moment:
            die()
        yield batch
d.stored, b._ROWS = stored, 7
commit = t.TableCopy.commit
if moment == -1:
    t.TableCopy.commit = lambda self: die()
if moment == -2:
    t.TableCopy.commit = lambda self: (commit(self), die())
from pramana.app.main import run
sys.exit(run(["release", "recipe.toml", "--out", "out"]))
"""


@pytest.mark.parametrize("moment", [0, 3])
def test_a_killed_writer_leaves_neither_table_nor_bundle(office: Place, desk: Path, moment: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(moment)], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == -9, done.stderr
    assert office.tables() == ["people"] and not (desk / "out").exists()
    assert run(["release", "recipe.toml", "--out", "out"]) == 0
    assert stored(office) == published(desk / "out")
    assert not list(desk.glob(".out*"))


@pytest.mark.parametrize("moment", [-1, -2], ids=["before the commit", "after the commit"])
def test_a_run_killed_about_its_commit_keeps_the_key_of_the_table(
    office: Place, desk: Path, moment: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nobody can tell whether the table is there; where it is, its key would be lost for good."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(moment)], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == -9, done.stderr
    assert not (desk / "out").exists()
    key = (desk / "out.key").read_bytes()
    rows = stored(office) if moment == -2 else None
    for said in ("a run that was killed before its bundle appeared", "already exists"):
        assert run(["release", "recipe.toml", "--out", "out"]) == 2
        assert said in capfd.readouterr().err
        assert (desk / "out.key").read_bytes() == key
        assert not list(desk.glob(".out*"))
    if rows is not None:
        office.run('DROP TABLE "the release"')
    assert run(["release", "recipe.toml", "--out", "out", "--key", "out.key"]) == 0
    assert stored(office) == published(desk / "out")
    assert rows is None or stored(office) == rows, "the key that was kept is that of the table"


@pytest.mark.parametrize("base", ["postgresql"], indirect=True)
def test_no_secret_is_ever_shown(
    office: Place,
    desk: Path,
    postgresql: Server,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The whole bundle and everything on the screen, after a release and after every kind of failure."""
    role = f"r{secrets.token_hex(4)}"
    postgresql.guard(role, PASSWORD)
    office.run(f"GRANT CREATE ON SCHEMA public TO {role}", f"GRANT ALL ON people TO {role}")
    good = office.url.replace("postgres@", f"{role}:{PASSWORD}@")
    shown = ""
    for number, (url, code) in enumerate(
        [
            (good, 0),
            (good, 2),  # the table is there
            (good.replace(PASSWORD, f"{PASSWORD}-wrong"), 2),
            (good.replace(role, "nobody"), 2),
            (f"postgresql://{role}:{PASSWORD}@host-of-the-database.invalid/x", 2),
            (f"postgresql://{role}:{PASSWORD}@127.0.0.1:1/host-of-the-database", 2),
            (f"mysql://{role}:{PASSWORD}@host-of-the-database/x", 2),
        ]
    ):
        monkeypatch.setenv("PRAMANA_TEST_URL", url)
        assert run(["release", "recipe.toml", "--out", f"out{number}", "--json"]) == code
        said = capfd.readouterr()
        assert code == 0 or (said.err.count("\n") == 1 and said.err.startswith("pramana: "))
        shown += said.out + said.err
    monkeypatch.setenv("PRAMANA_TEST_URL", good)
    query = FROM_TABLE.replace(
        'table = "people"', "query = \"select sex, 'query-secret'::int as age from people\""
    )
    (desk / "recipe.toml").write_text(recipe(query, "", ""))
    assert run(["release", "recipe.toml", "--out", "failing"]) == 2
    query = query.replace("'query-secret'::int as age", "age, 'query-secret' as x")
    (desk / "recipe.toml").write_text(recipe(query, "", ""))
    assert run(["release", "recipe.toml", "--out", "queried"]) == 0
    said = capfd.readouterr()
    shown += said.out + said.err
    made = [path for folder in ("out0", "queried") for path in (desk / folder).rglob("*")]
    assert len(made) == 6
    shown += "".join(path.read_bytes().decode("latin-1") for path in made)
    place = str(postgresql.folder)
    for secret in (PASSWORD, role, place, "host-of-the-database", "query-secret", 'the release"', "PRAMANA_TEST"):
        assert secret not in shown, secret


def test_a_ledger_takes_its_rows_from_a_database(office: Place, desk: Path) -> None:
    text = recipe(output="", more="").replace("epsilon = 2", 'method = "levels"')
    (desk / "recipe.toml").write_text(text.replace('"quasi-identifying"', '"sensitive"'))
    assert run(["levels", "create", "ledger.db", "--recipe", "recipe.toml"]) == 0
    for name, level in (("a", "0.5"), ("b", "0.2")):
        made = ["levels", "issue", "ledger.db", "--recipient", name, "--retention", level, "--out", name]
        made.append("--even-if-useless")  # of so few records
        assert run(made) == 0
    assert office.url.encode() not in (desk / "ledger.db").read_bytes()


def test_a_ledger_writes_no_tables(office: Place, desk: Path, refused: Refused) -> None:
    assert office.kind
    text = (
        recipe(more="").replace("epsilon = 2", 'method = "levels"').replace('"quasi-identifying"', '"sensitive"')
    )
    (desk / "recipe.toml").write_text(text)
    assert "must name no table in [output]" in refused("levels", "create", "ledger.db", "--recipe", "recipe.toml")


@pytest.mark.parametrize("base", ["postgresql"], indirect=True)
def test_a_schema_that_is_not_there_is_found_early(
    office: Place, desk: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk / "recipe.toml").write_text(recipe(output=TO_TABLE + 'schema = "office"\n'))
    with monkeypatch.context() as patched:
        patched.setattr(Source, "read", lambda *_: pytest.fail("work was done"))
        assert "got no such schema (SQLSTATE 3F000)" in refused("release", "recipe.toml", "--out", "out")
    office.run("CREATE SCHEMA office")
    assert run(["release", "recipe.toml", "--out", "out"]) == 0
    assert office.rows('SELECT count(*) FROM office."the release"') == [(40,)]


def test_a_url_on_the_command_line_is_not_repeated(desk: Path, refused: Refused) -> None:
    url = f"postgresql://reader:{PASSWORD}@host/people"
    assert PASSWORD not in refused("release", "recipe.toml", "--out", "out", "--source", url)
    assert run(["release", "recipe.toml", "--out", "out"]) == 0
    assert PASSWORD not in refused("verify", "out", "--key", "out.key", "--source", url)
    (desk / "inner").mkdir()
    (desk / "inner" / "recipe.toml").write_text(RECIPE.replace("people.csv", url))
    said = refused("release", "inner/recipe.toml", "--out", "other")
    assert PASSWORD not in said and "in a recipe, by url" in said


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
def test_another_writer_is_waited_for_and_then_named(
    office: Place, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pramana.io.sqlite._PATIENCE", 0.1)
    other = office.connect()
    other.execute("BEGIN IMMEDIATE")
    assert "got another writer" in refused("release", "recipe.toml", "--out", "out")
    other.close()


def test_a_lost_source_is_no_traceback(office: Place) -> None:
    office.run("DROP TABLE people")
    assert run(["release", "recipe.toml", "--out", "out"]) == 2
    assert office.tables() == []
    with pytest.raises(SourceError):
        open_database("env:PRAMANA_TEST_NOWHERE")
