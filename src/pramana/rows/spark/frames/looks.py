"""How a Parquet file looks without its rows: whether the one that is read is the one that Spark has read.

Its size and footer are the same wherever a copy of it lies. The footer tells where every column of every row group
lies, how long it is and, as writers do, its least and greatest value. On the machine that took the first look also
the file itself must be the same one, and as old.
"""

from __future__ import annotations

import hashlib
import os
import platform
from dataclasses import dataclass
from pathlib import Path

_TAIL = 8  # bytes after the footer: its length, and what every Parquet file ends with


@dataclass(frozen=True)
class FileLook:
    """What was seen of a file."""

    size: int
    footer: str  # its digest
    machine: str
    here: tuple[int, int, int]  # where it lies on that machine's disks, and when it was written

    @classmethod
    def at(cls, path: Path) -> FileLook:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            file.seek(max(status.st_size - _TAIL, 0))
            length = int.from_bytes(file.read(_TAIL)[:4], "little")
            file.seek(max(status.st_size - _TAIL - length, 0))
            footer = hashlib.sha256(file.read(length + _TAIL)).hexdigest()
        here = (status.st_dev, status.st_ino, status.st_mtime_ns)
        return cls(status.st_size, footer, platform.node(), here)

    def is_of(self, path: Path) -> bool:
        try:
            now = FileLook.at(path)
        except OSError:
            return False
        same_place = now.here == self.here if now.machine == self.machine else True
        return same_place and (now.size, now.footer) == (self.size, self.footer)
