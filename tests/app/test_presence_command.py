"""`pramana presence`: the sheet's numbers, and one line for whatever is no class."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.app.main import cli, run


def asked(*arguments: str) -> dict[str, Any]:
    done = CliRunner().invoke(cli, ["presence", *arguments, "--json"])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_papers_class() -> None:
    found = asked("--likelihoods", "3,9,9,3,1", "--present", "4", "--delta", ".4,.95")
    assert found["existence"] == pytest.approx([14 / 17, 16 / 17, 16 / 17, 14 / 17, 8 / 17], abs=1e-15)
    assert found["bounds"] == pytest.approx([4 / 13, 36 / 37], abs=1e-15)
    assert found["holds"] is True
    assert found["holds_by_bounds"] is False
    assert found["ratio"] == 4.75


def test_the_range_is_closed_and_decided_exactly() -> None:
    """Definition 3 is closed; 8/17 itself is allowed, anything above it is not."""
    common = ("--likelihoods", "3/16,9/16,9/16,3/16,1/16", "--present", "4")
    assert asked(*common, "--delta", "8/17,16/17")["holds"] is True
    assert asked(*common, "--delta", "0.4705882352941177,16/17")["holds"] is False


def test_a_large_class() -> None:
    found = asked("--likelihoods", ",".join(["1", "2"] * 500), "--present", "300")
    assert sum(found["existence"]) == pytest.approx(300)
    assert found["holds"] is None


@pytest.mark.parametrize(
    "arguments",
    [
        ["--likelihoods", "1,2", "--present", "3"],
        ["--likelihoods", "1,0", "--present", "2"],
        ["--likelihoods", "1,x", "--present", "1"],
        ["--likelihoods", "-1", "--present", "0"],
        ["--likelihoods", "1/0", "--present", "0"],
        ["--likelihoods", "1e999999999", "--present", "0"],
        ["--likelihoods", "1,2", "--present", "1", "--delta", ".9,.1"],
        ["--likelihoods", "1,2", "--present", "1", "--delta", ".5"],
    ],
)
def test_bad_input_is_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["presence", *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=12), st.text(max_size=12), st.integers(-1, 9))
def test_no_text_makes_a_traceback(likelihoods: str, delta: str, present: int) -> None:
    given_ = [f"--likelihoods={likelihoods}", f"--delta={delta}", f"--present={present}"]
    assert run(["presence", *given_]) in (0, 2)


@pytest.mark.parametrize(("given_", "got"), [("3,9,x", "got 'x'"), ("3,-1,9", "got '-1'"), ("3,,9", "got ''")])
def test_a_wrong_likelihood_is_named(given_: str, got: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["presence", "--likelihoods", given_, "--present", "1"]) == 2
    assert got in capsys.readouterr().err
