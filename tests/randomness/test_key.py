"""Streams are those of docs/certificate.md, every part of a name counts, and a commitment tells no key."""

from __future__ import annotations

import os
import secrets
from itertools import combinations

import numpy as np
import pytest
from tests.randomness import documented

from pramana.randomness.key import Key, Stream, fresh_words

SECRET = bytes(range(7, 39))
KEY = Key(SECRET)
NAMES = [
    ("value", "context", "column", 0),
    ("coin", "context", "column", 0),
    ("value", "other", "column", 0),
    ("value", "context", "other", 0),
    ("value", "context", "column", 1),
    ("valuecontext", "", "column", 0),
    ("value", "contextcolumn", "", 0),
    ("value", "context", "column0", 0),
    ("value", 'con"text', "col\u00fcmn\n", 0),
]


def stream_of(name: tuple[str, str, str, int]) -> Stream:
    purpose, context, column, draw = name
    return KEY.stream(purpose, context, column, draw)


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_is_the_documented_one_wherever_it_is_read_from(name: tuple[str, str, str, int]) -> None:
    purpose, context, column, draw = name
    wanted = documented.words(SECRET, purpose, context, column, 70, draw)
    stream = stream_of(name)
    for first, count in ((0, 70), (1, 5), (2, 3), (7, 63), (69, 1)):
        assert tuple(stream.words(first, count).tolist()) == wanted[first : first + count]
    assert [tuple(block) for block in stream.blocks(3, 4).tolist()] == [
        wanted[2 * i : 2 * i + 2] for i in range(3, 7)
    ]
    places = np.array([9, 0, 30], np.uint64)
    assert stream.blocks_at(0, places).tolist() == [list(wanted[2 * i : 2 * i + 2]) for i in (9, 0, 30)]


def test_a_long_stream_is_one_stream() -> None:
    """Longer than the zeros that are enciphered at a time."""
    wanted = documented.words(SECRET, "value", "", "", 70_000)
    assert tuple(KEY.stream("value").words(0, 70_000).tolist()) == wanted


def test_streams_share_no_word() -> None:
    """Names that differ in any part, also in where one part ends and the next begins."""
    found = [set(stream_of(name).words(0, 500).tolist()) for name in NAMES]
    assert not any(one & other for one, other in combinations(found, 2))
    assert not found[0] & set(Key(SECRET[::-1]).stream(*NAMES[0][:3]).words(0, 500).tolist())


def test_the_commitment_is_the_documented_one_and_shows_nothing_of_the_key() -> None:
    commitment = KEY.commitment()
    assert commitment == documented.subkey(SECRET, "commitment").hex()
    parts = {SECRET[i : i + 4].hex() for i in range(len(SECRET) - 3)}
    assert not [part for part in parts if part in commitment]
    other = Key(SECRET[:-1] + bytes([SECRET[-1] ^ 1])).commitment()
    alike = sum(a == b for a, b in zip(bytes.fromhex(commitment), bytes.fromhex(other), strict=True))
    assert alike <= 3, "one bit of the key changes all of it"


def test_the_commitment_opens_no_stream() -> None:
    """Whoever has it has the subkey of no stream that a release reads."""
    public = bytes.fromhex(KEY.commitment())
    streams = [KEY.stream(p, "", c) for p in ("shuffle", "value", "coin", "within bin") for c in ("", "a")]
    assert public not in [stream.subkey for stream in streams]


def test_keys_and_fresh_words_come_from_the_operating_systems_entropy(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len({Key.create().secret for _ in range(50)}) == 50
    assert len({fresh_words(4).tobytes() for _ in range(50)}) == 50
    assert len(set(fresh_words(10_000).tolist())) == 10_000
    asked: list[int] = []

    def entropy(count: int) -> bytes:
        asked.append(count)
        return bytes(range(count))

    monkeypatch.setattr(os, "urandom", entropy)
    assert fresh_words(2).tobytes() == bytes(range(16)) and asked == [16]
    monkeypatch.setattr(secrets, "token_bytes", entropy)
    assert Key.create().secret == bytes(range(32)) and asked == [16, 32]
