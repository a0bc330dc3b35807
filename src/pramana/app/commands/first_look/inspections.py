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


@click.command("init")
@click.argument("table")
@click.option(
    "--job",
    type=click.Choice(["publish", "frequencies", "levels", "k-anonymity", "presence", "microaggregate"]),
    default="publish",
    show_default=True,
)
@click.option("--out", default="recipe.toml", show_default=True, help="The recipe to write; it must not exist.")
@click.option("--public", default=None, help="With job presence: the table of everyone who could be in TABLE.")
@click.option("--present", default=None, help="With job presence: the column of TABLE that marks who is present.")
@click.option("--encoding", default=None, help="Of a CSV file.")
@click.option("--delimiter", default=None, help="Of a CSV file; the likeliest one if not given.")
@json_option
def init_command(
    table: str, job: str, out: str, public: str | None, present: str | None, encoding: str | None,
    delimiter: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Write a first recipe for TABLE, commented, with hierarchies beside it; it is tried before it is written."""
    from pramana import draft_recipe

    made = draft_recipe(
        table, out, job=job, public=public, present=present, encoding=encoding, delimiter=delimiter
    )
    lines = [f"The recipe is {made.recipe}; it runs as it is."]
    if made.hierarchies:
        lines.append(f"Hierarchies beside it: {', '.join(path.name for path in made.hierarchies)}")
    lines += ["", "Before anything is published, please confirm:", *(f"  - {words}" for words in made.confirm)]
    follow = "levels create LEDGER --recipe" if job == "levels" else "release"
    lines += ["", f"Then: pramana {follow} {made.recipe}" + ("" if job == "levels" else " --out published")]
    show(as_json, made.to_json(), lines)
