"""The scores that the guide on models prints are what it says of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[1] / "docs" / "guide"


def test_models_score_as_the_guide_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every other guide is run by tests/docs/test_examples.py."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for text in re.findall(r"```python\n(.*?)```", (GUIDE / "models.md").read_text("utf-8"), re.DOTALL):
        exec(compile(text, "models.md", "exec"), names)
    scores = re.findall(r"original ([\d.]+), noise ignored ([\d.]+), ([\d.]+)", capsys.readouterr().out)
    assert len(scores) == 4
    for original, ignored, ours in (map(float, line) for line in scores):
        assert ours > original - 0.05
        assert ours >= ignored - 0.01
