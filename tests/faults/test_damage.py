"""Files that lost their end or have a bit changed: refused in one line, found out, or without any effect."""

from __future__ import annotations

import contextlib
import io
import sqlite3
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from tests.conftest import PEOPLE, RECIPE
from tests.ledger.flow import dataset, register, request

from pramana import verify
from pramana.app.collector.closing import close_collection
from pramana.app.collector.store import CollectionStore
from pramana.app.collector.submission import Submission
from pramana.app.collector.survey import Survey
from pramana.app.main import run
from pramana.errors import LedgerError, PramanaError
from pramana.ledger.ledger import Ledger
from pramana.ledger.state import Entry
from pramana.methods.recipe import Recipe

FLIPS, CUTS = 24, 8


def damaged(whole: bytes) -> Iterator[tuple[str, bytes]]:
    """The content with one bit changed, all over it, and without its end."""
    for place in range(0, len(whole), max(1, len(whole) // FLIPS)):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        yield f"bit {place % 8} of byte {place}", bytes(changed)
    for i in range(CUTS):
        yield f"the first {i} of {CUTS} parts", whole[: len(whole) * i // CUTS]


def said(*words: str) -> tuple[int, str]:
    told = io.StringIO()
    with contextlib.redirect_stderr(told), contextlib.redirect_stdout(io.StringIO()):
        code = run(list(words))
    assert "internal error" not in told.getvalue() and code in (0, 1, 2), told.getvalue()
    assert code != 2 or told.getvalue().count("\n") == 1, told.getvalue()
    return code, told.getvalue()


# ---------------------------------------------------------------- ledgers


def read_entries(path: Path) -> list[Entry] | None:
    """None where the damage is told."""
    try:
        ledger = Ledger.open(path)
        return ledger.entries() if ledger.is_unbroken() else None
    except LedgerError:
        return None


def test_a_damaged_ledger_is_found_out_or_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "town.ledger"
    ledger = Ledger.create(path)
    register(ledger, dataset())
    ledger.limit("town", Fraction(9), "test")
    for i in range(6):
        release = ledger.reserve(request(f"recipient {i}", "0.3"))
        ledger.commit(release.id, "c" * 64, "test")
    ledger.close()
    before, whole = ledger.entries(), path.read_bytes()
    told = 0
    for what, content in damaged(whole):
        path.write_bytes(content)
        found = read_entries(path)
        assert found in (None, before), f"{what}: the ledger says something else"
        told += found is None
        code, _ = said("ledger", "check", str(path))
        assert code != 0 or found == before, f"{what}: `ledger check` did not see it"
    assert told > FLIPS // 4, "entries were hit"


def test_nothing_is_released_by_a_ledger_that_is_damaged(desk: Path) -> None:
    """What stands in an entry decides whether a release is within its limit: none that was changed is believed."""
    path = desk / "town.ledger"
    Ledger.create(path).limit("town", Fraction(1, 2), "test")
    with (desk / "recipe.toml").open("a") as recipe:
        recipe.write('[ledger]\npath = "town.ledger"\npeople = "town"\n')
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER entries_no_update")
    connection.execute("UPDATE entries SET body = replace(body, '1/2', '9/1')")
    connection.commit()
    connection.close()
    code, told = said("release", "recipe.toml", "--out", "out", "--even-if-useless")
    assert code == 2 and not (desk / "out").exists(), told
    assert "as it was written" in told


# ---------------------------------------------------------------- records of a survey

SURVEY = {
    "release": {"epsilon": 4, "records": 500},
    "survey": {"fewer": True},
    "attributes": {
        "smokes": {"role": "sensitive", "randomise": True, "domain": ["yes", "no"]},
        "age": {"role": "quasi-identifying", "bins": [0, 30, 60, float("inf")]},
    },
}


def test_a_damaged_store_is_refused_or_publishes_a_valid_bundle(tmp_path: Path) -> None:
    survey, page = Survey.read(Recipe.parse(SURVEY)), "0" * 64
    path = tmp_path / "records.db"
    store = CollectionStore.open(path, page, 2)
    store.add([Submission(bytes([i]) * 16, (i % 2, i % 3)) for i in range(1, 40)])
    store.close()
    whole, refused = path.read_bytes(), 0
    for i, (what, content) in enumerate(list(damaged(whole))[::3]):
        path.write_bytes(content)
        out = tmp_path / f"out{i}"
        try:
            opened = CollectionStore.open(path, page, 2)
            try:
                close_collection(survey, opened, page, out)
            finally:
                opened.close()
        except PramanaError:
            refused += 1
            assert not out.exists(), what
        else:
            assert verify(out).valid, what
    assert refused > 3


# ---------------------------------------------------------------- sources and keys


def _sqlite(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE people (name text, sex text, age integer)")
    rows = [line.split(",") for line in PEOPLE.splitlines()[1:]]
    connection.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
    connection.commit()
    connection.close()


def _duckdb(path: Path) -> None:
    import duckdb

    connection = duckdb.connect(path)
    connection.execute("CREATE TABLE people (name text, sex text, age integer)")
    connection.executemany("INSERT INTO people VALUES (?, ?, ?)", [x.split(",") for x in PEOPLE.splitlines()[1:]])
    connection.close()


@pytest.mark.parametrize(("kind", "make"), [("sqlite", _sqlite), ("duckdb", _duckdb)])
def test_a_damaged_database_is_refused_or_released_whole(
    kind: str, make: Callable[[Path], None], desk: Path
) -> None:
    make(desk / "people.db")
    whole = (desk / "people.db").read_bytes()
    url = f'url = "{kind}:///people.db"\ntable = "people"'
    (desk / "recipe.toml").write_text(RECIPE.replace('path = "people.csv"', url))
    for i, (what, content) in enumerate(list(damaged(whole))[::6]):
        (desk / "people.db").write_bytes(content)
        code, told = said("release", "recipe.toml", "--out", f"out{i}", "--even-if-useless", "--threads", "1")
        assert code in (0, 2) and not any(name in told for name in ("Person", "31,")), what
        assert (desk / f"out{i}").exists() == (code == 0), what
        assert code == 2 or verify(desk / f"out{i}").valid, what
    assert not list(desk.glob(".*")) and not list(desk.glob("*.tmp"))


def test_a_damaged_key_makes_no_release_that_is_taken_for_the_first(desk: Path) -> None:
    assert said("release", "recipe.toml", "--out", "out", "--even-if-useless")[0] == 0
    key = (desk / "out.key").read_bytes()
    for what, content in damaged(key):
        (desk / "out.key").write_bytes(content)
        code, told = said("verify", "out", "--source", "people.csv", "--key", "out.key")
        same = content.strip().lower() == key.strip().lower()  # digits may be in either case
        assert (code == 0) == same, what
        assert key.decode().strip() not in told
