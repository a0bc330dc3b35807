"""Tables larger than memory: the same bytes as in memory, whatever the batches, the buckets and the threads."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from pramana import Ledger, Recipe, create_levels, crosstab, issue, release, verify
from pramana.errors import BundleError, RecipeError, SourceError
from pramana.methods.recipe import AnyRecipe
from pramana.randomness.key import Key
from pramana.rows import engines as batch
from pramana.rows.engines import BatchEngine

ROWS = 70_001
SMALL = 512 << 20
JOBS = [f"job {i:03d}" for i in range(300)]


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One table in four shapes: Parquet, CSV, and folders of either."""
    rng = np.random.default_rng(5)
    table = pa.table(
        {
            "sex": pa.array(rng.choice(["F", "M"], ROWS).tolist()).dictionary_encode(),
            "age": pa.array(rng.integers(0, 100, ROWS), mask=rng.random(ROWS) < 0.01),
            "job": pa.array(rng.choice(JOBS, ROWS).tolist()),
            "town": pa.array([f"t{i}" for i in rng.integers(0, 40, ROWS)]),
            "note": pa.array([None if i % 97 == 0 else f'n "{i}", é\n{i % 7}' for i in range(ROWS)]),
        }
    )
    folder = tmp_path_factory.mktemp("people")
    pq.write_table(table, folder / "all.parquet", row_group_size=20_000)
    plain = table.cast(pa.schema([(n, pa.string() if n != "age" else pa.int64()) for n in table.column_names]))
    pacsv.write_csv(plain, folder / "all.csv")
    for name, start in (("b", 30_000), ("a", 0), ("c", 30_001)):
        stop = {"a": 30_000, "b": 30_001, "c": ROWS}[name]
        (folder / "parquets").mkdir(exist_ok=True)
        (folder / "csvs").mkdir(exist_ok=True)
        pq.write_table(table.slice(start, stop - start), folder / "parquets" / f"{name}.parquet")
        pacsv.write_csv(plain.slice(start, stop - start), folder / "csvs" / f"{name}.csv")
    return folder


ATTRIBUTES: dict[str, Any] = {
    "sex": {"role": "quasi-identifying", "domain": ["F", "M"]},
    "age": {"role": "quasi-identifying", "bins": list(range(0, 101, 10))},
    "job": {"role": "quasi-identifying", "domain": JOBS},
    "town": {"role": "quasi-identifying", "domain": "from-data"},
    "note": {"role": "insensitive"},
}


def recipe(path: Path, method: str = "retention", output: str = "parquet", **options: Any) -> AnyRecipe:
    attributes = {name: dict(a) for name, a in ATTRIBUTES.items()}
    stated: dict[str, Any] = {"method": method}
    if method == "retention":
        stated |= {"epsilon": 12.0}
    elif method == "matrix":
        attributes = {n: attributes[n] for n in ("sex", "note")}
        attributes["sex"]["matrix"] = [[0.8, 0.2], [0.3, 0.7]]
    elif method == "invariant":
        stated |= {"xi": 0.1, "unreached": "publish"}
        attributes["sex"]["role"] = "insensitive"  # a stratum
        del attributes["sex"]["domain"]
    elif method == "levels":
        stated |= {"retention": 0.4}
        attributes["town"]["role"] = attributes["age"]["role"] = "sensitive"
    document = {
        "source": {"path": str(path)},
        "release": stated | options,
        "attributes": attributes,
        "output": {"format": output},
    }
    return Recipe.parse(document, path.parent)


def files(bundle: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(bundle.iterdir())}


@pytest.fixture
def buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many buckets, small batches and most of it on disk, as tables a thousand times as large would have."""
    monkeypatch.setattr(batch, "_HELD", 1 << 16)
    monkeypatch.setattr(BatchEngine, "bucket_bits", lambda *_: 5)
    monkeypatch.setattr(BatchEngine, "batch_rows", lambda *_: 9_000)


METHODS: list[tuple[str, dict[str, Any]]] = [
    ("retention", {}),
    ("retention", {"coin": "record"}),
    ("retention", {"shuffle": False}),
    ("matrix", {}),
    ("invariant", {}),
    ("invariant", {"strata": ["sex"], "matrix": "published"}),
    ("invariant", {"together": [["age", "town"]]}),
    ("levels", {}),
]


@pytest.mark.usefixtures("buckets")
@pytest.mark.parametrize(("method", "options"), METHODS, ids=[f"{m} {' '.join(o)}" for m, o in METHODS])
def test_every_method_gives_the_bytes_it_gives_in_memory(
    method: str, options: dict[str, Any], people: Path, tmp_path: Path
) -> None:
    stated = recipe(people / "all.parquet", method, **options)
    release(stated, tmp_path / "whole", seed=1)
    release(stated, tmp_path / "streamed", seed=1, memory=SMALL)
    assert files(tmp_path / "whole") == files(tmp_path / "streamed")


@pytest.mark.usefixtures("buckets")
@pytest.mark.parametrize("source", ["all.parquet", "all.csv", "parquets", "csvs"])
@pytest.mark.parametrize("output", ["parquet", "csv"])
def test_every_shape_of_a_source_gives_the_same_bytes(
    source: str, output: str, people: Path, tmp_path: Path
) -> None:
    stated = recipe(people / source, output=output)
    release(stated, tmp_path / "whole", seed=1)
    release(stated, tmp_path / "streamed", seed=1, memory=SMALL)
    assert files(tmp_path / "whole") == files(tmp_path / "streamed")
    release(recipe(people / "all.parquet", output=output), tmp_path / "one file", seed=1)
    name = f"data.{output}"
    assert (tmp_path / "one file" / name).read_bytes() == (tmp_path / "streamed" / name).read_bytes()


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize(("bits", "rows"), [(0, 1 << 18), (1, 70_000), (9, 4_096), (3, 1_000)])
def test_threads_batches_and_buckets_decide_nothing(
    threads: int, bits: int, rows: int, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BatchEngine, "bucket_bits", lambda *_: bits)
    monkeypatch.setattr(BatchEngine, "batch_rows", lambda *_: rows)
    stated = recipe(people / "all.parquet")
    release(stated, tmp_path / "whole", seed=1)
    release(stated, tmp_path / "streamed", seed=1, memory=SMALL, threads=threads)
    assert files(tmp_path / "whole") == files(tmp_path / "streamed")


@pytest.mark.usefixtures("buckets")
def test_a_frame_streams_too(people: Path, tmp_path: Path) -> None:
    stated = recipe(people / "all.parquet")
    frame = pq.read_table(people / "all.parquet")
    release(stated, tmp_path / "whole", seed=1, data=frame)
    release(stated, tmp_path / "streamed", seed=1, data=frame, memory=SMALL)
    assert files(tmp_path / "whole") == files(tmp_path / "streamed")


@pytest.mark.usefixtures("buckets")
@pytest.mark.parametrize("method", ["retention", "invariant", "levels"])
def test_verify_makes_it_again_within_a_bound(method: str, people: Path, tmp_path: Path) -> None:
    source = people / "all.parquet"
    release(recipe(source, method), tmp_path / "out", seed=1, memory=SMALL)
    found = verify(tmp_path / "out", source=source, seed=1, memory=SMALL)
    assert found.valid
    assert ("made again", "byte for byte") in [(c.name, c.detail) for c in found.checks]
    changed = pq.read_table(source)
    sex = changed.column("sex").cast(pa.string()).to_pylist()
    sex[-1] = "M" if sex[-1] == "F" else "F"
    pq.write_table(changed.set_column(0, "sex", pa.array(sex)), tmp_path / "changed.parquet")
    found = verify(tmp_path / "out", source=tmp_path / "changed.parquet", seed=1, memory=SMALL)
    assert "source" in [c.name for c in found.checks if not c.ok]
    found = verify(tmp_path / "out", source=people / "parquets" / "a.parquet", seed=1, memory=SMALL)
    assert "30000 records, certified are 70001" in [c.detail for c in found.checks if not c.ok]


def test_tables_are_counted_in_pieces(people: Path, tmp_path: Path) -> None:
    """A weight column and a column released unchanged among them."""
    stated = recipe(people / "all.parquet", epsilon=20.0)
    release(stated, tmp_path / "out", seed=1)
    shown = pq.read_table(tmp_path / "out" / "data.parquet").select(["sex", "age"]).to_pylist()
    cells = crosstab(tmp_path / "out", ["sex", "age"], method="inverse").cells()
    assert len(cells) == 2 * 11
    assert sum(cell["estimate"] for cell in cells) == pytest.approx(ROWS)
    women = sum(row["sex"] == "F" for row in shown) / ROWS
    assert sum(cell["estimate"] for cell in cells if cell["sex"] == "F") / ROWS == pytest.approx(women, abs=0.05)


@pytest.mark.usefixtures("buckets")
def test_levels_are_registered_and_issued_within_a_bound(people: Path, tmp_path: Path) -> None:
    import tomllib

    text = f"""
[source]
path = "{people / "all.parquet"}"
[release]
method = "levels"
[attributes.sex]
role = "insensitive"
[attributes.age]
role = "sensitive"
bins = [0, 20, 40, 60, 80, 100]
[attributes.town]
role = "sensitive"
domain = "from-data"
"""
    assert tomllib.loads(text)
    (tmp_path / "r.toml").write_text(text)
    whole = create_levels(tmp_path / "a.db", tmp_path / "r.toml", key=tmp_path / "a.key")
    Key.read(tmp_path / "a.key").write(tmp_path / "b.key")
    streamed = create_levels(tmp_path / "b.db", tmp_path / "r.toml", key=tmp_path / "b.key", memory=SMALL)
    assert whole.records == streamed.records == ROWS
    registered = [Ledger.open(tmp_path / name).dataset() for name in ("a.db", "b.db")]
    assert len({(d.source, d.design, d.key) for d in registered}) == 1
    first = issue(tmp_path / "a.db", "ann", "0.3", tmp_path / "one")
    second = issue(tmp_path / "b.db", "ann", "0.3", tmp_path / "two", memory=SMALL)
    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert first.release.content == second.release.content
    again = issue(tmp_path / "b.db", "ann", "0.3", tmp_path / "three", memory=SMALL)
    assert again.again
    assert files(tmp_path / "two") == files(tmp_path / "three")


# ---------------------------------------------------------------- what is refused


@pytest.mark.usefixtures("buckets")
def test_values_outside_a_domain_are_counted_over_all_batches(people: Path, tmp_path: Path) -> None:
    document = recipe(people / "all.parquet")
    attributes = {**ATTRIBUTES, "job": {"role": "quasi-identifying", "domain": JOBS[:200]}}
    stated = Recipe.parse(
        {"source": {"path": str(people / "all.parquet")}, "release": {"method": "retention", "epsilon": 12.0},
         "attributes": attributes}, people,
    )  # fmt: skip
    assert document.method == stated.method
    errors = []
    for memory in (None, SMALL):
        with pytest.raises(SourceError) as found:
            release(stated, tmp_path / "out", seed=1, memory=memory)
        errors.append(str(found.value))
    assert errors[0] == errors[1]
    assert "outside it" in errors[0]
    assert [p.name for p in tmp_path.iterdir()] == []


@pytest.mark.usefixtures("buckets")
def test_missing_values_that_must_not_be_are_refused_alike(people: Path, tmp_path: Path) -> None:
    attributes = {"age": {**ATTRIBUTES["age"], "missing": "never"}}
    stated = Recipe.parse(
        {"source": {"path": str(people / "all.parquet")}, "release": {"method": "retention", "epsilon": 3.0},
         "attributes": attributes}, people,
    )  # fmt: skip
    errors = []
    for memory in (None, SMALL):
        with pytest.raises(SourceError) as found:
            release(stated, tmp_path / "out", seed=1, memory=memory)
        errors.append(str(found.value))
    assert errors[0] == errors[1]


def test_a_bound_too_small_and_a_method_that_does_not_stream(people: Path, tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="at least"):
        release(recipe(people / "all.parquet"), tmp_path / "out", seed=1, memory=1 << 20)
    stated = Recipe.parse(
        {"source": {"path": str(people / "all.parquet")}, "release": {"method": "microaggregate", "k": 3},
         "attributes": {"sex": ATTRIBUTES["sex"]}}, people,
    )  # fmt: skip
    with pytest.raises(RecipeError, match="streams"):
        release(stated, tmp_path / "out", seed=1, memory=SMALL)


def test_an_empty_folder_and_a_table_without_rows(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    with pytest.raises(SourceError, match="must hold"):
        release(recipe(tmp_path / "none"), tmp_path / "out", seed=1, memory=SMALL)
    empty = pa.table({name: pa.array([], pa.string()) for name in ATTRIBUTES})
    pq.write_table(empty, tmp_path / "empty.parquet")
    with pytest.raises(SourceError, match="at least one record"):
        release(recipe(tmp_path / "empty.parquet"), tmp_path / "out", seed=1, memory=SMALL)


def test_a_damaged_file_stops_it_with_nothing_left(people: Path, tmp_path: Path) -> None:
    whole = (people / "all.csv").read_bytes()
    (tmp_path / "bad.csv").write_bytes(whole + b'F,1,"job 001\n')
    with pytest.raises(SourceError):
        release(recipe(tmp_path / "bad.csv"), tmp_path / "out", seed=1, memory=SMALL)
    assert [p.name for p in tmp_path.iterdir()] == ["bad.csv"]


_KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from pramana import release
from pramana.rows import engines
from pramana.rows.engines import BatchEngine
from tests.pipeline.test_streamed import recipe
import time
stage = sys.argv[1]
def progress(now, done, of):
    if now == stage and done > 9_000:
        print("here", flush=True)
        time.sleep(60)
engines._HELD = 1 << 16
BatchEngine.bucket_bits = lambda *_: 5
BatchEngine.batch_rows = lambda *_: 9_000
release(recipe(Path({source!r})), {out!r}, key={key!r}, memory=1 << 29, progress=progress)
"""


@pytest.mark.usefixtures("buckets")
@pytest.mark.parametrize("stage", ["reading", "randomising", "writing in keyed order"])
def test_killed_anywhere_it_leaves_nothing_and_is_redone_to_the_same_bytes(
    stage: str, people: Path, tmp_path: Path
) -> None:
    Key.create().write(tmp_path / "key")
    out, source = tmp_path / "out", people / "all.parquet"
    code = _KILLED.format(
        tests=str(Path(__file__).parents[2]), source=str(source), out=str(out), key=str(tmp_path / "key")
    )
    run = subprocess.Popen([sys.executable, "-c", code, stage], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    assert run.stdout.readline().strip() == "here"
    run.kill()
    run.wait()
    left = [p for p in tmp_path.rglob("*") if p.name.startswith(".out") or ".out" in str(p.parent)]
    assert not [p for p in left if p.is_file()], "no row, published or not, is left behind"
    run.stdout.close()
    assert not out.exists()
    assert not [p for p in tmp_path.iterdir() if "scratch" in p.name or "tmp" in p.name]
    release(recipe(source), out, key=tmp_path / "key", memory=SMALL)
    release(recipe(source), tmp_path / "whole", key=tmp_path / "key")
    assert files(out) == files(tmp_path / "whole")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["key", "out", "whole"]


@pytest.mark.usefixtures("buckets")
def test_scratch_room_shows_nothing_of_the_rows(
    people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What reaches the disk is read back as it lies there: no label, no code column, no entry is in it."""
    from pramana.files import scratch

    monkeypatch.setattr(batch, "_HELD", 0)
    seen: list[bytes] = []
    plain: list[bytes] = []
    append, close = scratch.Scratch.append, scratch.Scratch.close

    def noted(self: Any, data: Any) -> int:
        plain.append(bytes(memoryview(data).cast("B")))
        return append(self, data)

    def closed(self: Any) -> None:
        import os

        seen.append(os.pread(self.file.fileno(), 1 << 28, 0))
        close(self)

    monkeypatch.setattr(scratch.Scratch, "append", noted)
    monkeypatch.setattr(scratch.Scratch, "close", closed)
    assert vars(batch)["Scratch"] is scratch.Scratch
    release(recipe(people / "all.parquet"), tmp_path / "out", seed=1, memory=SMALL)
    assert len(seen) == 2
    assert sum(map(len, plain)) > ROWS * 4
    everything = b"".join(seen)
    for piece in plain:
        assert len(piece) < 64 or piece[:64] not in everything
    assert b'n "12345", ' not in everything
    with pytest.raises(BundleError):
        scratch.Scratch(tmp_path / "nowhere")


@pytest.mark.usefixtures("buckets")
def test_progress_tells_of_every_stage_and_never_goes_back(people: Path, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    release(
        recipe(people / "all.parquet"), tmp_path / "out", seed=1, memory=SMALL,
        progress=lambda *now: told.append(now),
    )  # fmt: skip
    for stage in ("reading", "randomising", "writing in keyed order"):
        done = [d for s, d, of in told if s == stage and of > 1]
        assert done == sorted(done)
        assert done[-1] == ROWS


@pytest.mark.usefixtures("buckets")
def test_interrupted_it_leaves_nothing(people: Path, tmp_path: Path) -> None:
    def stop(stage: str, *_: int) -> None:
        if stage == "randomising":
            raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        release(recipe(people / "all.parquet"), tmp_path / "out", seed=1, memory=SMALL, progress=stop)
    assert time.monotonic() - began < 60
    assert list(tmp_path.iterdir()) == []
