"""The generated survey: a panel of households, the same for a seed, and files as offices write them."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pyreadstat
import pytest

from pramana.datasets.survey import CODES, LABELS, REFUSED, WAVES, survey
from pramana.errors import InputError


def test_a_seed_is_a_survey_and_more_rows_hold_the_fewer() -> None:
    one, again, other = survey(500, 4), survey(500, 4), survey(500, 5)
    assert all((one.columns[name] == again.columns[name]).all() for name in LABELS)
    assert any((one.columns[name] != other.columns[name]).any() for name in LABELS)
    assert len(survey()) == 60_000 and len(survey(1)) == 1
    with pytest.raises(InputError, match="at least one row"):
        survey(0)


def test_people_and_households_are_what_they_are_in_every_wave() -> None:
    panel = survey(5_000).columns
    for who, what in (("person", ("sex", "born", "household")), ("household", ("postcode", "region", "people"))):
        for name in what:
            assert len(set(zip(panel[who].tolist(), panel[name].tolist(), strict=True))) == len(
                set(panel[who].tolist())
            )
    persons, times = np.unique(panel["person"], return_counts=True)
    assert times.max() == WAVES and 1 < times.mean() < WAVES and len(persons) > 1_000
    pairs = set(zip(panel["person"].tolist(), panel["wave"].tolist(), strict=True))
    assert len(pairs) == 5_000
    assert (panel["interviewed"] >= panel["born"]).all()


def test_codes_are_declared_and_some_answers_refused() -> None:
    panel = survey(5_000)
    for name, codes in CODES.items():
        assert set(panel.columns[name].tolist()) <= set(codes)
    for name in ("income", "health", "education"):
        assert 0 < (panel.columns[name] == REFUSED).mean() < 0.2
    table = panel.to_arrow()
    assert table.column("health").type.ordered and table.column("income").null_count > 0
    assert any(code.startswith("0") for code in panel.columns["postcode"].tolist())
    assert panel.to_pandas()["health"].cat.categories[0] == "very good"


def test_the_csv_file_is_an_offices(tmp_path: Path) -> None:
    panel = survey(200)
    panel.write_csv(tmp_path / "s.csv")
    lines = (tmp_path / "s.csv").read_bytes().decode("cp1252").split("\r\n")
    assert lines[0].split(";") == list(LABELS) and len(lines) == 202 and lines[-1] == ""
    first = dict(zip(LABELS, lines[1].split(";"), strict=True))
    day = datetime.datetime.strptime(first["born"], "%d.%m.%Y").date()
    assert day == panel.columns["born"].astype("datetime64[D]")[0].item()
    assert first["postcode"].endswith(" ") and first["postcode"].strip() == panel.columns["postcode"][0]
    assert float(first["weight"].replace(",", ".")) == panel.columns["weight"][0]


def test_the_spss_and_stata_files_have_the_labels(tmp_path: Path) -> None:
    panel = survey(200)
    panel.write_sav(tmp_path / "s.sav")
    panel.write_dta(tmp_path / "s.dta")
    data, metadata = pyreadstat.read_sav(tmp_path / "s.sav", user_missing=True)
    assert metadata.column_names_to_labels == LABELS
    assert metadata.variable_value_labels["sex"] == CODES["sex"]
    assert metadata.missing_ranges["income"] == [{"lo": REFUSED, "hi": REFUSED}]
    assert data["education"].tolist() == panel.columns["education"].tolist()
    assert pyreadstat.read_dta(tmp_path / "s.dta")[1].variable_value_labels["region"] == CODES["region"]
