"""The sheet's numbers for paper 2, through the command line."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.app.main import run


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, object]]:
    code = run([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_block(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = answer(capsys, "block", "--frequency", "2", "--xi", "0.1")
    assert code == 0
    assert found["theta"] == pytest.approx(4 * math.sqrt(2) - 4, abs=1e-12)
    assert found["size"] == 6


def test_the_sheets_block(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = answer(capsys, "identification", "--frequencies", "2,106,194,205,221,230", "--xi", "0.1")
    assert code == 0
    assert found["theta"] == pytest.approx(1.656854, abs=1e-6)
    assert found["blocks"] == [[0, 1, 2, 3, 4, 5]]
    assert found["risk"][0] == pytest.approx(0.0998496582, abs=1e-10)  # type: ignore[index]
    assert found["match"][0] == pytest.approx(0.078489, abs=1e-6)  # type: ignore[index]
    assert found["risk_all_counts"][0] >= found["risk"][0]  # type: ignore[index]
    assert found["xi_reached"] == pytest.approx(0.0998496582, abs=1e-10)
    matrix = found["matrix"]
    assert all(sum(row) == pytest.approx(1, abs=1e-12) for row in matrix)  # type: ignore[attr-defined]
    assert matrix[0][0] == pytest.approx(1 - 1.656854 / 2, abs=1e-6)  # type: ignore[index]


def test_three_frequencies(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = answer(capsys, "identification", "--frequencies", "2,205,431", "--xi", "0.1")
    assert code == 0
    assert max(found["risk"]) <= 0.1  # type: ignore[call-overload]
    assert found["xi_reached"] == max(found["risk"])  # type: ignore[call-overload]


def test_unreached_exits_1_and_says_what_was_reached(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = answer(capsys, "identification", "--frequencies", "2,5", "--xi", "0.1")
    assert code == 1
    assert 1 / 7 - 1e-12 <= found["xi_reached"] < 0.2  # type: ignore[operator]
    assert answer(capsys, "identification", "--frequencies", "2,5", "--xi", "0.1", "--go-on")[0] == 0


def test_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["block", "--frequency", "12", "--xi", "0.1"]) == 0
    assert "needs nothing" in capsys.readouterr().out
    assert run(["identification", "--frequencies", "2,0,205,431", "--xi", "0.1", "--forbid", "0,2"]) == 0
    assert "block [0, 3]" in capsys.readouterr().out


@settings(max_examples=60, deadline=None)
@given(
    frequencies=st.one_of(st.text(max_size=12), st.lists(st.integers(-2, 60), max_size=6).map(str)),
    xi=st.one_of(st.text(max_size=6), st.floats().map(str), st.sampled_from(["0.1", "1/3", "1e-9"])),
    forbid=st.text("0123456789,-", max_size=5),
)
def test_any_input_ends_in_an_answer_or_one_line(frequencies: str, xi: str, forbid: str) -> None:
    arguments = ["identification", f"--frequencies={frequencies.strip('[]')}", f"--xi={xi}", f"--forbid={forbid}"]
    assert run(arguments) in (0, 1, 2)
    assert run(["block", f"--frequency={frequencies}", f"--xi={xi}"]) in (0, 2)


def test_a_mistyped_command_is_answered_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["identificaton"]) == 2
    assert "Did you mean 'identification'?" in capsys.readouterr().err
