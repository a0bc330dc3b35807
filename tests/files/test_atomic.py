"""Files that appear whole: what lay there stays until then, and left-overs go."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pramana.files.atomic import give_name, named_when_whole, replace_whole, write_whole


@pytest.fixture(params=["linux", "mac"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """On systems with files that have no name, and without."""
    if request.param == "mac":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_at_once_and_with_its_own_mode(folder: Path) -> None:
    page = folder / "page.html"
    page.write_text("before")
    page.chmod(0o644)
    replace_whole(page, b"after", 0o600)
    assert page.read_bytes() == b"after" and page.stat().st_mode & 0o777 == 0o600
    assert names(folder) == ["page.html"]


def test_what_lay_there_stays_when_the_new_one_cannot_be_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = folder / "page.html"
    page.write_text("before")

    def full(_: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace_whole(page, b"after", 0o600)
    assert page.read_text() == "before" and names(folder) == ["page.html"]


def test_the_left_over_of_a_killed_writer_goes_with_the_next_one(folder: Path) -> None:
    (folder / ".page.html.0123abcd.unfinished").write_text("half")
    replace_whole(folder / "page.html", b"whole", 0o600)
    assert names(folder) == ["page.html"]


def test_a_name_that_is_taken_is_not_touched(folder: Path) -> None:
    taken, other = folder / "taken", folder / "other"
    taken.write_text("first")
    other.write_text("second")
    with pytest.raises(FileExistsError):
        write_whole(taken, b"third", 0o600)
    with pytest.raises(FileExistsError):
        give_name(other, taken)
    with pytest.raises(FileExistsError), named_when_whole(taken) as place:
        place.write_text("fourth")
    assert taken.read_text() == "first" and names(folder) == ["other", "taken"]


def test_nothing_has_the_name_before_it_is_whole(folder: Path) -> None:
    with named_when_whole(folder / "data") as place:
        place.write_text("half")
        assert not (folder / "data").exists()
        place.write_text("whole")
    assert (folder / "data").read_text() == "whole" and names(folder) == ["data"]
    with pytest.raises(RuntimeError), named_when_whole(folder / "never") as place:
        place.write_text("half")
        raise RuntimeError
    assert names(folder) == ["data"]
