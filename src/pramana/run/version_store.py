"""Where histories of versions are kept between releases: one file per release, whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import re
import zipfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pramana.errors import KeyFileError, LedgerError, MatrixError, PramanaError, RefusedError
from pramana.files.atomic import write_whole
from pramana.files.secret import own_secret_exists
from pramana.ledger.ledger import Ledger
from pramana.ledger.state import Dataset, ReleasedTable
from pramana.mechanisms.history import History
from pramana.randomness.key import Key

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


# The key of a dataset in a ledger: made once, kept beside the ledger, and removed by no one but its maker.


@dataclass
class KeptKey:
    """A key and the file it is to be in. Of two runs at once only the one that registers it has written it."""

    file: Path
    key: Key
    adopted: bool
    written: bool = False

    @classmethod
    def at(cls, file: Path) -> KeptKey:
        """A new key; or the one in the file, which a run that was killed may have left unregistered."""
        if own_secret_exists(file):
            return cls(file, Key.read(file), adopted=True)
        return cls(file, Key.create(), adopted=False)

    def keep(self) -> None:
        """Called within the ledger's transaction, when nothing but the entry is left to write."""
        if not self.adopted:
            self.key.write(self.file)
            self.written = True
        elif Key.read(self.file) != self.key:
            raise RefusedError(f"The key file {self.file} must stay as it was read", "another key")

    def give_up(self, ledger: Ledger) -> None:
        """Remove the file if this run wrote it, it still holds this key, and no dataset is registered under it.

        All of that is looked at while no one else can register anything. Where the ledger cannot be asked the file
        stays, and the same request takes it up again.
        """
        if not self.written:
            return
        with contextlib.suppress(PramanaError, OSError), ledger.exclusive() as state:
            registered = any(d.key == self.key.commitment() for d in state.datasets.values())
            if not registered and Key.read(self.file) == self.key:
                self.file.unlink()


@dataclass
class DigestUnderKeys:
    """The digest of a table under the key of each dataset it is compared with, computed once."""

    digest: Callable[[Key], str]
    known: dict[str, str | None] = field(default_factory=dict)

    def __call__(self, table: Dataset | ReleasedTable) -> str | None:
        """None where the key is not where it was made, or is another."""
        if table.key not in self.known:
            try:
                key = Key.read(table.key_file)
            except KeyFileError:
                key = None
            its_own = key is not None and key.commitment() == table.key
            self.known[table.key] = self.digest(key) if key is not None and its_own else None
        return self.known[table.key]
