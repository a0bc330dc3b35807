"""The bounds of a release of a table larger than memory: how much room, and how it is shared out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pramana.errors import RecipeError
from pramana.randomness import MOST_BUCKET_BITS, available_cores
from pramana.rows.local import keep_freed_memory
from pramana.rows.scratch import Scratch
from pramana.sources import ROW_GROUP

LEAST_MEMORY = 512 << 20
_PROGRAM = 288 << 20  # what the interpreter and its libraries take before a row is read
_HELD = 32 << 20  # bytes of scratch room that stay in memory, where there is room for them
_ROWS = 1 << 18  # rows that are read and published at a time, where memory allows


@dataclass(frozen=True)
class BatchEngine:
    """How many threads, how much memory, and the folder whose disk takes what does not fit."""

    memory: int = 2 << 30
    threads: int = 0
    folder: Path = field(default_factory=Path.cwd)

    def __post_init__(self) -> None:
        if self.memory < LEAST_MEMORY:
            raise RecipeError(f"memory must be at least {LEAST_MEMORY:,} bytes", f"{self.memory:,}")
        keep_freed_memory()

    @property
    def workers(self) -> int:
        return self.threads or available_cores()

    @property
    def room(self) -> int:
        """Bytes for what is worked on, once the program itself is loaded."""
        return self.memory - _PROGRAM

    def scratch(self) -> Scratch:
        return Scratch(self.folder, min(_HELD, self.room // 16))

    def batch_rows(self, columns: int) -> int:
        """Rows of a batch: a dozen of them, some 32 bytes a cell, are in the making at one time."""
        return max(1 << 12, min(_ROWS, self.room // (12 * 32 * max(1, columns))))

    def bucket_bits(self, records: int, width: int) -> int:
        """So many buckets that those in the making at one time take half of the memory that is ours."""
        room = self.room // (2 * (self.workers + 2))
        each = 48 + 4 * width  # bytes a row takes while its bucket is put in order, decoded and written
        few = min(4, (records // ROW_GROUP).bit_length())  # threads share the work, and write while they do
        return min(MOST_BUCKET_BITS, max(few, (records * each // room).bit_length()))
