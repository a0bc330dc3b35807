"""Temporary data: pieces of a table that do not fit in memory, and texts that must be read by a path.

Pieces go to a file without a name, encrypted under a key that is kept nowhere. The system frees the file however
the process ends, and nobody can read what a disk may still hold of it. The first pieces, up to a number of
bytes, stay in memory: a small table never touches the disk. Texts are files in memory, which end with the
process.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
import threading
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from pramana.errors import BundleError
from pramana.files.atomic import NO_ROOM
from pramana.files.folder import scratch_beside

_BLOCK = 16


class Scratch:
    """Append pieces, which must not change any more, and read them back by where they start.

    Threads may do both at once. The pieces within the first `in_memory` bytes are kept in memory, as they are.
    """

    def __init__(self, folder: Path, in_memory: int = 0) -> None:
        try:
            self.file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - closed by `close`
        except OSError as error:
            raise BundleError(f"{folder} must take temporary files", error.strerror) from None
        self.folder = folder
        self.key = secrets.token_bytes(32)
        self.in_memory = in_memory
        self.kept: dict[int, NDArray[np.uint8]] = {}  # what stays in memory, by where it starts
        self.starts: list[int] = []  # ascending
        self.border = 0  # where it ends
        self.end = 0
        self.lock = threading.Lock()

    def append(self, data: Any) -> int:
        """Write a piece and return where it starts."""
        plain = memoryview(data).cast("B")
        with self.lock:
            start = self.end
            self.end += -(-len(plain) // _BLOCK) * _BLOCK
            if self.end <= self.in_memory:
                self.starts.append(start)
                self.kept[start] = np.frombuffer(plain, np.uint8)
                self.border = self.end
                return start
        hidden = np.empty(len(plain), np.uint8)
        self._crypt(start, plain, hidden)
        rest = hidden.data
        try:
            while rest:
                done = os.pwrite(self.file.fileno(), rest, start)
                rest, start = rest[done:], start + done
        except OSError as error:
            if error.errno in NO_ROOM:
                raise BundleError(
                    f"{self.folder} must have room for the release and as much for temporary files", "a full disk"
                ) from None
            raise BundleError(f"{self.folder} must take temporary files", error.strerror) from None
        return start - len(plain)

    def read(self, offset: int, length: int) -> NDArray[np.uint8]:
        """`length` bytes of a piece from `offset` on, which need not be where the piece starts."""
        if offset < self.border:
            start = self.starts[bisect_right(self.starts, offset) - 1]
            return self.kept[start][offset - start :][:length]
        data = np.empty(length, np.uint8)
        done = 0
        while done < length:
            got = os.preadv(self.file.fileno(), [data.data[done:]], offset + done)
            if not got:
                raise BundleError(f"A temporary file in {self.folder} was cut short while it was in use")
            done += got
        self._crypt(offset, data, data)
        return data

    def _crypt(self, start: int, data: Any, out: NDArray[np.uint8]) -> None:
        """Encrypt or decrypt, which is the same in counter mode."""
        block, skip = divmod(start, _BLOCK)
        cipher = Cipher(algorithms.AES(self.key), modes.CTR(block.to_bytes(_BLOCK, "big"))).encryptor()
        if skip:
            cipher.update(bytes(skip))
        if len(out):
            cipher.update_into(data, out.data)

    def close(self) -> None:
        self.file.close()
        self.kept.clear()

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextlib.contextmanager
def readable_by_name(texts: Mapping[str, str], beside: Path) -> Iterator[dict[str, Path]]:
    """Yield paths at which texts with values of a table can be read: files in memory, which end with the process.

    A system without files in memory gets a hidden folder beside `beside`; the next run removes that of a killed
    one.
    """
    with contextlib.ExitStack() as stack:
        paths = {}
        folder: Path | None = None
        for name, text in texts.items():
            try:
                file = os.memfd_create("pramana-text", os.MFD_CLOEXEC)
            except (AttributeError, OSError):
                folder = folder or stack.enter_context(scratch_beside(beside))
                paths[name] = folder / name
                paths[name].write_text(text, "utf-8", newline="")
                continue
            stack.callback(os.close, file)
            with os.fdopen(file, "w", encoding="utf-8", newline="", closefd=False) as writing:
                writing.write(text)
            paths[name] = Path(f"/proc/self/fd/{file}")
        yield paths
