"""A copy of a bundle that lies in a store, in a folder of this machine that goes when nobody needs it any more.

A bundle is read several times: for its digests, its counts, and each question. So it comes down once. Nothing is
fetched that the certificate does not speak of, nor with another size than it says: in the place of such an object
stands an empty file, which fails verification as the object would.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path

from pramana.bundle.certificate import MOST_BYTES, Certificate
from pramana.bundle.parts import PARTS
from pramana.errors import BundleError
from pramana.stores import StorePath, store_faults

_CERTIFICATE = "certificate.json"
_BLOCK = 1 << 22  # bytes that come at a time
_MOST_OBJECTS = 1 << 20


class FetchedBundle:
    """The copy; it is removed with this object."""

    def __init__(self, origin: StorePath) -> None:
        self.origin = origin
        try:
            room = Path(tempfile.mkdtemp(prefix="pramana-bundle-"))
        except OSError as error:
            raise BundleError("There must be a folder for temporary files", error.strerror) from None
        self._end = weakref.finalize(self, shutil.rmtree, room, ignore_errors=True)
        self.folder = room / (origin.name or "bundle")
        try:
            self.folder.mkdir()
            self.certificate = self._fetch()
        except OSError as error:
            self._end()
            raise BundleError(f"{room.parent} must have room for {origin}", error.strerror) from None
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
        if len(objects) > _MOST_OBJECTS:
            raise BundleError(f"The bundle {self.origin} must have at most {_MOST_OBJECTS:,} objects", "more")
        sizes = {name: entry.get("bytes") for name, entry in certificate.files.items()}
        if certificate.parts is not None:
            sizes |= {f"{PARTS}/{part.name}": part.size for part in certificate.parts.files}
        wanted = [name for name, path in objects.items() if path.stat().st_size == sizes.get(name)]
        needed = sum(objects[name].stat().st_size for name in wanted)
        if needed > shutil.disk_usage(self.folder).free:
            raise BundleError(
                f"{self.folder.parent.parent} must have room for {self.origin}",
                f"less than its {needed:,} bytes",
                "Set TMPDIR to a folder that has.",
            )
        for name, path in objects.items():
            if name != _CERTIFICATE:
                self._copy(path, name, path.stat().st_size if name in wanted else 0)
        return certificate

    def _copy(self, path: StorePath, name: str, size: int) -> None:
        """As many bytes and no more, whatever comes."""
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as out:
            if not size:
                return
            with store_faults(path, BundleError), path.open() as file:
                while size and (block := file.read(min(size, _BLOCK))):
                    out.write(block)
                    size -= len(block)
