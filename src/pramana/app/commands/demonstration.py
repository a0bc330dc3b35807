"""`pramana demo`: the main job from end to end on people who do not exist."""

from __future__ import annotations

import time
from itertools import count
from pathlib import Path

import click

RECORDS = 500_000
K = 100
COLUMNS = ("sex", "age", "income", "worked_last_year")
TABLE = ("sex", "worked_last_year")


@click.command("demo")
@click.option(
    "--out", default="demo-output", show_default=True, help="A new folder; a number is added if it exists."
)
@click.option("--records", type=click.IntRange(min=1000), default=RECORDS, show_default=True)
@click.option("--k", type=click.IntRange(min=1), default=K, show_default=True)
def demo_command(out: str, records: int, k: int) -> int:
    """Publish a generated census, verify it, and reconstruct a table next to the truth."""
    from pramana import Recipe, crosstab, datasets, release, verify

    start = time.monotonic()
    folder = _free(Path(out))
    folder.mkdir(parents=True)
    people = datasets.census(records, seed=1).select(COLUMNS)
    people.write_parquet(folder / "people.parquet")
    people.write_recipe(folder / "recipe.toml", source="people.parquet", k=k)
    click.echo(f"Generated {records:,} people who do not exist, with {', '.join(COLUMNS)}.")
    click.echo(f"Promise: no one is linked to a record with more than 1/{k} confidence.\n")

    # however few records were asked for: the table below shows what can be learned
    done = release(Recipe.read(folder / "recipe.toml"), folder / "published", even_if_useless=True)
    for guarantee in done.guarantees:
        click.echo(f"{guarantee['notion']} (holds for {guarantee['scope']}; {guarantee['statement']})")
        click.echo(f"  {guarantee['words']}")
        for assumption in guarantee["assumptions"]:
            click.echo(f"  - assumes: {assumption}")
    found = verify(folder / "published", source=folder / "people.parquet", key=folder / "published.key")
    click.echo(f"\nVerified, and made again from source and key: {'valid' if found.valid else 'NOT VALID'}.\n")

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
    return 0 if found.valid else 1


def _free(out: Path) -> Path:
    names = (out.name if i == 1 else f"{out.name}-{i}" for i in count(1))
    return next(place for name in names if not (place := out.with_name(name)).exists())
