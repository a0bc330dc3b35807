from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pramana.app.main import cli, run
from pramana.experiments.outputs import EXPERIMENTS

PUBLISHED = Path(__file__).parents[2] / "docs" / "experiments"


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_quick_experiment_writes_tables_and_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["experiment", "pk", "--quick", "--out", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["tables"]) == len(found["figures"]) == 6
    assert all(Path(p).stat().st_size > 0 for p in found["tables"] + found["figures"])
    by_records = rows(tmp_path / "pk-figure-2-by-records.csv")
    # the sheet: V = (2,18,12,3), k = 2, R = 245 and 24,582
    assert float(by_records[0]["retention"]) == pytest.approx(0.117444, abs=1e-6)
    assert float(by_records[0]["epsilon"]) == pytest.approx(2.748584, abs=1e-6)
    assert float(by_records[-1]["retention"]) == pytest.approx(0.271906, abs=1e-6)
    for row in by_records:
        assert float(row["L1 EM"]) < float(row["L1 inversion"])


def test_the_published_figure_2_has_em_below_the_papers_method_in_every_row() -> None:
    published = rows(PUBLISHED / "pk-figure-2-by-records.csv")
    assert [int(r["records"]) for r in published] == [245, 2_458, 24_582, 245_828, 2_458_285]
    assert all(float(r["L1 EM"]) < float(r["L1 inversion"]) for r in published)
    assert float(published[-1]["retention"]) == pytest.approx(0.450917, abs=1e-6)
    assert float(published[-1]["epsilon"]) == pytest.approx(7.357487, abs=1e-6)


def test_an_unknown_experiment_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["experiment", "nothing", "--out", str(tmp_path)]) == 2
    assert "The experiment must be one of" in capsys.readouterr().err


def test_help_lists_the_experiments() -> None:
    done = CliRunner().invoke(cli, ["experiment", "--help"])
    assert done.exit_code == 0
    assert all(name in done.output for name in EXPERIMENTS)
