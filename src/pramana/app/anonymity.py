"""`pramana anonymity`: k, l and t of a table as it stands."""

from __future__ import annotations

import click

from pramana.app.screen import json_option, show


@click.command("anonymity")
@click.argument("table")
@click.option("--quasi", required=True, help="The quasi-identifying columns, separated by commas.")
@click.option("--sensitive", default=None, help="A sensitive column, for l and t.")
@json_option
def anonymity_command(table: str, quasi: str, sensitive: str | None, as_json: bool) -> None:
    """Measure TABLE (a file or a folder, of any size): the smallest class of rows that look alike, and l and t."""
    from pramana import anonymity_of_table

    columns = [name.strip() for name in quasi.split(",") if name.strip()]
    found = anonymity_of_table(table, columns, sensitive)
    words = [
        f"{found.records:,} records in {found.classes:,} classes that agree on {', '.join(columns)}: k = {found.k}"
    ]
    if sensitive is not None:
        measured = f"distinct l = {found.l}, entropy l = {found.entropy_l:.4g}, t = {found.t:.4g} (equal distance)"
        words.append(f"of {sensitive}: {measured}")
    show(as_json, found.to_json(), words)
