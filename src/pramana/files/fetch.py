"""A copy of a bundle that lies in a store, in a temporary folder of this machine.

A bundle is read several times: for its digests, its counts, and each question. So it is downloaded once. An
object that the certificate does not list, or of another size than it states, is not downloaded: an empty file
stands for it, which fails verification as the object would. The store chooses the names of its objects: no path
of this machine is made of a name that is neither one of the certificate's nor a plain one. The folder is locked
while its process lives; the next copy removes those of this user that are not.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from pramana.errors import BundleError
from pramana.files.atomic import CERTIFICATE, NO_ROOM, disk_fault
from pramana.files.folder import scratch_beside
from pramana.files.store_path import StorePath, store_faults

_BLOCK = 1 << 22  # bytes that come at a time
_MOST_STRANGE = 100  # objects that are not in the certificate and leave a trace: one fails verification as many do
_LONGEST_NAME = 255  # bytes


class FetchedBundle:
    """The copy; it is removed with this object.

    `sizes_in` reads the certificate, whose size is at most `most` bytes, and returns the sizes of the other files.
    """

    def __init__(self, origin: StorePath, most: int, sizes_in: Callable[[Path], Mapping[str, object]]) -> None:
        self.origin = origin
        cleanup = contextlib.ExitStack()
        try:
            room = cleanup.enter_context(scratch_beside(Path(tempfile.gettempdir()).resolve() / "pramana-bundle"))
        except OSError as error:
            raise BundleError(
                "There must be a folder for temporary files", error.strerror, "Set TMPDIR."
            ) from None
        self._end = weakref.finalize(self, cleanup.close)
        self.folder = room / (origin.name or "bundle")
        try:
            self.folder.mkdir()
            self._fetch(most, sizes_in)
        except OSError as error:
            self._end()
            if error.errno in NO_ROOM:
                raise _no_room(room.parent, origin, "a full disk") from None
            raise BundleError(
                f"A copy of {origin} cannot be written to {room.parent}: {disk_fault(error)}"
            ) from None
        except BaseException:
            self._end()
            raise

    def _fetch(self, most: int, sizes_in: Callable[[Path], Mapping[str, object]]) -> None:
        certificate = self.origin / CERTIFICATE
        if not certificate.is_file():
            self.origin.check_bucket()
            got = (
                "a file"
                if self.origin.is_file()
                else "no such object"
                if self.origin.is_dir()
                else "nothing there"
            )
            raise BundleError(f"The bundle {self.origin} must hold {CERTIFICATE}", got)
        self._copy(certificate, CERTIFICATE, min(certificate.stat().st_size, most + 1))  # its reader refuses more
        sizes = sizes_in(self.folder / CERTIFICATE)
        objects = {path.relative_to(self.origin).as_posix(): path for path in self.origin.files}
        for name in self._strange(objects, {*sizes, CERTIFICATE}):
            self._copy(self.origin, name, 0)
        known = {name: objects[name] for name in sizes if name in objects and name != CERTIFICATE}
        wanted = {name: size for name, path in known.items() if (size := path.stat().st_size) == sizes[name]}
        needed = sum(wanted.values())
        if needed > shutil.disk_usage(self.folder).free:
            raise _no_room(self.folder.parent.parent, self.origin, f"less than its {needed:,} bytes")
        for name, path in known.items():
            self._copy(path, name, wanted.get(name, 0))

    def _strange(self, objects: Mapping[str, StorePath], known: set[str]) -> Iterable[str]:
        """What an object that is not in the certificate leaves here: its name, or its folder's."""
        folders = {name.rpartition("/")[0] for name in known} - {""}
        strange: dict[str, None] = {}
        for name in objects:
            if name in known:
                continue
            first, *rest = name.split("/")
            shown = f"{first}/{rest[0]}" if first in folders and rest else first
            if shown in known or shown in folders:
                raise BundleError(
                    f"The bundle {self.origin} must have each name as a file or as a folder", "one that is both"
                )
            last = shown.rpartition("/")[2]
            if not last.isprintable() or len(last.encode()) > _LONGEST_NAME:
                raise BundleError(
                    f"The bundle {self.origin} must have files with plain names",
                    "a name with a control character, or too long",
                )
            if len(strange) < _MOST_STRANGE:
                strange[shown] = None
        return strange

    def _copy(self, path: StorePath, name: str, size: int) -> None:
        """As many bytes and no more, whatever comes."""
        parts = name.split("/")
        if len(parts) > 2 or any(part in ("", ".", "..") or "\0" in part for part in parts):
            raise BundleError(
                f"The bundle {self.origin} must have files with plain names",
                "an empty name, . or .., or a folder in a folder",
            )
        target = self.folder.joinpath(*parts)
        target.parent.mkdir(exist_ok=True)
        with target.open("xb") as out:
            if size <= 0:
                return
            try:
                opened = path.open(kind=BundleError)
            except FileNotFoundError:
                raise BundleError(f"{path} must stay while it is read", "no such object any more") from None
            with opened as file:
                while size > 0:
                    with store_faults(path, BundleError):  # the store's alone: a full disk has its own message
                        block = file.read(min(size, _BLOCK))
                    if not block:
                        return
                    out.write(block)
                    size -= len(block)


def _no_room(folder: Path, origin: StorePath, got: str) -> BundleError:
    return BundleError(f"{folder} must have room for {origin}", got, "Set TMPDIR to a folder that has.")
