"""A studio's private files: gone when it ends, however it ends.

What is uploaded goes, piece by piece, into an encrypted file without a name, as the rows of a release within a
bound on memory do. While it is read it lies in memory as it was, and the folder holds a link to it under the name
it had, so that everything that reads a table by its name and ending can. Whoever kills the server closes a pipe
that a small second process waits for, and that one removes the folder. Should both be killed at once, the next
studio of the same user removes what they left: a folder whose owner lives is locked.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from pramana.errors import InputError, PramanaError, SourceError
from pramana.files.folder import scratch_beside
from pramana.files.scratch import Scratch
from pramana.methods.recipe import AnyRecipe
from pramana.randomness.key import Key
from pramana.run.release import Released, release

_WATCH = 'cat >/dev/null; rm -rf -- "$0"'  # until the pipe is closed; then the folder goes


class PrivateFolder:
    """A folder for its owner alone. Names in it are those that a recipe gives its files."""

    def __init__(self) -> None:
        self._locked = contextlib.ExitStack()
        place = Path(tempfile.gettempdir()).resolve() / "pramana-studio"
        self.path = self._locked.enter_context(scratch_beside(place))
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

    def new_upload(self, name: str) -> Upload:
        """A hidden file that takes bytes; nothing of it is seen before it is complete."""
        return Upload(self, name)

    def keep_upload(self, name: str, upload: Upload) -> None:
        with self._lock:
            self.forget_upload(name)
            self._replace(name, upload.window)
            self._uploads[name] = upload
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
        """A file of the allowed folder, under the name that the recipe has for it."""
        self.forget_upload(name)
        self._replace(name, target)

    def write(self, name: str, content: str) -> None:
        place = self._place(name)
        place.unlink(missing_ok=True)
        with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", newline="") as file:
            file.write(content)

    def text(self, name: str) -> str:
        return self._place(name).read_text("utf-8")

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

    def _replace(self, name: str, target: Path) -> None:
        place = self._place(name)
        place.unlink(missing_ok=True)
        place.symlink_to(target)

    def _place(self, name: str) -> Path:
        """Below the folder, whatever the name says."""
        parts = Path(name).parts
        if not parts or Path(name).is_absolute() or ".." in parts or "\0" in name:
            raise InputError("A private file must have a name below its folder", "another one")
        place = self.path.joinpath(*parts)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return place


class Upload:
    """Bytes that arrive, and are hidden until they are read."""

    def __init__(self, folder: PrivateFolder, name: str) -> None:
        try:
            self._shown = os.memfd_create("pramana-upload", os.MFD_CLOEXEC)
        except (AttributeError, OSError):
            hint = "Put the file into the studio's folder instead."
            raise SourceError("Uploads must have memory of their own", "a system without", hint) from None
        self._folder, self._name = folder, name
        self._hidden = Scratch(folder.path)
        self._pieces: list[tuple[int, int]] = []
        self.bytes = 0

    @property
    def window(self) -> Path:
        """Where it can be read while it is shown."""
        return Path(f"/proc/{os.getpid()}/fd/{self._shown}")

    def write(self, data: bytes) -> None:
        if data:
            self._pieces.append((self._hidden.append(data), len(data)))
            self.bytes += len(data)

    def show(self) -> None:
        for start, length in self._pieces:
            rest = self._hidden.read(start, length).data
            while rest:
                rest = rest[os.write(self._shown, rest) :]

    def hide(self) -> None:
        os.ftruncate(self._shown, 0)
        os.lseek(self._shown, 0, os.SEEK_SET)

    def keep(self) -> None:
        self._folder.keep_upload(self._name, self)

    def drop(self) -> None:
        self._hidden.close()
        os.close(self._shown)


# A release under way: it tells how far it is, can be stopped, and leaves a whole bundle or nothing.


class StoppedReleaseError(Exception):
    """Raised inside the work, where it next says how far it is."""


class ReleaseJob:
    """One release in a thread of its own. Its key is kept here until it is taken, once.

    With a ledger it is kept beside the bundle instead, as on the command line: a ledger recognises a table
    that was released before by the key of that release.
    """

    def __init__(
        self, recipe: AnyRecipe, out: Path, private: PrivateFolder, even_if_useless: bool = False
    ) -> None:
        self.out, self._private = out, private
        self.released: Released | None = None
        self.problem = ""
        self.stage, self.share = "starting", 0.0
        self._key: Key | None = Key.create() if recipe.ledger is None else None
        self._recipe, self._even_if_useless = recipe, even_if_useless
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    @property
    def stopped(self) -> bool:
        return self._stop.is_set() and self.released is None and not self.running

    @property
    def has_key(self) -> bool:
        return self.released is not None and self._key is not None

    def take_key(self) -> Key | None:
        """The key, the first time it is asked for."""
        key, self._key = (self._key, None) if self.released is not None else (None, self._key)
        return key

    def stop(self) -> None:
        self._stop.set()

    def join(self, seconds: float) -> None:
        if self._thread.ident is not None:
            self._thread.join(seconds)

    def _told(self, stage: str, done: int, of: int) -> None:
        if self._stop.is_set():
            raise StoppedReleaseError
        self.stage, self.share = stage, min(1.0, done / of) if of else 0.0

    def _run(self) -> None:
        try:
            with self._private.reading():
                released = release(
                    self._recipe,
                    self.out,
                    key=self._key,
                    progress=self._told,
                    even_if_useless=self._even_if_useless,
                )
            self._settle(released)
        except StoppedReleaseError:
            self._key = None
        except PramanaError as error:
            self.problem, self._key = str(error), None
        except Exception as error:
            # the words of an unforeseen error may quote the data
            self.problem, self._key = f"internal error ({type(error).__name__})", None

    def _settle(self, released: Released) -> None:
        """Done; where a stop came too late for the work, what it wrote goes, unless a ledger has it."""
        if self._stop.is_set() and not released.ledger:
            shutil.rmtree(self.out, ignore_errors=True)
            self._key = None
            return
        self.released = released
