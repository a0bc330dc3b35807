"""`pramana generalize`: what a search for levels chooses from."""

from __future__ import annotations

from typing import Any

import click

from pramana.app.screen import json_option, show, table_lines
from pramana.errors import RecipeError

_SHOWN = 20


@click.group("generalize")
def generalize_command() -> None:
    """Look at the space of solutions of a recipe with method generalize."""


@generalize_command.command("space")
@click.argument("recipe")
@click.option("--out", default=None, help="A folder for all nodes (CSV, Markdown) and the picture (SVG, PNG).")
@json_option
def space(recipe: str, out: str | None, as_json: bool) -> None:
    """List the nodes that RECIPE could be published at: levels, costs, and in how many records what fails. For the
    holder: it tells of the table. Write levels = { ... } in [release] to publish another node."""
    from pramana import plan

    found: Any = plan(recipe, ks=[], space=True).space
    if found is None:
        raise RecipeError("A space of solutions must be of a generalisation", "none")
    content = found.to_json() | {"files": [] if out is None else _write(found, out)}
    rows = found.rows()
    lines = table_lines(rows[:_SHOWN])
    if len(rows) > _SHOWN:
        lines.append(f"... and {len(rows) - _SHOWN} further nodes; --out or --json has them all.")
    holding = sum(node.holds for node in found.nodes)
    kind = "cells" if found.suppress == "cells" else "records"
    words = f"{holding} of {len(rows)} nodes hold with at most {found.limit:,} {kind} suppressed; "
    show(as_json, content, [*lines, words + f"cost is {found.measure}, 'fail' counts records."])


def _write(found: Any, folder: str) -> list[str]:
    from pramana.pages import space_picture, write_figure, write_table

    paths = [*write_table(found.rows(), f"{folder}/space"), *write_figure(space_picture(found), f"{folder}/space")]
    return [str(path) for path in paths]
