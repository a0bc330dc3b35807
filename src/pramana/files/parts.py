"""Where the parts of a set are written: a folder of this machine, or a store that executors write to.

A part is filled under a name of its own, outside of the folder that holds the parts, and moved there in one
step. A task that runs twice, or goes on after its job was given up, replaces a part by the same bytes or finds
nothing to write to: it leaves nothing among the parts.

What a run is going to write under a prefix of a store is claimed first, by an object beside the bundle, under a
name that no other run can guess. Parts that executors write lie under a hidden prefix of the same name until all
of them are there.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, BinaryIO, Literal, Protocol, TypeVar, cast

import msgspec
from msgspec import Meta

from pramana.errors import BundleError
from pramana.files.atomic import PARTS, DigestedFile, disk_fault
from pramana.files.store_path import StorePath, new_object, put

T = TypeVar("T")
IN_STORE = ".in-store"  # a folder in a staged one: something of this run may be in the store
_WHICH = "parts.json"  # in it: which parts are
_UNFINISHED = ".unfinished"
_MOST_BYTES = {"s3": 5 << 30}  # of an object that a store copies in one request
_BLOCK = 1 << 22  # bytes that are read at a time
_MOST_CLAIM = 1 << 25  # bytes: some twice those of 100,000 parts
_FORMAT = "pramana-upload"
Entry = dict[str, object]
# What a claim lists is removed by whoever clears up after it: nothing outside of the bundle's own folder.
_Listed = Annotated[str, Meta(pattern=r"\A(data/)?[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")]


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
            raise BundleError(
                "The folder of the output must be writable and have room", disk_fault(error)
            ) from None
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
        if not self.claim.exists():
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


def hidden_parts(staged: Path) -> dict[str, Entry]:
    """What a staged folder notes of parts that are in the store, by their names in the bundle."""
    file = staged / IN_STORE / _WHICH
    notes: dict[str, Entry] = json.loads(file.read_text()) if file.exists() else {}
    return notes


# ---------------------------------------------------------------- claims


class ClaimedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file that a claim lists."""

    sha256: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    bytes: Annotated[int, Meta(ge=0)]


class ClaimForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A claim as it is written. It is checked when it is read: others may write to the store."""

    format: Literal["pramana-upload"]
    version: Literal[1]
    files: dict[_Listed, ClaimedFile]


def is_claimed(out: StorePath) -> bool:
    """Whether a run is writing there, or was killed while it did."""
    return bool(Claim(out, "").path.parent.again().files)


@dataclass(frozen=True)
class Claim:
    """The claim of the run with this token on the bundle `out`."""

    out: StorePath
    token: str

    @property
    def path(self) -> StorePath:
        return self.out.with_name(f".{self.out.name}.upload") / self.token

    @property
    def hidden(self) -> StorePath:
        """Where parts lie until the set is whole: all under this prefix is this run's."""
        return self.out.with_name(f".{self.out.name}.parts") / self.token

    def write(self, files: Mapping[str, Entry]) -> None:
        text = json.dumps({"format": _FORMAT, "version": 1, "files": files}, sort_keys=True)
        put(self.path, [text.encode()], BundleError, self.hidden)

    def lay(self) -> None:
        """Write the claim, still without files; where another run has one, this one is removed and refused."""
        self.write({})
        if [path for path in self.path.parent.again().files if path.name != self.token]:
            self.drop()
            raise BundleError(
                f"Another run is writing {self.out}, or was killed while it did",
                hint="Wait for it; or run its command again where it ran, which removes what it left.",
            )

    def exists(self) -> bool:
        """Whether it was written, and the run was not given up."""
        return self.path.again().is_file()

    def files(self) -> dict[str, Entry] | None:
        """What it lists; None where there is none."""
        now = self.path.again()
        if not now.is_file():
            return None
        written = now.read_bytes(_MOST_CLAIM)
        try:
            stated = msgspec.json.decode(written, type=ClaimForm)
        except (ValueError, RecursionError):
            raise BundleError(f"{self.path} must be the claim of a run", "JSON of another form") from None
        return {name: msgspec.to_builtins(entry) for name, entry in stated.files.items()}

    def is_whole(self) -> bool:
        """Whether all that it lists is there, the certificate included."""
        listed = self.files()
        return bool(listed) and all(self.has(name, entry) for name, entry in (listed or {}).items())

    def has(self, name: str, entry: Entry) -> bool:
        """Whether an object is there, byte for byte as listed."""
        path = (self.out / name).again()
        if not path.is_file() or path.stat().st_size != entry["bytes"]:
            return False
        digest = hashlib.sha256()
        with path.open() as file:
            while block := file.read(_BLOCK):
                digest.update(block)
        return digest.hexdigest() == entry["sha256"]

    def clear(self) -> None:
        """Remove what it lists, as far as that is there as listed, and then the claim itself."""
        for name, entry in (self.files() or {}).items():
            if self.has(name, entry):
                (self.out / name).unlink()
        self.drop()

    def drop(self) -> None:
        """Remove it, before the parts: a task that ends its part later sees that, and removes its part itself."""
        if self.exists():
            self.path.unlink()
        if self.hidden.again().is_dir():
            self.hidden.remove_folder()
        for folder in (self.path.parent.again(), self.hidden.parent.again()):
            if folder.is_dir() and not folder.files:
                folder.remove_folder()
