"""Every bundle can be asked: each method's answers hold the truth, and versions at levels are asked together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pacsv
import pytest
from tests.golden.cells import SETTINGS, document, make_tables, path_of

from pramana import Bundle, Recipe, create_levels, crosstab, issue, open_study, release, report
from pramana.app.main import run
from pramana.errors import BundleError
from pramana.recipient.cell_study import CellStudy

CELLS = [
    "invariant",
    "invariant strata",
    "invariant sinkhorn",
    "generalize pdf",
    "generalize labels",
    "generalize set t",
    "generalize mondrian",
    "generalize kl",
    "generalize models",
    "presence flag",
    "presence labels",
    "presence noised",
    "microaggregate",
    "microaggregate optimal",
    "swap rank",
    "swap record",
    "noise",
    "noise correlated",
]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    make_tables(folder)
    return folder


def released(world: Path, name: str, form: str) -> tuple[Path, dict[str, list[Any]]]:
    """The bundle, and the true columns of the records in it as far as none was left out."""
    place = world / f"{name.replace(' ', '-')}-{form}"
    source = path_of(name, form)
    if not place.exists():
        release(Recipe.parse(document(*SETTINGS[name], source, form), world), place, seed=7)
    rows = pacsv.read_csv(world / source.replace(".parquet", ".csv")).to_pydict()
    if "here" in rows:
        rows = {n: [v for v, h in zip(c, rows["here"], strict=True) if h] for n, c in rows.items()}
    return place, rows


def test_every_setting_without_a_law_is_here(world: Path) -> None:
    without = [n for n in SETTINGS if isinstance(open_study(released(world, n, "csv")[0]), CellStudy)]
    assert without == [n for n in SETTINGS if n in CELLS]


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_tables_of_cells_hold_the_truth(name: str, form: str, world: Path) -> None:
    bundle, true = released(world, name, form)
    attributes = Bundle.open(bundle).certificate.attributes
    left_out = len(true["sex"]) - Bundle.open(bundle).certificate.records
    names = [a.name for a in attributes if a.name in ("sex", "town", "illness", "job")][:2]
    for by in [[n] for n in names] + [names]:
        table = crosstab(bundle, by)
        assert table.estimate.sum() == pytest.approx(len(true["sex"]) - left_out)
        held = 0
        for cell in table.cells():
            want = sum(
                all(str(true[n][i] or "") == str(cell[n] or "") for n in by) for i in range(len(true["sex"]))
            )
            assert cell["low"] <= cell["estimate"] <= cell["high"]
            held += cell["low"] <= want <= cell["high"] + left_out
        # the counts of invariant columns vary by chance; all other bounds are sure
        assert held >= (0.9 if "invariant" in name else 1.0) * len(table.cells())


@pytest.mark.parametrize("name", [n for n in CELLS if "generalize" in n or "presence" in n])
def test_numbers_of_cells_hold_the_truth(name: str, world: Path) -> None:
    bundle, true = released(world, name, "csv")
    study = open_study(bundle)
    ages = np.array(true["age"])
    slack = len(ages) - study.records
    old = study.total("age >= 60 and sex = F")
    want = int(((ages >= 60) & (np.array(true["sex"]) == "F")).sum())
    assert old.low <= want <= old.high + slack
    assert old.high < study.records
    if not slack:
        mean = study.mean("age", "sex = F")
        assert mean.low <= ages[np.array(true["sex"]) == "F"].mean() <= mean.high
        for share, found in zip((0.25, 0.5, 0.75), study.quantiles("age"), strict=True):
            assert found.low <= np.sort(ages)[int(np.ceil(share * len(ages))) - 1] <= found.high


def test_the_commands_answer_for_cells(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = str(released(world, "generalize labels", "csv")[0])
    assert run(["crosstab", bundle, "--by", "sex", "--where", "age >= 60", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["method"] == "expected" and told["records"] == 2955
    assert [c["sex"] for c in told["cells"]] == ["F", "M"]
    assert all(c["low"] <= c["estimate"] <= c["high"] for c in told["cells"])
    assert run(["crosstab", bundle, "--by", "sex", "--mean", "age", "--json"]) == 0
    assert all(40 < c["estimate"] < 60 for c in json.loads(capsys.readouterr().out)["cells"])
    question = ["--first", "sex = F", "--second", "sex = M", "--share", "age >= 60"]
    assert run(["compare", bundle, *question]) == 0
    assert "possible are" in capsys.readouterr().out
    assert run(["compare", bundle, *question, "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"first", "second", "difference"}


def test_a_mean_that_nothing_bounds_has_no_ends(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = str(released(world, "microaggregate", "csv")[0])
    assert run(["crosstab", bundle, "--mean", "age", "--where", "age >= 60", "--json"]) == 0
    cell = json.loads(capsys.readouterr().out)["cells"][0]
    assert cell["low"] is None and cell["high"] is None and cell["estimate"] > 60
    assert run(["crosstab", bundle, "--mean", "age", "--where", "age >= 60"]) == 0
    assert "?" in capsys.readouterr().out


def test_a_report_has_tables_of_cells(world: Path, tmp_path: Path) -> None:
    bundle, _ = released(world, "generalize labels", "csv")
    page = report(bundle, tmp_path / "page.html", tables=[["sex", "illness"]]).read_text()
    assert "gout" in page


def test_survey_weights_must_be_as_they_were(world: Path) -> None:
    bundle, true = released(world, "generalize labels", "csv")
    weighted = open_study(bundle, weights="income").total("sex = F")
    assert weighted.low == weighted.estimate == weighted.high
    assert weighted.high <= sum(i for i, s in zip(true["income"], true["sex"], strict=True) if s == "F")
    with pytest.raises(BundleError, match="released unchanged"):
        open_study(released(world, "microaggregate optimal", "csv")[0], weights="income")
    with pytest.raises(BundleError, match="a column of the release"):
        open_study(bundle, weights="nothing")


# ---------------------------------------------------------------- several versions


LEVELS = """
[source]
path = "people.csv"
[release]
method = "levels"
[attributes.sex]
role = "insensitive"
[attributes.illness]
role = "sensitive"
domain = ["none", "flu", "cold", "gout"]
"""


def test_versions_at_levels_are_asked_by_their_best_member(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (world / "levels.toml").write_text(LEVELS)
    create_levels(tmp_path / "ledger.db", world / "levels.toml")
    for who, level in (("anna", "0.2"), ("bert", "0.7"), ("cleo", "0.4")):
        issue(tmp_path / "ledger.db", who, level, tmp_path / who)
    versions = [tmp_path / who for who in ("anna", "bert", "cleo")]
    best = crosstab(tmp_path / "bert", ["illness"])
    assert crosstab(versions, ["illness"]).cells() == best.cells()
    assert crosstab(versions[::-1], ["illness"]).cells() == best.cells()
    assert crosstab(versions[:1], ["illness"]).cells() != best.cells()
    assert run(["crosstab", *map(str, versions), "--by", "illness", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cells"] == best.cells()


def test_a_law_that_cannot_be_undone_is_said(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One chain for several columns whose replacement is not uniform: counts at face value would be wrong."""
    lines = [
        LEVELS.replace('method = "levels"', 'method = "levels"\nretention = 0.4\ntogether = true'),
        "distribution = [0.4, 0.3, 0.2, 0.1]",
        '[attributes.job]\nrole = "sensitive"\ndomain = "from-data"',
    ]
    (world / "weighted.toml").write_text("\n".join(lines))
    release(world / "weighted.toml", tmp_path / "out", seed=1)
    for command in (["crosstab", "--by", "illness"], ["synthesise", "--out", str(tmp_path / "p.csv")]):
        assert run([command[0], str(tmp_path / "out"), *command[1:]]) == 2
        assert "a law that recipients can undo" in capsys.readouterr().err
    assert not (tmp_path / "p.csv").exists()


def test_other_bundles_are_not_asked_together(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (world / "levels.toml").write_text(LEVELS)
    for name in ("one", "two"):
        create_levels(tmp_path / f"{name}.db", world / "levels.toml")
        issue(tmp_path / f"{name}.db", "anna", "0.2", tmp_path / name)
    randomised = str(released(world, "retention k", "csv")[0])
    for pair in ([str(tmp_path / "one"), str(tmp_path / "two")], [str(tmp_path / "one"), randomised]):
        assert run(["crosstab", *pair, "--by", "sex"]) == 2
        assert "versions of one table at levels" in capsys.readouterr().err
    with pytest.raises(BundleError, match="asked of a bundle"):
        open_study([])
