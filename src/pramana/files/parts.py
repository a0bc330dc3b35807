"""Where the parts of a set are written: a folder of this machine, or a store that executors write to.

A part is filled under a name of its own, outside of the folder that holds the parts, and moved there in one
step. A task that runs twice, or goes on after its job was given up, replaces a part by the same bytes or finds
nothing to write to: it leaves nothing among the parts.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar, cast

from pramana.errors import BundleError
from pramana.files.atomic import NO_ROOM, PARTS
from pramana.files.claim import Claim, Entry
from pramana.files.store_path import new_object

T = TypeVar("T")
IN_STORE = ".in-store"  # a folder in a staged one: something of this run may be in the store
_WHICH = "parts.json"  # in it: which parts are
_UNFINISHED = ".unfinished"
_MOST_BYTES = {"s3": 5 << 30}  # of an object that a store copies in one request


@dataclass(frozen=True)
class WrittenFile:
    """A part that was written."""

    size: int  # in bytes
    sha256: str
    name: str = ""  # that it has until all parts are there


class CertifiedPart(Protocol):
    """A part as the certificate will state it."""

    @property
    def name(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def sha256(self) -> str: ...


class PartTarget(Protocol):
    """Takes the parts of a set by their names, from one thread or from many machines."""

    def write(self, name: str, fill: Callable[[BinaryIO], T]) -> tuple[WrittenFile, T]:
        """Let `fill` write a part, which appears when it is whole; its digest, and what `fill` returns."""


class NewParts(PartTarget, Protocol):
    """Where the parts of a new bundle are gathered."""

    def create(self) -> None:
        """Make ready for parts."""

    def finish(self, parts: Sequence[CertifiedPart], names: Sequence[str]) -> None:
        """Check that all parts are there, under the names of their files; nothing is written afterwards."""


@dataclass(frozen=True)
class PartFolder:
    """The parts of a bundle that is being made, in its hidden folder."""

    bundle: Path

    @property
    def path(self) -> Path:
        return self.bundle / PARTS

    def create(self) -> None:
        self.path.mkdir()
        (self.bundle / _UNFINISHED).mkdir(mode=0o700)

    def write(self, name: str, fill: Callable[[BinaryIO], T]) -> tuple[WrittenFile, T]:
        hidden = self.bundle / _UNFINISHED / f"{name}.{secrets.token_hex(4)}"
        try:
            with hidden.open("xb") as file:
                sink = DigestedFile(file)
                result = fill(cast(BinaryIO, sink))
                file.flush()
                os.fsync(file.fileno())
            hidden.replace(self.path / name)
        except FileNotFoundError:
            raise BundleError(
                "The folder of the output must be one that every executor writes to",
                "no such folder on the machine of a task",
                'Choose --out in a folder that all of them share, or files = "one" in [output].',
            ) from None
        except OSError as error:
            full = error.errno in NO_ROOM
            got = "a full disk" if full else error.strerror or "an error of the file system"
            raise BundleError("The folder of the output must be writable and have room", got) from None
        finally:
            hidden.unlink(missing_ok=True)
        return WrittenFile(sink.length, sink.sha256.hexdigest(), name), result

    def finish(self, parts: Sequence[CertifiedPart], names: Sequence[str]) -> None:
        """Parts that were given up are removed, too."""
        shutil.rmtree(self.bundle / _UNFINISHED)
        sizes = {path.name: path.lstat().st_size for path in self.path.iterdir()}
        if sizes != {name: part.size for part, name in zip(parts, names, strict=True)}:
            raise BundleError(
                f"{self.path} must hold the parts that were written", "files of other names or sizes"
            )


@dataclass(frozen=True)
class PartPrefix:
    """The parts of a bundle that is being made, in its store under a hidden prefix.

    Every attempt of a task writes an object of its own, so that attempts side by side do not meet, and the
    driver takes the one whose digest it was sent. The run's claim stands as long as parts are wanted: a task
    that ends its part afterwards removes it. When all parts are there, the store itself copies them to their
    names.
    """

    claim: Claim
    staged: Path  # the folder of the bundle's other files on this machine

    def create(self) -> None:
        (self.staged / IN_STORE).mkdir()  # first: the next run must know where to look
        self.claim.lay()

    def write(self, name: str, fill: Callable[[BinaryIO], T]) -> tuple[WrittenFile, T]:
        hidden = self.claim.hidden / f"{name}.{secrets.token_hex(8)}"
        with new_object(hidden, BundleError) as file:
            sink = DigestedFile(file)
            result = fill(cast(BinaryIO, sink))
        if not self.claim.stands():
            hidden.unlink()
            raise BundleError("A part must be written while its run goes on", "a run that was given up")
        most = _MOST_BYTES.get(hidden.scheme, sink.length)
        if sink.length > most:
            raise BundleError(
                f"A part in this store must have at most {most:,} bytes",
                f"{sink.length:,} bytes",
                "Lower output.part_rows.",
            )
        return WrittenFile(sink.length, sink.sha256.hexdigest(), hidden.name), result

    def finish(self, parts: Sequence[CertifiedPart], names: Sequence[str]) -> None:
        """Each part must be as large as its task has said; which objects they are is noted."""
        sizes = {path.name: path.stat().st_size for path in self.claim.hidden.again().files}
        if any(sizes.get(name) != part.size for part, name in zip(parts, names, strict=True)):
            raise BundleError(
                f"The store of {self.claim.out} must hold the parts that were written",
                "objects that are missing or of other sizes",
            )
        notes = {
            f"{PARTS}/{part.name}": {"hidden": name, "bytes": part.size, "sha256": part.sha256}
            for part, name in zip(parts, names, strict=True)
        }
        (self.staged / IN_STORE / _WHICH).write_text(json.dumps(notes))


@dataclass(frozen=True)
class HiddenParts:
    """What a staged folder notes of parts that are in the store: their names in the bundle and now."""

    names: Mapping[str, str]
    entries: Mapping[str, Entry]

    @classmethod
    def of(cls, staged: Path) -> HiddenParts:
        file = staged / IN_STORE / _WHICH
        notes = json.loads(file.read_text()) if file.exists() else {}
        entries = {name: {"sha256": one["sha256"], "bytes": one["bytes"]} for name, one in notes.items()}
        return cls({name: one["hidden"] for name, one in notes.items()}, entries)


class DigestedFile(io.RawIOBase):
    """A file that is digested as it is written; without one only the digest is made."""

    def __init__(self, file: Any = None) -> None:
        self.sha256, self.length, self._file = hashlib.sha256(), 0, file

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self._file is not None:
            self._file.write(data)
        self.sha256.update(data)
        self.length += len(data)
        return len(data)

    def tell(self) -> int:
        return self.length
