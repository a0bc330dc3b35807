"""Full-domain generalisation of tables larger than memory: the bytes of the in-memory path, file by file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from pramana import Recipe, release, verify
from pramana.bundle import bundle
from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import Certificate
from pramana.errors import PramanaError, RecipeError
from pramana.io import writing as write
from pramana.methods.generalize import search
from pramana.methods.recipe import AnyRecipe
from pramana.rows.engines import BatchEngine
from pramana.run.write import file_entry
from pramana.schema.hierarchy import hierarchy_of_groups, hierarchy_of_intervals, hierarchy_of_tree

ROWS = 9_001
SMALL = 512 << 20
NATIONS = {"America": ["Canada", "Peru", "USA"], "Europe": ["Britain", "France", "Italy"]}
ILLNESSES = {"physical": ["flu", "ulcer"], "mental": ["grief", "panic"]}
JOBS = [f"job {i:03d}" for i in range(300)]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table as Parquet and as CSV, with hierarchies beside it; some ages are missing."""
    folder = tmp_path_factory.mktemp("world")
    rng = np.random.default_rng(11)
    nations = [n for part in NATIONS.values() for n in part]
    ages = 20 + np.minimum(rng.exponential(9, ROWS).astype(int), 39)
    sick = [n for part in ILLNESSES.values() for n in part]
    table = pa.table(
        {
            "name": pa.array([f"p{i}" for i in range(ROWS)]),
            "nation": pa.array([nations[min(int(i), 5)] for i in rng.exponential(1.6, ROWS)]).dictionary_encode(),
            "age": pa.array(ages, mask=rng.random(ROWS) < 0.01),
            "job": pa.array([JOBS[min(int(i), 299)] for i in rng.exponential(40, ROWS)]),
            "illness": pa.array([sick[int(i)] for i in rng.choice(4, ROWS, p=[0.4, 0.3, 0.2, 0.1])]),
            "income": pa.array(rng.integers(0, 50, ROWS) * 1000, mask=rng.random(ROWS) < 0.02),
            "class": pa.array([None if i % 97 == 0 else f'n "{i}", é\n{i % 7}' for i in range(ROWS)]),
        }
    )
    pq.write_table(table, folder / "people.parquet", row_group_size=2_000)
    pq.write_table(table.slice(0, 2_000), folder / "some.parquet")
    pq.write_table(table.set_column(1, "nation", pa.array(["Nowhere"] * ROWS)), folder / "others.parquet")
    kinds = {name: table.schema.field(name).type for name in ("age", "income")}
    pacsv.write_csv(
        table.cast(pa.schema([(n, kinds.get(n, pa.string())) for n in table.column_names])), folder / "people.csv"
    )
    hierarchy_of_tree(NATIONS).write(folder / "nation.csv")
    hierarchy_of_intervals(range(20, 60), [5, 10, 20]).write(folder / "age.csv")
    hierarchy_of_groups(JOBS, [10, 50]).write(folder / "job.csv")
    hierarchy_of_tree(ILLNESSES).write(folder / "illness.csv")
    return folder


ATTRIBUTES: dict[str, dict[str, Any]] = {
    "name": {"role": "identifying"},
    "income": {"role": "sensitive"},
    "nation": {"role": "quasi-identifying", "hierarchy": "nation.csv"},
    "age": {"role": "quasi-identifying", "hierarchy": "age.csv"},
    "class": {"role": "insensitive"},
    "job": {"role": "quasi-identifying", "hierarchy": "job.csv", "level": 1},
    "illness": {"role": "sensitive", "hierarchy": "illness.csv"},
}


def recipe(folder: Path, output: str = "parquet", source: str = "people.parquet", **options: Any) -> AnyRecipe:
    attributes = {name: dict(a) for name, a in ATTRIBUTES.items()}
    for name in options.pop("without", ("income", "class")):
        del attributes[name]
    for name, change in options.pop("attributes", {}).items():
        attributes[name] = attributes.get(name, {}) | change
    document = {
        "source": {"path": str(folder / source), "dataset": "people"},
        "release": {"method": "generalize", "k": 5} | options,
        "attributes": attributes,
        "output": {"format": output},
    }
    return Recipe.parse(document, folder)


def files(bundle: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(bundle.iterdir())}


@pytest.fixture(autouse=True)
def pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many buckets, small batches and small row groups, as tables a thousand times as large would have."""
    monkeypatch.setattr(BatchEngine, "bucket_bits", lambda *_: 4)
    monkeypatch.setattr(BatchEngine, "batch_rows", lambda *_: 1_700)
    monkeypatch.setattr(write, "ROW_GROUP", 2_500)


def both(stated: AnyRecipe, folder: Path, **options: Any) -> dict[str, bytes]:
    """The files of a release, after making sure that they are the same in memory and within a bound."""
    release(stated, folder / "whole", seed=1)
    release(stated, folder / "streamed", seed=1, memory=SMALL, **options)
    found = files(folder / "whole")
    assert found == files(folder / "streamed")
    return found


@pytest.mark.parametrize("output", ["parquet", "csv"])
@pytest.mark.parametrize("cells", ["pdf", "set", "interval", "hierarchy"])
def test_every_kind_of_cell_gives_the_bytes_it_gives_in_memory(
    cells: str, output: str, world: Path, tmp_path: Path
) -> None:
    """With rows suppressed, missing values among the quasi-identifiers, and the companion where there is one."""
    by_class = output == "csv" and cells in ("pdf", "set")
    without = ("class",) if by_class else ()
    stated = recipe(world, output, cells=cells, suppression=0.03, without=without)
    found = both(stated, tmp_path)
    assert ("cells.csv" in found) == by_class
    assert b"records were suppressed" in found["certificate.json"]


SETTINGS: list[dict[str, Any]] = [
    {"l": 3},
    {"l": 2.5, "l_kind": "entropy", "suppression": 0.02},
    {"l": 2, "l_kind": "recursive", "c": 3.0, "suppression": 0.1},
    {"t": 0.35, "suppression": 0.05, "measure": "entropy"},
    {"t": 0.3, "t_distance": "hierarchical", "l": 2, "cells": "set"},
    {"measure": "kl", "suppression": 0.05},
    {"measure": "discernibility", "suppression": 0.01},
    {"measure": "precision", "weights": {"age": 3.0}, "suppression": 0.04},
    {"intermediate": [1, 3], "shuffle": False},
    {"k": 40, "cells": "hierarchy", "without": ("income", "class", "illness")},
]


@pytest.mark.parametrize("options", SETTINGS, ids=[" ".join(o) for o in SETTINGS])
def test_every_setting_gives_the_bytes_it_gives_in_memory(
    options: dict[str, Any], world: Path, tmp_path: Path
) -> None:
    both(recipe(world, **options), tmp_path)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("bits", "rows"), [(0, 1 << 18), (1, 9_000), (7, 500)])
def test_threads_batches_and_buckets_decide_nothing(
    threads: int, bits: int, rows: int, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BatchEngine, "bucket_bits", lambda *_: bits)
    monkeypatch.setattr(BatchEngine, "batch_rows", lambda *_: rows)
    both(recipe(world, suppression=0.03, l=2, without=()), tmp_path, threads=threads)


@pytest.mark.parametrize("output", ["parquet", "csv"])
def test_a_csv_gives_the_same_bytes(output: str, world: Path, tmp_path: Path) -> None:
    both(recipe(world, output, "people.csv", suppression=0.03, without=("class",)), tmp_path)


def test_large_lists_go_to_the_companion_alike(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MOST_ENTRIES", 1_000)
    assert "cells.csv" in both(recipe(world, suppression=0.03), tmp_path)


def test_several_sensitive_columns_and_keys_of_several_words(world: Path, tmp_path: Path) -> None:
    """Columns that are copies of one another make keys that need more than 64 bits."""
    table = pq.read_table(world / "people.parquet")
    more: dict[str, Any] = {}
    for i in range(7):
        table = table.append_column(f"job {i}", table.column("job"))
        more[f"job {i}"] = {"role": "quasi-identifying", "hierarchy": str(world / "job.csv")}
    pq.write_table(table, tmp_path / "wide.parquet")
    stated = recipe(world, source=str(tmp_path / "wide.parquet"), suppression=0.1, attributes=more, l=2)
    both(stated, tmp_path)


def test_a_saved_solution_and_a_population(world: Path, tmp_path: Path) -> None:
    """A solution has domains of its own: a recipe that uses it need not have hierarchies."""
    table = pq.read_table(world / "people.parquet")
    pq.write_table(pa.concat_tables([table, table.slice(0, 4_000)]), tmp_path / "everyone.parquet")
    everyone = str(tmp_path / "everyone.parquet")
    found = both(recipe(world, suppression=0.03, population=everyone), tmp_path)
    assert b'"journalist": null' not in found["certificate.json"]
    bare = {name: {"role": "quasi-identifying"} for name in ("nation", "age", "job")}
    stated = recipe(world, suppression=0.1, solution=str(tmp_path / "whole"), attributes=bare)
    for a in ("again", "anew"):
        (tmp_path / a).mkdir()
    both(stated, tmp_path / "again")
    plain = {name: {"hierarchy": None, "level": None} for name in bare}
    attributes = {n: {k: v for k, v in (ATTRIBUTES[n] | plain[n]).items() if v is not None} for n in bare}
    document = {
        "source": {"path": str(world / "people.parquet")},
        "release": {"method": "generalize", "k": 5, "suppression": 0.1, "solution": str(tmp_path / "whole")},
        "attributes": attributes,
    }
    both(Recipe.parse(document, world), tmp_path / "anew")


@pytest.mark.parametrize("options", [{}, {"l": 2, "cells": "set"}], ids=["k", "l"])
def test_verify_makes_it_again_within_a_bound(options: dict[str, Any], world: Path, tmp_path: Path) -> None:
    source = world / "people.parquet"
    release(recipe(world, suppression=0.03, **options), tmp_path / "out", seed=1, memory=SMALL)
    found = verify(tmp_path / "out", source=source, seed=1, memory=SMALL)
    assert found.valid, [c for c in found.checks if not c.ok]
    assert ("made again", "byte for byte") in [(c.name, c.detail) for c in found.checks]
    table = pq.read_table(source)
    for name, value in (("nation", "Peru"), ("illness", "panic"), ("illness", "no such illness")):
        values = table.column(name).cast(pa.string()).to_pylist()
        values[-1] = value if values[-1] != value else "Italy"
        changed = table.set_column(table.column_names.index(name), name, pa.array(values))
        pq.write_table(changed, tmp_path / "changed.parquet")
        found = verify(tmp_path / "out", source=tmp_path / "changed.parquet", seed=1, memory=SMALL)
        assert "source" in [c.name for c in found.checks if not c.ok]


@pytest.mark.parametrize("memory", [None, SMALL])
def test_verify_makes_the_companion_again(memory: int | None, world: Path, tmp_path: Path) -> None:
    """Also where the certificate was changed with it."""
    source, out = world / "people.parquet", tmp_path / "out"
    release(recipe(world, "csv", suppression=0.03), out, seed=1, memory=memory)
    found = {c.name: c.ok for c in verify(out, source=source, seed=1, memory=memory).checks}
    assert found["made again cells.csv"]
    head, first, *lines = (out / "cells.csv").read_text().splitlines(keepends=True)
    (out / "cells.csv").write_text("".join([head, first[: first.rindex(",")] + ",77\n", *lines]))
    stated = Bundle.open(out).certificate
    files = {**stated.files, "cells.csv": file_entry(out / "cells.csv")}
    changed = Certificate.from_json({**stated.to_json(), "files": files})
    (out / "certificate.json").write_text(changed.text())
    found = {c.name: c.ok for c in verify(out, source=source, seed=1, memory=memory).checks}
    assert [name for name, ok in found.items() if not ok] == ["made again cells.csv"]


@pytest.mark.parametrize("output", ["parquet", "csv"])
@pytest.mark.parametrize("cells", ["pdf", "interval", "hierarchy"])
def test_verify_counts_again_in_pieces(
    cells: str, output: str, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts with line breaks, numbers as texts with zeros in front, and a column called class among them."""
    table = pq.read_table(world / "people.parquet")
    codes = pa.array([f"{i:03d}" for i in np.random.default_rng(3).integers(0, 12, ROWS)])
    pq.write_table(table.append_column("code", codes), tmp_path / "source.parquet")
    by_class = output == "csv" and cells == "pdf"
    stated = recipe(
        world,
        output,
        str(tmp_path / "source.parquet"),
        without=("income", "class") if by_class else ("income",),
        attributes={"code": {"role": "sensitive"}},
        cells=cells,
        suppression=0.05,
        l=3,
    )
    release(stated, tmp_path / "out", seed=1)
    monkeypatch.setattr(bundle, "_ROWS", 700)
    monkeypatch.setattr(bundle, "_BYTES", 1 << 14)
    found = {c.name: c for c in verify(tmp_path / "out").checks}
    assert all(c.ok for c in found.values()), [c for c in found.values() if not c.ok]
    k = next(g["value"] for g in Bundle.open(tmp_path / "out").certificate.guarantees if "k" in g["notion"])
    assert found["k counted again"].detail == f"{k} records in the smallest class"
    assert "l of code counted again" in found


# ---------------------------------------------------------------- what is refused


_QUASI = {"role": "quasi-identifying"}
REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("k above the rows", {"k": 10_000}),
    ("nothing holds", {"l": 5, "cells": "set"}),
    ("no hierarchy", {"without": ("nation",), "attributes": {"nation": _QUASI | {"domain": ["Peru", "USA"]}}}),
    ("from the data", {"without": ("nation",), "attributes": {"nation": _QUASI | {"domain": "from-data"}}}),
    ("no domain at all", {"without": ("nation",), "attributes": {"nation": _QUASI}}),
    ("values outside", {"attributes": {"job": {"hierarchy": "nation.csv", "level": 0}}}),
    ("missing values", {"attributes": {"age": {"missing": "never"}}}),
    ("a tree for the distance", {"t": 0.3, "t_distance": "hierarchical", "without": ("class",)}),
    ("a class column", {"without": (), "output": "csv"}),
    ("only insensitive", {"attributes": {n: {"role": "insensitive"} for n in ("nation", "age", "job")}}),
    ("a population too small", {"population": "some.parquet", "suppression": 0.03}),
    ("a population with others", {"population": "others.parquet", "suppression": 0.03}),
    ("an unknown cell", {"cells": "box"}),
]


@pytest.mark.parametrize(("name", "options"), REFUSED, ids=[name for name, _ in REFUSED])
def test_what_is_refused_is_refused_alike(name: str, options: dict[str, Any], world: Path, tmp_path: Path) -> None:
    del name
    errors = []
    for memory in (None, SMALL):
        with pytest.raises(PramanaError) as found:
            release(recipe(world, **options), tmp_path / "out", seed=1, memory=memory)
        errors.append((type(found.value), str(found.value)))
    assert errors[0] == errors[1]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("algorithm", ["mondrian-relaxed", "kl"])
def test_algorithms_that_need_every_row_are_refused_within_a_bound(
    algorithm: str, world: Path, tmp_path: Path
) -> None:
    stated = recipe(world, algorithm=algorithm)
    with pytest.raises(RecipeError, match="cuts between rows of the same values"):
        release(stated, tmp_path / "out", seed=1, memory=SMALL)
    assert not list(tmp_path.iterdir())
    release(stated, tmp_path / "out", seed=1)
    with pytest.raises(RecipeError, match="cuts between rows of the same values"):
        verify(tmp_path / "out", source=world / "people.parquet", seed=1, memory=SMALL)


def test_more_combinations_than_memory_holds_are_refused(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BatchEngine, "room", property(lambda _: 1 << 14))
    with pytest.raises(RecipeError, match="must fit in memory"):
        release(recipe(world), tmp_path / "out", seed=1, memory=SMALL)
    assert not list(tmp_path.iterdir())
