"""A small desk to release from, and the one way in which every refusal is checked."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from tests import needs
from tests.object_store import bucket, store_server
from tests.servers import Place, new_place, postgresql
from tests.tiers import tier_of

from pramana.app.main import run

__all__ = ["bucket", "postgresql", "store_server"]

# Property tests draw the same examples every time: a verdict never depends on the day it is asked for.
settings.register_profile("same every time", derandomize=True, deadline=None)
# Where it only matters whether a test fails (tests/mutants), no smaller example is looked for.
settings.register_profile(
    "any failure", settings.get_profile("same every time"), phases=[Phase.explicit, Phase.generate]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same every time"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`-m fast` does not even load what is of another tier as a whole."""
    name = collection_path.relative_to(config.rootpath).as_posix() + "/" * collection_path.is_dir()
    return True if config.option.markexpr == "fast" and tier_of(name) != "fast" else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test has the mark of its tier."""
    for item in items:
        values = item.callspec.params.values() if hasattr(item, "callspec") else ()
        needs = [*getattr(item, "fixturenames", ()), *(value for value in values if isinstance(value, str))]
        item.add_marker(tier_of(item.nodeid, needs))


RECIPE = """\
[source]
path = "people.csv"
[release]
epsilon = 2
[attributes.name]
role = "identifying"
[attributes.sex]
role = "quasi-identifying"
domain = ["F", "M"]
[attributes.age]
role = "quasi-identifying"
bins = [0, 20, 40, 60, 120]
"""
PEOPLE = "name,sex,age\n" + "".join(f"Person {i},{'FM'[i * 7 % 3 % 2]},{i * 31 % 100}\n" for i in range(40))


def snapshot(folder: Path) -> dict[str, str]:
    """Every path below a folder with its kind, mode and content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        if path.is_symlink():
            content = f"-> {path.readlink()}"
        elif path.is_file():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            content = ""
        found[str(path.relative_to(folder))] = f"{status.st_mode:o} {content}"
    return found


def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test that is marked with the tools it needs is skipped, or fails, before its fixtures are made."""
    for mark in item.iter_markers("needs"):
        for tool in mark.args:
            needs.require(tool)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with recipe.toml and people.csv, made the working directory."""
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "recipe.toml").write_text(RECIPE)
    (folder / "people.csv").write_text(PEOPLE)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("PRAMANA_DEBUG", raising=False)
    return folder


Refused = Callable[..., str]


@pytest.fixture
def refused(desk: Path, capfd: pytest.CaptureFixture[str]) -> Refused:
    """Run a command line that must be refused: one line, the right exit code, and nothing touched."""

    def check(*arguments: str | os.PathLike[str], code: int = 2) -> str:
        before = snapshot(desk)
        capfd.readouterr()
        found = run([os.fspath(a) for a in arguments])
        shown = capfd.readouterr()
        assert found == code, f"exit {found}: {shown.err}"
        assert shown.out == ""
        assert shown.err.startswith("pramana: ")
        assert shown.err.endswith("\n") and shown.err.count("\n") == 1, shown.err
        assert "Traceback" not in shown.err
        assert snapshot(desk) == before
        return shown.err

    return check


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def base(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty database of each kind."""
    return new_place(request, tmp_path)
