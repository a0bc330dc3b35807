"""Paper 3's figures: what is compared with chance is, and what must come out does."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from pramana.experiments import levels as experiment
from pramana.experiments.levels import _largest_by_chance, simulate
from pramana.experiments.outputs import Outputs


def test_the_largest_deviation_by_chance() -> None:
    """Against drawing from the laws themselves: half of the largest deviations lie below the stated median."""
    law = np.full(20, 0.5 / 20)
    law[3] += 0.5
    behind = np.full(60, 400)
    median, top = _largest_by_chance(np.tile(law, (60, 1)), behind)
    rng = np.random.default_rng(3)
    drawn = rng.multinomial(400, law, (2000, 60)) / 400
    largest = np.sqrt(((drawn - law) ** 2).sum(axis=2)).max(axis=1)
    assert 0.4 < (largest < median).mean() < 0.6
    assert 0.98 < (largest < top).mean() < 0.998


def test_collusion_is_within_chance_and_independent_releases_are_not() -> None:
    trial = simulate(np.full(4, 0.25), 400_000, 1)
    for worst in (trial.collusion, trial.equivalence):
        assert worst.deviation <= worst.at_most
        assert worst.measured.sum() == pytest.approx(1) == worst.expected.sum()
    assert trial.collusion.compared == 64 and trial.equivalence.compared == 12
    assert trial.collusion.independent is not None
    assert trial.collusion.independent > 5 * trial.collusion.at_most


def test_the_figures_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = experiment.Sizes(400_000, 20, 1_500, 20, 500, 1_000)
    monkeypatch.setattr(experiment, "QUICK", small)
    outputs = Outputs(tmp_path)
    experiment.run(outputs, quick=True)
    written = {path.name for path in (*outputs.tables, *outputs.figures)}
    assert {f"levels-figure-{n}.{kind}" for n in (5, 6, 7, 8) for kind in ("csv", "md", "svg", "png")} == written
    growth = list(csv.DictReader((tmp_path / "levels-figure-7.csv").read_text().splitlines()))
    together = [float(row["one process"]) for row in growth]
    apart = [float(row["independent"]) for row in growth]
    assert apart[-1] > 0.85 and max(together) < 0.4  # the paper: nearly 1 against some 30 %
    for row in csv.DictReader((tmp_path / "levels-figure-8.csv").read_text().splitlines()):
        assert float(row["entries per row"]) <= float(row["Lemma 2"]) + 5 / np.sqrt(500)
