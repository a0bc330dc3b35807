"""`pramana inspect` and `pramana init`: a first look at a table, and a first recipe."""

from __future__ import annotations

from pathlib import Path

import click

from pramana.app.screen import json_option, show
from pramana.errors import RecipeError


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
    from pramana.holder.inspect import inspect

    columns = None if quasi is None else [name.strip() for name in quasi.split(",") if name.strip()]
    found = inspect(
        table, quasi=columns, weight=weight, population=population, k=k, encoding=encoding, delimiter=delimiter,
        show_values=show_values,
    )  # fmt: skip
    content, lines = found.to_json(), found.lines()
    if html is not None:
        found.write_html(Path(html))
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
    from pramana.holder.draft_recipe import draft_recipe

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


# `pramana hierarchy`: build, check and preview hierarchy files.


@click.group("hierarchy")
def hierarchy_command() -> None:
    """Build, check and preview hierarchy files in ARX's format."""


@hierarchy_command.command("build")
@click.argument("table")
@click.option("--column", required=True, help="The column whose values are the leaves.")
@click.option("--kind", type=click.Choice(["intervals", "ordered", "mask", "dates", "tree"]), required=True)
@click.option("--out", required=True, help="The file to write; it must not exist.")
@click.option("--widths", default="", help="intervals: growing widths, such as 5,10,20.")
@click.option("--sizes", default="", help="ordered: how many neighbours go together, such as 2,4.")
@click.option("--order", default="", help="ordered: the values from first to last, separated by commas.")
@click.option(
    "--levels", type=click.IntRange(1), default=None, help="mask: how many characters to hide, one by one."
)
@click.option("--units", default="", help="dates: of month,quarter,year,decade.")
@click.option("--tree", default=None, help="tree: a TOML file of nested tables that end in lists of values.")
@click.option("--encoding", default=None, help="Of a CSV file.")
@click.option("--delimiter", default=None, help="Of a CSV file; the likeliest one if not given.")
@click.option("--show-values", is_flag=True, help="Show values that do not fit on this screen.")
@json_option
def build_command(
    table: str, column: str, kind: str, out: str, widths: str, sizes: str, order: str, levels: int | None,
    units: str, tree: str | None, encoding: str | None, delimiter: str | None, show_values: bool, as_json: bool,
) -> None:  # fmt: skip
    """Build the hierarchy of a column of TABLE; its leaves are the values that occur, or those that you state."""
    from pramana.holder.hierarchies import HierarchyPlan, build_hierarchy

    plan = HierarchyPlan(
        kind,
        widths=_numbers(widths, "widths"),
        sizes=_numbers(sizes, "sizes"),
        order=_texts(order),
        levels=levels,
        units=_texts(units),
        tree=tree,
    )
    path, made = build_hierarchy(
        table, column, plan, out, encoding=encoding, delimiter=delimiter, show_values=show_values
    )
    content = {"path": str(path), "levels": made.height, "leaves": len(made.leaves)}
    words = f"{path}: {len(made.leaves):,} values in {made.height} levels. Look at it before you publish by it."
    show(as_json, content, [words])


@hierarchy_command.command("check")
@click.argument("hierarchy")
@click.option("--data", default=None, help="A table whose column is held against the leaves.")
@click.option("--column", default=None, help="The column.")
@click.option("--encoding", default=None, help="Of a CSV file.")
@click.option("--delimiter", default=None, help="Of a CSV file; the likeliest one if not given.")
@click.option("--show-values", is_flag=True, help="Show values without a leaf on this screen.")
@json_option
def check_command(
    hierarchy: str, data: str | None, column: str | None, encoding: str | None, delimiter: str | None,
    show_values: bool, as_json: bool,
) -> int:  # fmt: skip
    """Check HIERARCHY (a file), and whether every value of a column has a leaf in it."""
    from pramana.holder.hierarchies import check_hierarchy

    found = check_hierarchy(
        hierarchy, data, column, encoding=encoding, delimiter=delimiter, show_values=show_values
    )
    words = [f"{found.leaves:,} leaves in {found.levels} levels; the file is in order."]
    if found.valid and found.values is not None:
        words.append(f"Each of the {found.values:,} values of {column} has a leaf.")
    elif not found.valid:
        rows = ", ".join(map(str, found.first_rows))
        words.append(
            f"{found.lost:,} values of {column} have no leaf, in {found.rows:,} rows; the first are {rows}."
        )
        if found.shown:
            words.append(f"Without a leaf: {', '.join(map(repr, found.shown))}")
        else:
            words.append("Run with --show-values to see them on this screen.")
    show(as_json, found.to_json(), words)
    return 0 if found.valid else 1


@hierarchy_command.command("preview")
@click.argument("hierarchy")
@click.option("--lines", type=click.IntRange(1, 1000), default=10, show_default=True)
@json_option
def preview_command(hierarchy: str, lines: int, as_json: bool) -> None:
    """Show the levels of HIERARCHY (a file) and some of its lines."""
    from pramana.holder.hierarchies import preview_hierarchy

    found = preview_hierarchy(hierarchy, lines)
    words = [f"level {level}: {size:,} label{'s' * (size != 1)}" for level, size in enumerate(found.labels)]
    show(as_json, found.to_json(), [*words, "", *("  ->  ".join(line) for line in found.lines)])


def _numbers(text: str, option: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in _texts(text))
    except ValueError:
        raise RecipeError(f"--{option} must be whole numbers, separated by commas", repr(text)) from None


def _texts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
