"""Every example of the guide pages on analysing and planning runs, in the order of the page."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from pramana.app.main import run

GUIDE = Path(__file__).parents[1] / "docs" / "guide"


@pytest.mark.parametrize(("page", "blocks"), [("analyse", 10), ("plan", 7), ("models", 2)])
def test_the_examples_run(
    page: str, blocks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    found = re.findall(r"```(python|sh)\n(.*?)```", (GUIDE / f"{page}.md").read_text("utf-8"), re.DOTALL)
    assert len(found) == blocks
    names: dict[str, object] = {}
    for kind, text in found:
        if kind == "python":
            exec(compile(text, page, "exec"), names)
            continue
        for line in text.splitlines():
            words = shlex.split(line)
            assert words[0] == "pramana"
            assert run(words[1:]) == 0, capsys.readouterr().err
    if page == "models":
        scores = re.findall(r"original ([\d.]+), noise ignored ([\d.]+), ([\d.]+)", capsys.readouterr().out)
        assert len(scores) == 4
        for original, ignored, ours in (map(float, line) for line in scores):
            assert ours > original - 0.05
            assert ours >= ignored - 0.01
