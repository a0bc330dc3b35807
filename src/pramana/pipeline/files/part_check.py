"""The parts of a set, held against its certificate: all of them, one of them, or those that are made again."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from pramana.bundle import MOST_NAMED, Bundle, Check, Part, PartSet, Spread, WrittenFile, first_names
from pramana.errors import BundleError
from pramana.randomness import available_cores
from pramana.rows import ahead
from pramana.stores import open_regular

T = TypeVar("T")


def certified_parts(bundle: Bundle) -> PartSet:
    parts = bundle.certificate.parts
    if parts is None:
        raise BundleError(f"The bundle {bundle.path} must be a set of files to have parts", "one data file")
    return parts


def check_parts(bundle: Bundle) -> list[Check]:
    """Every part is there and as certified, and nothing else is; files are digested a few at a time."""
    parts, folder = certified_parts(bundle), bundle.data_path
    if folder.is_symlink() or not folder.is_dir():
        return [Check("parts", False, f"the folder {folder.name} is missing, or a symbolic link")]
    failed = list(_failed(folder, parts.files, bundle.spread))
    checks = [Check(f"digest {name}", False, told) for name, told in failed[:MOST_NAMED]]
    if unknown := sorted({path.name for path in folder.iterdir()} - {part.name for part in parts.files}):
        checks.append(Check("parts", False, f"not in the certificate: {first_names(unknown)}"))
    told = f"{len(parts.files)} files as certified, of which {parts.root} is the root"
    if failed:
        told = f"{len(failed)} of {len(parts.files)} are not as certified"
    return [*checks, Check("parts", not failed, told)]


def check_one_part(bundle: Bundle, name: str) -> Check:
    """One part, whether the others are there or not."""
    parts = certified_parts(bundle)
    part = parts.files[parts.number(name)]
    failed = next(_failed(bundle.data_path, [part]), None)
    return Check(f"digest {name}", failed is None, "as certified" if failed is None else failed[1])


def _failed(folder: Path, parts: Sequence[Part], spread: Spread | None = None) -> Iterator[tuple[str, str]]:
    """The parts that are not as certified, and why."""
    fault = partial(_fault, folder.absolute())
    yield from filter(
        None, ahead(fault, parts, available_cores()) if spread is None else spread.each(fault, parts)
    )


def _fault(folder: Path, part: Part) -> tuple[str, str] | None:
    try:
        file = open_regular(folder / part.name, follow=False)
    except FileNotFoundError:
        return part.name, "the file is missing"
    except OSError:
        return part.name, "no file that can be read"
    with file:
        same = os.fstat(file.fileno()).st_size == part.size
        if same and hashlib.file_digest(file, "sha256").hexdigest() == part.sha256:
            return None
    return part.name, "differs from the certificate"


@dataclass(frozen=True)
class ComparedParts:
    """Takes parts that are made again and writes none: each is held against the one that was published."""

    bundle: Bundle
    other: list[str] = field(default_factory=list)  # parts with other rows
    rewritten: list[str] = field(default_factory=list)  # with the same rows, as another version writes them

    def write(self, name: str, fill: Callable[[BinaryIO], T]) -> tuple[WrittenFile, T]:
        made = io.BytesIO()
        result = fill(made)
        content = made.getbuffer()
        digest = hashlib.sha256(content).hexdigest()
        published = {part.name: part.sha256 for part in certified_parts(self.bundle).files}
        if published.get(name) != digest:
            same = name in published and self._same_rows(name, made)
            (self.rewritten if same else self.other).append(name)
        return WrittenFile(len(content), digest), result

    def _same_rows(self, name: str, made: BinaryIO) -> bool:
        made.seek(0)
        if self.bundle.certificate.output == "csv":
            return False
        try:
            return bool(pq.read_table(made).equals(pq.read_table(self.bundle.data_path / name)))
        except (OSError, pa.ArrowException):
            return False

    def check(self, parts: PartSet) -> Check:
        """Once all of them were made; of those that executors made, only digests came back."""
        published = certified_parts(self.bundle)
        if [part.name for part in parts.files] != [part.name for part in published.files]:
            return Check("made again", False, "another number of parts")
        pairs = zip(parts.files, published.files, strict=True)
        differing = [made.name for made, known in pairs if made.sha256 != known.sha256]
        if other := [name for name in differing if name not in self.rewritten]:
            compared = other[0] in self.other
            told = f"other rows, first in {other[0]}" if compared else f"other bytes, first in {other[0]}"
            return Check(
                "made again", False, told if compared else f"{told}; the local engine compares their rows"
            )
        told = "the same rows; the parts were written by another version" if self.rewritten else "byte for byte"
        return Check("made again", True, told)
