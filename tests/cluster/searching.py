"""Looking for secrets and values of the source in whatever a cluster has written.

Files are searched as they are, and what is in them where they are compressed the way Spark does it: Zstandard, LZ4
and Snappy, from wherever in the file such a stream begins, as far as it can be read.
"""

from __future__ import annotations

import base64
import contextlib
import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa

_ZSTD = b"\x28\xb5\x2f\xfd"
_LZ4_FRAME = b"\x04\x22\x4d\x18"
_LZ4_BLOCK = b"LZ4Block"  # lz4-java: then a byte, two lengths, a check
_LZ4_HEAD = len(_LZ4_BLOCK) + 13
_LZ4_RAW = 0x10  # the upper half of that byte: not compressed
_SNAPPY = b"\x82SNAPPY\x00"  # snappy-java: then two versions, and pieces with their lengths
_SNAPPY_HEAD = len(_SNAPPY) + 8
_LARGEST = 1 << 28


def found(secrets: Mapping[str, bytes], files: Iterable[Path]) -> dict[str, list[str]]:
    """The names of the secrets that are in some file, and the files."""
    forms = {name: _forms(secret) for name, secret in secrets.items()}
    places: dict[str, list[str]] = {}
    for path in files:
        with contextlib.suppress(FileNotFoundError):  # temporary files come and go
            contents = list(layers(path.read_bytes()))
            for name, own in forms.items():
                if any(form in content for content in contents for form in own):
                    places.setdefault(name, []).append(str(path))
    return places


def _forms(secret: bytes) -> list[bytes]:
    """As it is, in hexadecimal, as Python and JSON write it, and in base 64 wherever in a text it begins."""
    forms = [secret, secret.hex().encode(), secret.hex().upper().encode(), repr(secret)[2:-1].encode()]
    with contextlib.suppress(UnicodeDecodeError):
        forms += [secret.decode().encode(kind) for kind in ("utf-16-le", "utf-16-be")]
    for lead in range(3):
        whole = base64.b64encode(b"\0" * lead + secret)
        forms.append(whole[(8 * lead + 5) // 6 : (8 * (lead + len(secret))) // 6])
    return forms


def layers(content: bytes) -> Iterator[bytes]:
    """The content, and every stream in it, decompressed."""
    yield content
    for start in _places(content, _ZSTD):
        yield _streamed(content[start:], "zstd")
    for start in _places(content, _LZ4_FRAME):
        yield _streamed(content[start:], "lz4")
    yield b"".join(_lz4_blocks(content))
    for start in _places(content, _SNAPPY):
        yield b"".join(_snappy_pieces(content, start + _SNAPPY_HEAD))


def _places(content: bytes, magic: bytes) -> Iterator[int]:
    start = content.find(magic)
    while start >= 0:
        yield start
        start = content.find(magic, start + 1)


def _streamed(content: bytes, kind: str) -> bytes:
    """As much as can be read: a file may be cut off, or go on with something else."""
    read = io.BytesIO()
    with contextlib.suppress(OSError, pa.ArrowException):
        stream = pa.input_stream(pa.BufferReader(content), compression=kind)
        while piece := stream.read(1 << 12):
            read.write(piece)
    return read.getvalue()


def _lz4_blocks(content: bytes) -> Iterator[bytes]:
    for start in _places(content, _LZ4_BLOCK):
        head = content[start + len(_LZ4_BLOCK) : start + _LZ4_HEAD]
        if len(head) < 13:
            return
        packed, plain = (int.from_bytes(head[i : i + 4], "little") for i in (1, 5))
        body = content[start + _LZ4_HEAD : start + _LZ4_HEAD + packed]
        if head[0] & 0xF0 == _LZ4_RAW:
            yield body
        elif plain <= _LARGEST:
            yield _unpacked(body, "lz4_raw", plain)


def _snappy_pieces(content: bytes, start: int) -> Iterator[bytes]:
    while start + 4 <= len(content):
        length = int.from_bytes(content[start : start + 4], "big")
        body = content[start + 4 : start + 4 + length]
        if not body or len(body) < length:
            return
        yield _unpacked(body, "snappy", _varint(body))
        start += 4 + length


def _unpacked(body: bytes, kind: str, size: int) -> bytes:
    with contextlib.suppress(OSError, pa.ArrowException):
        return bytes(pa.decompress(body, size, codec=kind, asbytes=True))
    return b""


def _varint(body: bytes) -> int:
    size = shift = 0
    for byte in body[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return min(size, _LARGEST)
