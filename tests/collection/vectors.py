"""`python -m tests.collection.vectors` writes the published test vectors anew.

What is to be published is worked out here by a third implementation, in Python's own integers and as plainly as it
goes; the C kernels and the browser's module are both held against the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ONE = 1 << 62
WORD = 1 << 64
FILE = Path(__file__).parents[2] / "src" / "pramana" / "app" / "collector" / "randomiser" / "vectors.json"


def alias_row(row: Sequence[int]) -> list[tuple[int, int]]:
    """Slots of (chances of the own value, other value), by Walker's method: the last of each list comes first."""
    slots = 1
    while slots < len(row):
        slots *= 2
    capacity = ONE // slots
    left = {value: (row[value] if value < len(row) else 0) for value in range(slots)}
    poor = [value for value in left if left[value] < capacity]
    rich = [value for value in left if left[value] >= capacity]
    table = [(0, value) for value in range(slots)]
    while poor:
        slot, donor = poor.pop(), rich[-1]
        table[slot] = (left[slot], donor)
        left[donor] -= capacity - left[slot]
        if left[donor] < capacity:
            poor.append(rich.pop())
    return table


def drawn(channel: Mapping[str, Any], code: int, word: int) -> int:
    r = word // 4
    if channel["kind"] == "dense":
        table = alias_row([int(weight) for weight in channel["weights"][code]])
        slot, rest = divmod(r, ONE // len(table))
        own, other = table[slot]
        return slot if rest < own else other
    size = channel["size"]
    step = ONE // size if channel["kind"] == "redrawn" else int(channel["step"])
    kept = 0 if channel["kind"] == "redrawn" else code
    return r // step if step and r < size * step else kept


def published(
    law: Mapping[str, Any], columns: Sequence[str], codes: Sequence[int], words: Sequence[int]
) -> list[int]:
    if law["coin"] == "attribute":
        return [drawn(law["channels"][n], c, w) for n, c, w in zip(columns, codes, words, strict=True)]
    redrawn = words[0] // 4 < int(law["bound"])
    fresh = [word * law["sizes"][name] // WORD for name, word in zip(columns, words[1:], strict=True)]
    return fresh if redrawn else list(codes)


def laws() -> list[tuple[dict[str, Any], list[str]]]:
    asymmetric = [[5, 2, 1], [1, 6, 1], [3, 3, 2]]
    dense = [[str(ONE // 8 * part) for part in row] for row in asymmetric]
    uneven = [[str(ONE - 3), "1", "1", "1", "0"], ["0", "0", str(ONE), "0", "0"]]
    uneven += [[str(ONE // 2), "0", "0", "0", str(ONE // 2)]] * 3
    channels = {
        "one": {"kind": "retention", "size": 2, "step": str(ONE // 7)},
        "two": {"kind": "retention", "size": 5, "step": str(ONE // 5)},
        "sure": {"kind": "retention", "size": 3, "step": "0"},
        "redrawn": {"kind": "redrawn", "size": 3},
        "dense": {"kind": "dense", "weights": dense},
        "uneven": {"kind": "dense", "weights": uneven},
        "10": {"kind": "retention", "size": 300, "step": "1"},
        "single": {"kind": "dense", "weights": [[str(ONE)]]},
    }
    each = [({"coin": "attribute", "channels": {n: c}}, [n]) for n, c in channels.items()]
    together = ({"coin": "attribute", "channels": channels}, ["10", *(n for n in channels if n != "10")])
    sizes = {"b": 2, "a": 3, "7": 10}
    record = ({"coin": "record", "sizes": sizes, "bound": str(ONE // 3)}, ["b", "a", "7"])
    return [*each, together, record]


def sizes_of(law: Mapping[str, Any], columns: Sequence[str]) -> list[int]:
    if law["coin"] == "record":
        return [law["sizes"][name] for name in columns]
    return [len(c["weights"]) if "weights" in c else c["size"] for c in (law["channels"][n] for n in columns)]


def edges(law: Mapping[str, Any]) -> list[int]:
    """Words on both sides of every place where a decision turns."""
    places = {0, ONE - 1, ONE // 2, ONE // 4, ONE // 8, ONE // 3, ONE // 8 * 5}
    channels = law["channels"].values() if law["coin"] == "attribute" else []
    for channel in channels:
        if channel["kind"] == "retention":
            places |= {int(channel["step"]) * n for n in (1, 2, channel["size"])}
        if channel["kind"] == "redrawn":
            places |= {ONE // channel["size"] * n for n in (1, 2, channel["size"])}
    places |= {int(law["bound"])} if law["coin"] == "record" else set()
    around = {place + off for place in places for off in (-1, 0, 1)}
    return sorted(4 * r + low for r in around if 0 <= r < ONE for low in (0, 3))


def cases() -> list[dict[str, Any]]:
    made = []
    for number, (law, columns) in enumerate(laws()):
        sizes = sizes_of(law, columns)
        stream = [
            int.from_bytes(hashlib.sha256(f"vector {number} {i}".encode()).digest()[:8], "little")
            for i in range(200)
        ]
        reads = len(columns) + (law["coin"] == "record")
        source = [*edges(law), *stream]
        for first in range(0, len(source) - reads + 1, reads):
            words = source[first : first + reads]
            codes = [(first + 7 * i) % size for i, size in enumerate(sizes)]
            sent = published(law, columns, codes, words)
            made.append({"law": number, "words": [str(w) for w in words], "codes": codes, "published": sent})
    return made


def content() -> str:
    about = (
        "Given the words (64 bits each, in the order they are read) and the true codes, these codes are published."
    )
    listed = ",\n".join(f"  {json.dumps(case)}" for case in cases())
    stated = ",\n".join(f"  {json.dumps({'columns': columns, 'law': law})}" for law, columns in laws())
    return f'{{\n "about": {json.dumps(about)},\n "laws": [\n{stated}\n ],\n "cases": [\n{listed}\n ]\n}}\n'


if __name__ == "__main__":
    FILE.write_text(content())
