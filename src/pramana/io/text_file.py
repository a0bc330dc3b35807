"""Text files: packed or not, in whatever encoding. What is not stated is recognised by rules, never by chance.

The rules, in this order: a byte order mark; bytes that are UTF-8; zeros in every second place, which are UTF-16;
and what else a western office writes, Windows-1252. A text whose letters beyond ASCII stand side by side is in
none of these (Cyrillic, Greek, Chinese): its encoding must be stated.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, BinaryIO, cast

import pyarrow as pa

from pramana.errors import SourceError
from pramana.files.atomic import open_regular
from pramana.files.locations import arrow_file
from pramana.files.store_path import AnyPath, StorePath

UTF8 = "utf-8"
WINDOWS = "cp1252"
MOST_RATIO = 200  # bytes that a packed file may stand for, for each of its own
LEAST_BOUND = 1 << 26  # bytes that any packed file may stand for
PACKED_MARKS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
TEXT_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)  # those of UTF-32 first: they begin with those of UTF-16
_SCANNED = 1 << 26  # bytes that are looked at; a file that changes its encoding later is refused when it is read
_BLOCK = 1 << 20
_NOT_WINDOWS = frozenset(b"\x81\x8d\x8f\x90\x9d")  # the five bytes that Windows-1252 leaves open


@dataclass(frozen=True)
class TextFile:
    """A file of text and how it is packed."""

    path: AnyPath
    packed: str | None

    @classmethod
    def at(cls, path: AnyPath) -> TextFile:
        with path.open() if isinstance(path, StorePath) else open_regular(path) as file:
            head = file.read(4)
        return cls(path, next((name for mark, name in PACKED_MARKS.items() if head.startswith(mark)), None))

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Its bytes, unpacked as they are read, and no more of them than a table could have."""
        with arrow_file(self.path) as file:
            if self.packed is None:
                yield cast(BinaryIO, file)
                return
            with pa.CompressedInputStream(file, self.packed) as stream:
                yield cast(BinaryIO, _Bounded(stream, self.path))

    def head(self, size: int) -> bytes:
        with self.open() as file:
            return _read_up_to(file, size)

    def recognised(self, scanned: int = _SCANNED) -> str:
        """The encoding, from the file's beginning; refused where the rules do not tell."""
        with self.open() as file:
            first = _read_up_to(file, min(_BLOCK, scanned))
            if (encoding := wide_encoding(first)) is not None:
                return encoding
            decoder, seen = codecs.getincrementaldecoder(UTF8)(), 0
            block = first
            try:
                while block and seen < scanned:
                    if not block.isascii() or decoder.getstate()[0]:
                        decoder.decode(block)
                    seen += len(block)
                    block = file.read(_BLOCK)
                if not block:
                    decoder.decode(b"", True)
            except UnicodeDecodeError:
                return self._western(first + block)
        return UTF8

    def _western(self, sample: bytes) -> str:
        """Windows-1252, unless its letters say otherwise: accented ones seldom stand side by side."""
        high = [byte > 127 for byte in sample]
        neighbours = sum(a and b for a, b in pairwise(high))
        if _NOT_WINDOWS & set(sample) or 2 * neighbours > sum(high):
            raise SourceError(
                f"The encoding of {self.path} must be stated",
                "bytes that are neither UTF-8 nor Windows-1252",
                'Set encoding in [source], for example "cp1250", "cp1251" or "shift_jis".',
            )
        return WINDOWS


def wide_encoding(first: bytes) -> str | None:
    """The encoding of a text whose zeros are halves of letters, by its mark or by where the zeros are."""
    for mark, name in TEXT_MARKS:
        if first.startswith(mark):
            return name
    sample = first[:4096]
    half = len(sample) // 2
    if half >= 2:
        for name, zeros in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[0::2])):
            if zeros.count(0) > 0.4 * half and sample.count(0) == zeros.count(0):
                return name
    return None


def _read_up_to(file: BinaryIO, size: int) -> bytes:
    parts: list[bytes] = []
    while size > 0 and (part := file.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


class ByteReader(io.RawIOBase):
    """A stream of bytes whose `read` a subclass has."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self.read(len(buffer))
        buffer[: len(block)] = block
        return len(block)


class _Bounded(ByteReader):
    """An unpacked stream that ends in a refusal where it is longer than a table of the file's size could be."""

    def __init__(self, stream: pa.NativeFile, path: AnyPath) -> None:
        self._stream, self._path = stream, path
        self._left = self._most = max(LEAST_BOUND, MOST_RATIO * path.stat().st_size)

    def read(self, size: int | None = -1) -> bytes:
        block: bytes = self._stream.read(_BLOCK if size is None or size < 0 else size)
        self._left -= len(block)
        if self._left < 0:
            raise SourceError(
                f"The packed file {self._path} must unpack to at most {MOST_RATIO} times its size",
                f"more than {self._most:,} bytes",
                "If it is meant to, unpack it first.",
            )
        return block
