"""Where the parts of a set are written: the one thing that knows the file system, here or at an executor.

A part is filled under a name of its own, outside of the folder that holds the parts, and takes its place in one
step. A task that is run twice, or goes on after its job was given up, replaces a part by the same bytes or finds
nothing to write to: it leaves nothing among the parts.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import secrets
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar, cast

from pramana.bundle.parts import PARTS, Part, part_files
from pramana.errors import BundleError

T = TypeVar("T")
_UNFINISHED = ".unfinished"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@dataclass(frozen=True)
class WrittenFile:
    """What was written, by its size and digest."""

    size: int  # in bytes
    sha256: str
    name: str = ""  # that it has until all parts are there


class PartTarget(Protocol):
    """What takes the parts of a set by their names, from one thread or from many machines."""

    def write(self, name: str, fill: Callable[[BinaryIO], T]) -> tuple[WrittenFile, T]:
        """Let `fill` write a part, which appears when it is whole; its digest, and what `fill` returns."""


class NewParts(PartTarget, Protocol):
    """Where the parts of a new bundle are gathered."""

    def create(self) -> None:
        """Make ready for parts."""

    def finish(self, parts: Sequence[Part], names: Sequence[str]) -> None:
        """Nothing is written from here on: all parts are there, under the names that their files were given."""


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
                sink = Digesting(file)
                result = fill(cast(BinaryIO, sink))
                file.flush()
                os.fsync(file.fileno())
            hidden.replace(self.path / name)
        except FileNotFoundError:
            raise BundleError(
                "The folder of the output must be one that every executor writes to",
                "none on the machine of a task",
                'Choose --out in a folder that all of them share, or files = "one" in [output].',
            ) from None
        except OSError as error:
            full = error.errno in _NO_ROOM
            got = "a full disk" if full else error.strerror or "an error of the file system"
            raise BundleError("The folder of the output must be writable and have room", got) from None
        finally:
            hidden.unlink(missing_ok=True)
        return WrittenFile(sink.written, sink.sha256.hexdigest(), name), result

    def finish(self, parts: Sequence[Part], names: Sequence[str]) -> None:
        """What was given up goes, too."""
        shutil.rmtree(self.bundle / _UNFINISHED)
        sizes = {path.name: path.stat().st_size for path in part_files(self.path)}
        if sizes != {name: part.size for part, name in zip(parts, names, strict=True)}:
            raise BundleError(f"{self.path} must hold the parts that were written", "others")


class Digesting(io.RawIOBase):
    """A file that is digested as it is written."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.sha256, self.written = file, hashlib.sha256(), 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.file.write(data)
        self.sha256.update(data)
        self.written += len(data)
        return len(data)
