"""Where executors write the parts of a set that will lie in a store: into the store itself, under a hidden prefix.

Every attempt of a task writes an object of its own, so that attempts side by side do not meet, and the driver
takes the one whose digest it was told. The claim of the run stands as long as parts are wanted: who ends a part
afterwards takes it away again. When all parts are there, the store itself copies them to their places.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from pramana.bundle.part_folder import Digesting, WrittenFile
from pramana.bundle.parts import PARTS, Part
from pramana.bundle.stored.claim import Claim, Entry
from pramana.errors import BundleError
from pramana.stores import new_object

T = TypeVar("T")
IN_STORE = ".in-store"  # a folder in a staged one: something of this run may be in the store
_WHICH = "parts.json"  # in it: which parts are
_MOST_BYTES = {"s3": 5 << 30}  # of an object that a store copies in one request


@dataclass(frozen=True)
class PartPrefix:
    """The parts of a bundle that is being made, in its store; `staged` is the folder of its other files here."""

    claim: Claim
    staged: Path

    def create(self) -> None:
        (self.staged / IN_STORE).mkdir()  # first: the next run must know where to look
        self.claim.lay()

    def write(self, name: str, fill: Callable[[BinaryIO], T]) -> tuple[WrittenFile, T]:
        hidden = self.claim.hidden / f"{name}.{secrets.token_hex(8)}"
        with new_object(hidden, BundleError) as file:
            sink = Digesting(cast(BinaryIO, file))
            result = fill(cast(BinaryIO, sink))
        if not self.claim.stands():
            hidden.unlink()
            raise BundleError("A part must be written while its run goes on", "a run that was given up")
        most = _MOST_BYTES.get(hidden.scheme, sink.written)
        if sink.written > most:
            raise BundleError(
                f"A part in this store must have at most {most:,} bytes", "more", "Lower output.part_rows."
            )
        return WrittenFile(sink.written, sink.sha256.hexdigest(), hidden.name), result

    def finish(self, parts: Sequence[Part], names: Sequence[str]) -> None:
        """All parts are there, each as large as its task has said; which objects they are is noted."""
        sizes = {path.name: path.stat().st_size for path in self.claim.hidden.again().files}
        if any(sizes.get(name) != part.size for part, name in zip(parts, names, strict=True)):
            raise BundleError(f"The store of {self.claim.out} must hold the parts that were written", "others")
        noted = {
            f"{PARTS}/{part.name}": {"hidden": name, "bytes": part.size, "sha256": part.sha256}
            for part, name in zip(parts, names, strict=True)
        }
        (self.staged / IN_STORE / _WHICH).write_text(json.dumps(noted))


@dataclass(frozen=True)
class HiddenParts:
    """What a staged folder notes of parts that are in the store: what they are called in the bundle and now."""

    names: Mapping[str, str]
    entries: Mapping[str, Entry]

    @classmethod
    def of(cls, staged: Path) -> HiddenParts:
        note = staged / IN_STORE / _WHICH
        noted = json.loads(note.read_text()) if note.exists() else {}
        entries = {name: {"sha256": one["sha256"], "bytes": one["bytes"]} for name, one in noted.items()}
        return cls({name: one["hidden"] for name, one in noted.items()}, entries)
