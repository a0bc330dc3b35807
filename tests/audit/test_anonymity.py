"""k of a table, and paper 1's Theorem 2: for deterministic methods it is the k of Pk-anonymity."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pandas
import pytest
from tests.theory.test_pk import link_probability

from pramana.app.main import run
from pramana.counting.classes import class_numbers
from pramana.counting.value_counts import ValueCounts
from pramana.errors import SourceError
from pramana.holder.audit.anonymity import anonymity_of_table, k_of_table


@pytest.mark.parametrize("recoding", [(0, 0, 1), (0, 1, 2), (0, 0, 0)])
def test_theorem_2_by_brute_force(recoding: tuple[int, ...]) -> None:
    """Recode values deterministically; the worst link over all private tables is 1/k of the published one."""
    channel = [[Fraction(int(recoding[u] == v)) for v in range(3)] for u in range(3)]
    for seen in product(sorted(set(recoding)), repeat=4):
        fitting = [t for t in product(range(3), repeat=4) if tuple(recoding[u] for u in t) == seen]
        worst = max(link_probability(channel, truth, seen) for truth in fitting)
        assert k_of_table(pandas.DataFrame({"value": seen}), ["value"]) == 1 / worst


def test_several_columns_and_missing_values(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    frame = pandas.DataFrame(
        {"a": rng.integers(0, 3, 500), "b": rng.choice(np.array(["x", "y", None], object), 500)}
    )
    expected = frame.fillna("-").groupby(["a", "b"]).size().min()
    assert k_of_table(frame, ["a", "b"]) == expected
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert k_of_table(tmp_path / "t.csv", ["a", "b"]) == expected
    with pytest.raises(SourceError, match="Did you mean"):
        k_of_table(frame.rename(columns={"a": "age"}), ["aeg"])


@pytest.mark.parametrize("rows", [1 << 18, 700, 1])
def test_k_l_and_t_of_rows_that_stream_are_those_of_the_whole(
    rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values appear and vanish between batches; missing ones are one more value."""
    monkeypatch.setattr("pramana.holder.audit.anonymity._ROWS", rows)
    rng = np.random.default_rng(3)
    size = 3_000 if rows > 1 else 40
    frame = pandas.DataFrame(
        {
            "a": rng.integers(0, 4, size),
            "b": [None if i % 11 == 0 else f"v{i * i % 7}" for i in range(size)],
            "s": rng.choice(["x", "y", "z"], size, p=[0.7, 0.2, 0.1]),
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    found = anonymity_of_table(tmp_path / "t.parquet", ["a", "b"], "s")
    codes = [pandas.factorize(frame[name], use_na_sentinel=False)[0].astype(np.uint32) for name in "abs"]
    assert found.records == size
    counts = ValueCounts.of(class_numbers(codes[:2]), codes[2])
    assert found.k == counts.sizes.min()
    assert found.l == counts.distinct_l
    assert found.entropy_l == pytest.approx(counts.entropy_l, rel=1e-12)
    assert found.t == pytest.approx(counts.t(), rel=1e-12)
    groups = frame.groupby(["a", "b"], dropna=False)["s"]
    assert found.k == groups.size().min()
    assert found.l == groups.nunique().min()
    assert found.classes == len(groups)


def test_the_command_measures_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("a,b,s\n1,x,p\n1,x,q\n2,y,p\n2,y,p\n2,y,p\n")
    assert not run(["anonymity", str(tmp_path / "t.csv"), "--quasi", "a,b", "--sensitive", "s", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found == {"records": 5, "classes": 2, "k": 2, "l": 1, "entropy_l": 1.0, "t": pytest.approx(0.3)}


def test_a_column_named_twice_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("sex,age\nF,1\nM,2\n")
    assert run(["anonymity", str(tmp_path / "t.csv"), "--quasi", "sex,age, sex"]) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 1
    assert "must be named once, got 'sex' twice" in told.err
