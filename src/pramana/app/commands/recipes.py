"""`pramana recipe`: what a recipe may hold, and whether one does."""

from __future__ import annotations

import json

import click

from pramana.app.screen import json_option, show


@click.group("recipe")
def recipe_command() -> None:
    """Check a recipe, or print the JSON Schema of recipes."""


@recipe_command.command("schema")
def schema_command() -> None:
    """Print the JSON Schema of recipes: editors complete and check a recipe with it."""
    from pramana.methods import recipe_schema

    click.echo(json.dumps(recipe_schema(), indent=2))


@recipe_command.command("check")
@click.argument("recipe")
@json_option
def check_command(recipe: str, as_json: bool) -> int:
    """Say what is wrong with RECIPE, section by section; no data is read."""
    from pramana.methods import problems_of

    problems = problems_of(recipe)
    lines = problems or ["The recipe is in order. Whether its promises can be kept shows with the data."]
    show(as_json, {"valid": not problems, "problems": problems}, lines)
    return 1 if problems else 0
