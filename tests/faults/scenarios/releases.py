"""Releases: in memory, streamed, from databases, into a database, with a ledger."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from unittest.mock import patch

from tests.faults.desk import PEOPLE, Desk, key_of, same_tree
from tests.faults.scenarios.scenario import AFTER, NEXT, Scenario, command, must

from pramana.ledger.ledger import Ledger
from pramana.randomness.key import Key

COLUMNS = """
[attributes.name]
role = "identifying"
[attributes.sex]
role = "quasi-identifying"
domain = ["F", "M"]
[attributes.age]
role = "quasi-identifying"
bins = [0, 20, 40, 60, 120]
[attributes.ill]
role = "sensitive"
randomise = true
domain = ["no", "yes"]
"""
RETENTION = "[release]\nepsilon = 6\n" + COLUMNS
CLASSES = """[release]
method = "generalize"
algorithm = "mondrian"
k = 5
[attributes.name]
role = "identifying"
[attributes.sex]
role = "quasi-identifying"
domain = ["F", "M"]
[attributes.age]
role = "quasi-identifying"
bins = [0, 20, 40, 60, 120]
[attributes.ill]
role = "sensitive"
domain = ["no", "yes"]
"""
WHOLE, ABSENT = "whole", "nothing"
RELEASE = ("release", "recipe.toml", "--out", "out", "--threads", "1", "--even-if-useless")


def with_people(desk: Desk, recipe: str, source: str = 'path = "people.csv"') -> None:
    (desk.folder / "people.csv").write_text(PEOPLE)
    (desk.folder / "recipe.toml").write_text(f"[source]\n{source}\n{recipe}")
    desk.sources |= {"people.csv", "people.sqlite"}


def is_whole(desk: Desk, name: str = "out") -> bool:
    """Whether the bundle is there: then it is byte for byte what a run without a fault makes, and has its key."""
    out = desk.folder / name
    if not out.exists():
        return False
    kept = [attempt for attempt in (AFTER, NEXT) if same_tree(out, desk.base / attempt / name)]
    assert kept, "the bundle is not as it should be"
    key = Key.read(desk.folder / f"{name}.key")
    assert key == key_of(1 if kept[0] == AFTER else 2)
    return True


def check_release(desk: Desk, _: str) -> str:
    return WHOLE if is_whole(desk) else ABSENT


def release_again(desk: Desk) -> None:
    done = is_whole(desk)
    must(2 if done else 0, *RELEASE)
    assert is_whole(desk)


def _streamed(_: Desk, attempt: int) -> int:
    """Everything goes through the disk: nothing is small enough to stay in memory."""
    with patch("pramana.rows.engines._HELD", 0):
        return command(*RELEASE, "--memory", "1GiB", attempt=attempt)


def _released(_: Desk, attempt: int) -> int:
    return command(*RELEASE, attempt=attempt)


def _as_a_set(code: Callable[[], int]) -> int:
    """Parts of 25 rows, fewer than a recipe can state: three of them."""
    with patch("pramana.schema.sections.PART_ROWS", 25):
        return code()


def _set_again(desk: Desk) -> None:
    done = is_whole(desk)
    assert _as_a_set(lambda: command(*RELEASE, attempt=2)) == (2 if done else 0)
    assert is_whole(desk) and len(list((desk.folder / "out" / "data").iterdir())) == 3


def _sqlite_people(desk: Desk) -> None:
    with_people(desk, RETENTION, 'url = "sqlite:///people.sqlite"\ntable = "people"')
    (desk.folder / "people.csv").unlink()
    connection = sqlite3.connect(desk.folder / "people.sqlite")
    _fill(connection.execute)
    connection.commit()
    connection.close()


def _postgresql_people(desk: Desk) -> None:
    import psycopg

    assert desk.server is not None
    with_people(desk, RETENTION, f'url = "{desk.server.url(desk.database)}"\ntable = "people"')
    (desk.folder / "people.csv").unlink()
    with psycopg.connect(desk.server.url(desk.database)) as connection:
        _fill(connection.execute)


def _fill(execute: Callable[[str], object]) -> None:
    execute("CREATE TABLE people (name text, sex text, age double precision, ill text)")
    for line in PEOPLE.splitlines()[1:]:
        name, sex, age, ill = line.split(",")
        execute(f"INSERT INTO people VALUES ('{name}', '{sex}', {age}, '{ill}')")


# ---------------------------------------------------------------- also as a table of a database


def _with_table(desk: Desk) -> None:
    with_people(desk, RETENTION + '[output]\nurl = "sqlite:///published.sqlite"\ntable = "published"\n')
    sqlite3.connect(desk.folder / "published.sqlite").close()
    (desk.folder / "published.sqlite").touch()
    desk.changed.add("published.sqlite")


def _rows_in_table(desk: Desk) -> int | None:
    connection = sqlite3.connect(desk.folder / "published.sqlite")
    try:
        return int(connection.execute("SELECT count(*) FROM published").fetchone()[0])
    except sqlite3.OperationalError:
        return None
    finally:
        connection.close()


def _check_table(desk: Desk, _: str) -> str:
    rows = _rows_in_table(desk)
    if is_whole(desk):
        assert rows == 60
        return WHOLE
    assert rows in (None, 60)
    return ABSENT if rows is None else "a table with its key, and no bundle yet"


def _table_again(desk: Desk) -> None:
    """A table that stands without its bundle is told of, with its key; its owner drops it and goes on."""
    done = is_whole(desk)
    if not done and _rows_in_table(desk) is not None:
        must(2, *RELEASE)
        assert Key.read(desk.folder / "out.key") == key_of(1)
        connection = sqlite3.connect(desk.folder / "published.sqlite")
        connection.execute("DROP TABLE published")
        connection.commit()
        connection.close()
        must(0, *RELEASE, "--key", "out.key")
    elif not done and (desk.folder / "out.key").exists() and command(*RELEASE, attempt=2) == 2:
        must(0, *RELEASE, "--key", "out.key")  # killed when it was about to commit: the key was kept
    elif not (desk.folder / "out").exists():
        must(0, *RELEASE)
    else:
        must(2, *RELEASE)
    assert is_whole(desk) and _rows_in_table(desk) == 60


# ---------------------------------------------------------------- with a ledger

LEDGER = '[ledger]\npath = "LEDGER"\npeople = "town"\n'


def _with_ledger(desk: Desk) -> None:
    place = str(desk.server.url(desk.database)) if desk.server is not None else "town.ledger"
    with_people(desk, RETENTION + LEDGER.replace("LEDGER", place))
    must(0, "ledger", "create", place if desk.server is not None else str(desk.folder / place))
    desk.changed |= {"town.ledger"}


def ledger_of(desk: Desk) -> Ledger:
    return Ledger.open(desk.server.url(desk.database) if desk.server is not None else desk.folder / "town.ledger")


def _check_ledger(desk: Desk, _: str) -> str:
    """A bundle that is there is in the ledger; what the ledger calls committed is there."""
    done = is_whole(desk)
    ledger = ledger_of(desk)
    assert ledger.is_unbroken()
    live = [r.status for r in ledger.releases() if r.status != "abandoned"]
    assert live in ([], ["reserved"], ["committed"]), live
    if done:
        assert live, "a bundle that the ledger does not know"
        return f"{WHOLE}, {live[0]}"
    assert live != ["committed"], "a release that is committed, and not there"
    return f"{ABSENT}, {live[0]}" if live else ABSENT


def _ledger_again(desk: Desk) -> None:
    """As documented: a bundle that stands is made again under its key; what reached no one is given up."""
    done = is_whole(desk)
    ledger = ledger_of(desk)
    reserved = [r.id for r in ledger.releases() if r.status == "reserved"]
    must(2 if done else 0, *RELEASE)
    if done and reserved:
        must(0, "release", "recipe.toml", "--out", "once-more", "--key", "out.key", "--even-if-useless")
        assert same_tree(desk.folder / "once-more", desk.folder / "out")
    elif reserved:
        place = desk.server.url(desk.database) if desk.server is not None else "town.ledger"
        must(0, "ledger", "abandon", place, reserved[0], "--reason", "killed before its bundle appeared")
    assert is_whole(desk) and ledger.is_unbroken()
    live = [r.status for r in ledger.releases() if r.status != "abandoned"]
    assert live == ["committed"], live
    assert ledger.total("town").releases == 1 and ledger.total("town").epsilon is not None


RELEASES = (
    Scenario(
        "release",
        "release, in memory",
        lambda desk: with_people(desk, RETENTION),
        _released,
        check_release,
        release_again,
    ),
    Scenario(
        "release-csv",
        "release, in memory (CSV, with synthetic records)",
        lambda desk: with_people(desk, RETENTION + '[output]\nformat = "csv"\nsynthetic = true\n'),
        _released,
        check_release,
        release_again,
    ),
    Scenario(
        "release-classes",
        "release, in memory (generalised)",
        lambda desk: with_people(desk, CLASSES),
        _released,
        check_release,
        release_again,
    ),
    Scenario(
        "release-set",
        "release, in memory (a set of files)",
        lambda desk: with_people(desk, RETENTION + '[output]\nfiles = "many"\n'),
        lambda _, attempt: _as_a_set(lambda: command(*RELEASE, attempt=attempt)),
        check_release,
        _set_again,
    ),
    Scenario(
        "release-streamed",
        "release, streamed",
        lambda desk: with_people(desk, RETENTION),
        _streamed,
        check_release,
        release_again,
    ),
    Scenario(
        "release-from-sqlite", "release, from SQLite", _sqlite_people, _released, check_release, release_again
    ),
    Scenario(
        "release-from-postgresql",
        "release, from PostgreSQL",
        _postgresql_people,
        _released,
        check_release,
        release_again,
        postgresql=True,
    ),
    Scenario(
        "release-to-table",
        "release, also as a table of SQLite",
        _with_table,
        _released,
        _check_table,
        _table_again,
    ),
    Scenario(
        "release-with-ledger",
        "release with a ledger in SQLite",
        _with_ledger,
        _released,
        _check_ledger,
        _ledger_again,
    ),
    Scenario(
        "release-with-ledger-postgresql",
        "release with a ledger in PostgreSQL",
        _with_ledger,
        _released,
        _check_ledger,
        _ledger_again,
        postgresql=True,
    ),
)
