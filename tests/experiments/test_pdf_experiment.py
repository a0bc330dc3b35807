"""Figure 3 of paper 4 on Adult: distributions in the cells beat sets, labels and intervals in every row."""

from __future__ import annotations

from pathlib import Path

import pytest

from pramana.errors import SourceError
from pramana.experiments.adult_trees import QUASI, adult_file, hierarchies, read_adult
from pramana.experiments.pdf import CELLS, figure_3

ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult.csv"


def test_distributions_beat_every_other_cell_in_every_row() -> None:
    if not ADULT.exists():
        pytest.skip("the shared Adult table is not on this machine")
    table = read_adult(ADULT)
    assert table.rows == 45_222
    rows = figure_3(type(table)(table.ladders, tuple(c[::6] for c in table.columns), table.salary[::6]), [25], 2)
    by = {(r["algorithm"], r["cells"]): r for r in rows}
    for algorithm in ("incognito", "mondrian", "kl"):
        best = by[algorithm, "PDF"]
        for other in CELLS:
            if other in ("PDF", "INTER1", "INTER2") or (algorithm, other) not in by:
                continue
            assert best["association rule error"] < by[algorithm, other]["association rule error"]
            assert best["class rule error"] < by[algorithm, other]["class rule error"]
        costs = [by[algorithm, name]["KL cost"] for name in ("PDF", "INTER1", "INTER2", "NDGH")]
        assert costs == sorted(costs)
    assert by["kl", "PDF"]["KL cost"] < by["mondrian", "PDF"]["KL cost"] < by["incognito", "PDF"]["KL cost"]


def test_every_quasi_identifier_has_a_hierarchy_over_its_declared_values() -> None:
    from pramana.datasets.adult import DOMAINS

    for name, hierarchy in hierarchies().items():
        if name != "age":
            assert sorted(hierarchy.leaves) == sorted(DOMAINS[name])
    assert tuple(hierarchies()) == QUASI
    assert len(hierarchies()["age"].leaves) == 10


def test_without_the_table_one_error_says_where_to_put_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PRAMANA_ADULT", raising=False)
    with pytest.raises(SourceError, match="PRAMANA_ADULT"):
        adult_file()
    monkeypatch.setenv("PRAMANA_ADULT", "nowhere.csv")
    with pytest.raises(SourceError, match=r"nowhere\.csv"):
        adult_file()
