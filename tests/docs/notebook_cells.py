"""Run a notebook's cells in order, as Jupyter would, without Jupyter; store what they show.

python -m tests.docs.notebook_cells docs/notebooks/holder-and-recipient.ipynb
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

Shown = list[dict[str, Any]]


def run_cell(source: str, names: dict[str, Any]) -> Shown:
    """What a code cell prints, and what its last expression shows as text and as HTML."""
    tree = ast.parse(source)
    end = tree.body[-1] if tree.body else None
    last = end if isinstance(end, ast.Expr) else None
    if last is not None:
        tree.body.pop()
    shown: Shown = []
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(tree, "cell", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    if said.getvalue():
        lines = said.getvalue().splitlines(keepends=True)
        shown.append({"output_type": "stream", "name": "stdout", "text": lines})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if (html := getattr(type(value), "_repr_html_", None)) is not None:
            data["text/html"] = html(value).splitlines(keepends=True)
        result = {"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": data}
        shown.append(result)
    return shown


def run_notebook(notebook: dict[str, Any]) -> list[Shown]:
    names: dict[str, Any] = {"__name__": "notebook"}
    return [run_cell("".join(c["source"]), names) for c in notebook["cells"] if c["cell_type"] == "code"]


def store(path: Path) -> None:
    notebook = json.loads(path.read_text("utf-8"))
    path = path.resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        shown = iter(run_notebook(notebook))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = next(shown)
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    store(Path(sys.argv[1]))
