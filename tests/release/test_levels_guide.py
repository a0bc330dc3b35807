"""Every example of the guide page on levels runs, in the order of the page."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from pramana.app.main import run

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "levels.md"


def test_the_examples_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = re.findall(r"```(python|console)\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 9
    for kind, block in blocks:
        if kind == "python":
            exec(compile(block, str(PAGE), "exec"), names)
            continue
        for line in block.splitlines():
            program, *arguments = shlex.split(line.removeprefix("$ "))
            assert program == "pramana"
            assert run(arguments) == 0, capsys.readouterr().err
    assert (tmp_path / "university/data.parquet").read_bytes() == (
        tmp_path / "university-again/data.parquet"
    ).read_bytes()
