"""Bundles whose data is a set of files: the rows of the one file, for every method and every reader."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.audit.written_files import beside_the_table, bytes_of_cells, file_times, places_in_file
from tests.bundle.test_parts import by_definition
from tests.conftest import Refused
from tests.golden.cells import SETTINGS, make_tables, path_of
from tests.pipeline.elsewhere import Elsewhere
from tests.rows.people import same
from tests.security.bundles import certificate_text, copied, failed, statement_of

from pramana import (
    Bundle,
    Recipe,
    create_levels,
    crosstab,
    export,
    issue,
    open_study,
    release,
    report,
    synthesise,
    verify,
)
from pramana.app.main import run
from pramana.bundle.certificate import canonical
from pramana.bundle.parts import PartSet
from pramana.errors import BundleError, RecipeError, SourceError
from pramana.files.atomic import bundle_around
from pramana.files.parts import PartFolder
from pramana.randomness.key import Key
from pramana.reporting.attacks import audited_files
from pramana.rows.memory import MemoryRows
from pramana.run.trace import retraced
from pramana.schema import sections
from pramana.schema.sections import OutputSection

KEY = Key(bytes(range(1, 33)))
MANY = {"files": "many", "part_rows": 1_000}
CHOSEN = (  # of every method, and of every way its values are written
    "retention epsilon", "retention numbers", "invariant strata", "levels",
    "generalize pdf", "generalize labels", "generalize mondrian", "presence flag", "microaggregate", "swap rank",
    "noise",
)  # fmt: skip


def recipe_of(name: str, kind: str, folder: Path, **output: Any) -> Any:
    chosen, attributes = SETTINGS[name]
    statement = {
        "source": {"path": path_of(name, "parquet"), "dataset": "golden"},
        "release": dict(chosen),
        "attributes": dict(attributes),
        "output": {"format": kind, **output},
    }
    return Recipe.parse(statement, folder)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets")
    make_tables(folder)
    KEY.write(folder / "key")
    return folder


@pytest.fixture(scope="module")
def bundle(world: Path) -> Path:
    """Three parts of 1,000 rows."""
    release(recipe_of("retention epsilon", "parquet", world, **MANY), world / "bundle", key=KEY)
    return world / "bundle"


@pytest.fixture(scope="module")
def one(world: Path) -> Path:
    """The same rows in one file."""
    release(recipe_of("retention epsilon", "parquet", world), world / "one", key=KEY)
    return world / "one"


def rows_of(bundle: Path) -> pa.Table:
    """The rows as anyone reads the files, one after the other."""
    files = sorted((bundle / "data").iterdir()) if (bundle / "data").is_dir() else [bundle / "data.parquet"]
    return pa.concat_tables(pq.read_table(file) for file in files)


@pytest.mark.parametrize("name", CHOSEN)
def test_parts_are_the_rows_of_the_one_file_in_their_order(world: Path, name: str) -> None:
    kind = "csv" if name in ("levels", "generalize pdf") else "parquet"
    whole, parts = world / f"{name} whole", world / f"{name} parts"
    release(recipe_of(name, kind, world), whole, key=KEY, even_if_useless=True)
    release(recipe_of(name, kind, world, **MANY), parts, key=KEY, even_if_useless=True)
    opened = Bundle.open(parts)
    files = sorted((parts / "data").iterdir())
    stated = opened.certificate.parts
    assert stated is not None and [file.name for file in files] == [part.name for part in stated.files]
    assert len(files) == -(-opened.certificate.records // 1_000)
    if kind == "parquet":
        assert rows_of(parts).equals(pq.read_table(whole / "data.parquet"))
        assert [pq.read_metadata(file).num_rows for file in files] == [part.rows for part in stated.files]
    else:
        lines = [file.read_bytes().splitlines(keepends=True) for file in files]
        assert all(own[0] == lines[0][0] for own in lines)
        assert (
            b"".join([lines[0][0], *(line for own in lines for line in own[1:])])
            == (whole / "data.csv").read_bytes()
        )
    beside = {p.name for p in whole.iterdir()} - {"data.parquet", "data.csv"} | {"data"}
    assert {p.name for p in parts.iterdir()} == beside
    source = world / path_of(name, "parquet")
    found = verify(parts, source=source, key=KEY)
    assert found.valid, [check for check in found.checks if not check.ok]
    assert next(c.detail for c in found.checks if c.name == "made again") == "byte for byte"
    assert verify(parts, part=stated.files[-1].name).valid


@pytest.mark.parametrize(
    "name", ["retention numbers", "generalize pdf", "generalize labels", "swap rank", "noise"]
)
def test_parts_that_are_written_elsewhere_are_the_same(
    world: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where rows are left out as they are published (labels), they are not numbered elsewhere."""
    kind = "csv" if name == "generalize pdf" else "parquet"
    recipe = recipe_of(name, kind, world, **MANY)
    release(recipe, tmp_path / "here", key=KEY, even_if_useless=True)
    publish, sent = MemoryRows.publish, list[bool]()
    each_part = Elsewhere.each_part

    def counted(self: Elsewhere, rows: int, work: Any, kept: Any = None) -> list[Any]:
        sent.append(kept is not None)
        return each_part(self, rows, work, kept)

    monkeypatch.setattr(MemoryRows, "publish", lambda *args, **more: Elsewhere(publish(*args, **more)))
    monkeypatch.setattr(Elsewhere, "each_part", counted)
    release(recipe, tmp_path / "there", key=KEY, even_if_useless=True)
    same(tmp_path / "here", tmp_path / "there")
    left_out = Bundle.open(tmp_path / "here").certificate.records < 3_000
    assert sent == [left_out] and left_out == (name == "generalize labels")


def test_a_part_that_cannot_be_written_elsewhere_is_one_error_and_nothing_is_left(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is not there for who writes: executors that share no disk with the driver."""
    publish = MemoryRows.publish
    monkeypatch.setattr(MemoryRows, "publish", lambda *args, **more: Elsewhere(publish(*args, **more)))
    monkeypatch.setattr(PartFolder, "create", lambda _: None)
    with pytest.raises(BundleError, match="every executor writes to"):
        release(recipe_of("retention epsilon", "parquet", world, **MANY), tmp_path / "out", key=KEY)
    assert not list(tmp_path.iterdir())


def test_readers_say_the_same_of_a_set_as_of_one_file(bundle: Path, one: Path, world: Path) -> None:
    assert crosstab(bundle, ["sex", "age"]).cells() == crosstab(one, ["sex", "age"]).cells()
    assert open_study(bundle).share("sex = F") == open_study(one).share("sex = F")
    for name, place in (("many", bundle), ("one", one)):
        report(place, world / f"{name}.html")
        synthesise(place, world / f"{name}-synthetic.csv", records=50, key=KEY)
        export(place, world / f"{name}.arrow")
    exported = [pa.ipc.open_file(world / f"{name}.arrow").read_all() for name in ("many", "one")]
    assert exported[0].equals(exported[1])
    assert len((world / "many-synthetic.csv").read_text().splitlines()) == 51
    assert bundle_around(bundle / "data" / "part-00000.key") == bundle
    assert bundle_around(bundle / "x.key") == bundle


def test_an_audit_attacks_every_part(bundle: Path, world: Path, touched: Path) -> None:
    """What differs from one file; the attacks on rows and values see no files."""
    traced = retraced(bundle, world / "people.parquet", KEY)
    assert traced.same and traced.records == 3_000
    opened = Bundle.open(touched)
    assert file_times(opened).ok and beside_the_table(opened).ok and "5 files" in file_times(opened).detail
    assert audited_files(opened)["data"] == opened.certificate.content
    last = touched / "data" / "part-00002.parquet"
    pq.write_table(pq.read_table(last), last)  # with statistics, compressed
    os.utime(last, (1, 1))
    assert not file_times(opened).ok and not beside_the_table(opened).ok
    assert audited_files(opened)["data"] != opened.certificate.content
    with pytest.raises(SourceError, match="without compression"):
        retraced(touched, world / "people.parquet", KEY)


def test_places_in_a_set_are_told_by_part(bundle: Path, one: Path) -> None:
    many, whole = (places_in_file(Bundle.open(place), 3_000) for place in (bundle, one))
    assert set(many) == {*whole, "part", "within its part"}
    assert np.array_equal(many["part"], np.arange(3_000) // 1_000)
    assert np.array_equal(many["within its part"], np.arange(3_000) % 1_000)
    cells = [bytes_of_cells(Bundle.open(place), 3_000) for place in (bundle, one)]
    assert cells[0] is not None and cells[1] is not None and cells[0].keys() == cells[1].keys()


def test_numbers_of_rows_decide_where_the_recipe_says_nothing(
    world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert OutputSection().rows_of_parts(sections.MANY_ROWS) is None
    assert OutputSection().rows_of_parts(sections.MANY_ROWS + 1) == sections.PART_ROWS == 1 << 22
    assert OutputSection(files="one").rows_of_parts(1 << 50) is None
    assert OutputSection(files="many").rows_of_parts(1) == sections.PART_ROWS
    assert OutputSection(part_rows=1_000).rows_of_parts(1) is None
    monkeypatch.setattr(sections, "MANY_ROWS", 2_999)
    release(recipe_of("retention epsilon", "parquet", world), world / "by size", key=KEY)
    stated = Bundle.open(world / "by size").certificate.parts
    assert stated is not None and [part.rows for part in stated.files] == [3_000]


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ('files = "some"', "output.files"),
        ('files = "many"\npart_rows = 999', "output.part_rows"),
        ('files = "many"\npart_rows = 134217729', "output.part_rows"),
        ('files = "one"\npart_rows = 1000', "output.part_rows must go with files"),
    ],
)
def test_other_settings_are_refused(desk: Path, refused: Refused, output: str, told: str) -> None:
    (desk / "recipe.toml").write_text((desk / "recipe.toml").read_text() + f"[output]\n{output}\n")
    assert told in refused("release", "recipe.toml", "--out", "out")


def test_too_many_parts_are_refused_and_nothing_is_left(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pramana.bundle.parts.MOST_PARTS", 2)
    before = sorted(world.iterdir())
    with pytest.raises(RecipeError, match="at most 2 parts"):
        release(recipe_of("retention epsilon", "parquet", world, **MANY), world / "too many", key=KEY)
    assert sorted(world.iterdir()) == before


# ---------------------------------------------------------------- one part alone


def test_a_part_is_verified_without_the_others(
    bundle: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    alone = copied(bundle, tmp_path / "alone")
    for name in ("part-00000.parquet", "part-00002.parquet"):
        (alone / "data" / name).unlink()
    (alone / "report.html").unlink()
    assert run(["verify", str(alone), "--part", "part-00001.parquet", "--json"]) == 0
    checks = {check["name"]: check for check in json.loads(capfd.readouterr().out)["checks"]}
    assert checks["digest part-00001.parquet"]["ok"] and "1000 records" in checks["data"]["detail"]
    assert failed(alone, part="part-00000.parquet") == {"digest part-00000.parquet", "data"}
    assert not verify(alone).valid
    with (alone / "data" / "part-00001.parquet").open("r+b") as file:
        file.seek(200)
        file.write(b"\xff\xfe")
    assert run(["verify", str(alone), "--part", "part-00001.parquet"]) == 1
    assert "digest part-00001.parquet" in failed(alone, part="part-00001.parquet") & failed(alone)
    capfd.readouterr()
    for name in ("../certificate.json", "part-00009.parquet", "data.parquet"):
        assert run(["verify", str(alone), "--part", name]) == 2
        assert capfd.readouterr().err.count("\n") == 1


def test_a_bundle_of_one_file_has_no_parts(one: Path, world: Path) -> None:
    with pytest.raises(BundleError, match="set of files"):
        verify(one, part="part-00000.parquet")
    with pytest.raises(BundleError, match="made again as a whole"):
        verify(one, part="part-00000.parquet", source=world / "people.parquet", key=KEY)


# ---------------------------------------------------------------- whoever changed it


@pytest.fixture
def touched(bundle: Path, tmp_path: Path) -> Iterator[Path]:
    yield copied(bundle, tmp_path / "touched")


def test_missing_extra_swapped_and_linked_parts_are_found_out(touched: Path, bundle: Path) -> None:
    data = touched / "data"
    first, second = data / "part-00000.parquet", data / "part-00001.parquet"

    def again() -> None:
        shutil.rmtree(data, ignore_errors=True) if not data.is_symlink() else data.unlink()
        shutil.copytree(bundle / "data", data)

    first.unlink()
    assert failed(touched) >= {"digest part-00000.parquet", "parts"}
    again()
    (data / "part-00003.parquet").write_bytes(first.read_bytes())
    assert failed(touched) >= {"parts"}
    again()
    (data / ".hidden").write_bytes(b"x")
    assert failed(touched) >= {"parts"}
    again()
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)
    assert failed(touched) >= {"digest part-00000.parquet", "digest part-00001.parquet"}
    again()
    first.unlink()
    first.symlink_to(bundle / "data" / first.name)
    assert failed(touched) >= {"digest part-00000.parquet"}
    assert failed(touched, part=first.name) >= {"digest part-00000.parquet"}
    again()
    shutil.rmtree(data)
    data.symlink_to(bundle / "data")
    assert failed(touched) >= {"parts"}
    data.unlink()
    assert failed(touched) >= {"parts"}
    data.write_bytes(b"")
    assert failed(touched) >= {"parts"}


def test_without_its_certificate_it_is_no_bundle(touched: Path, tmp_path: Path) -> None:
    (touched / "certificate.json").unlink()
    readers: list[Callable[[], object]] = [
        lambda: verify(touched),
        lambda: verify(touched, part="part-00000.parquet"),
        lambda: crosstab(touched, ["sex"]),
        lambda: open_study(touched),
        lambda: report(touched, tmp_path / "page.html"),
        lambda: synthesise(touched, tmp_path / "rows.csv"),
        lambda: export(touched, tmp_path / "rows.arrow"),
    ]
    for reader in readers:
        with pytest.raises(BundleError, match=r"must hold certificate\.json"):
            reader()


Statement = dict[str, Any]


def _swapped(s: Statement) -> None:
    s["parts"]["files"].reverse()


def _outside(s: Statement) -> None:
    s["parts"]["files"][0]["name"] = "../part-00000.parquet"


def _fewer(s: Statement) -> None:
    s["parts"]["files"].pop()


def _wrong_rows(s: Statement) -> None:
    s["parts"]["files"][2]["rows"] -= 1


def _wrong_root(s: Statement) -> None:
    s["parts"]["root"] = s["content"] = "0" * 64


def _other_content(s: Statement) -> None:
    s["content"] = "0" * 64


def _other_form(s: Statement) -> None:
    s["output"] = "csv"


def _no_parts(s: Statement) -> None:
    s["parts"]["files"] = []


@pytest.mark.parametrize(
    "change",
    [_swapped, _outside, _fewer, _wrong_rows, _wrong_root, _other_content, _other_form, _no_parts],
)
def test_certificates_whose_parts_do_not_fit_are_one_line(
    touched: Path, change: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    statement = statement_of(touched)
    change(statement)
    (touched / "certificate.json").write_text(certificate_text(statement))
    assert run(["verify", str(touched)]) == 2
    shown = capfd.readouterr()
    assert shown.err.count("\n") == 1 and shown.out == ""


def test_rows_that_are_not_as_many_as_certified_are_found_out(touched: Path) -> None:
    """A forger who makes digests and root again still has to keep the number of rows of each part."""
    statement, data = statement_of(touched), touched / "data"
    table = rows_of(touched)
    pq.write_table(table.slice(0, 999), data / "part-00000.parquet")
    files = statement["parts"]["files"]
    content = (data / "part-00000.parquet").read_bytes()
    files[0] |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    parts = PartSet.from_json({**statement["parts"], "root": _root(statement["parts"])})
    statement |= {"parts": parts.to_json(), "content": parts.root}
    (touched / "certificate.json").write_text(certificate_text(statement))
    assert failed(touched) == {"data", "report"}
    assert failed(touched, part="part-00000.parquet") == {"data"}
    assert failed(touched, part="part-00001.parquet") == set()


def test_other_rows_are_found_out_wherever_parts_are_made_again(
    touched: Path, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rows of a part change places, and the forger has made digests, root and certificate again."""
    statement, data = statement_of(touched), touched / "data"
    table = pq.read_table(data / "part-00001.parquet")
    row = next(i for i in range(999) if table.slice(i, 1) != table.slice(i + 1, 1))
    order = [*range(row), row + 1, row, *range(row + 2, 1_000)]
    pq.write_table(table.take(order), data / "part-00001.parquet")
    content = (data / "part-00001.parquet").read_bytes()
    statement["parts"]["files"][1] |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    parts = PartSet.from_json({**statement["parts"], "root": _root(statement["parts"])})
    statement |= {"parts": parts.to_json(), "content": parts.root}
    (touched / "certificate.json").write_text(certificate_text(statement))
    source = world / "people.parquet"
    assert "made again" in failed(touched, source=source, key=KEY)
    publish = MemoryRows.publish
    monkeypatch.setattr(MemoryRows, "publish", lambda *args, **more: Elsewhere(publish(*args, **more)))
    assert "made again" in failed(touched, source=source, key=KEY)


def _root(stated: Statement) -> str:
    return by_definition([canonical(part) for part in stated["files"]]).hex()


# ---------------------------------------------------------------- what else writes and reads bundles


def test_versions_are_issued_as_sets_and_made_again(world: Path, tmp_path: Path) -> None:
    text = f"""
[source]
path = "{world / "people.parquet"}"
[release]
method = "levels"
[attributes.sex]
role = "quasi-identifying"
domain = ["F", "M"]
[attributes.illness]
role = "sensitive"
domain = ["none", "flu", "cold", "gout"]
[output]
files = "many"
part_rows = 1000
"""
    (tmp_path / "recipe.toml").write_text(text)
    ledger = tmp_path / "versions.ledger"
    create_levels(ledger, tmp_path / "recipe.toml")
    issued = issue(ledger, "clinic", 0.5, tmp_path / "clinic")
    assert issued.certificate.parts is not None and len(issued.certificate.parts.files) == 3
    assert verify(tmp_path / "clinic").valid
    again = issue(ledger, "clinic", 0.5, tmp_path / "clinic again")
    assert again.again and again.certificate.content == issued.certificate.content
    shutil.rmtree(tmp_path / "clinic again")


def test_a_set_also_goes_to_a_database_and_to_other_programs(world: Path, tmp_path: Path) -> None:
    place = tmp_path / "rows.sqlite"
    sqlite3.connect(place).close()
    place.touch()
    chosen = recipe_of(
        "retention epsilon", "arrow", world, **MANY, url=f"sqlite:///{place}", table="rows", synthetic=True
    )
    release(chosen, tmp_path / "out", key=KEY)
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "certificate.json", "data", "data.arrow", "report.html", "synthetic.parquet",
    }  # fmt: skip
    assert verify(tmp_path / "out", source=world / "people.parquet", key=KEY).valid
    connection = sqlite3.connect(place)
    assert connection.execute("select count(*) from rows").fetchone() == (3_000,)
    connection.close()
