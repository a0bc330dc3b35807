"""Releases that are deliberately broken, each by one mistake; their certificates claim what honest ones do."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pramana import Key, release
from pramana.mechanisms.channel import Retention
from pramana.mechanisms.levels import AtLevel
from pramana.mechanisms.table import Product

KEY = Key(bytes(range(32)))
RECIPE = """\
[source]
path = "people.csv"
[release]
epsilon = 1
[attributes.sex]
role = "quasi-identifying"
domain = ["M", "F"]
[attributes.region]
role = "quasi-identifying"
domain = ["north", "east", "south", "west"]
"""


def write_people(path: Path, rows: int = 4000, seed: int = 2) -> None:
    """Sorted by region, as files of people often are: their order tells something."""
    rng = np.random.default_rng(seed)
    regions = np.sort(rng.integers(0, 4, rows))
    lines = [f"{'MF'[rng.integers(2)]},{('west', 'north', 'south', 'east')[r]}\n" for r in regions]
    path.write_text("sex,region\n" + "".join(lines))


@contextmanager
def patched(*changes: tuple[str, object]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for target, value in changes:
            patch.setattr(target, value)
        yield


def _in_source_order(_engine: Any, _key: Any, _context: str, rows: int, _room: Any = None) -> Any:
    return np.arange(rows, dtype=np.uint32)


def _without_key() -> object:
    from pramana.randomness.shuffle import shuffled_order

    return lambda _key, *rest: shuffled_order(Key(bytes(32)), *rest)


def _keeps_more(self: Retention, words: Any, codes: Any, out: Any) -> None:
    from pramana.randomness._kernels import retain

    retain(words, codes, out, self.size, self.step // 4)


def _float_coin(self: Retention, words: Any, codes: Any, out: Any) -> None:
    """A float of two bits decides whether a value is kept, and there is none between a half and three quarters."""
    coin = (words >> np.uint64(62)).astype(np.float64) / 4
    drawn = ((words & np.uint64(0xFFFF)) % np.uint64(self.size)).astype(codes.dtype)
    out[:] = np.where(coin < max(0.5, float(self.retention)), codes, drawn)


def _one_forgotten(self: Product, streams: Any, first: int, codes: Any, out: Any) -> None:
    for name, channel in self.channels.items():
        if name == "region":
            out[name][:] = codes[name]
            continue
        channel.publish(streams("value", name).words(first, len(codes[name])), codes[name], out[name])


def coins_used_twice(self: Product, streams: Any, first: int, codes: Any, out: Any) -> None:
    """Coins that are bound to the key and the column, and to no release."""
    del streams
    for name, channel in self.channels.items():
        words = KEY.stream("value", "always the same", name).words(first, len(codes[name]))
        channel.publish(words, codes[name], out[name])


def own_coins_for_every_level(publish: Callable[..., None]) -> Callable[..., None]:
    """Versions drawn separately, as if they had nothing to do with each other."""

    def separately(self: AtLevel, streams: Any, first: int, codes: Any, out: Any) -> None:
        del streams
        publish(self, lambda purpose, name: KEY.stream(purpose, f"{self.level}", name), first, codes, out)

    return separately


def unchanged(self: Any, words: Any, codes: Any, out: Any) -> None:
    del self, words
    out[:] = codes


MISTAKES: dict[str, Callable[[], tuple[str, object]]] = {
    "rows unshuffled": lambda: ("pramana.rows.engines.LocalEngine.order", _in_source_order),
    "order not keyed": lambda: ("pramana.rows.engines.shuffled_order", _without_key()),
    "coin of a wrong law": lambda: ("pramana.mechanisms.channel.Retention.publish", _keeps_more),
    "float coin": lambda: ("pramana.mechanisms.channel.Retention.publish", _float_coin),
    "one epsilon forgotten": lambda: ("pramana.mechanisms.table.Product.publish", _one_forgotten),
}


def broken_release(folder: Path, mistake: str, name: str = "broken", key: Key = KEY) -> Path:
    """Released by a tool with one mistake, and audited by one without."""
    with patched(MISTAKES[mistake]()):
        release(folder / "recipe.toml", folder / name, key=key)
    return folder / name


def listed_by_appearance(bundle: Path, source: Path) -> None:
    """The dictionaries of a bundle's file, as a reader of the source would have met their values."""
    table = pq.read_table(bundle / "data.parquet")
    columns = {}
    for place, name in enumerate(table.column_names):
        seen = dict.fromkeys(line.split(",")[place] for line in source.read_text().splitlines()[1:])
        labels = [*seen, *(label for label in table.column(name).unique().to_pylist() if label not in seen)]
        values = [labels.index(value) for value in table.column(name).to_pylist()]
        columns[name] = pa.DictionaryArray.from_arrays(pa.array(values, pa.int32()), pa.array(labels))
    write_plain(pa.table(columns), bundle)


def write_plain(table: pa.Table, bundle: Path, **options: Any) -> None:
    """Over a bundle's file, at the time that all files of a bundle have."""
    path = bundle / "data.parquet"
    before = path.stat()
    pq.write_table(table, path, **{"compression": "none", "write_statistics": False, **options})
    os.utime(path, (before.st_atime, before.st_mtime))
