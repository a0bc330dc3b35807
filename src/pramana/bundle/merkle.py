"""The root of a Merkle tree, as RFC 6962 builds it (section 2.1): one digest that stands for a list.

Leaves and nodes are told apart by a byte before them, so that no list can pass for another one of the same root.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

_LEAF, _NODE = b"\0", b"\1"


def merkle_root(leaves: Iterable[bytes]) -> bytes:
    """SHA-256 over the tree of a list: the left branch holds the largest power of two below its length.

    Nodes are put together as soon as two of the same height stand side by side; at the end the rest, which get
    smaller from left to right, are joined from the right.
    """
    waiting: list[tuple[int, bytes]] = []  # heights and digests, left to right
    for leaf in leaves:
        height, digest = 0, _digest(_LEAF, leaf)
        while waiting and waiting[-1][0] == height:
            digest = _digest(_NODE, waiting.pop()[1], digest)
            height += 1
        waiting.append((height, digest))
    if not waiting:
        return hashlib.sha256().digest()
    _, root = waiting.pop()
    while waiting:
        root = _digest(_NODE, waiting.pop()[1], root)
    return root


def _digest(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()
