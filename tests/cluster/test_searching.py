"""The search finds what it must find, in every form and through every compression that Spark may use."""

from __future__ import annotations

import base64
import struct
from pathlib import Path

import pyarrow as pa
import pytest
from tests.cluster.searching import found

CANARY = b"canary-Quetzalcoatlus-19"
_HALF = len(CANARY) // 2
# both halves have occurred before, so that a compressed stream does not have the whole as it is
AROUND = CANARY[_HALF:] * 9 + CANARY[:_HALF] * 9 + b" " + CANARY + b" and after it; " * 30


def _lz4_block(content: bytes) -> bytes:
    """As lz4-java frames it."""
    packed: bytes = pa.compress(content, codec="lz4_raw", asbytes=True)
    return b"LZ4Block" + struct.pack("<BIII", 0x2A, len(packed), len(content), 0) + packed


def _lz4_stored(content: bytes) -> bytes:
    return b"LZ4Block" + struct.pack("<BIII", 0x1A, len(content), len(content), 0) + content


def _snappy(content: bytes) -> bytes:
    """As snappy-java frames it, in two pieces."""
    pieces = [pa.compress(part, codec="snappy", asbytes=True) for part in (b"x" * 50, content)]
    return b"\x82SNAPPY\x00" + struct.pack(">II", 1, 1) + b"".join(struct.pack(">I", len(p)) + p for p in pieces)


def _cut_zstd(content: bytes) -> bytes:
    """A stream that goes on: its end is not written yet."""
    noise = bytes(range(256)) * 4096
    whole: bytes = pa.compress(content + noise, codec="zstd", asbytes=True)
    return whole[:-3]


@pytest.mark.parametrize(
    "written",
    [
        AROUND,
        CANARY.hex().encode(),
        repr(b"\xff" + AROUND).encode(),
        *(base64.b64encode(b"x" * lead + AROUND) for lead in range(3)),
        CANARY.decode().encode("utf-16-be"),
        pa.compress(AROUND, codec="zstd", asbytes=True),
        b"before" + pa.compress(AROUND, codec="zstd", asbytes=True),
        pa.compress(AROUND, codec="lz4", asbytes=True),
        _lz4_block(b"first" * 9) + _lz4_block(AROUND),
        _lz4_stored(AROUND),
        _snappy(AROUND),
    ],
)
def test_a_planted_value_is_found(tmp_path: Path, written: bytes) -> None:
    file = tmp_path / "shuffle_0_0_0.data"
    file.write_bytes(b"\0" * 7 + written)
    assert found({"canary": CANARY, "other": b"nothing of the kind"}, [file]) == {"canary": [str(file)]}


def test_a_stream_that_is_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "events.zstd"
    file.write_bytes(_cut_zstd(AROUND))
    assert found({"canary": CANARY}, [file]) == {"canary": [str(file)]}
    file.write_bytes(_cut_zstd(AROUND[:200]))
    assert found({"canary": CANARY}, [file]) == {}
