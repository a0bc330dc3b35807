"""The worked notebooks run from a clean folder and show what they have stored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.docs.notebook_cells import run_notebook

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.name)
def test_the_notebook_shows_what_it_has_stored(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = json.loads(path.read_text("utf-8"))
    assert notebook["nbformat"] == 4
    stored = [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len([outputs for outputs in stored if outputs]) >= 5
    assert any("text/html" in o.get("data", {}) for outputs in stored for o in outputs)
    monkeypatch.chdir(tmp_path)
    assert run_notebook(notebook) == stored


def test_there_is_a_notebook() -> None:
    assert [path.name for path in NOTEBOOKS] == ["holder-and-recipient.ipynb"]
