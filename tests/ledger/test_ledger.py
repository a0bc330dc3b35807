"""What the ledger keeps, what it refuses, and what it says."""

from __future__ import annotations

import json
import math
import sqlite3
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.ledger.flow import dataset, ledger_at, register, request

from pramana.app.main import run
from pramana.errors import LedgerError, PramanaError, RefusedError
from pramana.ledger.ledger import Ledger
from pramana.ledger.state import State, unbroken
from pramana.ledger.store import STEPS, VERSION
from pramana.theory.levels import Level


def test_a_release_from_reservation_to_repetition(place: str) -> None:
    ledger = ledger_at(place)
    reserved = ledger.reserve(request("anna", "0.3"))
    assert ledger.reserve(request("anna", "0.30")).id == reserved.id  # the same decimal, begun before
    assert ledger.reserve(request("bert", "0.3")).id != reserved.id
    done = ledger.commit(reserved.id, "c" * 64, "test", {"bundle": "out"})
    assert (done.status, done.content, done.details) == ("committed", "c" * 64, {"bundle": "out"})
    assert ledger.commit(reserved.id, "c" * 64, "test") == done  # said twice, written once
    assert ledger.reserve(request("anna", "0.3")).status == "committed"
    assert ledger.repeat(reserved.id, "c" * 64, "test").id == reserved.id
    assert {r.recipient: r.repeats for r in ledger.releases()} == {"anna": 1, "bert": 0}
    kinds = [entry.kind for entry in ledger.entries()]
    assert kinds == ["dataset", "reserved", "reserved", "committed", "repeated"]
    assert ledger.is_unbroken()


def test_other_content_is_refused(place: str) -> None:
    ledger = ledger_at(place)
    release = ledger.reserve(request("anna", "0.3"))
    with pytest.raises(RefusedError, match="same content"):
        ledger.repeat(release.id, "c" * 64, "test")  # nothing was committed yet
    ledger.commit(release.id, "c" * 64, "test")
    for again in (ledger.commit, ledger.repeat):
        with pytest.raises(RefusedError, match="same content"):
            again(release.id, "e" * 64, "test")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"source": "x"}, "a changed table"),
        ({"key": "x"}, "another key"),
        ({"design": "x"}, "a changed design"),
    ],
)
def test_a_changed_source_key_or_design_is_refused(place: str, changes: dict[str, str], words: str) -> None:
    ledger = ledger_at(place)
    ledger.reserve(request("anna", "0.3"))
    for who in ("anna", "bert"):  # also where a reservation exists
        with pytest.raises(RefusedError, match=words):
            ledger.reserve(request(who, "0.3", **changes))
    assert len(ledger.entries()) == 2


def test_an_independent_second_release_is_refused_or_warned_of(place: str) -> None:
    ledger = ledger_at(place)
    with pytest.raises(RefusedError, match="one key"):
        register(ledger, dataset("again", key="other"))
    with pytest.raises(RefusedError, match="key of"):
        register(ledger, dataset("other table", source="other"))
    with pytest.raises(RefusedError, match="registered once"):
        register(ledger, dataset())
    assert len(ledger.entries()) == 1
    warnings = register(ledger, dataset("again", key="other"), independent=True)
    assert "collusion pays" in warnings[0] and "add up" in warnings[1]
    ledger.limit("town", Fraction(5), "test")
    assert register(ledger, dataset("third", source="third", key="third")) == ()


def test_allowances(place: str) -> None:
    ledger = ledger_at(place)
    ledger.allow("people", "", Level.of("0.2"), "test")
    ledger.allow("people", "anna", Level.of("0.5"), "test")
    ledger.reserve(request("anna", "0.5"))
    ledger.reserve(request("bert", "0.2"))
    for who, level in (("anna", "0.500000000001"), ("bert", "0.5")):
        with pytest.raises(RefusedError, match="allowance"):
            ledger.reserve(request(who, level))
    ledger.allow("people", "bert", Level.of("0.5"), "test")  # the latest word counts
    ledger.reserve(request("bert", "0.5"))


def test_total_epsilon_over_datasets_about_the_same_people(place: str) -> None:
    """Within a dataset the best version counts; over datasets epsilons add up; reservations count."""
    ledger = ledger_at(place)
    register(ledger, dataset("second", source="other", key="other"))
    register(ledger, dataset("elsewhere", source="third", key="third", people="other town"))
    ledger.limit("town", Fraction(math.log(24)), "test")
    second = {"dataset": "second", "source": "other", "key": "other"}
    ledger.reserve(request("anna", "0.3"))  # ratio 4
    ledger.reserve(request("bert", "0.1"))  # ratio 2: less than anna's, nothing added
    ledger.reserve(request("anna", "0.4", **second))  # ratio 5: 4 * 5 = 20
    with pytest.raises(RefusedError, match="total epsilon"):
        ledger.reserve(request("carl", "0.6", **second))  # 4 * 7 = 28
    with pytest.raises(RefusedError, match="infinity"):
        ledger.reserve(request("carl", "1", ratio=None, **second))
    ledger.reserve(request("carl", "0.6", dataset="elsewhere", source="third", key="third"))
    open_one = next(r for r in ledger.releases("people") if r.recipient == "anna")
    ledger.abandon(open_one.id, "test", "never sent")
    ledger.reserve(request("carl", "0.6", **second))  # 2 * 7 = 14


def test_an_abandoned_release_is_over(place: str) -> None:
    ledger = ledger_at(place)
    first = ledger.reserve(request("anna", "0.3"))
    ledger.abandon(first.id, "test", "never sent")
    with pytest.raises(RefusedError, match="reserved"):
        ledger.commit(first.id, "c" * 64, "test")
    with pytest.raises(RefusedError, match="abandoned"):
        ledger.abandon(first.id, "test", "again")
    assert ledger.reserve(request("anna", "0.3")).id != first.id
    with pytest.raises(LedgerError):
        ledger.abandon("nothing", "test", "")


def test_with_a_history_releases_are_made_one_after_another(place: str) -> None:
    ledger = Ledger.create(place)
    register(ledger, dataset(keyed=False))
    first = ledger.reserve(request("anna", "0.3"))
    with pytest.raises(RefusedError, match="one after another"):
        ledger.reserve(request("bert", "0.1"))
    assert ledger.reserve(request("anna", "0.3")).id == first.id
    ledger.commit(first.id, "c" * 64, "test")
    ledger.reserve(request("bert", "0.1"))


def test_entries_cannot_be_changed(place: str) -> None:
    ledger = ledger_at(place)
    ledger.reserve(request("anna", "0.3"))
    for statement in ("UPDATE entries SET level = '0.1'", "DELETE FROM entries"):
        with pytest.raises(LedgerError, match="stay as they are"), ledger.store.writing() as connection:
            connection.exec_driver_sql(statement)
    assert ledger.is_unbroken() and len(ledger.entries()) == 2


def test_a_change_behind_the_guards_is_seen(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    ledger = ledger_at(str(place))
    ledger.reserve(request("anna", "0.3"))
    with sqlite3.connect(place) as raw:
        raw.execute("DROP TRIGGER entries_no_update")
        raw.execute("UPDATE entries SET level = '0.1' WHERE kind = 'reserved'")
    raw.close()
    assert not ledger.is_unbroken()


def test_no_entry_is_changed_left_out_or_moved_unseen_though_its_digest_is_made_again(tmp_path: Path) -> None:
    """Whoever writes into the file can compute digests too; the next entry still names the one that was there."""
    ledger = ledger_at(str(tmp_path / "ledger.db"))
    for who in ("anna", "bert", "carl"):
        ledger.reserve(request(who, "0.3"))
    entries = ledger.entries()
    assert len(entries) == 4 and unbroken(entries)
    for place in range(3):  # what comes last is named by nothing yet
        changed = replace(entries[place], who="somebody else")
        forged = replace(changed, digest=changed.computed_digest())
        assert not unbroken([*entries[:place], changed, *entries[place + 1 :]])
        assert not unbroken([*entries[:place], forged, *entries[place + 1 :]])
        rest = [replace(entry, number=entry.number - 1) for entry in entries[place + 1 :]]
        rest = [replace(entry, digest=entry.computed_digest()) for entry in rest]
        assert not unbroken([*entries[:place], *rest])
        later = [replace(entry, number=number) for number, entry in enumerate(reversed(entries), 1)]
        assert not unbroken([replace(entry, digest=entry.computed_digest()) for entry in later])


def test_export_is_one_json_object_per_line(place: str) -> None:
    ledger = ledger_at(place)
    ledger.reserve(request("anna", "0.3"))
    lines = [json.loads(line) for line in ledger.lines()]
    assert [line["kind"] for line in lines] == ["dataset", "reserved"]
    assert lines[1]["level"] == "0.3" and lines[1]["previous"] == lines[0]["digest"]
    entries = ledger.entries()
    assert [entry.to_json() for entry in entries] == lines


def test_migrations_step_by_step(place: str) -> None:
    """A ledger of the first version is brought up to date with its entries; one of the future is refused."""
    ledger = ledger_at(place)
    entries = ledger.entries()
    with ledger.store.writing() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("DROP TRIGGER entries_no_update")
            connection.exec_driver_sql("DROP TRIGGER entries_no_delete")
        else:
            connection.exec_driver_sql("DROP FUNCTION entries_stay CASCADE")
        for index in ("kind", "release", "recipient"):
            connection.exec_driver_sql(f"DROP INDEX entries_by_{index}")
        connection.exec_driver_sql("DELETE FROM ledger_steps WHERE step > 1")
    again = Ledger.open(place)
    assert again.entries() == entries
    test = "UPDATE entries SET level = '0.1'"
    with pytest.raises(LedgerError, match="stay as they are"), again.store.writing() as connection:
        connection.exec_driver_sql(test)
    with again.store.writing() as connection:
        steps = [row[0] for row in connection.exec_driver_sql("SELECT step FROM ledger_steps ORDER BY step")]
        assert steps == list(range(1, VERSION + 1)) == list(range(1, len(STEPS) + 1))
        connection.exec_driver_sql(f"INSERT INTO ledger_steps VALUES ({VERSION + 1}, 'the future')")
    with pytest.raises(LedgerError, match="newer"):
        Ledger.open(place)


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    ledger_at(str(place))
    assert place.stat().st_mode & 0o777 == 0o600


def test_what_is_no_ledger(tmp_path: Path) -> None:
    text, empty, other = tmp_path / "text", tmp_path / "empty", tmp_path / "other.db"
    text.write_text("name,age\n" * 1000)
    empty.touch()
    with sqlite3.connect(other) as raw:
        raw.execute("CREATE TABLE things (x)")
    raw.close()
    for wrong in (
        text, empty, other, tmp_path, tmp_path / "none.db", tmp_path / "no" / "where.db",
        "mysql://host/db", "postgresql://nobody@localhost:1/none", "x://", "://",
    ):  # fmt: skip
        with pytest.raises(LedgerError) as caught:
            Ledger.open(wrong)
        assert "\n" not in str(caught.value)
    with pytest.raises(LedgerError):
        Ledger.create(tmp_path / "no" / "where.db")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:hunter2@localhost:1/none",
        "postgresql://user:hun%2Fter2hunter2@localhost:1/none",
        "postgresql://user:hunter2/hunter2@localhost:1/none",
        "postgresql://localhost:1/none?password=hunter2",
        "postgresql://localhost:1/none?pass%77ord=hunter2&sslpassword=hunter2",
        "postgresql://localhost:1/none?unheard_of=hunter2",
        "postgresql://localhost:1/none?port=hunter2",
        "postgresql://localhost:hunter2/none",
        "mysql://user:hunter2@localhost:1/none",
        "host=localhost password=hunter2",
        "postgres:/user:hunter2@localhost/none",
        "password=hunter2" + "x" * 300,
        "password=hunter2\0",
    ],
)
def test_a_password_is_never_shown(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In no message and no JSON, given as it is or by the name of an environment variable."""
    monkeypatch.chdir(tmp_path)
    places = [url]
    if "\0" not in url:
        monkeypatch.setenv("PRAMANA_TEST_LEDGER", url)
        places.append("env:PRAMANA_TEST_LEDGER")
    for place in places:
        with pytest.raises(LedgerError) as caught:
            Ledger.open(place)
        assert "hunter2" not in str(caught.value)
        assert run(["levels", "list", place, "--json"]) == 2
        said = capfd.readouterr()
        assert "hunter2" not in said.out + said.err and said.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_ledger_named_by_the_environment(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    secret = "&password=hunter2&sslpassword=hunter2" if "://" in place else ""
    monkeypatch.setenv("PRAMANA_TEST_LEDGER", place + secret)
    (tmp_path / "people.csv").write_text("ill\nyes\nno\n")
    (tmp_path / "recipe.toml").write_text(
        '[source]\npath = "people.csv"\n[release]\nmethod = "levels"\n'
        '[attributes.ill]\nrole = "sensitive"\ndomain = ["no", "yes"]\n'
    )
    create = ["levels", "create", "env:PRAMANA_TEST_LEDGER", "--recipe", str(tmp_path / "recipe.toml"), "--json"]
    assert run(create) == 2, "there is no place beside it for a key"
    assert run([*create, "--key", str(tmp_path / "key")]) == 0
    said = capfd.readouterr()
    assert json.loads(said.out)["ledger"] == "env:PRAMANA_TEST_LEDGER" and "hunter2" not in said.out + said.err
    ledger = Ledger.open(place + secret)
    assert list(ledger.state().datasets) == ["recipe"]
    assert "hunter2" not in repr(ledger) + "".join(ledger.lines())
    with pytest.raises(LedgerError, match="must hold the connection string"):
        Ledger.open("env:PRAMANA_TEST_NOTHING")
    with pytest.raises(LedgerError, match="after env:"):
        Ledger.open("env:not a name")


@given(st.text(max_size=300), st.text(max_size=40))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_name_or_level_breaks_it(tmp_path: Path, recipient: str, level: str) -> None:
    path = tmp_path / "ledger.db"
    ledger = Ledger.open(path) if path.exists() else ledger_at(str(path))
    try:
        wanted = request(recipient, level)
    except PramanaError as error:
        assert "\n" not in str(error)
        return
    release = ledger.reserve(wanted)
    kept = State.of(ledger.entries()).releases[release.id]
    assert kept.recipient == recipient and kept.level == Level.of(level)


def test_the_dataset_is_named_or_the_only_one(place: str) -> None:
    ledger = ledger_at(place)
    assert ledger.dataset().name == ledger.dataset("people").name == "people"
    with pytest.raises(LedgerError):
        ledger.dataset("other")
    register(ledger, dataset("second", source="other", key="other"))
    with pytest.raises(LedgerError, match="several"):
        ledger.dataset()
    for group, cap in (("", Fraction(1)), ("town", Fraction(0))):
        with pytest.raises(LedgerError):
            ledger.limit(group, cap, "test")
