"""Hierarchy files are read no more often than a release needs them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from pramana.methods.quasi import ClassifiedColumn, quasi_of
from pramana.randomness import Key
from pramana.rows import MemoryRows
from pramana.schema import Hierarchy, Role
from pramana.sources import Source


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
