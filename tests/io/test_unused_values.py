"""What a dictionary holds and no row has: nobody's values, which must reach nothing that is published."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pramana import Recipe, release
from pramana.errors import SourceError
from pramana.io.codes import Encoder, Numbering, domain_from_data, encode, has_missing, occurring
from pramana.methods.recipe import AnyRecipe
from pramana.randomness.key import Key
from pramana.schema.domain import Domain

PLANTED = "Leprosy of the planted kind"
MEMORY = 512 << 20
ILLNESS = ["flu", "cold", "gout", "flu", "cold"] * 40
YEAR = [2001, 2003, 2002, 2003, 2001] * 40


def dictionary(indices: list[int | None], values: list[Any], kind: pa.DataType | None = None) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(values, kind))


def arrow() -> pa.Table:
    """Entries that no row has, an entry that is there twice, and one that would count as missing."""
    known = [PLANTED, "gout", "flu", "", "cold", None, "flu", PLANTED]
    places = [known.index(value) if i % 3 else len(known) - 1 - known[::-1].index(value)
              for i, value in enumerate(ILLNESS)]  # fmt: skip
    years = [1066, 2001, 2002, 2003]
    return pa.table(
        {"illness": dictionary(list(places), known), "year": dictionary([years.index(y) for y in YEAR], years)}
    )


def parquet(folder: Path, parts: int = 1) -> Path:
    """What is left in a file's dictionary pages when a table is filtered and written."""
    table = pa.table({"illness": [PLANTED, "", *ILLNESS], "year": [1066, 1067, *YEAR]})
    encoded = table.set_column(0, "illness", table.column("illness").dictionary_encode()).slice(2)
    if parts == 1:
        pq.write_table(encoded, folder / "t.parquet")
        return folder / "t.parquet"
    (folder / "parts").mkdir()
    for part in range(parts):
        start, stop = len(ILLNESS) * part // parts, len(ILLNESS) * (part + 1) // parts
        pq.write_table(encoded.slice(start, stop - start), folder / "parts" / f"{part}.parquet")
    return folder / "parts"


def pandas() -> pd.DataFrame:
    categories = ["cold", PLANTED, "flu", "", "gout"]
    return pd.DataFrame(
        {"illness": pd.Categorical(ILLNESS, categories), "year": pd.Categorical(YEAR, [1066, 2003, 2002, 2001])}
    )


def polars_enum() -> pl.DataFrame:
    kind = pl.Enum(["cold", PLANTED, "flu", "", "gout"])
    return pl.DataFrame({"illness": pl.Series(ILLNESS, dtype=kind), "year": YEAR})


def polars_categorical() -> pl.DataFrame:
    whole = pl.DataFrame({"illness": pl.Series([PLANTED, *ILLNESS], dtype=pl.Categorical), "year": [0, *YEAR]})
    return whole.filter(pl.col("year") > 0)


TABLES: dict[str, Callable[[Path], Any]] = {
    "pandas": lambda _: pandas(),
    "polars, enum": lambda _: polars_enum(),
    "polars, categorical": lambda _: polars_categorical(),
    "pyarrow": lambda _: arrow(),
    "parquet": parquet,
    "folder of parquet": lambda folder: parquet(folder, 3),
}
METHODS: dict[str, dict[str, Any]] = {
    "retention": {"epsilon": 8.0},
    "invariant": {"method": "invariant", "xi": 0.4, "unreached": "publish"},
    "levels": {"method": "levels", "retention": 0.5},
}


def recipe(method: str, folder: Path, path: Path | None) -> AnyRecipe:
    of_levels = method == "levels"
    attributes = {
        "illness": {"role": "sensitive" if of_levels else "quasi-identifying", "domain": "from-data"},
        "year": {"role": "quasi-identifying", "domain": "from-data"},
    }
    source = {} if path is None else {"source": {"path": str(path)}}
    return Recipe.parse({**source, "release": METHODS[method], "attributes": attributes}, folder)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_values_that_no_row_has_are_in_no_byte_of_a_bundle(
    table: Callable[[Path], Any], method: str, tmp_path: Path
) -> None:
    data = table(tmp_path)
    path = data if isinstance(data, Path) else None
    key = Key.from_seed(3)
    bundles = []
    for memory in (None, MEMORY):
        out = tmp_path / f"out {memory}"
        release(recipe(method, tmp_path, path), out, data=None if path else data, key=key, memory=memory)
        bundles.append({p.name: p.read_bytes() for p in sorted(out.iterdir())})
    in_memory, streamed = bundles
    assert in_memory
    for content in (in_memory, streamed):
        for name, written in content.items():
            assert PLANTED.encode() not in written, name
            assert b'"1066"' not in written, name
    assert in_memory == streamed


CHUNKS = {
    "unused": (dictionary([0, 2, 0], ["b", PLANTED, "a"]), ["b", "a", "b"]),
    "twice": (dictionary([0, 2, 1], ["b", "a", "b"]), ["b", "b", "a"]),
    "null of a row": (dictionary([0, None, 0], ["b", "a"]), ["b", None, "b"]),
    "null of an entry": (dictionary([0, 1, 0], ["b", None, PLANTED]), ["b", None, "b"]),
    "both nulls": (dictionary([None, 1, 0], ["b", None, PLANTED]), [None, None, "b"]),
    "empty beside null": (dictionary([0, None, 1], ["", "b", PLANTED]), ["", None, "b"]),
    "unused null": (dictionary([0, 0], ["b", None]), ["b", "b"]),
    "unused empty": (dictionary([0, 0], ["b", ""]), ["b", "b"]),
    "NaN": (dictionary([1, 0], [2.0, float("nan"), 7.0]), [float("nan"), 2.0]),
    "unused NaN": (dictionary([0, 0], [2.0, float("nan")]), [2.0, 2.0]),
    "only nulls": (dictionary([None, None], [PLANTED]), [None, None]),
    "no entries": (dictionary([None, None], [], pa.string()), [None, None]),
    "a slice": (dictionary([1, 0, 2, 0], [PLANTED, "b", "a"]).slice(2, 1), ["a"]),
    "no rows": (dictionary([], [PLANTED]), []),
    "wide": (dictionary([299, 0], [f"v{i:03d}" for i in range(300)]), ["v299", "v000"]),
    "plain": (pa.array(["b", None, "", "a"]), ["b", None, "", "a"]),
    "plain numbers": (pa.array([1.5, float("nan"), None]), [1.5, float("nan"), None]),
}


@pytest.mark.parametrize("chunk, rows", CHUNKS.values(), ids=CHUNKS)
def test_every_reader_of_a_chunk_sees_its_rows_alone(chunk: pa.Array, rows: list[Any]) -> None:
    """Beside the plain list of the rows' values, by brute force."""
    missing = [value is None or value == "" or value != value for value in rows]
    labels = [
        "" if m else (str(v) if isinstance(v, str) else f"{v:g}") for v, m in zip(rows, missing, strict=True)
    ]
    present = {label for label in labels if label}

    places, values = occurring(chunk)
    assert len(places) == len(rows)
    assert set(range(len(values))) == set(places.tolist())
    column = pa.chunked_array([chunk])
    assert has_missing(column) == any(missing)
    if present:
        domain = domain_from_data(column)
        assert set(domain.labels) == present and len(domain.labels) == len(present)
    numbering = Numbering()
    codes = numbering.number(chunk)
    assert set(numbering.labels) == set(labels)
    assert [list(numbering.labels)[code] for code in codes] == labels
    assert numbering.missing == sum(missing)
    assert numbering.seen().null_count == int(any(missing))

    domain = Domain.declared([*sorted(present), "another"], missing=True)
    shown = [*domain.labels, ""]
    assert [shown[code] for code in encode(column, domain, "x").tolist()] == labels
    strict = Encoder(Domain.declared(["another", "one more"]), "x", show=True)
    strict.encode(chunk)
    assert (strict.faults.outside, strict.faults.unexpected) == (len(rows) - sum(missing), sum(missing))
    assert set(strict.faults.seen) == present


def test_an_index_beyond_its_dictionary_is_a_fault_and_no_crash() -> None:
    indices = pa.array(np.array([0, 5], np.int32))
    chunk = pa.DictionaryArray.from_arrays(indices, pa.array(["a", "b"]), safe=False)
    with pytest.raises(SourceError):
        encode(pa.chunked_array([chunk]), Domain.declared(["a", "b"]), "x")
    with pytest.raises(SourceError):
        Numbering().number(chunk)
