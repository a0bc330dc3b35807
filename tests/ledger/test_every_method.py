"""A release of any method goes through the ledger that its recipe names, and adds up with the others."""

from __future__ import annotations

import errno
import json
import os
import signal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import PEOPLE, RECIPE
from tests.ledger.flow import end_of, killed_at, start

from pramana import Key, Ledger, create_levels, issue, release
from pramana.app.main import run
from pramana.errors import LedgerError, PramanaError, RecipeError, RefusedError
from pramana.ledger.state import Cost
from pramana.theory.composition import PrivacyProfile

TO_LEDGER = '[ledger]\npath = "{place}"\npeople = "town"\n'
GENERALIZE = RECIPE.replace("epsilon = 2", 'method = "generalize"\nk = 2\nalgorithm = "mondrian"')
AT_LEVELS = RECIPE.replace("epsilon = 2", 'method = "levels"\npeople = "town"').replace(
    '"quasi-identifying"', '"sensitive"'
)


def recipe_in(desk: Path, place: str, name: str = "booked.toml", text: str = RECIPE, more: str = "") -> Path:
    path = desk / name
    shown = place if "://" in place else str(Path(place).absolute())
    path.write_text(text + TO_LEDGER.format(place=shown) + more)
    return path


@pytest.fixture
def ledger(place: str) -> Ledger:
    return Ledger.create(place)


def test_a_release_is_entered_with_its_cost(desk: Path, place: str, ledger: Ledger) -> None:
    done = release(recipe_in(desk, place), desk / "out")
    [entry] = ledger.releases()
    local = next(g["value"] for g in done.guarantees if g["notion"] == "local-differential-privacy")
    central = next(g["value"] for g in done.guarantees if g["notion"] == "central-differential-privacy")
    assert (entry.status, entry.people, entry.method, entry.recipient) == (
        "committed",
        "town",
        "retention",
        "everyone",
    )
    assert entry.epsilon == local <= 2
    total = ledger.total("town")
    assert total.releases == 1 and total.epsilon == local
    assert total.central == pytest.approx(central["epsilon"], rel=0.02)
    assert "1 release about 'town': epsilon 2" in done.ledger[0]
    assert ledger.is_unbroken()


def test_other_tables_about_the_same_people_add_up(desk: Path, place: str, ledger: Ledger) -> None:
    release(recipe_in(desk, place), desk / "a")
    (desk / "people.csv").write_text(PEOPLE + "One more,F,30\n")
    release(recipe_in(desk, place), desk / "b")
    first, second = ledger.releases()
    total = ledger.total()
    exact = Fraction(first.epsilon or 0) + Fraction(second.epsilon or 0)
    assert total.epsilon is not None and Fraction(total.epsilon) >= exact and total.epsilon == pytest.approx(4)
    assert total.central is not None and total.central < total.epsilon
    assert any("each release keeps its own" in note for note in total.notes)


def test_the_same_table_again_is_recognised_and_its_cost_said(desk: Path, place: str, ledger: Ledger) -> None:
    release(recipe_in(desk, place), desk / "a")
    with pytest.raises(RefusedError, match=r"released before; .* would have epsilon 4.*and have epsilon 2"):
        release(recipe_in(desk, place), desk / "b")
    assert not (desk / "b").exists() and not (desk / "b.key").exists() and len(ledger.releases()) == 1
    release(recipe_in(desk, place, more="again = true\n"), desk / "b")
    assert ledger.total("town").epsilon == pytest.approx(4)
    (desk / "a.key").unlink()  # without it, the two cannot be compared: said, and not refused
    (desk / "b.key").unlink()
    told = release(recipe_in(desk, place), desk / "c").ledger
    assert sum("cannot be told" in words for words in told) == 2


def test_the_same_release_made_again_costs_nothing_more(desk: Path, place: str, ledger: Ledger) -> None:
    path = recipe_in(desk, place)
    first = release(path, desk / "a")
    again = release(path, desk / "b", key=desk / "a.key")
    assert first.certificate.content == again.certificate.content
    [entry] = ledger.releases()
    assert entry.repeats == 1 and ledger.total().releases == 1
    # Another law under the same key on the same table is another release.
    other = recipe_in(desk, place, text=RECIPE.replace("epsilon = 2", "epsilon = 1"), more="again = true\n")
    release(other, desk / "c", key=desk / "a.key", even_if_useless=True)
    assert ledger.total().epsilon == pytest.approx(3)


def test_a_limit_refuses_before_anything_is_made(desk: Path, place: str, ledger: Ledger) -> None:
    ledger.limit("town", Fraction(3), "test")
    release(recipe_in(desk, place), desk / "a")
    more = recipe_in(desk, place, more="again = true\n")
    with pytest.raises(RefusedError, match=r"total epsilon .* within 3, got 4"):
        release(more, desk / "b")
    assert not (desk / "b").exists() and list(desk.glob("*.key*")) == [desk / "a.key"]
    ledger.limit("town", Fraction(5), "test")
    ledger.limit("town", Fraction(1, 100), "test", delta=1e-6)
    with pytest.raises(RefusedError, match=r"central epsilon .* within 0.01 at delta 1e-06"):
        release(more, desk / "b")
    ledger.limit("town", Fraction(4), "test", delta=1e-6)
    release(more, desk / "b")


def test_what_has_no_epsilon_leaves_no_total(desk: Path, place: str, ledger: Ledger) -> None:
    release(recipe_in(desk, place, text=GENERALIZE), desk / "a")
    total = ledger.total()
    assert total.epsilon is None and total.central is None and "no epsilon" in total.words()
    (desk / "people.csv").write_text(PEOPLE + "One more,F,30\n")
    told = release(recipe_in(desk, place, text=GENERALIZE), desk / "b").ledger
    assert any("k-anonymity: nothing" in words for words in told)
    ledger.limit("town", Fraction(100), "test")
    (desk / "people.csv").write_text(PEOPLE + "One more,F,30\nAnd one,M,3\n")
    with pytest.raises(RefusedError, match="within 100, got infinity"):
        release(recipe_in(desk, place), desk / "c")


def test_a_seed_keeps_nothing_secret(desk: Path, place: str, ledger: Ledger) -> None:
    release(recipe_in(desk, place), desk / "a", seed=3)
    assert ledger.total().epsilon is None


def test_versions_at_levels_and_other_releases_are_one_account(desk: Path, place: str, ledger: Ledger) -> None:
    levels = desk / "levels.toml"
    levels.write_text(AT_LEVELS)
    create_levels(place, levels, key=desk / "levels.key")
    version = issue(place, "university", "0.3", desk / "v").release
    (desk / "people.csv").write_text(PEOPLE + "One more,F,30\n")
    release(recipe_in(desk, place), desk / "a")
    total = ledger.total("town")
    assert version.epsilon is not None and total.epsilon is not None and total.releases == 2
    assert total.epsilon == pytest.approx(version.epsilon + 2) and total.epsilon >= version.epsilon + 1.99
    ledger.limit("town", Fraction(str(round(total.epsilon + 0.01, 3))), "test")
    (desk / "people.csv").write_text(PEOPLE)
    with pytest.raises(RefusedError, match="total epsilon"):
        issue(place, "press", "0.9", desk / "w")


def test_a_table_at_levels_that_was_released_before_is_recognised(desk: Path, place: str) -> None:
    (desk / "levels.toml").write_text(AT_LEVELS)
    Ledger.create(place)
    release(recipe_in(desk, place), desk / "a")
    with pytest.raises(RefusedError, match="must be released under one key, got the table of 'a'"):
        create_levels(place, desk / "levels.toml", key=desk / "levels.key")


def test_a_release_that_fails_is_given_up(
    desk: Path, place: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RecipeError("The writing must work", "a fault")

    monkeypatch.setattr("pramana.run.run.BundleWriter", fail)
    with pytest.raises(RecipeError, match="a fault"):
        release(recipe_in(desk, place), desk / "a")
    [entry] = ledger.releases()
    assert entry.status == "abandoned" and ledger.total("town").releases == 0


def test_a_release_is_committed_when_its_bundle_is_there_and_not_before(
    desk: Path, place: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full at the last moment: the bundle is whole but for its name, and nobody has it."""
    seen: list[bool] = []
    plain = Ledger.commit

    def watched(self: Ledger, *arguments: Any, **more: Any) -> Any:
        seen.append((desk / "out").is_dir())
        return plain(self, *arguments, **more)

    monkeypatch.setattr(Ledger, "commit", watched)
    release(recipe_in(desk, place), desk / "out")
    create_levels(place, versions := recipe_in_levels(desk), key=desk / "levels.key")
    assert versions.exists()
    (desk / "out").rename(desk / "first")
    issue(place, "anna", "0.3", desk / "out", even_if_useless=True)
    assert seen and all(seen), "each time the bundle was there"

    def full(_: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pramana.files.folder.flush_all", full)
    with pytest.raises(PramanaError, match="full disk"):
        release(recipe_in(desk, place, more="again = true\n"), desk / "second")
    with pytest.raises(PramanaError, match="full disk"):
        issue(place, "bert", "0.3", desk / "third", even_if_useless=True)
    assert [r.status for r in ledger.releases()] == ["committed", "committed", "abandoned", "reserved"]


def recipe_in_levels(desk: Path) -> Path:
    """Another table about the same people, at levels."""
    (desk / "others.csv").write_text(PEOPLE.replace("Person 1,", "Nobody,").replace(",F,", ",M,", 3))
    path = desk / "levels.toml"
    path.write_text(AT_LEVELS.replace("people.csv", "others.csv"))
    return path


def test_killed_at_every_step_a_release_is_counted_or_was_never_made(
    desk: Path, place: str, ledger: Ledger
) -> None:
    """The same key takes up what was begun: one release in the end, however often it was killed."""
    Key.create().write(desk / "kept.key")
    path = recipe_in(desk, place)
    step, killed = 0, -signal.SIGKILL
    while killed == -signal.SIGKILL:
        step += 1

        def work(step: int = step) -> None:
            killed_at(step)
            release(path, desk / f"out{step}", key=desk / "kept.key", threads=1)

        killed = end_of(start(work))
        appeared = (desk / f"out{step}").exists()
        assert not appeared or len(ledger.releases()) == 1
    assert killed == 0 and step > 4
    assert len(ledger.releases()) == 1 and ledger.releases()[0].status == "committed"
    assert ledger.is_unbroken() and ledger.total().releases == 1


def test_bad_ledgers_are_refused_before_any_work(desk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for place, words in {
        "nowhere.db": "must exist", "people.csv": "SQLite", "mysql://host/db": "postgresql://",
        "postgresql://user:secret@host/db": "no password",
    }.items():  # fmt: skip
        (desk / "bad.toml").write_text(RECIPE + TO_LEDGER.format(place=place))
        assert run(["release", str(desk / "bad.toml"), "--out", str(desk / "out")]) == 2
        said = capfd.readouterr().err
        assert words in said and "secret" not in said and said.count("\n") == 1, place
        assert not (desk / "out").exists() and not (desk / "out.key").exists()
    (desk / "bad.toml").write_text(RECIPE + '[ledger]\npath = "l.db"\n')
    assert run(["recipe", "check", str(desk / "bad.toml")]) == 1
    capfd.readouterr()


def test_the_commands(desk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def answer(*arguments: str) -> dict[str, object]:
        capfd.readouterr()
        assert run([*arguments, "--json"]) == 0, capfd.readouterr().err
        return dict(json.loads(capfd.readouterr().out))

    place = str(desk / "town.ledger")
    assert answer("ledger", "create", place)["releases"] == 0
    assert Path(place).stat().st_mode & 0o077 == 0
    path = recipe_in(desk, place, more='recipient = "university"\n')
    told = answer("release", str(path), "--out", str(desk / "a"))
    assert "1 release about 'town'" in str(told["ledger"])
    listed = answer("ledger", "list", place)["releases"]
    assert isinstance(listed, list) and listed[0]["recipient"] == "university"
    total = answer("ledger", "total", place, "--delta", "1e-9")
    assert total["people"] == "town" and total["epsilon"] == listed[0]["epsilon"]
    assert isinstance(total["central"], dict) and total["central"]["delta"] == 1e-9
    assert answer("ledger", "limit", place, "--people", "town", "--epsilon", "2.5", "--delta", "1e-6")
    capfd.readouterr()
    assert run(["ledger", "export", place]) == 0
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [line["kind"] for line in lines] == ["reserved", "committed", "limited"]
    assert answer("ledger", "check", place)["valid"] is True
    for bad in (["total", place, "--people", "nobody"], ["total", place, "--delta", "2"],
                ["limit", place, "--people", "town", "--epsilon", "1", "--delta", "0"]):  # fmt: skip
        assert run(["ledger", *bad]) == 2
    capfd.readouterr()


def test_people_must_be_named_where_there_are_several(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="must be named"):
        ledger.total()
    ledger.limit("town", Fraction(3), "test")
    ledger.limit("village", Fraction(3), "test")
    with pytest.raises(LedgerError, match="'town', 'village'"):
        ledger.total()


def test_a_cost_is_read_back_as_it_was_written() -> None:
    profile = PrivacyProfile((0.0, 0.5, 2.0), (0.3, 1e-9, 0.0))
    cost = Cost(2.0, profile, ({"notion": "pk-anonymity", "value": {"k": 3.0}},))
    assert Cost.from_json(json.loads(json.dumps(cost.to_json()))) == cost
    assert Cost.from_json(json.loads(json.dumps(Cost().to_json()))) == Cost()
    assert Cost(1.0).central == PrivacyProfile.pure(1.0) and Cost().central is None


def test_what_a_stranger_writes_into_a_ledger_is_refused(desk: Path, tmp_path: Path) -> None:
    import sqlite3

    place = tmp_path / "forged.db"
    release_in = recipe_in(desk, str(place))
    Ledger.create(place)
    release(release_in, desk / "a")
    with sqlite3.connect(place) as connection:
        connection.execute("DROP TRIGGER entries_no_update")
        for body in ('{"cost": 3}', '{"cost": {"epsilon": "x"}}', "[]"):
            connection.execute("UPDATE entries SET body = ? WHERE kind = 'reserved'", (body,))
            connection.commit()
            with pytest.raises(PramanaError):
                Ledger.open(place).state()
    assert not Ledger.open(place).is_unbroken()
