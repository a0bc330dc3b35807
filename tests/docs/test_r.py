"""The R function gives the numbers of `crosstab`, where R is present."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

import pytest
from tests import needs

import pramana

R = Path(__file__).parents[2] / "docs" / "r" / "pramana.R"
MATRIX = [[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.0, 0.2, 0.8]]


def in_r(*lines: str) -> str:
    code = "\n".join([f"source({str(R)!r})", *lines])
    done = subprocess.run([needs.program("Rscript"), "-e", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("release", "by"),
    [
        ({"k": 5}, ["sex", "worked_last_year"]),
        ({"k": 5, "coin": "record"}, ["worked_last_year", "sex"]),
        ({"k": 5}, ["worked_last_year"]),
    ],
    ids=["attribute", "record", "one"],
)
def test_r_inverts_as_crosstab_does(release: dict[str, object], by: list[str], tmp_path: Path) -> None:
    people = pramana.datasets.census(2_000, seed=1)
    people.write_parquet(tmp_path / "people.parquet")
    names = ("sex", "worked_last_year")
    content = {
        "source": {"path": "people.parquet"},
        "release": release,
        "attributes": {n: {"role": "quasi-identifying", "domain": list(people.domain(n))} for n in names},
        "output": {"format": "csv"},
    }
    bundle, out = tmp_path / "bundle", tmp_path / "table.csv"
    pramana.release(pramana.Recipe.parse(content, tmp_path), bundle, seed=1)
    asked = "c(" + ", ".join(f'"{name}"' for name in by) + ")"
    in_r(f'utils::write.csv(pramana_table("{bundle}", {asked}), "{out}", row.names = FALSE)')
    study = pramana.open_study(bundle)
    want = study.crosstab(by, method="inverse").cells()
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert [[row[n] for n in by] for row in rows] == [[cell[n] for n in by] for cell in want]
    assert [float(r["estimate"]) for r in rows] == pytest.approx([c["estimate"] for c in want])
    errors = [float(r["std_error"]) for r in rows]
    from pramana.recipient.inversion import invert
    from pramana.recipient.study import Study

    assert isinstance(study, Study)

    assert errors == pytest.approx(invert(study.table(by)).variances.ravel() ** 0.5)
