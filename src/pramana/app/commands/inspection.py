"""`pramana inspect`, `init` and `hierarchy`: a first look at a table, a first recipe, and hierarchy files.

Options whose names are those of the public function's parameters are passed on as they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pramana.app.screen import NAMES, Answer, csv_options, html_option, json_option, numbers
from pramana.holder.draft_recipe import draft_recipe
from pramana.holder.hierarchies import HierarchyPlan, build_hierarchy, check_hierarchy, preview_hierarchy
from pramana.holder.inspect import inspect

_WHOLE = numbers(int, "whole numbers, separated by commas")


@click.command("inspect")
@click.argument("table")
@click.option(
    "--quasi",
    type=NAMES,
    default=None,
    help="The columns an intruder may know, separated by commas; else guessed.",
)
@click.option("--weight", default=None, help="A column of sampling weights.")
@click.option(
    "--population", type=click.IntRange(1), default=None, help="How many people the table is a sample of."
)
@click.option(
    "--k", type=click.IntRange(2), default=5, show_default=True, help="Count records in classes below k."
)
@csv_options
@html_option
@click.option("--show-values", is_flag=True, help="Show values of the table as well.")
@json_option
def inspect_command(table: str, html: str | None, **options: Any) -> Answer:
    """Say what each column of TABLE is and how exposed people are in it today. Not for publication."""
    inspection = inspect(table, **options)
    content, lines = inspection.to_json(), inspection.lines()
    if html is not None:
        inspection.write_html(Path(html))
        content["html"] = html
        lines += ["", f"The page is {html}."]
    return Answer(content, lines)


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
@csv_options
@json_option
def init_command(table: str, job: str, **options: Any) -> Answer:
    """Write a first recipe for TABLE, commented, with hierarchies beside it; it is tried before it is written."""
    draft = draft_recipe(table, job=job, **options)
    lines = [f"The recipe is {draft.recipe}; it runs as it is."]
    if draft.hierarchies:
        lines.append(f"Hierarchies beside it: {', '.join(path.name for path in draft.hierarchies)}")
    lines += ["", "Before anything is published, please confirm:", *(f"  - {words}" for words in draft.confirm)]
    follow = "levels create LEDGER --recipe" if job == "levels" else "release"
    lines += ["", f"Then: pramana {follow} {draft.recipe}" + ("" if job == "levels" else " --out published")]
    return Answer(draft.to_json(), lines)


@click.group("hierarchy")
def hierarchy_command() -> None:
    """Build, check and preview hierarchy files in ARX's format."""


@hierarchy_command.command("build")
@click.argument("table")
@click.option("--column", required=True, help="The column whose values are the leaves.")
@click.option("--kind", type=click.Choice(["intervals", "ordered", "mask", "dates", "tree"]), required=True)
@click.option("--out", required=True, help="The file to write; it must not exist.")
@click.option("--widths", type=_WHOLE, default="", help="intervals: growing widths, such as 5,10,20.")
@click.option("--sizes", type=_WHOLE, default="", help="ordered: how many neighbours go together, such as 2,4.")
@click.option(
    "--order", type=NAMES, default="", help="ordered: the values from first to last, separated by commas."
)
@click.option(
    "--levels", type=click.IntRange(1), default=None, help="mask: how many characters to hide, one by one."
)
@click.option("--units", type=NAMES, default="", help="dates: of month,quarter,year,decade.")
@click.option("--tree", default=None, help="tree: a TOML file of nested tables that end in lists of values.")
@csv_options
@click.option("--show-values", is_flag=True, help="Show values that do not fit on this screen.")
@json_option
def build_command(
    table: str, column: str, kind: str, out: str, encoding: str | None, delimiter: str | None, show_values: bool,
    **shape: Any,
) -> Answer:  # fmt: skip
    """Build the hierarchy of a column of TABLE; its leaves are the values that occur, or those that you state."""
    plan = HierarchyPlan(kind, **shape)
    path, built = build_hierarchy(
        table, column, plan, out, encoding=encoding, delimiter=delimiter, show_values=show_values
    )
    content = {"path": str(path), "levels": built.height, "leaves": len(built.leaves)}
    words = f"{path}: {len(built.leaves):,} values in {built.height} levels. Look at it before you publish by it."
    return Answer(content, [words])


@hierarchy_command.command("check")
@click.argument("hierarchy")
@click.option("--data", default=None, help="A table whose column is held against the leaves.")
@click.option("--column", default=None, help="The column.")
@csv_options
@click.option("--show-values", is_flag=True, help="Show values without a leaf on this screen.")
@json_option
def check_command(hierarchy: str, data: str | None, column: str | None, **options: Any) -> Answer:
    """Check HIERARCHY (a file), and whether every value of a column has a leaf in it."""
    check = check_hierarchy(hierarchy, data, column, **options)
    lines = [f"{check.leaves:,} leaves in {check.levels} levels; the file is in order."]
    if check.valid and check.values is not None:
        lines.append(f"Each of the {check.values:,} values of {column} has a leaf.")
    elif not check.valid:
        rows = ", ".join(map(str, check.first_rows))
        lines.append(
            f"{check.lost:,} values of {column} have no leaf, in {check.rows:,} rows; the first are {rows}."
        )
        shown = f"Without a leaf: {', '.join(map(repr, check.shown))}"
        lines.append(shown if check.shown else "Run with --show-values to see them on this screen.")
    return Answer(check.to_json(), lines, check.valid)


@hierarchy_command.command("preview")
@click.argument("hierarchy")
@click.option("--lines", type=click.IntRange(1, 1000), default=10, show_default=True)
@json_option
def preview_command(hierarchy: str, lines: int) -> Answer:
    """Show the levels of HIERARCHY (a file) and some of its lines."""
    preview = preview_hierarchy(hierarchy, lines)
    words = [f"level {level}: {size:,} label{'s' * (size != 1)}" for level, size in enumerate(preview.labels)]
    return Answer(preview.to_json(), [*words, "", *("  ->  ".join(line) for line in preview.lines)])
