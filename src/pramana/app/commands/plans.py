"""`pramana plan`: usefulness before release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from pramana.app.screen import json_option, show, table_lines
from pramana.errors import RecipeError


def _numbers(text: str | None, option: str, name: str) -> dict[str, list[float]]:
    if text is None:
        return {}
    try:
        return {name: [float(part) for part in text.split(",") if part.strip()]}
    except ValueError:
        raise RecipeError(f"{option} must be numbers, such as 2,10,100", repr(text)) from None


@click.command("plan")
@click.argument("recipes", nargs=-1, required=True, metavar="RECIPE...")
@click.option("--records", type=click.IntRange(min=1), default=None, help="Plan for this many; nothing is read.")
@click.option("--k", default=None, help="The values of k to show, such as 2,10,100.")
@click.option("--epsilon", default=None, help="The values of epsilon to show, such as 1,2,4.")
@click.option("--with-data", is_flag=True, help="For the holder: use the true tables' shape.")
@click.option("--out", default=None, help="A folder for the table (CSV, Markdown) and the picture (SVG, PNG).")
@json_option
def plan_command(
    recipes: tuple[str, ...], records: int | None, k: str | None, epsilon: str | None, with_data: bool,
    out: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Show what the tables that RECIPE names will be worth, so that k and epsilon can be chosen; of several
    recipes, side by side."""
    from pramana import plan

    ranges: dict[str, Any] = _numbers(k, "--k", "ks") | _numbers(epsilon, "--epsilon", "epsilons")
    if len(recipes) > 1:
        compared = plan(list(recipes), records=records, with_data=with_data, **ranges)
        content = compared.to_json() | {"files": [] if out is None else compared.write(out)}
        show(as_json, content, [*table_lines(compared.rows()), *_advice(compared.candidates)])
        return
    found = plan(recipes[0], records=records, with_data=with_data, **ranges)
    content = found.to_json() | {"files": [] if out is None else found.write(out)}
    words = table_lines(found.rows())
    if words:
        words.append("L1: expected sum of absolute errors of the table's shares (0 perfect, 2 useless).")
    if found.unreachable:
        words.append(f"Out of reach with {found.counted}: {', '.join(found.unreachable)}.")
    if found.frontier:
        words += ["", found.frontier_title]
        words += table_lines(found.frontier_rows())
        words.append(
            "mean: over the tables that the recipe names, or all pairs; large errors count by their proportion."
        )
    words += ["", "The recipe as it is:", *found.usefulness.sentences()] if found.usefulness.tables else []
    show(as_json, content, [*words, *_advice([found]), *found.notes])


def _advice(found: Sequence[Any]) -> list[str]:
    lines = []
    for one in found:
        if one.usefulness.useless:
            lines.append(f"{one.title} is useless: nothing can be learned from it.")
            lines += [f"  {advice}" for advice in one.advice]
    return lines
