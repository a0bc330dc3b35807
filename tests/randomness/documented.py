"""Streams, coins and order as docs/certificate.md states them, from library primitives alone.

Nothing of Pramana is imported: what tests expect of the product does not come from the product.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes


def subkey(secret: bytes, *name: str | int) -> bytes:
    text = json.dumps(["pramana", 1, *name], ensure_ascii=True, separators=(",", ":"))
    return hmac.new(secret, text.encode("ascii"), hashlib.sha256).digest()


def words(secret: bytes, purpose: str, context: str, column: str, count: int, draw: int = 0) -> tuple[int, ...]:
    """The first words of a stream, as numbers."""
    key = subkey(secret, "stream", purpose, context, column, draw)
    keystream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor().update(bytes(8 * count))
    return struct.unpack(f"<{count}Q", keystream)


def order(secret: bytes, context: str, rows: int) -> list[int]:
    """The rows of the source in the order in which they are published."""
    tags = words(secret, "shuffle", context, "", 2 * rows)
    return sorted(range(rows), key=lambda row: tags[2 * row : 2 * row + 2])


def context_of(certificate: Mapping[str, Any]) -> str:
    """What coins and order of a release by retention or matrix are bound to."""
    law = json.dumps(certificate["mechanism"]["law"], sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(law.encode("ascii")).hexdigest()
    return f"{certificate['dataset']}\n{digest}\n{certificate['source']['commitment']}"


def content(columns: Mapping[str, tuple[int, Sequence[int]] | Sequence[str]]) -> str:
    """The content digest. A column is its domain's size with its codes, or its texts; both in published order."""
    total = hashlib.sha256()
    for name, column in columns.items():
        total.update(len(name.encode()).to_bytes(8, "little") + name.encode())
        if isinstance(column, tuple):
            size, codes = column
            width = 1 if size <= 256 else 2 if size <= 65_536 else 4
            total.update(hashlib.sha256(b"".join(code.to_bytes(width, "little") for code in codes)).digest())
        else:
            texts = [text.encode() for text in column]
            lengths = b"".join(len(text).to_bytes(8, "little") for text in texts)
            total.update(hashlib.sha256(lengths).digest() + hashlib.sha256(b"".join(texts)).digest())
    return total.hexdigest()


def retained(word: int, true: int, size: int, step: int) -> int:
    """The published code of a channel of kind retention."""
    drawn = word >> 2
    return drawn // step if drawn < size * step else true


def retained_record(coin: int, word: int, true: int, size: int, bound: int) -> int:
    """The published code of one attribute where the record has one coin."""
    return word * size >> 64 if coin >> 2 < bound else true
