"""The Spark engine on local[2]: bundles byte for byte those of the local engine, whatever happens to tasks."""

from __future__ import annotations

import base64
import contextlib
import gc
import os
import re
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests import needs
from tests.golden.cells import make_tables, path_of
from tests.methods.panel import panel
from tests.methods.test_contract import STREAMING, able
from tests.methods.test_contract import recipe as stated_recipe
from tests.methods.test_units_in_batches import CASES, left_out_values
from tests.methods.test_units_in_batches import recipe_of as panel_recipe
from tests.rows.people import (
    CORRELATED,
    GENERALIZE,
    LEVELS,
    RECORDS,
    STRATA,
    laid_out,
    people,
    same,
    trees,
    variant,
)

from pramana import (
    Bundle,
    Key,
    Recipe,
    SparkEngine,
    create_levels,
    crosstab,
    issue,
    open_study,
    release,
    report,
    synthesise,
    verify,
)  # fmt: skip
from pramana.counting.classes import CountedCombinations, Ladder, Layout
from pramana.errors import EngineError, MissingExtraError, RecipeError, SourceError
from pramana.io import pieces
from pramana.io.codes import encode
from pramana.io.source import Source
from pramana.methods.generalize.conditions import KAnonymous
from pramana.methods.generalize.lattice import search
from pramana.methods.generalize.lines import grouped_for
from pramana.methods.generalize.measures import measure_of
from pramana.methods.recipe import AnyRecipe
from pramana.methods.registry import METHODS
from pramana.rows.memory import MemoryRows
from pramana.rows.protocol import ColumnReading, Rows, no_progress
from pramana.rows.spark import jobs, session
from pramana.rows.spark import owners as spark_owners
from pramana.rows.spark.jobs import Job, hashed, labels_for
from pramana.rows.spark.rows import SparkRows
from pramana.schema.domain import Attribute, Domain, Role

pyspark = needs.package("pyspark")

# settings that are published on Spark here; other tests of this module publish those of the remaining methods
RUN = ("generalize local", "generalize models", "presence flag", "presence labels")

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.needs("java")]  # one session for all


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    return laid_out(tmp_path)


def both(recipe: Path | AnyRecipe, folder: Path, engine: SparkEngine, **options: Any) -> tuple[Path, Path]:
    key = Key(bytes(range(32)))
    here, there = folder / "here", folder / "there"
    release(recipe, here, key=key, **options)
    release(recipe, there, key=key, engine=engine, **options)
    return here, there


# ---------------------------------------------------------------- the same bytes


@pytest.mark.usefixtures("engine")
def test_a_parquet_file(desk: Path) -> None:
    here, there = both(desk / "recipe.toml", desk, SparkEngine(pieces=8))
    same(here, there)
    key = desk / "key"
    Key(bytes(range(32))).write(key)
    assert verify(there, source=desk / "people.parquet", key=key).valid


@pytest.mark.usefixtures("engine")
def test_a_folder_of_parquet_files_with_columns_in_its_names(desk: Path) -> None:
    table = people(20_000)
    for number, sex in enumerate(["F", "M"]):
        for part in range(2):
            place = desk / "people" / f"sex={sex}"
            place.mkdir(parents=True, exist_ok=True)
            rows = table.slice(5_000 * (2 * number + part), 5_000).drop(["sex"])
            pq.write_table(rows, place / f"part-{part}.parquet", row_group_size=2_000)
    (desk / "people" / "_SUCCESS").write_text("")
    recipe = variant(
        desk / "recipe.toml", ("people.parquet", "people"), ('dataset = "people"', 'format = "parquet"')
    )
    same(*both(recipe, desk, SparkEngine(pieces=6)))


def test_levels(desk: Path, engine: SparkEngine) -> None:
    (desk / "recipe.toml").write_text(LEVELS)
    same(*both(desk / "recipe.toml", desk, engine))


def test_versions_from_a_ledger(desk: Path, engine: SparkEngine) -> None:
    """Registered and issued on Spark, issued again in memory: the same bytes, and the ledger sees one version."""
    recipe = desk / "recipe.toml"
    recipe.write_text(LEVELS.replace("retention = 0.4\n", ""))
    ledger = desk / "releases.ledger"
    assert create_levels(ledger, recipe, engine=engine).records == RECORDS
    for out, where in (("there", engine), ("here", "local")):
        issued = issue(ledger, "university", 0.3, desk / out, engine=where)
    assert issued.again and issued.release.status == "committed"
    same(desk / "here", desk / "there")
    key = desk / "releases.ledger.key"
    told = [verify(desk / "here", source=desk / "people.parquet", key=key, engine=e) for e in ("local", engine)]
    assert told[0].valid and told[0] == told[1]
    recipe.write_text(LEVELS.replace("retention = 0.4\n", "history = true\n"))
    with pytest.raises(RecipeError, match="levels, which draws versions from a history"):
        create_levels(desk / "other.ledger", recipe, engine=engine)


def large_law(folder: Path) -> AnyRecipe:
    """A matrix of 300 values: too large to travel within a function."""
    matrix = np.full((300, 300), 0.5 / 299)
    np.fill_diagonal(matrix, 0.5)
    town = {"role": "quasi-identifying", "domain": [f"town {i}" for i in range(300)], "matrix": matrix.tolist()}
    document = {
        "source": {"path": str(folder / "people.parquet")},
        "release": {"method": "matrix"},
        "attributes": {"town": town, "note": {"role": "insensitive"}},
    }
    return Recipe.parse(document, folder)


def test_a_law_too_large_for_a_function(desk: Path, engine: SparkEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    sealed = jobs._sealed

    def noted(session: Any, plain: bytes, *more: Any) -> Any:
        sent.append(len(plain))
        return sealed(session, plain, *more)

    monkeypatch.setattr(jobs, "_sealed", noted)
    same(*both(large_law(desk), desk, engine))
    assert sent


@pytest.mark.parametrize("together", [True, False])
def test_invariant_matrices(desk: Path, engine: SparkEngine, together: bool) -> None:
    recipe = desk / "recipe.toml"
    recipe.write_text(STRATA)
    if not together:
        apart = ('strata = ["job"]\ntogether = [["age", "sex"]]\n', "")
        variant(recipe, apart, ('"published"', '"withheld"'))
    same(*both(recipe, desk, engine))


@pytest.mark.parametrize("kind", ["full-domain", "diverse", "mondrian"])
def test_generalisation(desk: Path, engine: SparkEngine, kind: str) -> None:
    trees(desk)
    recipe = desk / "recipe.toml"
    recipe.write_text(GENERALIZE)
    if kind == "diverse":
        changes = 'suppression = 0.01\nl = 2\nt = 0.5\ncells = "set"\nshuffle = false\n'
        variant(recipe, ("suppression = 0.01\n", changes))
    if kind == "mondrian":
        changes = 'algorithm = "mondrian"\nl = 2\ncells = "pdf"\n[output]\nformat = "csv"\n'
        variant(recipe, ("suppression = 0.01\n", changes))
    here, there = both(recipe, desk, engine)
    same(here, there)
    key = desk / "key"
    Key(bytes(range(32))).write(key)
    assert verify(there).valid
    local = verify(there, source=desk / "people.parquet", key=key)
    assert local.valid
    if kind == "mondrian":
        assert verify(there, source=desk / "people.parquet", key=key, engine=engine) == local


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    make_tables(folder)
    return folder


def test_every_method_runs_on_spark_or_is_refused() -> None:
    """Refused by name, before the source is looked at, is tested beside the methods."""
    runs = {STREAMING[name][0]["method"] for name in STREAMING if able(name).spark}
    # test_a_parquet_file, test_a_law_too_large_for_a_function, test_levels, test_invariant_matrices,
    # test_executors_draw_noise_and_write_the_parts
    others = {"retention", "matrix", "levels", "invariant", "noise"}
    assert {STREAMING[name][0]["method"] for name in RUN} | others == runs
    assert set(METHODS) - runs == {"microaggregate", "swap"}


@pytest.mark.parametrize("name", RUN)
def test_methods_in_the_settings_of_the_golden_cells(
    name: str, world: Path, tmp_path: Path, engine: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte; CSV files among their sources are cut."""
    monkeypatch.setattr(pieces, "LEAST_BLOCK", 1 << 14)
    here, there = both(stated_recipe(name, world), tmp_path, engine)
    same(here, there)
    if name == "presence flag":
        Key(bytes(range(32))).write(tmp_path / "key")
        source = world / path_of(name, "parquet")
        told = [verify(there, source=source, key=tmp_path / "key", engine=e) for e in ("local", engine)]
        assert told[0].valid and told[0] == told[1]


CSV = """[source]
path = "people"
format = "csv"
missing = ["?"]
[release]
method = "levels"
retention = 0.5
shuffle = false
[output]
format = "csv"
[attributes.town]
role = "sensitive"
domain = "from-data"
[attributes.age]
role = "sensitive"
bins = [0, 40, 120]
[attributes."a note"]
role = "insensitive"
"""


def test_a_folder_of_csv_files_with_all_that_csv_allows(tmp_path: Path, engine: SparkEngine) -> None:
    """Quotes, line ends in values, empty and missing fields, marks of byte order: the files are read alike."""
    folder = tmp_path / "people"
    folder.mkdir()
    first = "town,age,a note\r\n" + "".join(f"Ulm,{i % 100},plain\r\n" for i in range(17_000))
    (folder / "1.csv").write_bytes(b"\xef\xbb\xbf" + first.encode())
    second = 'a note,town,age\n"two\nlines","Bad ""Ems""",3\n"",?,\n" spaced ","Köln, Rhein",99.5\n\n,Ulm,"7"\n'
    (folder / "2.csv").write_text(second, "utf-8")
    (folder / "3.csv").write_text("town;age;a note\n" + "Köln;12;x,y\n" * 40, "utf-8")
    (tmp_path / "recipe.toml").write_text(CSV)
    here, there = both(tmp_path / "recipe.toml", tmp_path, engine)
    same(here, there)
    assert b'"two\nlines"' in (there / "data.csv").read_bytes()


LAW = """[source]
path = "people.parquet"
[release]
retention = 0.4
coin = "record"
shuffle = false
[attributes.sex]
role = "quasi-identifying"
domain = ["F", "M"]
[attributes.job]
role = "quasi-identifying"
domain = ["clerk", "nurse", "miner", "baker"]
"""


@pytest.mark.usefixtures("engine")
def test_a_task_that_is_run_again_changes_nothing(desk: Path) -> None:
    """Every task that reads rows fails the first time it is tried, in the midst of its work."""
    (desk / "recipe.toml").write_text(LAW)
    module = types.ModuleType("failing")
    code = """
def fail_once(tables):
    from pyspark import TaskContext
    context = TaskContext.get()
    if context.attemptNumber() == 0:
        raise RuntimeError("lost on purpose")
"""
    exec(code, module.__dict__)
    sys.modules["failing"] = module
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # its stubs leave it out
    try:
        same(*both(desk / "recipe.toml", desk, SparkEngine(pieces=3, watch=module.fail_once)))
    finally:
        cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]
        del sys.modules["failing"]


SET = '[output]\nfiles = "many"\npart_rows = 9000\n'


def test_executors_write_the_parts_of_a_set(
    desk: Path, engine: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No row comes to the driver; numbers within bins are drawn by the rows' places among all."""
    recipe = variant(desk / "recipe.toml", ("bins = [0, 20", 'publish = "draw"\nbins = [0, 20'))
    recipe.write_text(recipe.read_text() + SET)
    monkeypatch.setattr(SparkRows, "collected", None)
    here, there = both(recipe, desk, engine)
    same(here, there)
    assert len(list((there / "data").iterdir())) == 5
    by = ["sex", "job"]
    assert crosstab(there, by, engine=engine, unverified=True).cells() == crosstab(here, by).cells()


def test_executors_draw_noise_and_write_the_parts(
    desk: Path, engine: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Covariances are summed where the rows lie, and no row comes to the driver."""
    recipe = desk / "recipe.toml"
    recipe.write_text(CORRELATED + SET)
    monkeypatch.setattr(SparkRows, "collected", None)
    here, there = both(recipe, desk, engine)
    same(here, there)
    Key(bytes(range(32))).write(desk / "key")
    told = [verify(there, source=desk / "people.parquet", key=desk / "key", engine=e) for e in ("local", engine)]
    assert told[0].valid and told[0] == told[1]


def test_executors_write_the_parts_of_a_table_with_rows_left_out(
    desk: Path, engine: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    trees(desk)
    recipe = desk / "recipe.toml"
    recipe.write_text(GENERALIZE.replace("k = 20", "k = 47") + SET)
    monkeypatch.setattr(SparkRows, "collected", None)
    here, there = both(recipe, desk, engine)
    same(here, there)
    assert Bundle.open(there).certificate.records < RECORDS


def test_readers_of_a_set_ask_the_executors_for_its_parts(
    desk: Path, engine: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers are those of the one file, read here; the driver reads no part."""
    recipe = variant(desk / "recipe.toml", ('[attributes.note]\nrole = "insensitive"\n', ""))
    release(recipe, desk / "one", seed=1)
    groups: dict[str, Any] = {"first": "sex = F", "second": "sex = M", "share": "job = nurse"}
    expected = open_study(desk / "one").compare(**groups)
    pages = [report(desk / "one", desk / "one.html", tables=[["sex", "age"]])]
    recipe.write_text(recipe.read_text() + SET)
    release(recipe, desk / "many", seed=1)
    many = desk / "many"
    monkeypatch.setattr(Bundle, "batches", None)
    assert verify(many, engine=engine).valid
    assert open_study(many, engine=engine).compare(**groups) == expected
    pages.append(report(many, desk / "many.html", tables=[["sex", "age"]], engine=engine))
    plain = [re.sub(r"\b[0-9a-f]{64}\b|data\.parquet|\bdata\b", "", page.read_text()) for page in pages]
    assert plain[0] == plain[1]
    assert synthesise(many, desk / "rows.csv", records=40, engine=engine).model == "joint"
    (many / "data" / "part-00003.parquet").write_bytes(b"PAR1")
    assert "digest part-00003.parquet" in {c.name for c in verify(many, engine=engine).checks if not c.ok}


@pytest.mark.parametrize(("case", "files"), [("bounded", "many"), ("cut classes", "one")])
def test_people_of_several_rows(
    tmp_path: Path, spark: Any, places: dict[str, Path], monkeypatch: pytest.MonkeyPatch, case: str, files: str
) -> None:
    """Drawn once for a person, from a file into a set; in classes that the driver cuts, from a data frame."""
    monkeypatch.setattr(session, "_check", lambda *_: None)
    monkeypatch.setattr(spark_owners, "_BUCKET", 100)  # several buckets
    recipe, table = panel_recipe(tmp_path, *CASES[case], output={"files": files}), panel(5, people=90)
    pids = pa.array([f"person-number-{pid}" for pid in table.column("pid").to_pylist()])
    table = table.set_column(0, "pid", pids)
    pq.write_table(table, tmp_path / "panel.parquet", row_group_size=60)
    frame = None if files == "many" else spark.read.parquet(str(tmp_path / "panel.parquet"))
    options: dict[str, Any] = {"seed": 4, "even_if_useless": True}
    release(recipe, tmp_path / "here", **options, data=None if frame is None else table)
    engine = SparkEngine(pieces=3)
    release(recipe, tmp_path / "there", **options, data=frame, engine=engine)
    same(tmp_path / "here", tmp_path / "there")
    assert b"person-number-p7" not in written_by_spark(places)


def test_what_only_left_out_rows_have_is_in_no_domain(tmp_path: Path, engine: SparkEngine) -> None:
    same(*both(left_out_values(tmp_path), tmp_path, engine, even_if_useless=True))


def kept_queries(spark: Any) -> int:
    """Queries of whose jobs Spark holds on to the results."""
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()
    field = scheduler.getClass().getDeclaredField("activeQueryToJobs")
    field.setAccessible(True)
    return int(field.get(scheduler).size())


def test_the_driver_keeps_nothing_of_what_it_has_written(desk: Path, engine: SparkEngine, spark: Any) -> None:
    before = kept_queries(spark)
    release(desk / "recipe.toml", desk / "out", key=Key(bytes(range(32))), engine=engine)
    assert kept_queries(spark) == before
    rows = spark.range(0, 4, 1, 2)
    assert len(list(rows.toLocalIterator())) == 4
    assert kept_queries(spark) == before + 1, "which a DataFrame's own iterator does not do"


def test_buckets_are_put_in_order_several_at_a_time(
    desk: Path, engine: SparkEngine, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that each core finds the next one waiting; two would do with an iterator of Spark's."""
    context, lock, running, most = spark.sparkContext, Lock(), 0, 0
    run = context.runJob

    def counted(*arguments: Any) -> Any:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        try:
            return run(*arguments)
        finally:
            with lock:
                running -= 1

    monkeypatch.setattr(context, "runJob", counted)
    same(*both(desk / "recipe.toml", desk, engine))
    assert most == min(jobs._AT_ONCE, 2 * context.defaultParallelism) > 2


def test_workers_do_not_look_for_garbage_among_what_stays(desk: Path, engine: SparkEngine, spark: Any) -> None:
    release(desk / "recipe.toml", desk / "out", key=Key(bytes(range(32))), engine=engine)

    def frozen(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"id": [gc.get_freeze_count()] * batch.num_rows})

    with session.quiet():
        counts = [row.id for row in spark.range(0, 8, 1, 8).mapInArrow(frozen, "id long").collect()]
    assert max(counts) > 10_000


# ---------------------------------------------------------------- counts


@contextlib.contextmanager
def in_both_homes(desk: Path, engine: SparkEngine, readings: list[ColumnReading]) -> Iterator[tuple[Rows, Rows]]:
    """The same table in memory and on Spark."""
    source, key = Source(path=desk / "people.parquet"), Key(bytes(range(32)))
    with SparkRows.open(source, readings, key, engine, no_progress) as spread:
        yield MemoryRows(source.read([r.name for r in readings]), key), spread


def as_counts(lines: CountedCombinations) -> dict[tuple[int, ...], int]:
    """Combinations in any order."""
    combinations = zip(*(column.tolist() for column in lines.columns), strict=True)
    counted = dict(zip(combinations, lines.times.tolist(), strict=True))
    assert len(counted) == len(lines.times), "each of them once"
    return counted


def test_counts_and_levels_are_those_of_the_local_engine(desk: Path, engine: SparkEngine) -> None:
    table = people()
    domains = {
        "sex": Domain.declared(["F", "M"]),
        "age": Domain.from_bins(range(0, 121, 10)),
        "town": Domain.declared([f"town {i}" for i in range(300)]),
    }
    attributes = [Attribute(name, Role.QUASI_IDENTIFYING, domain) for name, domain in domains.items()]
    codes = {name: encode(table.column(name), domain, name) for name, domain in domains.items()}
    with in_both_homes(desk, engine, [ColumnReading.of(a) for a in attributes]) as (alone, spread):
        for rows in (alone, spread):
            rows.encode(attributes)
            rows.derive("half", ("town",), lambda own: own["town"] // 2)
            rows.derive("quarter", ("half", "sex"), lambda own: own["half"] // 2 * 2 + own["sex"])
        counts = spread.counts(("age", "sex"), (12, 2))
        groups = [{"town": 300, "age": 12}, {"age": 12}, {"quarter": 150, "age": 12}]
        found, expected = spread.combinations(groups), alone.combinations(groups)
        quarters = spread.counts(("quarter",), (150,))
        assert spread.commitment() == alone.commitment()
    assert counts.tolist() == [
        [int(((codes["age"] == a) & (codes["sex"] == s)).sum()) for s in range(2)] for a in range(12)
    ]
    assert quarters.tolist() == np.bincount(codes["town"] // 4 * 2 + codes["sex"], minlength=150).tolist()
    for one, other in zip(found, expected, strict=True):
        assert one.rows == RECORDS
        assert as_counts(one) == as_counts(other)
    assert as_counts(found[1]) == {(a,): int((codes["age"] == a).sum()) for a in range(12)}
    towns = Ladder("town", (np.arange(300), np.arange(300) // 30, np.zeros(300, np.int64)))
    ages = Ladder("age", (np.arange(12), np.arange(12) // 3, np.zeros(12, np.int64)))
    layout = Layout((towns, ages))
    local = grouped_for(layout, [codes["town"], codes["age"]]).base
    summed = grouped_for(layout, [np.repeat(column, found[0].times) for column in found[0].columns]).base
    for k in (2, 5, 50, 500, 12_000):
        mine = search(summed, KAnonymous(k), measure_of("loss", summed, None), 0)
        theirs = search(local, KAnonymous(k), measure_of("loss", local, None), 0)
        assert (mine.levels, mine.cost) == (theirs.levels, theirs.cost)


def test_values_and_missing_ones_are_those_of_the_local_engine(desk: Path, engine: SparkEngine) -> None:
    titles = Domain.declared(["clerk", "nurse", "miner", "baker"])
    readings = [
        ColumnReading("town", discovered=True),
        ColumnReading("sex", discovered=True),
        ColumnReading("job", titles, open_ended=True),
        ColumnReading("note"),
    ]
    with in_both_homes(desk, engine, readings) as (alone, spread):
        assert alone.records == spread.records == RECORDS
        for names in (["town"], ["sex", "note"]):
            here, there = alone.values(names), spread.values(names)
            assert {n: set(v.to_pylist()) for n, v in here.items()} == {
                n: set(v.to_pylist()) for n, v in there.items()
            }
        for name, expected in {"town": False, "sex": False, "job": True}.items():
            assert alone.has_missing(name) == spread.has_missing(name) == expected


def test_tables_are_those_counted_locally(desk: Path, engine: SparkEngine) -> None:
    release(desk / "recipe.toml", desk / "out", seed=1)
    asked: dict[str, Any] = {"by": ["sex", "age"], "where": "job in ('nurse', 'miner')", "method": "inverse"}
    here = crosstab(desk / "out", **asked).cells()
    assert crosstab(desk / "out", **asked, engine=engine).cells() == here
    with_note = open_study(desk / "out", engine=engine).total("note = 'note-5'")  # no domain: counted here
    assert with_note == open_study(desk / "out").total("note = 'note-5'")


# ---------------------------------------------------------------- secrets


def written_by_spark(places: dict[str, Path]) -> bytes:
    return b"\n".join(p.read_bytes() for place in places.values() for p in place.rglob("*") if p.is_file())


@pytest.mark.usefixtures("engine")
def test_no_key_in_event_logs_temporary_files_plans_or_output(
    desk: Path, spark: Any, places: dict[str, Path], capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    derived: list[bytes] = []
    derive = Key.derive

    def noted(self: Key, *name: str | int) -> bytes:
        derived.append(derive(self, *name))
        return derived[-1]

    monkeypatch.setattr(Key, "derive", noted)
    sealing: list[bytes] = []
    urandom = os.urandom

    def drawn(size: int) -> bytes:
        sealing.append(urandom(size))
        return sealing[-1]

    monkeypatch.setattr(os, "urandom", drawn)
    key = Key(bytes(range(7, 39)))
    release(desk / "recipe.toml", desk / "there", key=key, engine=SparkEngine(pieces=4))
    plans = []
    original = Job._mapped

    def mapped(self: Job, labels: Any) -> Any:
        plans.append(original(self, labels))
        return original(self, labels)

    monkeypatch.setattr(Job, "_mapped", mapped)
    release(large_law(desk), desk / "again", key=key, engine=SparkEngine(pieces=4))
    (desk / "set.toml").write_text((desk / "recipe.toml").read_text() + SET)
    release(desk / "set.toml", desk / "set", key=key, engine=SparkEngine(pieces=4))
    for plan in plans:
        plan.explain(True)
    shown = capfd.readouterr()
    written = written_by_spark(places)
    assert b"mapInArrow" in written or b"MapInArrow" in written  # the event log is there
    assert any(places["local"].rglob("shuffle_*")), "the temporary files are there"
    assert len(plans) >= 2
    assert "task" in shown.out
    everything = written + (shown.out + shown.err).encode()
    secrets = [key.secret, *derived, *(s for s in sealing if len(s) == 32)]
    assert len(secrets) > 8
    public = bytes.fromhex(key.commitment())
    for secret in secrets:
        if secret == public:
            continue
        for form in (secret, secret.hex().encode(), base64.b64encode(secret), repr(secret)[2:-1].encode()):
            assert form not in everything
    # nor the rows: what is on its way is sealed even where Spark encrypts nothing
    assert b"note-12345" not in written
    spark.read.parquet(str(desk / "people.parquet")).repartition(2).write.format("noop").mode("overwrite").save()
    assert b"note-12345" in written_by_spark(places)  # where it would be seen


# ---------------------------------------------------------------- refusals


SEX = '[attributes.sex]\nrole = "quasi-identifying"\ndomain = ["F", "M"]\n'


@pytest.mark.parametrize("files", ["one", "many"])
def test_a_source_that_changes_while_it_is_read_is_refused(desk: Path, engine: SparkEngine, files: str) -> None:
    table = people()
    if files == "many":
        (desk / "recipe.toml").write_text((desk / "recipe.toml").read_text() + SET)

    def meddling(stage: str, *_: int) -> None:
        if stage == "randomising":
            titles = table.column("job").to_pylist()
            titles[34_000] = "miner" if titles[34_000] != "miner" else "baker"
            changed = table.set_column(table.column_names.index("job"), "job", pa.array(titles))
            pq.write_table(changed, desk / "people.parquet", row_group_size=9_000)

    with pytest.raises(SourceError, match="A source must stay as it is while it is read"):
        release(desk / "recipe.toml", desk / "there", engine=engine, progress=meddling)
    assert sorted(p.name for p in desk.iterdir()) == ["people.parquet", "recipe.toml"]


def test_faults_are_told_as_by_the_local_engine(desk: Path, engine: SparkEngine) -> None:
    recipe = variant(desk / "recipe.toml", ('"miner", ', ""))
    for show in (False, True):
        told = []
        for chosen in ("local", engine):
            with pytest.raises(SourceError) as caught:
                release(recipe, desk / "out", engine=chosen, show_values=show)
            told.append(str(caught.value))
        assert told[0] == told[1]
        assert ("'miner'" in told[0]) == show


def test_sessions_and_tables_that_cannot_be_used(
    desk: Path, spark: Any, engine: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SourceError, match="must be a path or a Spark DataFrame, got Table"):
        release(desk / "recipe.toml", desk / "out", data=people(100), engine=engine)
    frame = spark.createDataFrame([("F", [1])], "sex string, ages array<int>")
    for column, hint in [("sexe", "must have the column 'sexe'"), ("ages", "must hold single values")]:
        with pytest.raises(SourceError, match=hint), engine.open(Source(frame=frame), [column]):
            pass
    with pytest.raises(RecipeError, match="The engine must be local or spark"):
        release(desk / "recipe.toml", desk / "out", engine="flint")
    for method, lines, told in [
        (
            "generalize",
            'k = 5\nalgorithm = "kl"\n',
            'got generalize, with algorithm = "kl", which needs all rows at once',
        ),
        (
            "microaggregate",
            "k = 5\n",
            "must have a method that runs there, got microaggregate, which needs all rows",
        ),
    ]:
        other = desk / "other.toml"
        other.write_text(f'[source]\npath = "people.parquet"\n[release]\nmethod = "{method}"\n{lines}{SEX}')
        with pytest.raises(RecipeError, match=told):
            release(other, desk / "out", engine=engine)
    with pytest.raises(RecipeError, match="A bound on memory"):
        release(desk / "recipe.toml", desk / "out", engine=engine, memory=1 << 30)
    monkeypatch.undo()
    with pytest.raises(EngineError, match="must encrypt its temporary files"):
        release(desk / "recipe.toml", desk / "out", engine="spark")
    with pytest.raises(EngineError, match=r"must be at spark://nowhere:7077, got local\[2,4\]"):
        release(desk / "recipe.toml", desk / "out", engine=SparkEngine("spark://nowhere:7077"))
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(MissingExtraError, match="must have PySpark"):
        release(desk / "recipe.toml", desk / "out", engine="spark")


def test_labels_go_where_spark_sends_them(spark: Any) -> None:
    numbers = [0, 1, 7, 12345, 2**31 - 1]
    told = spark.createDataFrame([(n,) for n in numbers], "n int").selectExpr("hash(n) as h").collect()
    assert [row.h for row in told] == hashed(np.array(numbers)).tolist()
    for partitions in (1, 2, 5, 129):
        assert (hashed(np.array(labels_for(partitions))) % partitions).tolist() == list(range(partitions))


def test_numbers_drawn_within_bins(desk: Path, engine: SparkEngine) -> None:
    """Draws belong to published rows, so that it does not matter who randomised them; tables are counted there."""
    bins = "bins = { width = 20, from = 0, to = 120 }"
    recipe = variant(
        desk / "recipe.toml", ("bins = [0, 20, 40, 60, 80, 120]", f'{bins}\ntop = 80\npublish = "draw"')
    )
    here, there = both(recipe, desk, engine)
    same(here, there)
    assert pa.types.is_integer(pq.read_schema(there / "data.parquet").field("age").type)
    local, spread = (open_study(there, engine=e).crosstab(["age", "sex"]).estimate for e in ("local", engine))
    assert (local == spread).all()


def test_an_identifying_column_that_repeats_stops_a_release(
    tmp_path: Path, engine: SparkEngine, spark: Any
) -> None:
    content = {
        "release": {"epsilon": 1.0},
        "attributes": {
            "name": {"role": "identifying"},
            "sex": {"role": "quasi-identifying", "domain": ["F", "M"]},
        },
    }
    table = pa.table({"name": [f"n{i}" for i in range(40)], "sex": ["F", "M"] * 20})
    pq.write_table(table, tmp_path / "people.parquet")
    source = Source(path=tmp_path / "people.parquet")
    with SparkRows.open(source, [ColumnReading("sex")], Key.from_seed(1), engine, no_progress) as rows:
        assert not rows.repeats("name") and rows.repeats("sex")
    twice = spark.createDataFrame([("a", "F"), ("b", "M"), ("a", "F")], ["name", "sex"])
    with pytest.raises(RecipeError, match="'name' repeats"):
        release(Recipe.parse(content), tmp_path / "out", data=twice, seed=1, engine=engine)
    assert not (tmp_path / "out").exists()
