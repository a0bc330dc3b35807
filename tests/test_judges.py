"""What the judges are shown is what the page says: the counts beside pycanon's, and the release that is broken."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.judges import classes, releases

from pramana import datasets

TABLE = """\
sex,age,education,worked_last_year
F,1,a,x
F,1,a,x
F,1,a,x
F,1,a,y
M,2,b,y
M,2,b,x
"""


def test_both_counts_are_right_on_a_table_that_can_be_counted_by_eye(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(TABLE)
    plain, ours = classes.by_hand(path), classes.ours(path)
    known = {"k": 2, "alpha": 3 / 4, "l": 2, "recursive c": 3, "t": 1 / 6}  # of x 4 in 6; 3 in 4 and 1 in 2
    for counted in (plain, ours):
        assert {name: counted[name] for name in known} == pytest.approx(known)
    assert plain["entropy l"] == pytest.approx(4 / 27**0.25) == ours["entropy l"]  # e^-(3/4 ln 3/4 + 1/4 ln 1/4)
    assert plain["beta"] == pytest.approx(0.5)  # y: 1 in 2 against 1 in 3
    told = {"rows": {"one": {"pycanon": {**plain, "k": 3}, "Pramana": ours, "by hand": plain}}}
    assert classes.disagreements(told) == {"k": ["one"]}


def test_the_broken_release_claims_what_the_honest_one_does_and_shows_columns_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releases, "RECORDS", 200)
    tables, claims = releases.tables_of(tmp_path)
    assert claims["broken, k = 20 claimed"] == claims["k = 20"]
    people = datasets.census(200, seed=1)

    def published(table: str, column: str) -> list[str]:
        header, *rows = (line.split(",") for line in tables[table].read_text().replace('"', "").splitlines())
        return sorted(row[header.index(column)] for row in rows)

    true = sorted(people.domain("education")[code] for code in people.column("education"))
    assert published("broken, k = 20 claimed", "education") == true
    assert published("k = 20", "education") != true
