"""The sheet's paper 1 table through the command line, as acceptance calls it."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from pramana.app.main import run


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run([*arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_papers_example(capsys: pytest.CaptureFixture[str]) -> None:
    found = call(capsys, "calibrate", "--records", "100000", "--domains", "2,5,10", "--k", "100")
    assert found["retention"] == pytest.approx([0.303195623089413] * 3, abs=1e-14)
    assert found["epsilon"] == pytest.approx(3.458897807392820, abs=1e-13)
    assert found["k"] >= 100
    assert found["central"]["delta"] == 1e-6
    assert found["central"]["epsilon"] < 0.0647  # what the sheet quotes; ours is proved and smaller


def test_k_and_epsilon_at_one_half(capsys: pytest.CaptureFixture[str]) -> None:
    found = call(capsys, "guarantee", "--records", "1000", "--domains", "2,3", "--retention", ".5")
    assert found["k"] == 127 / 16
    assert found["epsilon"] == pytest.approx(math.log(12), rel=1e-14)


def test_one_attribute(capsys: pytest.CaptureFixture[str]) -> None:
    found = call(capsys, "calibrate", "--records", "1001", "--domains", "4", "--k", "11")
    assert found["retention"] == pytest.approx([9 / 13], abs=1e-16)


def test_a_matrix(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text(".7,.3\n.2,.8\n")
    found = call(capsys, "guarantee", "--records", "10", "--matrix", str(path))
    assert found["k"] == pytest.approx(55 / 28, rel=1e-15)
    assert found["k"] <= 55 / 28 * (1 + 1e-15)
    assert found["epsilon"] == pytest.approx(math.log(3.5), rel=1e-14)


@pytest.mark.parametrize(
    ("records", "retention", "epsilon"),
    [(245, 0.117444, 2.748584), (24_582, 0.271906, 5.054865), (2_458_285, 0.450917, 7.357487)],
)
def test_figure_2(capsys: pytest.CaptureFixture[str], records: int, retention: float, epsilon: float) -> None:
    found = call(capsys, "calibrate", "--records", str(records), "--domains", "2,18,12,3", "--k", "2")
    assert found["retention"] == pytest.approx([retention] * 4, abs=5e-7)
    assert found["epsilon"] == pytest.approx(epsilon, abs=5e-7)


def test_record_coin_and_epsilon(capsys: pytest.CaptureFixture[str]) -> None:
    found = call(
        capsys, "calibrate", "--records", "100000", "--domains", "2,5,10", "--epsilon", "2", "--coin", "record"
    )
    assert found["retention"] == pytest.approx([(math.exp(2) - 1) / (math.exp(2) + 99)], rel=1e-14)
    assert found["epsilon"] <= 2
    assert found["k"] == pytest.approx(1 + 99_999 * math.exp(-4), rel=1e-12)


def test_a_central_epsilon(capsys: pytest.CaptureFixture[str]) -> None:
    """R = 100,000, V = 100, (1/2, 1e-6): retention .887 is known to be enough; k is what it then is."""
    found = call(
        capsys,
        "calibrate",
        "--records",
        "100000",
        "--domains",
        "100",
        "--central-epsilon",
        ".5",
        "--delta",
        "1e-6",
    )
    (retention,) = found["retention"]
    assert 0.887 <= retention < 0.9
    assert found["central"] == {"epsilon": pytest.approx(0.5, abs=1e-3), "delta": 1e-6}
    assert found["central"]["epsilon"] <= 0.5
    ratio = (1 + 99 * retention) / (1 - retention)
    assert found["k"] == pytest.approx(1 + 99_999 / ratio**2, rel=1e-6)
    assert found["epsilon"] == pytest.approx(math.log(ratio), rel=1e-6)


def test_a_block_matrix_has_k_1_and_no_epsilon(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("1/2;1/2;0;0\n1/2;1/2;0;0\n0;0;1/2;1/2\n0;0;1/2;1/2\n")
    found = call(capsys, "guarantee", "--records", "1000", "--matrix", str(path))
    assert found["k"] == 1
    assert found["epsilon"] is None
    assert found["central"]["epsilon"] is None


def test_a_secret_sample(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["guarantee", "--records", "1000", "--domains", "2,5,10", "--retention", ".3"]
    alone = call(capsys, *arguments)
    among = call(capsys, *arguments, "--population", "50000")
    assert among["k"] == pytest.approx(alone["k"] + 49_000 * math.exp(-alone["epsilon"]), rel=1e-9)
