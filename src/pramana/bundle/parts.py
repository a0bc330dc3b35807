"""A bundle's data as a set of files: which parts there are, and the one digest that stands for them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import msgspec
import rfc8785
from msgspec import Meta

from pramana.errors import BundleError, RecipeError
from pramana.files.atomic import own_file
from pramana.schema.sections import MOST_PART_ROWS

# The root of a Merkle tree, as RFC 6962 builds it (section 2.1): one digest that stands for a list.
#
# Leaves and nodes are told apart by a byte before them, so that no list can pass for another one of the same
# root.


_LEAF, _NODE = b"\0", b"\1"


def merkle_root(leaves: Iterable[bytes]) -> bytes:
    """SHA-256 over the tree of a list: the left branch holds the largest power of two below its length.

    Nodes are put together as soon as two of the same height stand side by side; at the end the rest, which get
    smaller from left to right, are joined from the right.
    """
    waiting: list[tuple[int, bytes]] = []  # heights and digests, left to right
    for leaf in leaves:
        height, digest = 0, _digest(_LEAF, leaf)
        while waiting and waiting[-1][0] == height:
            digest = _digest(_NODE, waiting.pop()[1], digest)
            height += 1
        waiting.append((height, digest))
    if not waiting:
        return hashlib.sha256().digest()
    _, root = waiting.pop()
    while waiting:
        root = _digest(_NODE, waiting.pop()[1], root)
    return root


def _digest(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


MOST_PARTS = 100_000
_NAME = re.compile(r"part-(\d{5})\.(parquet|csv)")
_DIGEST = re.compile(r"[0-9a-f]{64}")
Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", extra={"must": "64 hexadecimal digits"})]
Whole = Annotated[int, Meta(ge=0, le=(1 << 53) - 1)]


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of a set: so many rows, which follow those of the part before."""

    name: Annotated[
        str,
        Meta(
            pattern=r"^part-[0-9]{5}\.(parquet|csv)$",
            extra={"must": "a name such as part-00000.parquet or part-00000.csv"},
        ),
    ]
    rows: Annotated[int, Meta(ge=1, le=MOST_PART_ROWS)]
    size: Whole = msgspec.field(name="bytes")
    sha256: Digest

    def __post_init__(self) -> None:
        if not 1 <= self.rows <= MOST_PART_ROWS or self.size < 0 or not _DIGEST.fullmatch(self.sha256):
            raise BundleError(
                "A part must have rows and a SHA-256 digest", f"{self.rows} rows and {self.sha256[:80]!r}"
            )

    def to_json(self) -> dict[str, Any]:
        stated: dict[str, Any] = msgspec.to_builtins(self)
        return stated

    @property
    def leaf(self) -> bytes:
        """What the tree has of it: its canonical form (RFC 8785)."""
        return rfc8785.dumps(self.to_json())


def part_name(number: int, form: str) -> str:
    return f"part-{number:05d}.{form}"


def parts_in(records: int, rows: int) -> int:
    """How many parts of so many rows a table is; refused where there are more than names."""
    count = -(-records // rows)
    if count > MOST_PARTS:
        raise RecipeError(
            f"A set must have at most {MOST_PARTS:,} parts",
            f"{count:,} of {rows:,} rows",
            "Raise output.part_rows.",
        )
    return count


@dataclass(frozen=True)
class PartSet:
    """All parts in the order of their rows: each has `rows` rows, and the last one what is left."""

    rows: int
    files: tuple[Part, ...]

    def __post_init__(self) -> None:
        if not 1 <= self.rows <= MOST_PART_ROWS or not 1 <= len(self.files) <= MOST_PARTS:
            raise BundleError(
                "A set must have parts of at least one row", f"{len(self.files)} parts of {self.rows} rows"
            )
        forms = {match[2] for part in self.files if (match := _NAME.fullmatch(part.name)) is not None}
        if len(forms) != 1 or [p.name for p in self.files] != self.names(len(self.files), forms.pop()):
            raise BundleError(
                "The parts of a set must be named by their numbers, in their order", repr(self.files[0].name)
            )
        if any(part.rows != self.rows for part in self.files[:-1]) or self.files[-1].rows > self.rows:
            raise BundleError(
                f"Every part but the last must have {self.rows} rows", f"up to {max(p.rows for p in self.files)}"
            )

    @staticmethod
    def names(count: int, form: str) -> list[str]:
        return [part_name(number, form) for number in range(count)]

    @property
    def form(self) -> str:
        return self.files[0].name.rpartition(".")[2]

    @property
    def records(self) -> int:
        return sum(part.rows for part in self.files)

    @cached_property
    def root(self) -> str:
        return merkle_root(part.leaf for part in self.files).hex()

    def _has(self, name: str) -> bool:
        match = _NAME.fullmatch(name)
        return match is not None and int(match[1]) < len(self.files) and self.files[int(match[1])].name == name

    def number(self, name: str) -> int:
        """Which part that is."""
        if not self._has(name):
            must = f"A part of this bundle must be one of {self.files[0].name} to {self.files[-1].name}"
            bare = name.replace("\\", "/").rpartition("/")[2]
            hint = f"Write its name alone: {bare}." if bare != name and self._has(bare) else None
            raise BundleError(must, repr(name[:80]), hint)
        return int(name[5:10])

    def to_json(self) -> dict[str, Any]:
        return {"rows": self.rows, "root": self.root, "files": [part.to_json() for part in self.files]}

    @classmethod
    def from_json(cls, statement: Mapping[str, Any]) -> PartSet:
        """What a certificate states, whose root must be that of its parts."""
        parts = cls(statement["rows"], msgspec.convert(statement["files"], tuple[Part, ...]))
        if parts.root != statement["root"]:
            raise BundleError(
                "The root of a certificate must be that of its parts", f"{statement['root'][:12]}..."
            )
        return parts


def part_files(folder: Path) -> Sequence[Path]:
    """The parts in a folder, which must hold all of them and nothing else; no link is followed."""
    if folder.is_symlink() or not folder.is_dir():
        raise BundleError(f"{folder} must be a folder of parts", "none, or a symbolic link")
    paths = sorted(folder.iterdir())
    forms = {path.suffix[1:] for path in paths}
    if len(forms) != 1 or [path.name for path in paths] != PartSet.names(len(paths), forms.pop()):
        raise BundleError(f"{folder} must hold the parts of a set, and nothing else", f"{len(paths)} files")
    return [own_file(path) for path in paths]
