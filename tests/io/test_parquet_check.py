"""Files that claim to be published tables and are not: refused from the footer, before a page is read."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pramana.errors import SourceError
from pramana.io.parquet import ROW_GROUP, check_parquet
from pramana.io.writing import write_table

OURS: dict[str, Any] = {
    "compression": "none", "write_statistics": False, "version": "2.6", "row_group_size": ROW_GROUP,
}  # fmt: skip
ENTRY = pa.struct([("value", pa.string()), ("weight", pa.int64())])


def published(rows: int) -> pa.Table:
    """Every kind of column that is published, constant ones among them."""
    rng = np.random.default_rng(1)
    cells = [[{"value": "a", "weight": 1}, {"value": "b", "weight": 2 + i % 3}] for i in range(rows)]
    return pa.table(
        {
            "sex": pa.DictionaryArray.from_arrays(
                pa.array(rng.integers(0, 2, rows), pa.int8()), pa.array(["F", "M"])
            ),
            "all alike": pa.array(["*"] * rows).dictionary_encode(),
            "id": np.arange(rows),
            "share": rng.random(rows),
            "true": pa.array(rng.random(rows) < 0.5),
            "note": [None if i % 7 == 0 else f"note {i} " + "x" * (i % 50) for i in range(rows)],
            "day": [datetime.date(2020, 1, 1)] * rows,
            "money": pa.array([Decimal("1.50")] * rows),
            "nothing": pa.nulls(rows),
            "a.b": pa.array([{"low": "1", "high": "2"}] * rows),
            "a": pa.array(cells, pa.list_(ENTRY)),
            "set": pa.array([["a", "b"], ["b"], []][:rows] * (rows // 3 + 1), pa.list_(pa.string()))[:rows],
        }
    )


@pytest.mark.parametrize("rows", [1, 5, 1000, ROW_GROUP + 1])
def test_what_we_write_passes(rows: int, tmp_path: Path) -> None:
    table = published(rows)
    write_table(table, tmp_path / "t.parquet", "parquet")
    check_parquet(tmp_path / "t.parquet", rows, dict(zip(table.column_names, table.schema.types, strict=True)))
    simple = table.select(["sex", "id", "note", "nothing"])
    write_table(simple, tmp_path / "s.parquet", "parquet")
    check_parquet(tmp_path / "s.parquet", rows, dict.fromkeys(simple.column_names))


def test_lists_that_are_long_pass(tmp_path: Path) -> None:
    """Of distinct values, in any order: the bound on entries for a byte is far from what is published."""
    values = [f"v{i:04d}" for i in range(3000)]
    cells = [[{"value": v, "weight": 1} for v in values]] * 50
    write_table(pa.table({"a": pa.array(cells, pa.list_(ENTRY))}), tmp_path / "t.parquet", "parquet")
    check_parquet(tmp_path / "t.parquet", 50, {"a": pa.list_(ENTRY)})


SMALL = pa.table({"sex": ["F", "M"] * 50, "id": list(range(100))})
TYPES: dict[str, pa.DataType | None] = {"sex": pa.string(), "id": pa.int64()}


def with_field_metadata(path: Path) -> None:
    fields = [SMALL.schema.field("sex").with_metadata({"note": "Secret"}), SMALL.schema.field("id")]
    pq.write_table(SMALL.cast(pa.schema(fields)), path, **OURS)


def entries(path: Path) -> None:
    """One row, and in it a list of millions of one value."""
    values = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000_000, np.int8)), pa.array(["a"])).cast(
        pa.string()
    )
    lists = pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)
    pages = {"data_page_size": 1 << 30, "max_rows_per_page": 1 << 30}
    pq.write_table(pa.table({"sex": lists}), path, **OURS, **pages)


FOREIGN: dict[str, tuple[Callable[[Path], Any], dict[str, pa.DataType | None], int, str]] = {
    "fewer rows": (lambda p: pq.write_table(SMALL.slice(1), p, **OURS), TYPES, 100, "must have 100 rows, got 99"),
    "another column": (
        lambda p: pq.write_table(SMALL.rename_columns(["sex", "ID"]), p, **OURS), TYPES, 100, "columns in their",
    ),
    "a column more": (
        lambda p: pq.write_table(SMALL.append_column("x", [[1] * 100]), p, **OURS), TYPES, 100, "columns in their",
    ),
    "columns in another order": (
        lambda p: pq.write_table(SMALL.select(["id", "sex"]), p, **OURS), TYPES, 100, "columns in their order",
    ),
    "another type": (
        lambda p: pq.write_table(SMALL.set_column(1, "id", SMALL["id"].cast(pa.int32())), p, **OURS),
        TYPES, 100, "type int64 in the column 'id'",
    ),
    "nested where unknown": (
        lambda p: pq.write_table(pa.table({"x": [[1], [2]]}), p, **OURS), {"x": None}, 2, "single values",
    ),
    "compressed": (
        lambda p: pq.write_table(SMALL, p, **OURS | {"compression": "zstd"}), TYPES, 100, "without compression",
    ),
    "another encoding": (
        lambda p: pq.write_table(
            SMALL, p, **OURS, use_dictionary=False, column_encoding={"id": "DELTA_BINARY_PACKED"}
        ),
        TYPES, 100, "plain or dictionary pages",
    ),
    "statistics": (
        lambda p: pq.write_table(SMALL, p, **OURS | {"write_statistics": True}), TYPES, 100, "no statistics",
    ),
    "metadata of the table": (
        lambda p: pq.write_table(SMALL.replace_schema_metadata({"pandas": "Secret"}), p, **OURS),
        TYPES, 100, "foreign metadata",
    ),
    "metadata of a column": (with_field_metadata, TYPES, 100, "foreign metadata"),
    "a large row group": (
        lambda p: pq.write_table(
            pa.table({"x": np.zeros(ROW_GROUP + 1, np.int64)}), p, **OURS | {"row_group_size": 1 << 20}
        ),
        {"x": pa.int64()}, ROW_GROUP + 1, "row groups of 1 to",
    ),
    "a long list": (entries, {"sex": pa.list_(pa.string())}, 1, "entries of 'sex' for every byte"),
    "no Parquet": (lambda p: p.write_text("PAR1 and no more"), TYPES, 100, "must be a Parquet file"),
}  # fmt: skip


@pytest.mark.parametrize("write, columns, records, words", FOREIGN.values(), ids=FOREIGN)
def test_what_we_do_not_write_is_refused(
    write: Callable[[Path], Any], columns: dict[str, pa.DataType | None], records: int, words: str, tmp_path: Path
) -> None:
    write(tmp_path / "t.parquet")
    with pytest.raises(SourceError) as caught:
        check_parquet(tmp_path / "t.parquet", records, columns)
    assert words in str(caught.value) and "Secret" not in str(caught.value)


BOMB_ROWS = 400_000_000
LIMITED = """
import resource, sys
from pathlib import Path
import pyarrow as pa, pyarrow.parquet as pq
from pramana.errors import SourceError
from pramana.io.parquet import check_parquet
pa.set_cpu_count(1); pa.set_io_thread_count(1)
path = Path(sys.argv[1])
pq.ParquetFile(path).close()  # whatever the libraries want to have loaded
pages = int(Path("/proc/self/statm").read_text().split()[0])
limit = pages * resource.getpagesize() + (512 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    if sys.argv[2] == "read":
        pq.ParquetFile(path, read_dictionary=["sex"]).read()
    else:
        check_parquet(path, int(sys.argv[2]), {"sex": pa.string()})
except SourceError as refusal:
    print("refused:", refusal)
except MemoryError:
    print("out of memory")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is set as Linux has it")
def test_some_kilobytes_that_stand_for_gigabytes(tmp_path: Path) -> None:
    """Reading them fails within half a gigabyte; the check does not, whatever number of rows is stated."""
    path = tmp_path / "bomb.parquet"
    part = pa.record_batch(
        [pa.DictionaryArray.from_arrays(pa.array(np.zeros(10_000_000, np.int8)), pa.array(["F", "M"]))], ["sex"]
    )
    options = {"compression": "none", "write_statistics": False, "data_page_size": 1 << 30}
    with pq.ParquetWriter(path, part.schema, max_rows_per_page=1 << 30, **options) as writer:
        for _ in range(BOMB_ROWS // part.num_rows):
            writer.write_batch(part, row_group_size=part.num_rows)
    assert path.stat().st_size < 99_000

    def said(what: str) -> str:
        command = [sys.executable, "-c", LIMITED, str(path), what]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout

    assert said("read") == "out of memory\n"
    assert "must have 40 rows, got 400000000" in said("40")
    assert "row groups of 1 to" in said(str(BOMB_ROWS))
