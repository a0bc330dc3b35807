"""One table through every door gives the same codes; what no door can take is refused without a word of it."""

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

from pramana.errors import PramanaError, SourceError
from pramana.io.codes import decode, domain_from_data, encode, has_missing
from pramana.io.source import Source
from pramana.randomness.samplers import code_dtype
from pramana.schema.domain import Domain

SEX = ["F", "M", None, "M", "F"]
AGE = [3, 44, 17, 89, 20]


def csv(folder: Path) -> Source:
    lines = [f"{s or ''},{a}" for s, a in zip(SEX, AGE, strict=True)]
    (folder / "t.csv").write_text("sex,age\n" + "\n".join(lines) + "\n")
    return Source(path=folder / "t.csv")


def parquet(folder: Path) -> Source:
    pq.write_table(pa.table({"sex": SEX, "age": AGE}), folder / "t.parquet")
    return Source(path=folder / "t.parquet")


def parquet_dictionary(folder: Path) -> Source:
    column = pa.array(SEX).dictionary_encode()
    pq.write_table(pa.table({"sex": column, "age": AGE}), folder / "t.pq")
    return Source(path=folder / "t.pq")


DOORS: dict[str, Callable[[Path], Source]] = {
    "csv": csv,
    "parquet": parquet,
    "parquet, dictionary": parquet_dictionary,
    "pandas": lambda _: Source(frame=pd.DataFrame({"sex": SEX, "age": AGE})),
    "pandas, category": lambda _: Source(frame=pd.DataFrame({"sex": pd.Categorical(SEX), "age": AGE})),
    "polars": lambda _: Source(frame=pl.DataFrame({"sex": SEX, "age": AGE})),
    "polars, lazy": lambda _: Source(frame=pl.LazyFrame({"sex": SEX, "age": AGE})),
    "polars, category": lambda _: Source(
        frame=pl.DataFrame({"sex": SEX, "age": AGE}, schema_overrides={"sex": pl.Categorical})
    ),
    "pyarrow": lambda _: Source(frame=pa.table({"sex": SEX, "age": AGE})),
    "pyarrow, views": lambda _: Source(frame=pa.table({"sex": pa.array(SEX, pa.string_view()), "age": AGE})),
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_every_door_gives_the_same_codes(tmp_path: Path, door: Callable[[Path], Source]) -> None:
    table = door(tmp_path).read(["age", "sex"])
    assert table.records == 5
    assert has_missing(table.column("sex")) and not has_missing(table.column("age"))
    sex = Domain.declared(["M", "F"], missing=True)
    assert encode(table.column("sex"), sex, "sex").tolist() == [1, 0, 2, 0, 1]
    ages = Domain.from_bins([0, 20, 40, 120])
    assert encode(table.column("age"), ages, "age").tolist() == [0, 2, 0, 2, 1]
    assert domain_from_data(table.column("sex")).labels == ("F", "M")
    with pytest.raises(SourceError, match="'sex' must have no missing values, got 1 row"):
        encode(table.column("sex"), Domain.declared(["M", "F"]), "sex")
    with pytest.raises(SourceError, match="3 rows outside") as caught:
        encode(table.column("age"), Domain.from_bins([0, 18, 19]), "age")
    assert "44" not in str(caught.value)
    with pytest.raises(SourceError, match="Did you mean its column 1"):
        door(tmp_path).read(["sexx", "age"])


@pytest.mark.parametrize(
    "frame",
    [
        5,
        "no such",
        [1, 2],
        {"sex": ["F"]},
        pd.Series(["F"]),
        pd.DataFrame({"sex": ["Secret", 5, b"x"]}),
        pd.DataFrame([["Secret", 1]], columns=["sex", "sex"]),
        pd.DataFrame([["Secret"]], columns=[7]),
        pd.DataFrame({"sex": [["Secret"]]}),
        pl.DataFrame({"sex": [["Secret"]]}),
        pl.DataFrame({"sex": []}),
        pa.table({"sex": [{"a": "Secret"}]}),
        pa.table([["a"], ["b"]], names=["sex", "sex"]),
    ],
    ids=lambda frame: type(frame).__name__,
)
def test_frames_that_cannot_be_read(frame: Any) -> None:
    source = Source(path=Path(frame)) if isinstance(frame, str) else Source(frame=frame)
    with pytest.raises(PramanaError) as caught:
        source.read(["sex"])
    assert "Secret" not in str(caught.value)


def test_bytes_that_are_no_text_are_refused_without_quoting_them() -> None:
    buffers = [None, pa.py_buffer(np.arange(3, dtype=np.int32)), pa.py_buffer(b"\xff\xfe")]
    column = pa.chunked_array([pa.Array.from_buffers(pa.string(), 2, buffers)])
    for use in (lambda: encode(column, Domain.declared(["a", "b"]), "x"), lambda: domain_from_data(column)):
        with pytest.raises(SourceError, match="texts, numbers"):
            use()


@pytest.mark.parametrize("size", [1, 2, 127, 128, 129, 255, 256, 257, 40_000])
@pytest.mark.parametrize("missing", [False, True])
def test_codes_and_labels_are_each_others_inverse(size: int, missing: bool) -> None:
    domain = Domain.declared([f"v{i}" for i in range(size)], missing=missing)
    codes = np.arange(domain.size).astype(code_dtype(domain.size))
    column = decode(codes, domain)
    assert column.dictionary.to_pylist() == list(domain.labels)
    assert column.null_count == missing
    assert encode(pa.chunked_array([column]), domain, "v").tolist() == codes.tolist()


def test_numbers_and_truth_values_are_written_one_way() -> None:
    column = pa.chunked_array([pa.array([1.0, 2.5, float("nan"), None])])
    assert encode(column, Domain.declared([1, 2.5], missing=True), "x").tolist() == [0, 1, 2, 2]
    truth = pa.chunked_array([pa.array([True, False])])
    assert encode(truth, Domain.declared([False, True]), "x").tolist() == [1, 0]
    assert domain_from_data(pa.chunked_array([pa.array([10, 9, 2])])).labels == ("2", "9", "10")
