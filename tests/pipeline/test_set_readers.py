"""Whoever reads a bundle that is a set of files gets the answers of the same release in one file, part by part."""

from __future__ import annotations

import json
import pickle
import re
import shutil
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.golden.cells import make_tables
from tests.pipeline.test_sets import KEY, MANY, recipe_of
from tests.security.bundles import copied

from pramana import Bundle, Key, Recipe, crosstab, export, open_study, release, report, synthesise, verify
from pramana.app.main import run
from pramana.methods.registry import restore
from pramana.recipient.analysis import BundleAxes, counted_on, study_of, worked_on_parts
from pramana.recipient.model import ModelledRecords
from pramana.recipient.models import RandomisedNaiveBayes
from pramana.recipient.study import Study
from pramana.recipient.synthesis import records_of
from pramana.run.parts import check_parts

T = TypeVar("T")
R = TypeVar("R")
Pair = tuple[Path, Path]  # a set of three parts, and the same rows in one file


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readers")
    make_tables(folder)
    return folder


def both(world: Path, name: str, kind: str = "parquet") -> Pair:
    many, one = world / f"{name} many", world / f"{name} one"
    if not many.exists():
        release(recipe_of(name, kind, world, **MANY), many, key=KEY, even_if_useless=True)
        release(recipe_of(name, kind, world), one, key=KEY, even_if_useless=True)
    return many, one


@pytest.fixture(scope="module")
def pair(world: Path) -> Pair:
    return both(world, "retention epsilon")


GROUPS = ("compare", "--first", "sex = F", "--second", "sex = M")
LAW, MATRIX, CLASSES = ("retention epsilon", "parquet"), ("matrix", "csv"), ("generalize labels", "parquet")


@pytest.mark.parametrize(
    ("setting", "question"),
    [
        (LAW, ("crosstab", "--by", "sex,age", "--where", "town = t3")),
        (LAW, ("crosstab", "--by", "sex", "--weights", "income")),
        (LAW, (*GROUPS, "--mean", "age")),
        (LAW, ("quantiles", "age", "--where", "sex = F")),
        (LAW, ("regression", "age", "--on", "sex")),
        (MATRIX, ("crosstab", "--by", "sex,town", "--method", "inverse")),
        (MATRIX, (*GROUPS, "--share", "town = t1")),
        (CLASSES, ("crosstab", "--by", "sex,illness")),
        (CLASSES, (*GROUPS, "--share", "illness = flu")),
    ],
)
def test_questions_have_the_same_answers(
    world: Path, setting: tuple[str, str], question: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    command, *options = question
    answers = []
    for place in both(world, *setting):
        assert run([command, str(place), *options, "--json"]) == 0
        answers.append(json.loads(capfd.readouterr().out))
    assert answers[0] == answers[1]


def test_a_model_learns_the_same(pair: Pair) -> None:
    fitted = []
    for place in pair:
        study = open_study(place)
        assert isinstance(study, Study)
        model = RandomisedNaiveBayes(study.mechanism, ["age", "town"], "sex").fit_study(study)
        fitted.append(model.predict_proba([[a, t] for a in range(10) for t in range(12)]).tolist())
    assert fitted[0] == fitted[1]


def test_synthetic_records_are_drawn_from_the_same_model(pair: Pair) -> None:
    """The records differ: their coins are bound to the digest of the data, which of a set is another one."""
    models = [records_of(Bundle.open(place)) for place in pair]
    assert all(isinstance(model, ModelledRecords) for model in models)
    assert models[0].statement() == models[1].statement()
    drawn = [m.model.draw(KEY, "here", 0, 500) for m in models if isinstance(m, ModelledRecords)]
    assert {n: c.tolist() for n, c in drawn[0].items()} == {n: c.tolist() for n, c in drawn[1].items()}


def test_pages_say_the_same_but_for_files_and_digests(pair: Pair, tmp_path: Path) -> None:
    for dossier in (False, True):
        pages = []
        for number, place in enumerate(pair):
            page = report(place, tmp_path / f"{number}-{dossier}.html", dossier=dossier).read_text()
            pages.append(re.sub(r"\b[0-9a-f]{64}\b|data\.parquet|\bdata\b", "", page))
        assert pages[0] == pages[1]


def test_descriptions_name_every_part(pair: Pair, tmp_path: Path) -> None:
    """Croissant's own library reads the records through them, in their order."""
    many = copied(pair[0], tmp_path / "many")
    parts = Bundle.open(many).certificate.parts
    assert parts is not None
    text = export(many, tmp_path / "codebook.xml", form="ddi").read_text()
    assert parts.root in text and "<fileName>data</fileName>" in text
    said = {"holder": "Office", "holder_kind": "government", "date": "2026-01-01"}
    assert parts.root in export(many, tmp_path / "r.yaml", form="opendp-registry", about=said).read_text()
    path = export(many, tmp_path / "croissant.json", form="croissant")
    *files, together = json.loads(path.read_text())["distribution"]
    assert [(file["contentUrl"], file["sha256"]) for file in files] == [
        (f"data/{part.name}", part.sha256) for part in parts.files
    ]
    assert together["@type"] == "cr:FileSet"
    shutil.move(path, many / "croissant.json")
    with warnings.catch_warnings():  # of libraries that it uses
        warnings.simplefilter("ignore")
        import mlcroissant

        read = mlcroissant.Dataset(jsonld=str(many / "croissant.json"))
        assert read.metadata.issues.errors == set()
        records = [next(iter(record.values())).decode() for record in read.records("records")]
    assert records == Bundle.open(pair[1]).column("sex").to_pylist()


# ---------------------------------------------------------------- read by others, as on Spark


class OtherMachine:
    """Work, items and results are copied on their way; how often it was asked is counted."""

    def __init__(self) -> None:
        self.items = 0

    def each(self, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        sent = pickle.dumps(work)
        self.items += len(items)
        return [pickle.loads(pickle.dumps(pickle.loads(sent)(item))) for item in items]


@pytest.mark.parametrize("setting", [LAW, ("retention numbers", "csv"), MATRIX])
def test_parts_that_others_read_tell_the_same(world: Path, setting: tuple[str, str]) -> None:
    many, one = both(world, *setting)
    there, opened = OtherMachine(), Bundle.open(many)
    spread, plan = replace(opened, spread=there), restore(opened.certificate)
    assert check_parts(spread) == check_parts(opened) and there.items == 3
    found, expected = plan.examine(spread), plan.examine(Bundle.open(one))
    assert found.checks == expected.checks and there.items == 6
    assert {n: c.tolist() for n, c in found.counts.items()} == {n: c.tolist() for n, c in expected.counts.items()}
    names = [a.name for a in opened.certificate.attributes if not a.raw][:2]
    asked: Any = there
    study = study_of(plan, BundleAxes(opened))
    assert study is not None
    apart = replace(
        study, counted=partial(counted_on, asked, opened), parted=partial(worked_on_parts, asked, opened)
    )
    assert apart.crosstab(names).cells() == crosstab(one, names).cells() and there.items == 9
    assert worked_on_parts(asked, Bundle.open(one), names, lambda _: []) is None


def test_a_part_that_others_find_changed(pair: Pair, tmp_path: Path) -> None:
    many = copied(pair[0], tmp_path / "many")
    shutil.copy(many / "data/part-00001.parquet", many / "data/part-00002.parquet")
    spread = replace(Bundle.open(many), spread=OtherMachine())
    assert check_parts(spread) == check_parts(Bundle.open(many))
    assert any(check.name == "digest part-00002.parquet" and not check.ok for check in check_parts(spread))


# ---------------------------------------------------------------- memory


def test_no_reader_holds_all_parts(tmp_path: Path) -> None:
    """The codes of one column, in the eight bytes that cells are counted in, would be too much."""
    rows = 400_000
    draw = np.random.default_rng(3)
    columns = {name: np.array(["a", "b", "c"])[draw.integers(0, 3, rows)] for name in ("sex", "job")}
    pq.write_table(pa.table(columns), tmp_path / "people.parquet")
    statement = {
        "source": {"path": "people.parquet"},
        "release": {"retention": 0.5},
        "attributes": {name: {"role": "quasi-identifying", "domain": ["a", "b", "c"]} for name in columns},
        "output": {"files": "many", "part_rows": 20_000},
    }
    release(Recipe.parse(statement, tmp_path), tmp_path / "out", key=Key(bytes(32)))
    readers: dict[str, Callable[[], object]] = {
        "verify": lambda: verify(tmp_path / "out"),
        "crosstab": lambda: crosstab(tmp_path / "out", ["sex", "job"]),
        "compare": lambda: open_study(tmp_path / "out").compare("sex = a", "sex = b", share="job = c"),
        "report": lambda: report(tmp_path / "out", tmp_path / "page.html"),
        "synthesise": lambda: synthesise(tmp_path / "out", tmp_path / "rows.csv", records=10),
    }
    peaks = {}
    for name, reader in readers.items():
        tracemalloc.start()
        try:
            reader()
            peaks[name] = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert max(peaks.values()) < 8 * rows, peaks


def test_a_part_that_is_valid_is_not_called_a_bundle(
    pair: Pair, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    many, one = pair
    monkeypatch.chdir(many.parent)
    assert run(["verify", many.name, "--part", "part-00001.parquet"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert [line for line in told if " is valid" in line] == [
        "The part part-00001.parquet is valid, UNSIGNED: anyone could have made it. "
        "The rest of the bundle was not looked at."
    ]
    assert run(["verify", many.name, "--part", "part-00001.parquet", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["valid"], found["part"]) == (True, "part-00001.parquet")
    assert run(["verify", many.name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["part"] is None
    assert run(["verify", many.name, "--part", "data/part-00001.parquet"]) == 2
    assert "got 'data/part-00001.parquet'. Write its name alone: part-00001.parquet." in capsys.readouterr().err
    assert run(["verify", many.name, "--part", "part-00001.parquet", "--source", "x", "--seed", "1"]) == 2
    assert "Leave out the part, or the source and the key" in capsys.readouterr().err
    assert run(["verify", one.name, "--part", "part-00001.parquet"]) == 2
    assert "must be a set of files to have parts" in capsys.readouterr().err
    assert not verify(changed(many), part="part-00001.parquet").verdict.startswith("The bundle")


def changed(bundle: Path) -> Path:
    """The same, with another byte in its second part."""
    other = bundle.with_name("changed")
    shutil.copytree(bundle, other)
    place = other / "data" / "part-00001.parquet"
    place.write_bytes(place.read_bytes()[:-1] + b"x")
    return other
