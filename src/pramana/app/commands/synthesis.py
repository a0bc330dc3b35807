"""`pramana synthesise`: records drawn from what a bundle tells of the private table."""

from __future__ import annotations

import click

from pramana.app.screen import ProgressLine, engine_of, engine_options, json_option, show


@click.command("synthesise")
@click.argument("bundle")
@click.option(
    "--out", required=True, help="The file to make, .csv or .parquet, or its URL in a store; it must not exist."
)
@click.option("--records", type=click.IntRange(1), default=None, help="How many. Without: as many as BUNDLE has.")
@click.option("--key", default=None, help="A key file, for other records than everyone's.")
@click.option("--unverified", is_flag=True, help="Go on with a bundle that fails verification.")
@engine_options
@json_option
def synthesise_command(
    bundle: str, out: str, records: int | None, key: str | None, unverified: bool, engine: str, master: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Draw records from what BUNDLE tells of the private table, corrected, at no further cost to privacy."""
    from pramana import synthesise

    progress = ProgressLine()
    chosen = engine_of(engine, master)
    done = synthesise(bundle, out, records, key, unverified=unverified, engine=chosen, progress=progress)
    progress.close()
    content = done.to_json()
    lines = [
        f"{done.records:,} records drawn ({done.model}): {content['path']}",
        f"What they are, and the guarantees that they keep: {content['certificate']}",
    ]
    show(as_json, content, lines)
