"""Tables in a store are read as they are on this machine: the same rows in the same order, everywhere."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from tests.object_store import Bucket

import pramana
from pramana.app.main import run
from pramana.files.locations import located
from pramana.io.pieces import Cut, pieces_of
from pramana.io.source import Source
from pramana.run.trace import retraced

TABLE = pa.table(
    {
        "sex": ["F", "M", None, "F"] * 50,
        "age": list(range(200)),
        "said": ["a,b", 'a "quote"', "two\nlines", "é"] * 50,
    }
)
NAMES = TABLE.column_names


def written(kind: str, table: pa.Table = TABLE) -> bytes:
    sink = pa.BufferOutputStream()
    if kind == "parquet":
        pq.write_table(table, sink, row_group_size=60)
    elif kind == "arrow":
        with pa.ipc.new_file(sink, table.schema) as file:
            file.write_table(table, 60)
    else:
        pacsv.write_csv(table, sink)
    content: bytes = sink.getvalue().to_pybytes()
    return gzip.compress(content) if kind.endswith("gz") else content


def columns(source: Source) -> dict[str, list[object]]:
    return {name: column.to_pylist() for name, column in source.read().columns.items()}


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "arrow"])
def test_an_object_is_read_like_a_file(kind: str, bucket: Bucket, tmp_path: Path) -> None:
    content = written(kind)
    (tmp_path / f"people.{kind}").write_bytes(content)
    here = Source(path=tmp_path / f"people.{kind}")
    there = Source(path=located(bucket.put(f"deep/people.{kind}", content)))
    assert columns(there) == columns(here)
    batches = list(there.batches(["said", "age"], 64))
    assert len(batches) > 1 or kind.startswith("csv")
    assert pa.Table.from_batches(batches).column("said").to_pylist() == TABLE.column("said").to_pylist()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_prefix_is_read_like_a_folder(kind: str, bucket: Bucket, tmp_path: Path) -> None:
    parts = {f"part-{n}.{kind}": TABLE.slice(first, 70) for n, first in enumerate((0, 70, 140))}
    (tmp_path / "parts").mkdir()
    for name, part in reversed(parts.items()):  # the order of names counts, not that of arrival
        (tmp_path / "parts" / name).write_bytes(written(kind, part))
        bucket.put(f"parts/{name}", written(kind, part))
    bucket.put(f"parts/_hidden.{kind}", b"not a table")
    bucket.put(f"parts-of-another/part.{kind}", written(kind))
    there = Source(path=located(bucket.url("parts/")))
    assert columns(there) == columns(Source(path=tmp_path / "parts"))
    assert columns(there)["age"] == list(range(200)) or kind == "csv"
    pieces = pieces_of(there, NAMES, Cut(4))
    rows = [row for piece in pieces for table in piece.read(["age"]) for row in table.column("age").to_pylist()]
    assert [int(row) for row in rows] == list(range(200))
    assert len(pieces) >= 3


def test_columns_in_the_names_of_folders(bucket: Bucket, tmp_path: Path) -> None:
    """Beside names that begin alike, and what is no table."""
    for name, part in (("year=2020/a.parquet", TABLE.slice(0, 90)), ("year=2021/a.parquet", TABLE.slice(90))):
        here = tmp_path / "sets" / "k=1" / "parts" / name
        here.parent.mkdir(parents=True)
        here.write_bytes(written("parquet", part))
        bucket.put(f"sets/k=1/parts/{name}", written("parquet", part))
    bucket.put("sets/k=1/parts-of-another/README", b"no table")
    bucket.put("sets/k=1/parts.txt", b"no table")
    there = Source(path=located(bucket.url("sets/k=1/parts")))
    expected = columns(Source(path=tmp_path / "sets" / "k=1" / "parts"))
    assert columns(there) == expected and expected["year"] == [2020] * 90 + [2021] * 110


def test_one_key_gives_one_release_wherever_the_table_lies(bucket: Bucket, desk: Path) -> None:
    url = bucket.put("people.csv", (desk / "people.csv").read_bytes())
    key = pramana.Key.create()
    recipe = pramana.Recipe.read("recipe.toml")
    pramana.release(recipe, "here", key=key, even_if_useless=True)
    pramana.release(recipe.with_source(url), "there", key=key, even_if_useless=True)
    pramana.release(recipe.with_source(url), "bounded", key=key, memory=1 << 29, even_if_useless=True)
    for name in ("data.parquet", "certificate.json", "report.html"):
        content = (desk / "here" / name).read_bytes()
        assert content == (desk / "there" / name).read_bytes() == (desk / "bounded" / name).read_bytes()
    assert pramana.verify("here", source=url, key=key).valid
    other = bucket.put("other.csv", (desk / "people.csv").read_bytes().replace(b",F,", b",M,", 1))
    assert not pramana.verify("here", source=other, key=key).valid


def shown(capfd: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    capfd.readouterr()
    assert run([*arguments, "--json"]) == 0, capfd.readouterr().err
    content: dict[str, object] = json.loads(capfd.readouterr().out)
    return content


def test_every_command_takes_a_table_by_its_url(
    bucket: Bucket, desk: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    url = bucket.put("people.csv", (desk / "people.csv").read_bytes())
    for command in (["inspect"], ["anonymity", "--quasi", "sex"]):
        assert shown(capfd, *command, url)["records"] == shown(capfd, *command, "people.csv")["records"] == 40
    made = shown(capfd, "init", url, "--job", "k-anonymity", "--out", "drafted.toml")
    assert made["recipe"] == "drafted.toml"
    assert f'path = "{url}"' in (desk / "drafted.toml").read_text()
    (desk / "recipe.toml").write_text((desk / "recipe.toml").read_text().replace("people.csv", url))
    assert shown(capfd, "plan", "recipe.toml")["records"] == 40
    assert shown(capfd, "recipe", "check", "recipe.toml")["valid"]
    shown(capfd, "release", "recipe.toml", "--out", "published", "--even-if-useless")
    # what every attack of `audit` begins with
    assert retraced("published", url, "published.key").same


def test_hierarchies_and_public_tables_may_lie_there_too(bucket: Bucket, desk: Path) -> None:
    ages = "".join(f"{age};{age // 50 * 50}+;*\n" for age in range(100))
    tree = bucket.put("trees/age.csv", ages.encode())
    (desk / "age.csv").write_text(ages)
    assert pramana.Hierarchy.read(tree) == pramana.Hierarchy.read("age.csv")
    everyone = (desk / "people.csv").read_text()
    public = bucket.put("tables/everyone.csv", everyone.encode())
    source = bucket.put("tables/some.csv", "".join(everyone.splitlines(keepends=True)[:21]).encode())
    recipe = pramana.Recipe.parse(
        {
            "source": {"path": source},
            "release": {"method": "presence", "public": public, "delta": [0.01, 0.9]},
            "attributes": {
                "sex": {"role": "quasi-identifying", "domain": ["F", "M"]},
                "age": {"role": "quasi-identifying", "hierarchy": tree},
            },
        }
    )
    pramana.release(recipe, "published", key=(key := pramana.Key.create()))
    assert pramana.verify("published", source=source, key=key).valid  # the public table lies beside the source
    assert bucket.name not in (desk / "published" / "certificate.json").read_text()


def test_damage_is_told_as_damage(bucket: Bucket, refused: Callable[..., str]) -> None:
    cut = bucket.put("cut.parquet", written("parquet")[:-9])
    told = refused("release", "recipe.toml", "--source", cut, "--out", "published")
    assert "must be a Parquet file" in told or "damaged data" in told
    ragged = bucket.put("ragged.csv", b"sex,age\nF,1\nM\n")
    assert "2 fields like its header, got 1 in line 3" in refused(
        "release", "recipe.toml", "--source", ragged, "--out", "published"
    )
