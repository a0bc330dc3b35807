"""Room on disk for what does not fit in memory: a file without a name, encrypted under a key that is kept nowhere.

The system frees the file however the process ends, and what a disk may still hold of it no one can read. The first
pieces, as many bytes of them as are allowed, stay in memory: a small table never touches the disk.
"""

from __future__ import annotations

import errno
import os
import secrets
import tempfile
import threading
from bisect import bisect_right
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from pramana.errors import BundleError

_BLOCK = 16
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Scratch:
    """Append pieces, which must not change any more, read them back by where they start.

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
            if error.errno in _NO_ROOM:
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
                raise BundleError(f"The temporary files in {self.folder} must stay as they are", "a shorter one")
            done += got
        self._crypt(offset, data, data)
        return data

    def _crypt(self, start: int, data: Any, out: NDArray[np.uint8]) -> None:
        """Counter mode: to hide and to show is the same."""
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
