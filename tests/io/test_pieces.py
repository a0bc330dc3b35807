"""Pieces of a table, one after the other, are the table that is read at once."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.errors import SourceError
from pramana.io import pieces
from pramana.io.pieces import Cut, pieces_of, side_by_side
from pramana.io.source import Source


def read(source: Source, columns: list[str], cut: Cut) -> list[dict[str, object]]:
    """All pieces as another machine would read them."""
    found = []
    for piece in pieces_of(source, columns, cut):
        rows = [row for table in pickle.loads(pickle.dumps(piece)).read(columns) for row in table.to_pylist()]
        assert piece.rows is None or piece.rows == len(rows)
        found += rows
    return found


def at_once(source: Source, columns: list[str]) -> list[dict[str, object]]:
    table = source.read(columns)
    rows: list[dict[str, object]] = pa.table({name: table.column(name) for name in columns}).to_pylist()
    return rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Parquet files in folders whose names are a column, and CSV files with columns in different orders."""
    for year, first in ((2020, 0), (2019, 1000)):
        for part in range(2):
            rows = range(first + 400 * part, first + 400 * part + 350)
            table = pa.table({"id": list(rows), "name": [None if i % 9 == 0 else f"n{i % 5}" for i in rows]})
            place = tmp_path / "parquet" / f"year={year}"
            place.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, place / f"{part}.parquet", row_group_size=100)
    (tmp_path / "parquet" / "_SUCCESS").write_text("")
    (tmp_path / "csv").mkdir()
    (tmp_path / "csv" / "b.csv").write_text('name,id\n"x\ny",1\n"",2\n')
    (tmp_path / "csv" / "a.csv").write_bytes(b"\xef\xbb\xbfid;name\r\n3;z\r\n")
    return tmp_path


@pytest.mark.parametrize("wanted", [1, 3, 100])
@pytest.mark.parametrize("place", ["parquet", "parquet/year=2019/0.parquet", "csv", "csv/b.csv"])
def test_pieces_are_the_table(folder: Path, place: str, wanted: int) -> None:
    source = Source(path=folder / place)
    columns = ["name", "id"] + (["year"] if place == "parquet" else [])
    assert read(source, columns, Cut(wanted)) == at_once(source, columns)


def test_as_many_as_wanted(folder: Path) -> None:
    assert len(pieces_of(Source(path=folder / "parquet" / "year=2019" / "0.parquet"), ["id"], Cut(4))) == 4
    assert len(pieces_of(Source(path=folder / "parquet"), ["id"])) == 4  # one for each file
    assert len(pieces_of(Source(path=folder / "csv"), ["id"])) == 2


def test_pieces_are_smaller_towards_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether they are of one file or of several; rows are in order where a file has many row groups, too."""
    monkeypatch.setattr(pieces, "LEAST_ROWS", 30)
    monkeypatch.setattr(pieces, "MOST_ROWS", 100)
    (tmp_path / "two").mkdir()
    for name, start, stop in (("one", 0, 700), ("two/a", 0, 300), ("two/b", 300, 700)):
        pq.write_table(pa.table({"id": range(start, stop)}), tmp_path / f"{name}.parquet", row_group_size=10)
    for place in ("one.parquet", "two"):
        source = Source(path=tmp_path / place)
        found = [piece.rows for piece in pieces_of(source, ["id"], Cut(cores=2))]
        assert found == [100, 100, 100, 100, 70, 50, 40, 30, 30, 30, 30, 20]
        assert read(source, ["id"], Cut(cores=2)) == at_once(source, ["id"])


@given(rows=st.lists(st.integers(0, 50), min_size=1, max_size=20), most=st.integers(1, 120))
def test_row_groups_are_joined_in_order_and_not_beyond_the_bound(rows: list[int], most: int) -> None:
    asked: list[int] = []

    def bound(left: int) -> int:
        asked.append(left)
        return most

    parts = list(side_by_side(rows, bound, 7 + sum(rows)))
    assert [group for part in parts for group in part] == list(range(len(rows)))
    assert all(len(part) == 1 or sum(rows[g] for g in part) <= most for part in parts)
    assert asked == [7 + sum(rows[part[0] :]) for part in parts]


def test_a_file_of_a_folder_may_have_a_header_alone(folder: Path) -> None:
    """As engines that write a file for each task leave them; it must have the columns all the same."""
    before = Source(path=folder / "csv").read(["id"])
    (folder / "csv" / "zz.csv").write_text((folder / "csv" / "a.csv").read_text().splitlines()[0] + "\n")
    source = Source(path=folder / "csv")
    assert source.read(["id"]).columns == before.columns
    assert sum(batch.num_rows for batch in source.batches(["id"], 100)) == before.records
    assert len(pieces_of(source, ["id"])) == 2
    for file in (folder / "csv").iterdir():
        file.write_text("id\n")
    for read in (
        source.read,
        lambda names: next(source.batches(names, 100)),
        lambda names: pieces_of(source, names),
    ):
        with pytest.raises(SourceError, match="at least one record"):
            read(["id"])
    (folder / "csv" / "zz.csv").write_text("other\n")
    with pytest.raises(SourceError, match="'id'"):
        source.read(["id"])


def test_every_file_of_a_folder_must_have_the_columns(folder: Path) -> None:
    """The reader would take what a file lacks for missing values, and they would be published as such."""
    place = folder / "parquet" / "year=2020" / "1.parquet"
    pq.write_table(pq.read_table(place, partitioning=None).rename_columns(["id", "Name"]), place)
    source = Source(path=folder / "parquet")
    for read in (source.read, lambda n: next(source.batches(n, 100)), lambda n: pieces_of(source, n)):
        assert read(["id", "year"]) is not None
        with pytest.raises(SourceError, match=r"year=2020/1.parquet must have the column 'name'"):
            read(["id", "name"])
    place.write_bytes(b"PAR1 and no more")
    (folder / "parquet" / "year=2019" / "README.txt").write_text("not a table")
    for expected in ("1.parquet", "README.txt"):
        for read in (source.read, lambda n: next(source.batches(n, 100)), lambda n: pieces_of(source, n)):
            with pytest.raises(SourceError, match=f"{expected} must be a Parquet file"):
                read(["id"])
        place.unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("a,b\n1,2\n3\n", "got 1 in line 3"),
        ('a,b\n"1\n1",2\n3,4\n5,6,7\n8\n', "got 3 in line 5"),
        ('a,b\r\n1,2\r\n\r\n"3,4\r\n5,6\r\n', "got 1 in line 4"),
    ],
)
def test_a_row_of_another_length_is_found(text: str, got: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(text.encode())
    source = Source(path=tmp_path / "t.csv")
    for read in (source.read, lambda n: list(source.batches(n, 100))):
        with pytest.raises(SourceError, match=got):
            read(["a"])


def test_faults_show_before_rows_are_read(folder: Path) -> None:
    for place, columns, told in [
        ("parquet", ["nane"], "must have the column 'nane'"),
        ("csv", ["nane"], "must have the column 'nane'"),
        ("nothing.csv", ["id"], "must exist"),
    ]:
        with pytest.raises(SourceError, match=told):
            pieces_of(Source(path=folder / place), columns)
    (folder / "damaged.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(SourceError, match="must be a Parquet file"):
        pieces_of(Source(path=folder / "damaged.parquet"), ["id"])
    with pytest.raises(SourceError, match="must be a file or a folder"):
        pieces_of(Source(frame=pa.table({"id": [1]})), ["id"])


def test_a_file_damaged_later_is_a_fault_that_quotes_nothing(folder: Path) -> None:
    path = folder / "parquet" / "year=2019" / "0.parquet"
    pieces = pieces_of(Source(path=path), ["name", "id"], Cut(4))
    content = path.read_bytes()
    path.write_bytes(content[:40] + bytes(200) + content[240:])
    with pytest.raises(SourceError) as caught:
        for piece in pieces:
            list(piece.read(["name", "id"]))
    assert caught.value.got in ("something else or damaged data", "damaged data")
