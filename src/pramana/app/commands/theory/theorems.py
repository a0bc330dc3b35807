"""`pramana theorems`: what is proved, and where it is computed and tested."""

from __future__ import annotations

from dataclasses import asdict

import click

from pramana.app.screen import json_option, show


@click.command("theorems")
@json_option
def theorems_command(as_json: bool) -> None:
    """List every statement of the papers with its function and its test."""
    from pramana.theory import PAPERS, STATEMENTS

    lines: list[str] = []
    for paper, title in PAPERS.items():
        rows = [s for s in STATEMENTS if s.paper == paper]
        if rows:
            lines += ["", f"Paper {paper}. {title}"]
        for s in rows:
            lines += [f"  {s.name}: {s.says}", f"      {s.function.replace(':', '.')}", f"      {s.test}"]
    show(as_json, {"statements": [asdict(s) for s in STATEMENTS]}, lines[1:] if lines and not lines[0] else lines)
