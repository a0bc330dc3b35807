"""The secret of a release, and the keyed streams that every coin is read from.

A stream is AES-256 in counter mode under a subkey derived from the release's key and the stream's name
(purpose, context, column, draw). Word i of a stream is its 64 bits at offset 8*i: row i reads word i, so a
published cell is a pure function of key, name, row number and value, whatever the threads or batches.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from pramana.errors import KeyFileError
from pramana.files.atomic import open_regular
from pramana.files.locations import local_path
from pramana.files.secret import KEY_BYTES, NewKey, check_private, commitment

_BLOCK = 16
_ZEROS = memoryview(bytes(1 << 19))


def fresh_words(count: int) -> NDArray[np.uint64]:
    """Words from the operating system's entropy, used once and kept nowhere."""
    return np.frombuffer(os.urandom(8 * count), np.uint64)


@dataclass(frozen=True)
class Stream:
    """A seekable sequence of uniform 64-bit words."""

    subkey: bytes = field(repr=False)

    def fill(self, first: int, out: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Write words first, first+1, ... into `out` (contiguous) and return it."""
        self._keystream(first * 8, out.view(np.uint8))
        return out

    def words(self, first: int, count: int) -> NDArray[np.uint64]:
        return self.fill(first, np.empty(count, np.uint64))

    def blocks(self, first: int, count: int) -> NDArray[np.uint64]:
        """`count` blocks of 128 bits from block `first` on, two words a row: distinct for distinct places."""
        out = np.empty((count, 2), np.uint64)
        self._keystream(first * _BLOCK, out.reshape(-1).view(np.uint8))
        return out

    def blocks_at(self, high: int | NDArray[np.uint64], low: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The blocks at places high * 2^64 + low, in any order: what `blocks` gives at each, two words a row."""
        places = np.empty((len(low), 2), ">u8")
        places[:, 0], places[:, 1] = high, low
        out = np.empty((len(low) + 1, 2), np.uint64)  # the library wants room for one block more
        encryptor = Cipher(algorithms.AES(self.subkey), modes.ECB()).encryptor()
        encryptor.update_into(places.reshape(-1).view(np.uint8).data, out.reshape(-1).view(np.uint8).data)
        return out[:-1]

    def _keystream(self, offset: int, out: NDArray[np.uint8]) -> None:
        block, skip = divmod(offset, _BLOCK)
        encryptor = Cipher(algorithms.AES(self.subkey), modes.CTR(block.to_bytes(_BLOCK, "big"))).encryptor()
        if skip:
            encryptor.update(bytes(skip))
        view = out.data
        for start in range(0, len(view), len(_ZEROS)):
            part = view[start : start + len(_ZEROS)]
            encryptor.update_into(_ZEROS[: len(part)], part)


@dataclass(frozen=True)
class Key:
    """One 256-bit secret, under which a release is drawn. `Key.create` makes one, `Key.read` reads one.

    Args:
        secret: Its 32 bytes.
        seeded: Marks a key made from a number a person chose: reproducible, not private.

    Raises:
        KeyFileError: It has another length, or its file cannot be read or written.

    >>> import pramana
    >>> pramana.Key.from_seed(1).seeded, pramana.Key.create().seeded
    (True, False)
    """

    secret: bytes = field(repr=False)
    seeded: bool = False

    def __post_init__(self) -> None:
        if len(self.secret) != KEY_BYTES:
            raise KeyFileError(
                f"A key must be {KEY_BYTES} bytes",
                f"{len(self.secret)}",
                "Let the tool create one, or run `pramana key new FILE`.",
            )

    @classmethod
    def create(cls) -> Key:
        """A fresh key from the operating system's entropy."""
        return cls(secrets.token_bytes(KEY_BYTES))

    @classmethod
    def from_seed(cls, seed: int) -> Key:
        """A key anyone can guess: for tests, demonstrations and generated data, never for people's data."""
        if isinstance(seed, bool) or not isinstance(seed, Integral):
            raise KeyFileError("A seed must be a whole number", type(seed).__name__)
        return cls(hashlib.sha256(f"pramana seed {seed}".encode()).digest(), seeded=True)

    @classmethod
    def read(cls, path: str | Path) -> Key:
        path = local_path(path, "The key file", KeyFileError)
        try:
            with open_regular(path) as file:  # a key is short; what is long is not worth reading to its end
                text = file.read(1 << 12).decode("ascii").strip()
        except OSError as error:
            raise KeyFileError(f"The key file {path} must be readable", error.strerror) from None
        except ValueError:
            text = ""
        if len(text) != 2 * KEY_BYTES or not set(text.lower()) <= set("0123456789abcdef"):
            raise KeyFileError(
                f"The key file {path} must hold {2 * KEY_BYTES} hexadecimal digits",
                f"{len(text)} characters" if text else "none",
                "A key is written by `pramana release` or `pramana key new FILE`."
                + ("" if text else " An empty file is what a killed run can leave: remove it."),
            )
        check_private(path)
        return cls(bytes.fromhex(text))

    def write(self, path: str | Path) -> None:
        """Create the file, whole and readable by its owner alone; an existing file is never touched."""
        self.to_file(path).write()

    def to_file(self, path: str | Path) -> NewKey:
        """The file that `write` creates, not written yet."""
        if self.seeded:
            raise KeyFileError("A key made from a seed must not be kept as a key file")
        return NewKey(local_path(path, "A key file", KeyFileError), self.secret)

    def derive(self, *name: str | int) -> bytes:
        """The 256-bit subkey of a name; names that differ in any part get unrelated subkeys."""
        message = json.dumps(["pramana", 1, *name], ensure_ascii=True, separators=(",", ":")).encode()
        return hmac.digest(self.secret, message, "sha256")

    def stream(self, purpose: str, context: str = "", column: str = "", draw: int = 0) -> Stream:
        return Stream(self.derive("stream", purpose, context, column, draw))

    def commitment(self) -> str:
        """A public value that tells two keys apart and nothing about either."""
        return commitment(self.secret)
