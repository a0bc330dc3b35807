"""The folder that a studio may read from and publish into, and its private files, which go when it ends.

What is uploaded goes, piece by piece, into an encrypted file without a name, as the rows of a release within a
bound on memory do. While it is read it lies in memory as it was, and the private folder holds a link to it under
the name it had, so that everything that reads a table by its name and ending can. Whoever kills the server closes
a pipe that a small second process waits for, and that one removes the folder. Should both be killed at once, the
next studio of the same user removes what they left: a folder whose owner lives is locked.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pramana.errors import InputError, SourceError
from pramana.files.atomic import write_whole
from pramana.files.folder import scratch_beside
from pramana.files.scratch import Scratch
from pramana.io.formats import FORMATS

TABLES = tuple(ending for entry in FORMATS.values() for ending in entry.endings)
RECIPES = (".toml",)
LEDGERS = (".db", ".sqlite", ".ledger")
_MOST_FILES = 2000
_DEEPEST = 4
_MOST_LOOKED_AT = 20_000
_NAME = re.compile(r"[\w][\w .()+-]{0,99}")
_HALF = re.compile("[\ud800-\udfff]")  # of a name that is no text
_WATCH = 'cat >/dev/null; rm -rf -- "$0"'  # until the pipe is closed; then the folder goes


@dataclass(frozen=True)
class ListedFile:
    """A file or folder to choose, by its name from the allowed folder on."""

    name: str
    bytes: int

    @property
    def size(self) -> str:
        for unit, least in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
            if self.bytes >= least:
                return f"{self.bytes / least:.1f} {unit}"
        return f"{self.bytes} bytes"


@dataclass(frozen=True)
class AllowedFolder:
    """The one folder that is shown. `root` is its real path; links that lead out of it are not followed."""

    root: Path

    @classmethod
    def of(cls, folder: str | Path) -> AllowedFolder:
        """The folder of this name; refused where there is none."""
        try:
            root = Path(folder).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            raise InputError("The folder of the studio does not exist", hint="Name it with --data.") from None
        if not root.is_dir():
            raise InputError("The folder of the studio must be a folder", "a file")
        return cls(root)

    def find(self, name: str) -> Path:
        """What a name means, links followed; refused where that lies outside."""
        path = self._inside(name)
        if path is None:
            raise InputError("A file must be in the studio's folder", repr(name[:100]))
        return path

    def _inside(self, name: str) -> Path | None:
        try:
            path = (self.root / name).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            return None
        return path if path.is_relative_to(self.root) else None

    def new(self, name: str) -> Path:
        """The path of something new: one plain name, directly in the folder."""
        if not _NAME.fullmatch(name) or name.endswith((".", " ")):
            raise InputError(
                "A name must be letters, digits, blanks and . ( ) + - _, at most 100", repr(name[:100])
            )
        path = self.root / name
        if os.path.lexists(path):
            raise InputError(f"{name} already exists", hint="Choose another name.")
        return path

    def free_name(self, stem: str, ending: str = "") -> str:
        """A plain name that is not taken."""
        plain = re.sub(r"[^\w-]+", "-", stem).strip("-_") or "table"
        names = (f"{plain[:60]}{'' if i == 1 else f'-{i}'}{ending}" for i in range(1, 10_000))
        return next(name for name in names if not os.path.lexists(self.root / name))

    def files(self, endings: tuple[str, ...]) -> list[ListedFile]:
        """Files outside of bundles whose names end so."""
        return [file for file in self._listed() if file.name.lower().endswith(endings)]

    def bundles(self) -> list[ListedFile]:
        """Folders with a certificate, and zip files that may hold one."""
        certificates = [f for f in self._listed(inside_bundles=True) if f.name.endswith("/certificate.json")]
        folders = [ListedFile(str(Path(f.name).parent), f.bytes) for f in certificates]
        return sorted(folders + self.files((".zip",)), key=lambda f: f.name.lower())

    def _listed(self, inside_bundles: bool = False) -> list[ListedFile]:
        files = islice(self._walk(self.root, "", 0, inside_bundles, [_MOST_LOOKED_AT]), _MOST_FILES)
        return sorted(files, key=lambda file: file.name.lower())

    def _walk(
        self, folder: Path, prefix: str, depth: int, inside_bundles: bool, left: list[int]
    ) -> Iterator[ListedFile]:
        """Regular files; of links those that stay inside. `left` is how many entries may still be looked at."""
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            return
        if not inside_bundles and any(entry.name == "certificate.json" for entry in listed):
            return
        for entry in listed:
            left[0] -= 1
            if left[0] < 0:
                return
            if entry.name.startswith(".") or _HALF.search(entry.name):
                continue
            name = f"{prefix}{entry.name}"
            try:
                if entry.is_dir(follow_symlinks=False):
                    if depth < _DEEPEST:
                        yield from self._walk(Path(entry.path), f"{name}/", depth + 1, inside_bundles, left)
                elif entry.is_file() and (not entry.is_symlink() or self._inside(name) is not None):
                    yield ListedFile(name, entry.stat().st_size)
            except OSError:
                continue


class PrivateFolder:
    """A folder for its owner alone. Names in it are those that a recipe gives its files."""

    def __init__(self) -> None:
        self._locked = contextlib.ExitStack()
        beside = Path(tempfile.gettempdir()).resolve() / "pramana-studio"
        self.path = self._locked.enter_context(scratch_beside(beside))
        self._uploads: dict[str, Upload] = {}
        self._readers = 0
        self._lock = threading.RLock()
        self._watch = subprocess.Popen(
            ["/bin/sh", "-c", _WATCH, str(self.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt from the keyboard is for the server alone
        )

    def keep_upload(self, upload: Upload) -> None:
        """Show a file that has arrived to whoever reads."""
        with self._lock:
            self.link(upload.name, upload.window)
            self._uploads[upload.name] = upload
            if self._readers:
                upload.show()

    def forget_upload(self, name: str) -> None:
        with self._lock:
            upload = self._uploads.pop(name, None)
            if upload is not None:
                upload.drop()
                (self.path / name).unlink(missing_ok=True)

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """While what was uploaded can be read; several threads may."""
        with self._lock:
            self._readers += 1
            if self._readers == 1:
                for upload in self._uploads.values():
                    upload.show()
        try:
            yield
        finally:
            with self._lock:
                self._readers -= 1
                if not self._readers:
                    for upload in self._uploads.values():
                        upload.hide()

    def link(self, name: str, target: Path) -> None:
        """Put a file of the allowed folder, or an upload, under the name that the recipe has for it."""
        self.forget_upload(name)
        self._free(name).symlink_to(target)

    def write(self, name: str, content: str) -> None:
        write_whole(self._free(name), content.encode(), 0o600)

    def text(self, name: str) -> str:
        return self._path_of(name).read_text("utf-8")

    def clear(self) -> None:
        """Let go of everything, but stay ready."""
        for name in list(self._uploads):
            self.forget_upload(name)
        with contextlib.suppress(OSError):
            for entry in self.path.iterdir():
                if entry.is_dir() and not entry.is_symlink():
                    shutil.rmtree(entry, ignore_errors=True)
                else:
                    entry.unlink(missing_ok=True)

    def close(self) -> None:
        self.clear()
        self._locked.close()
        if self._watch.stdin is not None:
            self._watch.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._watch.wait(5)

    def _free(self, name: str) -> Path:
        """A path that nothing is at any more."""
        path = self._path_of(name)
        path.unlink(missing_ok=True)
        return path

    def _path_of(self, name: str) -> Path:
        """Below the folder, whatever the name says."""
        parts = Path(name).parts
        if not parts or Path(name).is_absolute() or ".." in parts or "\0" in name:
            raise InputError("A private file must have a name below its folder", repr(name[:100]))
        path = self.path.joinpath(*parts)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path


class Upload:
    """Bytes that arrive, and are hidden until they are read."""

    def __init__(self, folder: PrivateFolder, name: str) -> None:
        try:
            self._shown = os.memfd_create("pramana-upload", os.MFD_CLOEXEC)
        except (AttributeError, OSError):
            hint = "Put the file into the studio's folder instead."
            raise SourceError("Uploads must have memory of their own", "a system without", hint) from None
        self._folder, self.name = folder, name
        self._hidden = Scratch(folder.path)
        self._pieces: list[tuple[int, int]] = []

    @property
    def window(self) -> Path:
        """Where it can be read while it is shown."""
        return Path(f"/proc/{os.getpid()}/fd/{self._shown}")

    @property
    def is_empty(self) -> bool:
        return not self._pieces

    def write(self, data: bytes) -> None:
        if data:
            self._pieces.append((self._hidden.append(data), len(data)))

    def show(self) -> None:
        for start, length in self._pieces:
            rest = self._hidden.read(start, length).data
            while rest:
                rest = rest[os.write(self._shown, rest) :]

    def hide(self) -> None:
        os.ftruncate(self._shown, 0)
        os.lseek(self._shown, 0, os.SEEK_SET)

    def keep(self) -> None:
        self._folder.keep_upload(self)

    def drop(self) -> None:
        self._hidden.close()
        os.close(self._shown)
