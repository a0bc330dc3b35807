"""Where histories of versions are kept between releases: one file per release, whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import re
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pramana.errors import LedgerError, MatrixError
from pramana.mechanisms import History
from pramana.randomness import write_whole

Group = tuple[str, ...]
_RELEASE = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class VersionStore:
    """The histories of one dataset, as of each release that is begun or is the latest."""

    root: Path
    dataset: str

    @property
    def folder(self) -> Path:
        """Named by a digest: a dataset may be called anything."""
        return self.root / hashlib.sha256(self.dataset.encode()).hexdigest()[:16]

    def _file(self, release: str) -> Path:
        if _RELEASE.fullmatch(release) is None:  # others may write to the ledger that says what it is called
            raise LedgerError("A release must be called by a plain word of letters and digits", "something else")
        return self.folder / f"{release}.npz"

    def has(self, release: str) -> bool:
        return self._file(release).is_file()

    def write(self, release: str, histories: Mapping[Group, History]) -> None:
        """Keep the histories as of a release, unless they are kept already: a version is drawn once."""
        arrays = {"groups": np.array(["\0".join(group) for group in histories])}
        for i, history in enumerate(histories.values()):
            arrays |= {f"{i} {name}": column for name, column in history.to_columns().items()}
        packed = io.BytesIO()
        np.savez(packed, **arrays)  # type: ignore[arg-type]
        try:
            for folder in (self.root, self.folder):  # the modes of parents that mkdir makes are not its mode
                folder.mkdir(mode=0o700, exist_ok=True)
                if folder.stat().st_mode & 0o077 and folder.stat().st_uid == os.geteuid():
                    folder.chmod(0o700)
            with contextlib.suppress(FileExistsError):  # another process was first: its version stands
                write_whole(self._file(release), packed.getvalue(), 0o600)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            raise LedgerError(
                f"{self.root} must be writable and have room", "a full disk" if full else error.strerror
            ) from None

    def read(self, release: str) -> dict[Group, History]:
        try:
            with np.load(self._file(release), allow_pickle=False) as file:
                groups = [tuple(str(name).split("\0")) for name in file["groups"]]
                return {
                    group: History.from_columns({part: file[f"{i} {part}"] for part in History.COLUMNS})
                    for i, group in enumerate(groups)
                }
        except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile, MatrixError):
            raise LedgerError(
                f"{self.root} must hold the history of every version", "a missing or damaged file"
            ) from None

    def keep_only(self, releases: Collection[str]) -> None:
        for file in self.folder.glob("*.npz"):
            if file.stem not in releases:
                file.unlink(missing_ok=True)
