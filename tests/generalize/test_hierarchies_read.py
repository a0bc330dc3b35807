"""Hierarchy files are read no more often than a release needs them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from pramana import Recipe, release
from pramana.io.source import Source
from pramana.methods.columns import ClassifiedColumn, quasi_of
from pramana.randomness.key import Key
from pramana.rows.memory import MemoryRows
from pramana.schema.domain import Role
from pramana.schema.hierarchy import Hierarchy


def test_a_quasi_identifier_reads_its_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "town.csv").write_text("".join(f"t{i};h{i // 2};*\n" for i in range(8)))
    (tmp_path / "people.csv").write_text("town\n" + "".join(f"t{i % 8}\n" for i in range(20)))
    read, counted = Hierarchy.read, Counter[str]()

    def counting(path: str | Path) -> Hierarchy:
        counted[Path(path).name] += 1
        return read(path)

    monkeypatch.setattr(Hierarchy, "read", counting)
    rows = MemoryRows(Source(path=tmp_path / "people.csv").read(["town"]), Key.from_seed(1))
    column = ClassifiedColumn(role=Role.QUASI_IDENTIFYING, hierarchy="town.csv", level=1)
    quasi = quasi_of("town", column, tmp_path, rows)
    assert counted == {"town.csv": 1}
    assert quasi.leaf_labels == ("h0", "h1", "h2", "h3")
    assert np.array_equal(quasi.ladder.maps[1], np.zeros(4))


@pytest.mark.parametrize("t_distance", ["equal", "hierarchical"])
def test_a_release_reads_every_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, t_distance: str) -> None:
    """Opening the source, planning and publishing ask for the same hierarchies."""
    for name in ("town", "job", "illness"):
        (tmp_path / f"{name}.csv").write_text("".join(f"{name}{i};half{i // 4};*\n" for i in range(8)))
    lines = [f"town{i % 8},job{i % 4},illness{(i * i + i // 8) % 8}" for i in range(80)]
    (tmp_path / "people.csv").write_text("\n".join(["town,job,illness", *lines]) + "\n")
    columns = {n: {"role": "quasi-identifying", "hierarchy": f"{n}.csv"} for n in ("town", "job")}
    columns["illness"] = {"role": "sensitive", "hierarchy": "illness.csv"}
    setting = {"method": "generalize", "k": 2, "t": 0.9, "t_distance": t_distance}
    read, counted = Hierarchy.read, Counter[str]()

    def counting(path: str | Path) -> Hierarchy:
        counted[Path(path).name] += 1
        return read(path)

    monkeypatch.setattr(Hierarchy, "read", counting)
    recipe = {"source": {"path": "people.csv"}, "release": setting, "attributes": columns}
    release(Recipe.parse(recipe, tmp_path), tmp_path / "out", seed=1)
    expected = {"town.csv": 1, "job.csv": 1}
    assert counted == (expected | {"illness.csv": 1} if t_distance == "hierarchical" else expected)
