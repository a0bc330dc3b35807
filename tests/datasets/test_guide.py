"""Every example of the guide page runs, in the order of the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pramana.schema import Recipe

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "datasets.md"


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 3
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert Recipe.read("people.toml").k == 100
    assert (tmp_path / "people.csv").stat().st_size > 100_000
