"""What files tell beside their values: nothing if they are honest; and where they are not, attacks win by it."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from tests.audit.broken import KEY, RECIPE, broken_release, listed_by_appearance, write_plain
from tests.audit.desk import lay_out, lost
from tests.audit.written_files import (
    classified_by_place,
    data_pages,
    file_attacks,
    order_without_key,
    places_in_file,
)
from tests.golden import cells

from pramana import Recipe, release
from pramana.bundle.bundle import Bundle
from pramana.errors import BundleError
from pramana.holder.audit.attacked import Attacked
from pramana.holder.audit.suite import audit_bundle
from pramana.holder.audit.verdict import Attack, AttackReport, Outcome
from pramana.run.trace import retraced

BYTES = {"rows, logistic regression on bytes", "rows, tree on bytes"}
PLACES = {"rows, logistic regression on places", "rows, tree on places"}
PLAIN: Any = {"compression": "none", "write_statistics": False}
NUMBERS = '[attributes.height]\nrole = "insensitive"\n'


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """People with a height that is released unchanged; some have none that is a number."""
    folder = lay_out(tmp_path_factory.mktemp("desk"))
    rng = np.random.default_rng(4)
    people = pacsv.read_csv(folder / "people.csv")
    heights = np.where(
        rng.random(people.num_rows) < 0.6, 1.5 + 0.25 * rng.integers(3, size=people.num_rows), np.nan
    )
    pq.write_table(people.append_column("height", pa.array(heights)), folder / "people.parquet")
    for kind in ("parquet", "csv"):
        text = RECIPE.replace("people.csv", "people.parquet")
        (folder / f"{kind}.toml").write_text(f'{text}{NUMBERS}[output]\nformat = "{kind}"\n')
        release(folder / f"{kind}.toml", folder / kind, key=KEY)
    return folder


def audited(desk: Path, bundle: str, source: str = "people.parquet") -> AttackReport:
    """The audit's attacks on the order of rows, and those on files, which try our own writer."""
    return file_attacks(Attacked.of(retraced(desk / bundle, desk / source, KEY)))


def order_of(desk: Path, bundle: str) -> Any:
    return retraced(desk / bundle, desk / "people.parquet", KEY).order


@pytest.fixture
def later(desk: Path) -> Any:
    """By published row, whether it is of the later half of the source."""
    order = order_of(desk, "parquet")
    return order >= len(order) // 2


def copied(desk: Path, kind: str, name: str) -> Path:
    release(desk / f"{kind}.toml", desk / name, key=KEY)
    return desk / name


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_honest_files_tell_nothing(desk: Path, kind: str) -> None:
    found = audited(desk, kind)
    assert found.ok, found.sentences()
    names = {"file, times", "file, beside the table", "rows, order of categories", "rows, places"}
    assert names | BYTES | PLACES <= {a.name for a in found.attacks}
    assert order_without_key(Attacked.of(retraced(desk / kind, desk / "people.parquet", KEY))).ok
    assert audit_bundle(desk / kind, desk / "people.parquet", KEY).ok


def test_an_order_without_a_key_is_seen(desk: Path) -> None:
    broken_release(desk, "order not keyed", "not keyed")
    assert not order_without_key(Attacked.of(retraced(desk / "not keyed", desk / "people.csv", KEY))).ok


def test_categories_in_the_order_of_their_appearance_are_seen(desk: Path) -> None:
    release(desk / "recipe.toml", desk / "listed", key=KEY)
    listed_by_appearance(desk / "listed", desk / "people.csv")
    assert lost(audited(desk, "listed", "people.csv")) == {"rows, order of categories"}


def test_rows_in_source_order_are_told_by_their_places(desk: Path) -> None:
    broken_release(desk, "rows unshuffled", "unshuffled")
    found = audited(desk, "unshuffled", "people.csv")
    assert lost(found) >= {"rows, guessed order", "rows, places", *PLACES}


# ---------------------------------------------------------------- CSV


@contextmanager
def kept_time(path: Path) -> Iterator[Path]:
    """A file that is written again, at the time that all files of a bundle have."""
    before = path.stat()
    yield path
    os.utime(path, (before.st_atime, before.st_mtime))


def rewritten(bundle: Path, later: Any, early: Any, late: Any) -> None:
    with kept_time(bundle / "data.csv") as path:
        header, *lines = path.read_text().splitlines()
        written = [late(line) if is_late else early(line) for line, is_late in zip(lines, later, strict=True)]
        path.write_text("\n".join([header, *written]) + "\n")


def plain(line: str) -> str:
    return line.replace('"', "")


def quoted(line: str) -> str:
    return ",".join(f'"{cell}"' for cell in plain(line).split(","))


def with_a_zero(line: str) -> str:
    """1.75 as 1.750: the same number."""
    return plain(line) + "0" if line[-1].isdigit() else plain(line)


@pytest.mark.parametrize("how", [quoted, with_a_zero])
def test_rows_that_are_written_differently_are_seen(desk: Path, later: Any, how: Any) -> None:
    """The later half of the source has another hand: the same values, and the same guarantee on paper."""
    rewritten(copied(desk, "csv", how.__name__), later, plain, how)
    assert lost(audited(desk, how.__name__)) >= BYTES


# ---------------------------------------------------------------- Parquet


def columns_of(bundle: Path) -> dict[str, pa.Array]:
    table = pq.read_table(bundle / "data.parquet")
    return {name: table.column(name).combine_chunks() for name in table.column_names}


def test_a_label_that_a_dictionary_has_twice_is_refused(desk: Path, later: Any) -> None:
    """One number for early rows and one for late ones. Arrow neither writes nor reads such a dictionary."""
    bundle = copied(desk, "parquet", "twice")
    columns = columns_of(bundle)
    labels = columns["sex"].dictionary.to_pylist()
    numbers = np.asarray(columns["sex"].indices) + np.where(later, len(labels), 0)
    more = [*labels, *(label.lower() for label in labels)]
    columns["sex"] = pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), pa.array(more))
    write_plain(pa.table(columns), bundle)
    path = bundle / "data.parquet"
    content = path.read_bytes()
    for label in labels:
        content = content.replace(b"\x01\0\0\0" + label.lower().encode(), b"\x01\0\0\0" + label.encode())
    path.write_bytes(content)
    with pytest.raises(BundleError, match="must be a readable parquet file"):
        audited(desk, "twice")


def test_numbers_in_dictionaries_that_differ_between_row_groups_are_seen(desk: Path) -> None:
    """A group for every row; those of the later half of the source have their dictionary turned around."""
    pq.write_table(pq.read_table(desk / "people.parquet").take(pa.array(range(0, 4000, 20))), desk / "few.parquet")
    (desk / "few.toml").write_text(RECIPE.replace("people.csv", "few.parquet"))
    release(desk / "few.toml", desk / "turned", key=KEY, even_if_useless=True)
    order = retraced(desk / "turned", desk / "few.parquet", KEY).order
    rows = pq.read_table(desk / "turned" / "data.parquet")
    schema = pa.schema([field.with_nullable(True) for field in rows.schema])
    with kept_time(desk / "turned" / "data.parquet") as path, pq.ParquetWriter(path, schema, **PLAIN) as writer:
        for place in range(rows.num_rows):
            row = rows.slice(place, 1).cast(schema)
            writer.write_table(turned(row).cast(schema) if order[place] >= 100 else row)
    assert lost(audited(desk, "turned", "few.parquet")) == BYTES


def turned(row: pa.Table) -> pa.Table:
    sex = row.column("sex").combine_chunks()
    labels = sex.dictionary.to_pylist()[::-1]
    codes = pa.array([len(labels) - 1 - code.as_py() for code in sex.indices], sex.indices.type)
    return row.set_column(0, "sex", pa.DictionaryArray.from_arrays(codes, pa.array(labels)))


def test_bits_of_numbers_that_look_alike_are_seen(desk: Path, later: Any) -> None:
    """There are 2^52 ways to write that something is no number."""
    bundle = copied(desk, "parquet", "bits")
    columns = columns_of(bundle)
    bits = np.asarray(columns["height"]).view(np.uint64).copy()
    unknown = np.isnan(bits.view(np.float64))
    assert 1000 < unknown.sum() < 2000 and later[unknown].any()
    bits[unknown] |= later[unknown].astype(np.uint64)
    columns["height"] = pa.array(bits.view(np.float64))
    write_plain(pa.table(columns), bundle)
    assert lost(audited(desk, "bits")) == BYTES


@pytest.mark.parametrize("encoded", [True, False])
def test_row_groups_in_the_order_of_the_source_are_seen(desk: Path, later: Any, encoded: bool) -> None:
    """Shuffled well, but within halves of the source; with `encoded`, some pages have no dictionary."""
    bundle = copied(desk, "parquet", f"groups {encoded}")
    table = pq.read_table(bundle / "data.parquet")
    texts = pa.schema([(f.name, pa.float64() if f.name == "height" else pa.string()) for f in table.schema])
    path = bundle / "data.parquet"
    halves = [table.filter(pa.array(later == half)).cast(texts) for half in (False, True)]
    with pq.ParquetWriter(path, texts, dictionary_pagesize_limit=9 if encoded else 1 << 20, **PLAIN) as writer:
        for half in halves:
            writer.write_table(half)
    order = order_of(desk, "parquet")
    truth = np.concatenate([order[~later], order[later]])
    opened = Bundle.open(bundle)
    assert lost_of(classified_by_place(truth, places_in_file(opened, len(truth)))) == PLACES
    assert lost(audited(desk, bundle.name)) >= {"rows, guessed order"}


def lost_of(outcomes: list[Outcome]) -> set[str]:
    return {o.name for o in outcomes if isinstance(o, Attack) and not o.ok}


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_pages_are_those_that_were_written(version: str, dictionary: bool, tmp_path: Path) -> None:
    """Every value of a chunk is in one of its pages, and the pages fill the chunk to its last byte."""
    rows = 20_000
    table = pa.table({"a": [f"text {i % 700}" for i in range(rows)], "b": np.arange(rows, dtype=float)})
    path = tmp_path / "t.parquet"
    pq.write_table(
        table,
        path,
        compression="none",
        data_page_size=4096,
        data_page_version=version,
        use_dictionary=dictionary,
        row_group_size=8_000,
    )
    metadata, content = pq.read_metadata(path), path.read_bytes()
    for number in range(metadata.num_row_groups):
        for place in range(2):
            chunk = metadata.row_group(number).column(place)
            start = chunk.dictionary_page_offset or chunk.data_page_offset
            pages = list(data_pages(content[start : start + chunk.total_compressed_size]))
            assert sum(page.values for page in pages) == metadata.row_group(number).num_rows
            assert len(pages) > 1 and sum(page.size for page in pages) < chunk.total_compressed_size
            assert {page.encoding for page in pages} <= ({8, 0} if dictionary else {0})
            assert all(page.statistics for page in pages)
            if not dictionary and place == 1:
                assert all(page.size >= 8 * page.values for page in pages)


def test_damaged_pages_are_refused(tmp_path: Path) -> None:
    path, draw, refused = tmp_path / "t.parquet", random.Random(3), 0
    pq.write_table(pa.table({"a": ["x", "y"] * 50}), path, compression="none")
    chunk = pq.read_metadata(path).row_group(0).column(0)
    start = chunk.dictionary_page_offset
    good = path.read_bytes()[start : start + chunk.total_compressed_size]
    for _ in range(2000):
        content = bytearray(good)
        for _ in range(draw.randrange(1, 4)):
            content[draw.randrange(len(content))] = draw.randrange(256)
        try:
            list(data_pages(bytes(content[: draw.randrange(len(content) + 1)])))
        except BundleError:
            refused += 1
    assert refused > 500
    for wrong in (b"\x15", b"\xff" * 40, b"\x1c" * 5000, b"\x19\xff" * 9):
        with pytest.raises(BundleError, match="as Parquet has them"):
            list(data_pages(wrong))


# ---------------------------------------------------------------- times, and what is beside the table


def test_times_that_tell_how_long_a_release_took_are_seen(desk: Path) -> None:
    bundle = copied(desk, "parquet", "slow")
    before = (bundle / "data.parquet").stat().st_mtime
    os.utime(bundle / "data.parquet", (before, before - 40))
    assert lost(audited(desk, "slow")) == {"file, times"}


@pytest.mark.parametrize("kind", ["statistics", "metadata", "index"])
def test_what_a_file_holds_beside_its_table_is_seen(desk: Path, kind: str) -> None:
    bundle = copied(desk, "parquet", kind)
    table = pq.read_table(bundle / "data.parquet")
    if kind == "metadata":
        table = table.replace_schema_metadata({"written": "2031-03-07 11:55"})
    write_plain(table, bundle, write_statistics=kind == "statistics", write_page_index=kind == "index")
    assert lost(audited(desk, kind)) == {"file, beside the table"}


def test_lines_beside_a_csv_are_seen(desk: Path) -> None:
    bundle = copied(desk, "csv", "lines")
    with kept_time(bundle / "data.csv") as path:
        path.write_bytes(path.read_bytes() + b"\n")
    assert lost(audited(desk, "lines")) == {"file, beside the table"}


@pytest.mark.parametrize("name", ["swap rank", "noise"])
def test_releases_without_classes_are_attacked_by_whole_rows(name: str, tmp_path: Path) -> None:
    """Swapped and noised tables have no classes to look alike in; an order that tells is noticed all the same."""
    cells.make_tables(tmp_path)
    recipe = cells.document(*cells.SETTINGS[name], "people.csv", "parquet")
    bundle = release(Recipe.parse(recipe, tmp_path), tmp_path / "out", key=KEY).bundle
    assert lost(audit_bundle(bundle, tmp_path / "people.csv", KEY)) == set()
    table, order = pq.read_table(bundle / "data.parquet"), retraced(bundle, tmp_path / "people.csv", KEY).order
    pq.write_table(table.take(np.argsort(order)), bundle / "data.parquet", compression="none")
    assert "rows, guessed order" in lost(audit_bundle(bundle, tmp_path / "people.csv", KEY))
