"""Ledgers and levels: made, limited, registered and issued from, in SQLite and in PostgreSQL."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from tests.faults.desk import PEOPLE, Desk, in_folder, key_of, same_tree
from tests.faults.scenarios.scenario import AFTER, Scenario, command, must

from pramana import verify
from pramana.ledger.ledger import Ledger
from pramana.randomness.key import Key

LEVELS = """[source]
path = "people.csv"
dataset = "people"
[release]
method = "levels"
people = "town"
history = false
[attributes.name]
role = "identifying"
[attributes.sex]
role = "quasi-identifying"
randomise = true
domain = ["F", "M"]
[attributes.age]
role = "quasi-identifying"
randomise = true
bins = [0, 20, 40, 60, 120]
[attributes.ill]
role = "sensitive"
randomise = true
domain = ["no", "yes"]
"""
DRAWN = LEVELS.replace("history = false", "history = true")


def place_of(desk: Desk) -> str:
    return desk.server.url(desk.database) if desk.server is not None else "town.ledger"


def opened(desk: Desk) -> Ledger:
    return Ledger.open(desk.server.url(desk.database) if desk.server is not None else desk.folder / "town.ledger")


def _entries(desk: Desk) -> list[str]:
    """The kinds of entries, each of which names the one before it; none where there is no ledger yet."""
    if desk.server is None and not (desk.folder / "town.ledger").exists():
        return []
    ledger = Ledger.create(desk.server.url(desk.database) if desk.server is not None else "town.ledger")
    assert ledger.is_unbroken()
    return [entry.kind for entry in ledger.entries()]


# ---------------------------------------------------------------- the ledger itself


def _nothing(desk: Desk) -> None:
    desk.changed.add("town.ledger")


def _created(desk: Desk, attempt: int) -> int:
    del attempt
    return command("ledger", "create", place_of(desk))


def _check_created(desk: Desk, _: str) -> str:
    assert _entries(desk) == []
    return "a ledger, or the place for one"


def _create_again(desk: Desk) -> None:
    must(0, "ledger", "create", place_of(desk))
    must(0, "ledger", "limit", place_of(desk), "--people", "town", "--epsilon", "9")
    assert _entries(desk) == ["limited"]


def _with_limit(desk: Desk) -> None:
    desk.changed.add("town.ledger")
    ledger = Ledger.create(
        desk.server.url(desk.database) if desk.server is not None else desk.folder / "town.ledger"
    )
    ledger.limit("town", Fraction(5), "test")


def _limited(desk: Desk, attempt: int) -> int:
    del attempt
    return command("ledger", "limit", place_of(desk), "--people", "town", "--epsilon", "7")


def _check_limited(desk: Desk, _: str) -> str:
    kinds = _entries(desk)
    assert set(kinds) == {"limited"} and len(kinds) <= 3, kinds
    return "the old limit" if len(kinds) == 1 else "the new limit"


def _limit_again(desk: Desk) -> None:
    must(0, "ledger", "limit", place_of(desk), "--people", "town", "--epsilon", "8")
    assert opened(desk).state().limits == {"town": 8}


# ---------------------------------------------------------------- a dataset at levels


def _with_people(desk: Desk, recipe: str = LEVELS) -> None:
    (desk.folder / "people.csv").write_text(PEOPLE)
    (desk.folder / "recipe.toml").write_text(recipe)
    desk.sources.add("people.csv")
    desk.changed.add("town.ledger")


def _creation(desk: Desk) -> tuple[str, ...]:
    return ("levels", "create", place_of(desk), "--recipe", "recipe.toml", "--key", "people.key")


def _registered(desk: Desk, attempt: int) -> int:
    return command(*_creation(desk), attempt=attempt)


def _check_registered(desk: Desk, _: str) -> str:
    """A dataset that is registered has its key, and the key in the file is the one it is registered under."""
    kinds = _entries(desk)
    assert kinds in ([], ["dataset"]), kinds
    if kinds:
        assert opened(desk).dataset().key == Key.read(desk.folder / "people.key").commitment()
        return "registered, with its key"
    return "not registered"


def _register_again(desk: Desk) -> None:
    must(2 if _entries(desk) else 0, *_creation(desk))
    assert _entries(desk) == ["dataset"]
    assert opened(desk).dataset().key == Key.read(desk.folder / "people.key").commitment()
    must(0, "levels", "issue", place_of(desk), "--recipient", "anna", "--retention", "0.3", "--out", "anna",
         "--even-if-useless")  # fmt: skip


# ---------------------------------------------------------------- a version of it


def _with_dataset(desk: Desk, recipe: str = LEVELS) -> None:
    _with_people(desk, recipe)
    with in_folder(desk.folder):
        must(0, *_creation(desk), attempt=1)
        must(0, *_issue(desk, "berta", "0.2"))
        desk.changed |= {str(path) for path in Path("town.ledger.versions").rglob("*.npz")}


def _issue(desk: Desk, who: str = "anna", level: str = "0.4") -> tuple[str, ...]:
    given = ("--recipient", who, "--retention", level, "--out", who, "--threads", "1", "--even-if-useless")
    return ("levels", "issue", place_of(desk), *given)


def _issued(desk: Desk, attempt: int) -> int:
    return command(*_issue(desk), attempt=attempt)


def _check_issued(desk: Desk, _: str) -> str:
    releases = [r for r in opened(desk).releases() if r.recipient == "anna"]
    assert opened(desk).is_unbroken() and len(releases) <= 1
    if not (desk.folder / "anna").exists():
        assert [r.status for r in releases] in ([], ["reserved"])
        return "nothing, reserved" if releases else "nothing"
    assert len(releases) == 1
    _check_bundle(desk)
    return f"whole, {releases[0].status}"


def _check_bundle(desk: Desk) -> None:
    if opened(desk).dataset().keyed:
        assert same_tree(desk.folder / "anna", desk.base / AFTER / "anna"), "the version is not as it should be"
    else:
        assert verify(desk.folder / "anna").valid


def _issue_again(desk: Desk) -> None:
    """The same request takes it up: whatever was left, there is one version, and it is committed."""
    before = [r.status for r in opened(desk).releases() if r.recipient == "anna"]
    must(2 if before == ["committed"] and (desk.folder / "anna").exists() else 0, *_issue(desk))
    _check_bundle(desk)
    releases = [r for r in opened(desk).releases() if r.recipient == "anna"]
    assert [r.status for r in releases] == ["committed"] and opened(desk).is_unbroken()
    assert Key.read(desk.folder / "people.key") == key_of(1)
    if not opened(desk).dataset().keyed:
        must(0, *_issue(desk, "carla", "0.1"))
        assert len(list(desk.folder.rglob("*.npz"))) == 1, "histories of before are let go of"


def _in_both(name: str, about: str, *steps: object) -> tuple[Scenario, Scenario]:
    prepare, act, check, again = steps
    return (
        Scenario(name, f"{about}, SQLite", prepare, act, check, again),  # type: ignore[arg-type]
        Scenario(f"{name}-postgresql", f"{about}, PostgreSQL", prepare, act, check, again, True),  # type: ignore[arg-type]
    )


LEDGERS = (
    *_in_both("ledger-create", "ledger create", _nothing, _created, _check_created, _create_again),
    *_in_both("ledger-limit", "ledger limit", _with_limit, _limited, _check_limited, _limit_again),
    *_in_both("levels-create", "levels create", _with_people, _registered, _check_registered, _register_again),
    *_in_both("levels-issue", "levels issue", _with_dataset, _issued, _check_issued, _issue_again),
    Scenario(
        "levels-issue-history",
        "levels issue, with a history",
        lambda desk: _with_dataset(desk, DRAWN),
        _issued,
        _check_issued,
        _issue_again,
    ),
)
