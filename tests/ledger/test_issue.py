"""Whole releases through the ledger: on PostgreSQL too, and by several processes at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.ledger.flow import end_of, start

from pramana import Bundle, Ledger, collude, create_levels, issue

RECIPE = """
[source]
path = "people.csv"
[release]
method = "levels"
history = {history}
[attributes.income]
role = "sensitive"
domain = ["low", "mid", "high"]
"""


@pytest.fixture(params=["false", "true"], ids=["keyed", "history"])
def registered(request: pytest.FixtureRequest, place: str, tmp_path: Path) -> str:
    rows = ["low", "mid", "high"] * 100
    (tmp_path / "people.csv").write_text("income\n" + "\n".join(rows) + "\n")
    (tmp_path / "recipe.toml").write_text(RECIPE.format(history=request.param))
    create_levels(place, tmp_path / "recipe.toml", key=tmp_path / "key")
    return place


def content(bundle: Path) -> str:
    return Bundle.open(bundle).certificate.content


def test_versions_on_each_database(registered: str, tmp_path: Path) -> None:
    for who, level in (("anna", "0.3"), ("bert", "0.1"), ("carl", "0.5")):
        issue(registered, who, level, tmp_path / who, even_if_useless=True)  # at 0.1 so few records tell nothing
    assert issue(registered, "bert", "0.1", tmp_path / "again", even_if_useless=True).again
    assert content(tmp_path / "bert") == content(tmp_path / "again")
    assert collude(registered, ["anna", "bert", "carl"]).useless
    assert Ledger.open(registered).is_unbroken()


def test_several_processes_ask_for_the_same_version(registered: str, tmp_path: Path) -> None:
    """All get the same data, and the ledger has one release."""
    issue(registered, "first", "0.5", tmp_path / "first")
    children = []
    for i in range(3):

        def work(i: int = i) -> None:
            issue(registered, "anna", "0.3", tmp_path / f"out {i}", threads=1)

        children.append(start(work))
    assert [end_of(child) for child in children] == [0, 0, 0]
    assert len({content(tmp_path / f"out {i}") for i in range(3)}) == 1
    releases = [r for r in Ledger.open(registered).releases() if r.recipient == "anna"]
    assert [r.status for r in releases] == ["committed"]
    assert releases[0].content != content(tmp_path / "out 0"), "the ledger has it under the key"
