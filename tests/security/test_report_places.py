"""`report` writes to the place it is given and nowhere else, and true counts for their owner alone."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.security.bundles import copied, made

from pramana import report
from pramana.errors import BundleError


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("to", ["a file", "an earlier report", "nothing", "a folder"])
def test_no_report_goes_through_a_link(private: bool, to: str, tables: Path, tmp_path: Path) -> None:
    bundle = copied(made("retention k", "csv", tables), tmp_path / "bundle")
    options: dict[str, Any] = {"source": tables / "people.csv"} if private else {}
    target = tmp_path / "target"
    if to == "a folder":
        target.mkdir()
    elif to == "an earlier report":
        report(bundle, target, **options)
    elif to == "a file":
        target.write_text("someone's")
    before = target.read_bytes() if target.is_file() else None
    link = tmp_path / "out.html"
    link.symlink_to(target)
    with pytest.raises(BundleError, match="symbolic link"):
        report(bundle, link, **options)
    assert link.is_symlink() and (target.read_bytes() if target.is_file() else None) == before
    default = tmp_path / ("bundle.private-report.html" if private else "bundle.report.html")
    default.symlink_to(target)
    with pytest.raises(BundleError, match="symbolic link"):
        report(bundle, **options)


def test_a_link_that_comes_between_looking_and_writing_is_not_followed(
    tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The place is looked at first; a link that someone puts there meanwhile is replaced, and not followed."""
    bundle = copied(made("retention k", "csv", tables), tmp_path / "bundle")
    link, target = tmp_path / "out.html", tmp_path / "target"
    target.write_text("someone's")
    calls = {name: getattr(os, name) for name in ("open", "replace", "rename", "link")}
    raced: list[str] = []

    def racing(name: str) -> Callable[..., object]:
        def call(*given: object, **more: object) -> object:
            into = given[0] if name == "open" else given[1]
            writes = name != "open" or bool(int(str(given[1])) & os.O_CREAT)
            if str(into) == str(link) and writes and not link.is_symlink():
                raced.append(name)
                link.symlink_to(target)
            return calls[name](*given, **more)

        return call

    for name in calls:
        monkeypatch.setattr(os, name, racing(name))
    report(bundle, link)
    assert raced, "someone was there in between"
    assert target.read_text() == "someone's"
    assert not link.is_symlink() and "<html" in link.read_text()


def test_a_private_report_is_for_its_owner_alone(tables: Path, tmp_path: Path) -> None:
    bundle = copied(made("retention k", "csv", tables), tmp_path / "bundle")
    old = os.umask(0)
    try:
        place = report(bundle, source=tables / "people.csv")
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        place.chmod(0o666)
        reader = place.open()  # someone who opened the earlier one
        assert report(bundle, source=tables / "people.csv") == place
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
        assert os.fstat(reader.fileno()).st_ino != place.stat().st_ino, "a new file, not the one that was open"
        reader.close()
        assert stat.S_IMODE(report(bundle).stat().st_mode) == 0o666
    finally:
        os.umask(old)
    assert "NOT FOR RELEASE" in place.read_text()
