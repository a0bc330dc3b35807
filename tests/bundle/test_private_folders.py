"""What is not finished is for its owner alone, whatever the umask; what is published is for all it allows."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pramana.errors import LedgerError
from pramana.files.folder import scratch_beside, whole_folder
from pramana.mechanisms.history import History
from pramana.run.booking import VersionStore


@pytest.fixture(autouse=True)
def no_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(("umask", "published"), [(0, 0o777), (0o022, 0o755), (0o077, 0o700)])
def test_a_folder_that_is_being_written_is_for_its_owner_alone(tmp_path: Path, umask: int, published: int) -> None:
    os.umask(umask)
    with whole_folder(tmp_path / "out") as partial:
        (partial / "data").write_text("rows")
        assert mode(partial) == 0o700
    assert mode(tmp_path / "out") == published


def test_room_beside_a_bundle_is_for_its_owner_alone(tmp_path: Path) -> None:
    with scratch_beside(tmp_path / "out") as scratch:
        assert mode(scratch) == 0o700


def test_kept_versions_are_for_their_owner_alone(tmp_path: Path) -> None:
    store = VersionStore(tmp_path / "versions", "people")
    store.write("1", {("a",): History.empty(3, 2)})
    found = [tmp_path / "versions", store.folder, *store.folder.iterdir()]
    assert [oct(mode(path)) for path in found] == ["0o700", "0o700", "0o600"]
    assert np.array_equal(store.read("1")["a",].counts, [0, 0, 0])


@pytest.mark.parametrize("release", ["../../climbed", "/tmp/climbed", "", ".", "a/b", "x" * 65])
def test_a_ledger_cannot_say_where_a_version_goes(release: str, tmp_path: Path) -> None:
    store = VersionStore(tmp_path / "deep" / "versions", "people")
    store.root.parent.mkdir()
    for use in (lambda: store.write(release, {("a",): History.empty(3, 2)}), lambda: store.read(release)):
        with pytest.raises(LedgerError, match="plain word"):
            use()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
