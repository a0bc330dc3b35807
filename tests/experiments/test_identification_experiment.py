"""Paper 2's table, simulation and study, as the experiment writes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pramana.experiments import identification
from pramana.experiments.outputs import Outputs

TABLE_1 = "11 9 8 7 6 5 5 / 6 5 5 4 4 3 3 / 5 4 3 3 3 2 2 / 4 3 3 2 2 2 2 / 3 3 2 2 2 2 2 / 3 2 2 2 2 2 2"


def test_table_1_is_the_papers() -> None:
    rows = [list(row.values())[1:] for row in identification.table_1()]
    assert rows[:6] == [[int(n) for n in line.split()] for line in TABLE_1.split(" / ")]
    assert rows[6:] == [[2] * 7] * 4


def test_the_simulation_agrees_with_the_exact_values_and_the_paper() -> None:
    errors, (match,) = identification.simulation(1000)
    for row in errors:
        if row["exact"] == 0:
            assert row["mean squared error"] == row["paper"] == 0
            continue
        assert abs(row["mean squared error"] - row["exact"]) < 4.5 * row["standard error"]
        assert abs(row["paper"] - row["exact"]) < 4.5 * row["standard error"]
    assert abs(match["match rate"] - match["exact"]) < 4.5 * match["standard error"]
    assert abs(match["paper"] - match["exact"]) < 4.5 * match["standard error"]
    assert match["exact"] == pytest.approx(0.078489, abs=1e-6)
    assert match["largest R1"] == pytest.approx(0.0998496582, abs=1e-10)


def test_the_simulation_would_notice_another_law() -> None:
    """Published with no exchange at all, every error would be zero and every match certain to be one in two."""
    from pramana.mechanisms.invariant import BlockInvariant

    counts, gains = identification._published(BlockInvariant(8, ()), 50, 1)
    assert (counts == np.array(identification.FREQUENCIES)).all()
    assert (gains == 0.5).all()


def test_the_study(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On generated earners alone: the search reaches xi with less error than the paper's rule wherever both do."""
    monkeypatch.setattr(identification, "ADULT", ())
    monkeypatch.setattr(identification, "STUDY_LEVELS", ("0.1",))
    outputs = Outputs(tmp_path)
    rows = list(identification.study(1_000))
    outputs.table(rows, "study")
    assert (tmp_path / "study.csv").is_file()
    by_rule = {(r["attribute"], r["rule"]): r for r in rows}
    for attribute in ("age", "occupation", "occupation and education"):
        best, paper = by_rule[attribute, "best"], by_rule[attribute, "paper"]
        assert best["largest risk"] <= 0.1
        assert best["rare"] == 0 or by_rule[attribute, "two-stage"]["largest risk"] > 0.1
        if paper["largest risk"] <= 0.1:
            assert best["root mean squared error"] <= paper["root mean squared error"]


def test_pictures_are_drawn(tmp_path: Path) -> None:
    outputs = Outputs(tmp_path)
    outputs.figure(identification._risks_by_count(), "risk-by-count")
    assert {p.suffix for p in outputs.figures} == {".svg", ".png"}
    assert all(p.stat().st_size > 1000 for p in outputs.figures)
