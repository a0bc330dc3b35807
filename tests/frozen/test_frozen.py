"""Bundles, keys and ledgers of the past: whatever is changed in the code, they are valid and mean what they meant.

`make.py` says how they were made. A bundle that fails here would fail at every holder and recipient who has one.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pramana import Key, Ledger, Recipe, issue, release, verify
from pramana.schema.sections import ColumnSection, Setting

FROZEN = Path(__file__).parent
INDEX: dict[str, dict[str, Any]] = json.loads((FROZEN / "index.json").read_text())
LEDGERS: dict[str, dict[str, Any]] = json.loads((FROZEN / "ledgers.json").read_text())
WITH_SOURCE = [name for name, how in INDEX.items() if how["by"] != "devices"]
ALONE = [
    *(name for name in INDEX if name not in WITH_SOURCE),
    *{name.split("-")[0]: name for name in WITH_SOURCE}.values(),  # the last of each family
    *{name.split("-")[0]: name for name in reversed(WITH_SOURCE)}.values(),  # and the first
]
VERSIONS = [
    (kind, release["recipient"], release["retention"])
    for kind in ("keyed", "history", "together")
    for release in LEDGERS[f"{kind}.ledger"]["releases"]
]


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy: git keeps no file modes that keys need, and nothing is to be written beside the stored."""
    folder = tmp_path_factory.mktemp("frozen") / "frozen"
    shutil.copytree(FROZEN, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for path in [*folder.rglob("*.key"), *folder.rglob("*.ledger"), *folder.glob("ledgers/*.versions/*/*")]:
        path.chmod(0o600)
    return folder


@pytest.fixture
def ledgers(frozen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the ledgers, to work in: what they say of files is relative to it."""
    shutil.copytree(frozen / "ledgers", tmp_path / "ledgers")
    monkeypatch.chdir(tmp_path / "ledgers")
    return tmp_path / "ledgers"


def is_valid(found: Any) -> bool:
    assert found.valid, [check for check in found.checks if not check.ok]
    return True


class Unusable:
    """In place of a default: whoever asks anything of it fails."""

    def _refuse(self, *_: object) -> bool:
        raise AssertionError("a default of today's settings was taken")

    __eq__ = __ne__ = __lt__ = __gt__ = __le__ = __ge__ = __bool__ = __contains__ = __iter__ = _refuse
    __getattr__ = __call__ = _refuse
    __hash__ = object.__hash__


def subclasses(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for own in kind.__subclasses__():
        yield own
        yield from subclasses(own)


@contextlib.contextmanager
def without_defaults() -> Iterator[None]:
    """No setting of a recipe has a default: msgspec keeps them in a tuple, which is written as C code would."""
    unusable, before = Unusable(), []
    for kind in {*subclasses(Setting), *subclasses(ColumnSection)}:
        defaults = kind.__struct_defaults__
        items: Any = (ctypes.py_object * len(defaults)).from_address(id(defaults) + tuple.__basicsize__)
        for number, value in enumerate(defaults):
            if value is None or isinstance(value, bool | int | float | str):
                before.append((items, number, value))
                items[number] = unusable
    try:
        yield
    finally:
        for items, number, value in before:
            items[number] = value


def test_every_stored_bundle_is_listed() -> None:
    assert set(INDEX) == {path.name for path in (FROZEN / "bundles").iterdir()}


@pytest.mark.parametrize("name", ALONE)
def test_a_bundle_is_valid_by_itself(name: str, frozen: Path) -> None:
    """Some of each family: with source and key, below, all of this is checked of every bundle as well."""
    assert is_valid(verify(frozen / "bundles" / name))


@pytest.mark.parametrize("name", WITH_SOURCE)
def test_a_bundle_is_made_again_from_source_and_key(
    name: str, frozen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And from no default of a recipe: all that was used is certified, so a new default changes no old release."""
    monkeypatch.chdir(frozen / "sources")  # the database is named relative to it
    how = INDEX[name]
    secret: dict[str, Any] = {"seed": 7} if how["by"] == "seed" else {"key": frozen / "holder.key"}
    public: dict[str, Any] = {"public_key": frozen / "signing.key.pub"} if how["by"] == "signed" else {}
    by_recipe = how["source"].endswith(".toml")  # of a table in a database, which says where that is
    with contextlib.nullcontext() if by_recipe else without_defaults():
        found = verify(frozen / "bundles" / name, source=how["source"], **secret, **public)
    assert is_valid(found)
    assert {"key", "source", "made again"} <= {check.name for check in found.checks}


def test_a_default_that_is_taken_is_seen() -> None:
    recipe = {"release": {"k": 2}, "attributes": {"sex": {"role": "quasi-identifying", "domain": ["F", "M"]}}}
    assert Recipe.parse(recipe).release.shuffle
    with without_defaults(), pytest.raises(AssertionError, match="a default of today's settings was taken"):
        bool(Recipe.parse(recipe).release.shuffle)
    assert Recipe.parse(recipe).release.shuffle


@pytest.mark.parametrize("name", ["retention-epsilon", "generalize-parquet", "parts-noise"])
def test_a_changed_byte_of_the_data_is_seen(name: str, frozen: Path, tmp_path: Path) -> None:
    bundle = tmp_path / name
    shutil.copytree(frozen / "bundles" / name, bundle)
    data = next(p for p in sorted(bundle.rglob("*")) if p.name.startswith(("data.", "part-0")) and p.is_file())
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 1
    data.write_bytes(content)
    assert not verify(bundle).valid


def test_another_key_or_source_is_seen(frozen: Path) -> None:
    bundle, source = frozen / "bundles" / "retention-epsilon", frozen / "sources" / "people.csv"
    assert not verify(bundle, source=source, key=Key(bytes(32))).valid
    assert not verify(bundle, source=frozen / "sources" / "present.csv", key=frozen / "holder.key").valid


# ---------------------------------------------------------------- ledgers


@pytest.mark.parametrize("name", LEDGERS)
def test_a_ledger_says_what_it_said(name: str, ledgers: Path) -> None:
    ledger, expected = Ledger.open(ledgers / name), LEDGERS[name]
    assert ledger.is_unbroken()
    assert [r.to_json() for r in ledger.releases()] == expected["releases"]
    assert list(ledger.lines()) == expected["lines"]
    for people, totals in expected["totals"].items():
        assert {delta: ledger.total(people, float(delta)).to_json() for delta in totals} == totals
        assert ledger.total(people).words() == expected["words"][people]
    ledger.close()


@pytest.mark.parametrize(("kind", "recipient", "level"), VERSIONS)
def test_a_version_is_issued_again_as_it_was(kind: str, recipient: str, level: str, ledgers: Path) -> None:
    bundle = ledgers / f"{kind}-{recipient}-{level}"
    assert is_valid(verify(bundle))
    again = issue(f"{kind}.ledger", recipient, level, "again", who="holder", even_if_useless=True)
    assert again.again
    assert (ledgers / "again" / "data.csv").read_bytes() == (bundle / "data.csv").read_bytes()
    if kind != "history":  # whose coins are kept in a file of their own
        assert is_valid(verify(bundle, source="people.csv", key=f"{kind}.ledger.key"))


@pytest.mark.parametrize("name", ["university", "record", "press", "school"])
def test_a_release_in_a_ledger_is_made_again_and_spends_nothing(name: str, ledgers: Path) -> None:
    bundle, key = ledgers / f"booked-{name}", f"booked-{name}.key"
    assert is_valid(verify(bundle))
    assert is_valid(verify(bundle, source="people.csv", key=key))
    release(f"{name}.toml", "again", key=key, even_if_useless=True)
    assert (ledgers / "again" / "data.csv").read_bytes() == (bundle / "data.csv").read_bytes()
    ledger = Ledger.open("town.ledger")
    assert len(ledger.releases()) == len(LEDGERS["town.ledger"]["releases"])
    ledger.close()
