"""A copy of a bundle that lies in a store, in a folder of this machine that goes when nobody needs it any more.

A bundle is read several times: for its digests, its counts, and each question. So it comes down once. Nothing is
fetched that the certificate does not speak of, nor with another size than it says: in the place of such an object
stands an empty file, which fails verification as the object would. The store chooses what its objects are called:
no path of this machine is made of a name that is neither one of the certificate's nor a plain one. The folder is
locked while its process lives; the next copy removes those of this user that are not.
"""

from __future__ import annotations

import contextlib
import errno
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pramana.bundle.certificate import MOST_BYTES, Certificate
from pramana.bundle.folder import scratch_beside
from pramana.bundle.parts import PARTS
from pramana.errors import BundleError
from pramana.stores import StorePath, store_faults

if TYPE_CHECKING:
    from pyarrow import NativeFile

_CERTIFICATE = "certificate.json"
_BLOCK = 1 << 22  # bytes that come at a time
_MOST_STRANGE = 100  # objects that are not in the certificate and leave a trace: one fails verification as many do
_LONGEST_NAME = 255  # bytes
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class FetchedBundle:
    """The copy; it is removed with this object."""

    def __init__(self, origin: StorePath) -> None:
        self.origin = origin
        held = contextlib.ExitStack()
        try:
            room = held.enter_context(scratch_beside(Path(tempfile.gettempdir()).resolve() / "pramana-bundle"))
        except OSError as error:
            raise BundleError("There must be a folder for temporary files", error.strerror) from None
        self._end = weakref.finalize(self, held.close)
        self.folder = room / (origin.name or "bundle")
        try:
            self.folder.mkdir()
            self.certificate = self._fetch()
        except OSError as error:
            self._end()
            if error.errno in _NO_ROOM:
                raise _no_room(room.parent, origin, "a full disk") from None
            told = error.strerror or "an error of the file system"
            raise BundleError(f"{room.parent} must take a copy of {origin}", told) from None
        except BaseException:
            self._end()
            raise

    def _fetch(self) -> Certificate:
        stated = self.origin / _CERTIFICATE
        if not stated.is_file():
            self.origin.check_bucket()
            got = "a file" if self.origin.is_file() else "none" if self.origin.is_dir() else "nothing there"
            raise BundleError(f"The bundle {self.origin} must hold {_CERTIFICATE}", got)
        self._copy(stated, _CERTIFICATE, min(stated.stat().st_size, MOST_BYTES + 1))  # who reads it refuses more
        certificate = Certificate.read(self.folder / _CERTIFICATE)
        objects = {path.relative_to(self.origin).as_posix(): path for path in self.origin.files}
        sizes = {name: entry.get("bytes") for name, entry in certificate.files.items()}
        if certificate.parts is not None:
            sizes |= {f"{PARTS}/{part.name}": part.size for part in certificate.parts.files}
        self._mark(self._strange(objects, {*sizes, _CERTIFICATE}))
        known = {name: objects[name] for name in sizes if name in objects and name != _CERTIFICATE}
        wanted = {name: size for name, path in known.items() if (size := path.stat().st_size) == sizes[name]}
        needed = sum(wanted.values())
        if needed > shutil.disk_usage(self.folder).free:
            raise _no_room(self.folder.parent.parent, self.origin, f"less than its {needed:,} bytes")
        for name, path in known.items():
            self._copy(path, name, wanted.get(name, 0))
        return certificate

    def _strange(self, objects: Mapping[str, StorePath], known: set[str]) -> Iterable[str]:
        """What an object that is not in the certificate leaves here: its name, or its folder's."""
        folders = {name.rpartition("/")[0] for name in known} - {""}
        found: dict[str, None] = {}
        for name in objects:
            if name in known:
                continue
            first, *rest = name.split("/")
            place = f"{first}/{rest[0]}" if first in folders and rest else first
            if place in known or place in folders:
                raise BundleError(
                    f"The bundle {self.origin} must have each name as a file or as a folder", "one that is both"
                )
            last = place.rpartition("/")[2]
            if not last.isprintable() or len(last.encode()) > _LONGEST_NAME:
                raise BundleError(f"The bundle {self.origin} must have files with plain names", "others")
            if len(found) < _MOST_STRANGE:
                found[place] = None
        return found

    def _mark(self, names: Iterable[str]) -> None:
        for name in names:
            self._copy(self.origin, name, 0)

    def _copy(self, path: StorePath, name: str, size: int) -> None:
        """As many bytes and no more, whatever comes."""
        parts = name.split("/")
        if len(parts) > 2 or any(part in ("", ".", "..") or "\0" in part for part in parts):
            raise BundleError(f"The bundle {self.origin} must have files with plain names", "others")
        target = self.folder.joinpath(*parts)
        target.parent.mkdir(exist_ok=True)
        with target.open("xb") as out:
            if size <= 0:
                return
            with self._opened(path) as file:
                while size > 0:
                    with store_faults(path, BundleError):  # the store's alone: a full disk is told as what it is
                        block = file.read(min(size, _BLOCK))
                    if not block:
                        return
                    out.write(block)
                    size -= len(block)

    @staticmethod
    def _opened(path: StorePath) -> NativeFile:
        try:
            return path.open(kind=BundleError)
        except FileNotFoundError:
            raise BundleError(f"{path} must stay while it is read", "no such object any more") from None


def _no_room(folder: Path, origin: StorePath, got: str) -> BundleError:
    return BundleError(f"{folder} must have room for {origin}", got, "Set TMPDIR to a folder that has.")
