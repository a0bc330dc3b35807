"""A claim: what a run is going to write under a prefix of a store.

The claim is an object beside the bundle, under a name that no other run can guess. Parts that executors write lie
under a hidden prefix of the same name until all of them are there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from pramana.errors import BundleError
from pramana.files.store_path import StorePath, put

_BLOCK = 1 << 22  # bytes that are read at a time
_MOST_CLAIM = 1 << 25  # bytes: some twice those of 100,000 parts
_FORMAT = "pramana-upload"
Entry = dict[str, object]
# What a claim lists is removed by whoever clears up after it: nothing outside of the bundle's own folder.
_Listed = Annotated[str, Meta(pattern=r"\A(data/)?[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")]


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

    def stands(self) -> bool:
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
        if self.stands():
            self.path.unlink()
        if self.hidden.again().is_dir():
            self.hidden.remove_folder()
        for folder in (self.path.parent.again(), self.hidden.parent.again()):
            if folder.is_dir() and not folder.files:
                folder.remove_folder()
