"""Hostile input by chance, from seeds that are printed: whatever comes in, Pramana's own errors come out.

`make fuzz` runs every fuzzer for a share of FUZZ_SECONDS and tries edits of certificates until the time is over,
after the readers were fuzzed by coverage (`fuzzing/`); `test_fuzz.py` runs a slice of each. A case is repeated
with `python -m tests.security.fuzz NAME SEED`.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.golden.cells import SETTINGS
from tests.security.bundles import (
    CASES,
    copied,
    failed,
    made,
    make_small_tables,
    statement_of,
    write_statement,
)
from tests.security.fuzzing.figures import Figures, store
from tests.security.test_certificate_edits import unnoticed

from pramana import Recipe
from pramana.bundle.bundle import Bundle
from pramana.errors import PramanaError
from pramana.io.source import Source
from pramana.methods.retention.setting import read_matrix
from pramana.recipient.filters import Filter
from pramana.schema.domain import Axis, Domain
from pramana.schema.hierarchy import Hierarchy

Draw = random.Random
TEXTS = [
    "", "a", "F", "sex", "nan", "inf", "-1", "0", "1e308", "1e-400", "٣", "\x00", "\x1b[2J", "\ud800", "=1", "*",
    "x" * 70,
]  # fmt: skip
WORDS = ["and", "or", "not", "in", "is missing", "\x00", "\ufeff", "é"]
SIGNS = [*";,\t\"'\n\r\\ =<>!()|&-+.0123456789eE[]{}abFM*", *WORDS]
FEW = [case for case in CASES if case[0] in ("retention k", "generalize labels", "presence flag")]


def value(draw: Draw, depth: int = 0) -> Any:
    """Anything that TOML could hold, and some things that it could not."""
    kind = draw.randrange(9 if depth < 3 else 6)
    if kind == 0:
        return draw.choice([True, False])
    if kind == 1:
        return draw.choice([0, 1, -1, 2, 5, 2**31, 2**63, 2**64, -(2**70), draw.randrange(-100, 100)])
    if kind == 2:
        return draw.choice([0.0, -0.0, 0.5, 1e308, float("inf"), float("nan"), -1.5, 1e-320, draw.random()])
    if kind in (3, 4):
        return draw.choice(TEXTS)
    if kind == 5:
        return "".join(draw.choices(SIGNS, k=draw.randrange(6)))
    if kind in (6, 7):
        return [value(draw, depth + 1) for _ in range(draw.randrange(4))]
    return {draw.choice(TEXTS): value(draw, depth + 1) for _ in range(draw.randrange(4))}


def damaged(draw: Draw, content: bytes) -> bytes:
    """A few bytes changed, gone, doubled or put in."""
    changed = bytearray(content)
    for _ in range(draw.randrange(1, 5)):
        place = draw.randrange(len(changed) + 1)
        kind = draw.randrange(4)
        if kind == 0 and place < len(changed):
            changed[place] = draw.randrange(256)
        elif kind == 1:
            del changed[place : place + draw.randrange(1, 20)]
        elif kind == 2:
            changed[place:place] = changed[max(0, place - 30) : place]
        else:
            changed[place:place] = draw.choice(SIGNS).encode("utf-8", "surrogatepass")
    return bytes(changed)


# ---------------------------------------------------------------- nothing but PramanaError may come out


def recipes(draw: Draw, folder: Path) -> None:
    """A recipe of some method with a few of its values replaced, keys added and sections gone."""
    name = draw.choice(list(SETTINGS))
    setting, attributes = SETTINGS[name]
    content: dict[str, Any] = {
        "source": {"path": "people.csv"},
        "release": deepcopy(setting),
        "attributes": deepcopy(attributes),
        "output": {"format": "csv"},
    }
    for _ in range(draw.randrange(1, 4)):
        section: Any = content
        for _ in range(draw.randrange(3)):
            inner = [v for v in section.values() if isinstance(v, dict)]
            section = draw.choice(inner) if inner else section
        key = draw.choice([*section, *TEXTS]) if section else draw.choice(TEXTS)
        if draw.random() < 0.2:
            section.pop(key, None)
        else:
            section[key] = value(draw)
    Recipe.parse(content, folder)


def hierarchies(draw: Draw, folder: Path) -> None:
    lines = "".join(f"{i};{i // 10};*\n" for i in range(draw.randrange(1, 30)))
    content = damaged(draw, lines.encode()) if draw.random() < 0.8 else draw.randbytes(draw.randrange(60))
    (folder / "h.csv").write_bytes(content)
    Hierarchy.read(folder / "h.csv")


def matrices(draw: Draw, folder: Path) -> None:
    size = draw.randrange(1, 5)
    lines = "".join(",".join([f"1/{size}"] * size) + "\n" for _ in range(size))
    content = damaged(draw, lines.encode()) if draw.random() < 0.8 else draw.randbytes(draw.randrange(60))
    (folder / "m.csv").write_bytes(content)
    read_matrix(folder / "m.csv")


AXES = [
    Axis.of_domain("sex", Domain.declared(["F", "M"], missing=True)),
    Axis.of_domain("age", Domain.from_bins([0, 20, 40, float("inf")])),
    Axis.of_domain("day", Domain.declared(["2024-01-01", "2024-02-01"])),
]


def filters(draw: Draw, folder: Path) -> None:
    del folder
    parts = [
        "sex",
        "age",
        "day",
        "F",
        "'M'",
        "20",
        "2024-01-15",
        "=",
        "!=",
        "<",
        ">=",
        "in",
        "(",
        ")",
        ",",
        *SIGNS,
    ]
    text = " ".join(draw.choices(parts, k=draw.randrange(1, 12)))
    if draw.random() < 0.5:
        text = damaged(draw, b"sex = F and (age >= 20 or not day < 2024-01-15)").decode("utf-8", "replace")
    Filter.parse(text).select(AXES)


def csv_files(draw: Draw, folder: Path) -> None:
    lines = "sex,age,day\n" + "".join(f"{'FM'[i % 2]},{i},2024-01-{i % 28 + 1:02d}\n" for i in range(20))
    content = damaged(draw, lines.encode()) if draw.random() < 0.9 else draw.randbytes(draw.randrange(200))
    (folder / "t.csv").write_bytes(content)
    source = Source(path=folder / "t.csv")
    if draw.random() < 0.5:
        source.read(["sex", "age"])
    else:
        list(source.batches(["sex", "age"], 7))


def parquet_files(draw: Draw, folder: Path) -> None:
    path = folder / "t.parquet"
    table = pa.table({"sex": pa.array(["F", "M"] * 20).dictionary_encode(), "age": list(range(40))})
    pq.write_table(table, path, compression=draw.choice(["none", "snappy"]))
    content = damaged(draw, path.read_bytes()) if draw.random() < 0.9 else draw.randbytes(draw.randrange(200))
    path.write_bytes(content)
    Source(path=path).read(["sex", "age"])


def published_files(draw: Draw, folder: Path) -> None:
    """A bundle with a damaged file whose digest was made again."""
    name, kind = draw.choice(FEW)
    copy = copied(made(name, kind, folder), folder / "copy")
    path = draw.choice(sorted(p for p in copy.iterdir() if p.name != "certificate.json"))
    path.write_bytes(damaged(draw, path.read_bytes()))
    write_statement(copy, statement_of(copy), files=True)
    failed(copy)


def certificate_bytes(draw: Draw, folder: Path) -> None:
    name, kind = draw.choice(CASES[:4])
    copy = copied(made(name, kind, folder), folder / "copy")
    path = copy / "certificate.json"
    content = json.dumps(value(draw)).encode() if draw.random() < 0.2 else damaged(draw, path.read_bytes())
    path.write_bytes(content)
    Bundle.open(copy)
    failed(copy)


FUZZERS: dict[str, Callable[[Draw, Path], None]] = {
    "recipes": recipes,
    "hierarchies": hierarchies,
    "matrices": matrices,
    "filters": filters,
    "csv": csv_files,
    "parquet": parquet_files,
    "published": published_files,
    "certificates": certificate_bytes,
}


def attempt(name: str, seed: int, folder: Path) -> bool:
    """Whether the input was taken; anything but a PramanaError is a fault, and its seed is told."""
    try:
        FUZZERS[name](random.Random(f"{name} {seed}"), folder)
    except PramanaError as error:
        assert "\n" not in str(error) and str(error).isprintable(), f"{name} {seed}"
        return False
    except Exception as error:
        raise AssertionError(f"{name} {seed}: {type(error).__name__}") from error
    return True


def main(arguments: list[str]) -> None:
    seconds = float(os.environ.get("FUZZ_SECONDS", "600"))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make_small_tables(folder)
        if arguments:
            attempt(arguments[0], int(arguments[1]), folder)
            return
        first = int(os.environ.get("FUZZ_SEED", "0"))
        store(*_for(seconds, first, folder))


def _for(seconds: float, first: int, folder: Path) -> tuple[Figures, Figures]:
    """Half of the time for every fuzzer, half of it for edits of certificates; a finding ends it."""
    chance, edited = (Figures(part, "make fuzz", seconds / 2) for part in ("chance", "edits"))
    for name in FUZZERS:
        until, taken = time.monotonic() + seconds / 2 / len(FUZZERS), 0
        for seed in itertools.count(first):
            if time.monotonic() > until:
                break
            taken += attempt(name, seed, folder)
        sys.stdout.write(f"{name}: seeds {first} to {seed - 1}, {taken} taken, the others refused\n")
        chance.add(name, executions=seed - first, taken=taken, findings=0)
    until = time.monotonic() + seconds / 2
    cases = random.Random(first).sample(CASES, len(CASES))
    for number, (name, kind) in enumerate(cases):
        left = (until - time.monotonic()) / (len(cases) - number)
        bundle = made(name, kind, folder)
        end = time.monotonic() + left
        kept, tried = unnoticed(bundle, copied(bundle, folder / "copy"), 1.0, f"{first}", end)
        sys.stdout.write(f"certificate of {name}, {kind}: {tried} edits\n")
        edited.add(f"{name}, {kind}", executions=tried, findings=len(kept))
        assert not kept, kept
    return chance, edited


if __name__ == "__main__":
    main(sys.argv[1:])
