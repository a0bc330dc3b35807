"""`pramana plan`: usefulness before release."""

from __future__ import annotations

from typing import Any

import click

from pramana.app.screen import json_option, show
from pramana.errors import RecipeError


def _numbers(text: str | None, option: str, name: str) -> dict[str, list[float]]:
    if text is None:
        return {}
    try:
        return {name: [float(part) for part in text.split(",") if part.strip()]}
    except ValueError:
        raise RecipeError(f"{option} must be numbers, such as 2,10,100", repr(text)) from None


@click.command("plan")
@click.argument("recipe")
@click.option("--records", type=click.IntRange(min=1), default=None, help="Plan for this many; nothing is read.")
@click.option("--k", default=None, help="The values of k to show, such as 2,10,100.")
@click.option("--epsilon", default=None, help="The values of epsilon to show, such as 1,2,4.")
@click.option("--with-data", is_flag=True, help="For the holder: use the true tables' shape.")
@click.option("--out", default=None, help="A folder for the table (CSV, Markdown) and the picture (SVG, PNG).")
@json_option
def plan_command(
    recipe: str, records: int | None, k: str | None, epsilon: str | None, with_data: bool, out: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Show what error to expect in the tables RECIPE names, so that k and epsilon can be chosen."""
    from pramana import plan

    ranges: dict[str, Any] = _numbers(k, "--k", "ks") | _numbers(epsilon, "--epsilon", "epsilons")
    found = plan(recipe, records=records, with_data=with_data, **ranges)
    content = found.to_json() | {"files": [] if out is None else found.write(out)}
    show(as_json, content, [*_words(found.rows()), *found.remarks()])


def _words(rows: list[dict[str, Any]]) -> list[str]:
    head = list(rows[0])
    texts = [[v if isinstance(v, str) else f"{v:.4g}" for v in row.values()] for row in rows]
    widths = [max(map(len, column)) for column in zip(head, *texts, strict=True)]
    lines = ["  ".join(t.rjust(w) for t, w in zip(row, widths, strict=True)) for row in [head, *texts]]
    return [*lines, "L1: expected sum of absolute errors of the table's shares (0 perfect, 2 useless)."]
