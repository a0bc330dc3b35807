"""`pramana key`, `recipe` and `demo`: new keys, a recipe checked, and the main job on people who do not exist."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from pramana.app.screen import Answer, free_path, guarantee_lines, json_option


@click.group("key")
def key_command() -> None:
    """Make keys: for releases, and for signing certificates."""


@key_command.command("new")
@click.argument("path")
@json_option
def new(path: str) -> Answer:
    """Write a fresh release key to PATH, readable by its owner alone."""
    from pramana.randomness.key import Key

    Key.create().write(path)
    return Answer({"path": path}, [f"A new key is in {path}. Keep it secret; use it for one table only."])


@key_command.command("sign")
@click.argument("path")
@json_option
def sign(path: str) -> Answer:
    """Write an Ed25519 signing key to PATH and its public half to PATH.pub."""
    from pramana.bundle.signing import make_signing_key

    content = {"path": path, "public_key": make_signing_key(path)}
    return Answer(content, [f"Signing key in {path}; give {path}.pub to your recipients."])


@click.group("recipe")
def recipe_command() -> None:
    """Check a recipe, or print the JSON Schema of recipes."""


@recipe_command.command("schema")
def schema_command() -> None:
    """Print the JSON Schema of recipes: editors complete and check a recipe with it."""
    from pramana.methods.registry import recipe_schema

    click.echo(json.dumps(recipe_schema(), indent=2))


@recipe_command.command("check")
@click.argument("recipe")
@json_option
def check_command(recipe: str) -> Answer:
    """Say what is wrong with RECIPE, section by section; no data is read."""
    from pramana.methods.registry import problems_of

    problems = problems_of(recipe)
    lines = problems or ["The recipe is in order. Whether its promises can be kept shows with the data."]
    return Answer({"valid": not problems, "problems": problems}, lines, ok=not problems)


COLUMNS = ("sex", "age", "income", "worked_last_year")
TABLE = ("sex", "worked_last_year")


@click.command("demo")
@click.option(
    "--out", default="demo-output", show_default=True, help="A new folder; a number is added if it exists."
)
@click.option("--records", type=click.IntRange(min=1000), default=500_000, show_default=True)
@click.option("--k", type=click.IntRange(min=1), default=100, show_default=True)
def demo_command(out: str, records: int, k: int) -> int:
    """Publish a generated census, verify it, and reconstruct a table next to the truth."""
    from pramana import datasets
    from pramana.methods.recipe import Recipe
    from pramana.recipient.analysis import crosstab
    from pramana.run.release import release
    from pramana.run.verify import verify

    start = time.monotonic()
    folder = free_path(Path(out))
    folder.mkdir(parents=True)
    people = datasets.census(records, seed=1).select(COLUMNS)
    people.write_parquet(folder / "people.parquet")
    people.write_recipe(folder / "recipe.toml", source="people.parquet", k=k)
    click.echo(f"Generated {records:,} people who do not exist, with {', '.join(COLUMNS)}.")
    click.echo(f"Promise: no one is linked to a record with more than 1/{k} confidence.\n")

    # however few records were asked for: the table below shows what can be learned
    done = release(Recipe.read(folder / "recipe.toml"), folder / "published", even_if_useless=True)
    for line in filter(None, guarantee_lines(done.guarantees, cited=True)):
        click.echo(line)
    valid = verify(folder / "published", source=folder / "people.parquet", key=folder / "published.key").valid
    click.echo(f"\nVerified, and made again from source and key: {'valid' if valid else 'NOT VALID'}.\n")

    click.echo(f"What a recipient reconstructs of {' by '.join(TABLE)}, next to the truth they never see:\n")
    truth = people.counts(TABLE)
    click.echo(f"  {'':30} {'truth':>9} {'estimate':>9}   95% interval")
    for cell in crosstab(folder / "published", TABLE).cells():
        label = ", ".join(cell[name] for name in TABLE)
        true = truth[tuple(cell[name] for name in TABLE)]
        interval = f"{cell['low']:>9,.0f} to {cell['high']:>9,.0f}"
        click.echo(f"  {label:30} {true:>9,} {cell['estimate']:>9,.0f}   {interval}")
    click.echo(
        f"\nThe bundle is in {folder / 'published'}; open {folder / 'published' / 'report.html'} in a browser."
    )
    click.echo(
        f"Its key, never to be given away, is {folder / 'published.key'}. ({time.monotonic() - start:.0f} s)"
    )
    return 0 if valid else 1
