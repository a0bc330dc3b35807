"""`pramana inspect` and `pramana init`: a first look at a table, and a first recipe."""

from __future__ import annotations

from pathlib import Path

import click

from pramana.app.screen import json_option, show


@click.command("inspect")
@click.argument("table")
@click.option("--quasi", default=None, help="The columns an intruder may know, separated by commas; else guessed.")
@click.option("--weight", default=None, help="A column of sampling weights.")
@click.option(
    "--population", type=click.IntRange(1), default=None, help="How many people the table is a sample of."
)
@click.option(
    "--k", type=click.IntRange(2), default=5, show_default=True, help="Count records in classes below k."
)
@click.option("--encoding", default=None, help="Of a CSV file.")
@click.option("--delimiter", default=None, help="Of a CSV file; the likeliest one if not given.")
@click.option("--html", default=None, help="Also write the page to this new file, for its owner alone.")
@click.option("--show-values", is_flag=True, help="Show values of the table as well.")
@json_option
def inspect_command(
    table: str, quasi: str | None, weight: str | None, population: int | None, k: int, encoding: str | None,
    delimiter: str | None, html: str | None, show_values: bool, as_json: bool,
) -> None:  # fmt: skip
    """Say what each column of TABLE is and how exposed people are in it today. Not for publication."""
    from pramana import inspect
    from pramana.inspection import write_page

    columns = None if quasi is None else [name.strip() for name in quasi.split(",") if name.strip()]
    found = inspect(
        table, quasi=columns, weight=weight, population=population, k=k, encoding=encoding, delimiter=delimiter,
        show_values=show_values,
    )  # fmt: skip
    content, lines = found.to_json(), found.lines()
    if html is not None:
        write_page(found, Path(html))
        content["html"] = html
        lines += ["", f"The page is {html}."]
    show(as_json, content, lines)
