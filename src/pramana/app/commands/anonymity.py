"""`pramana anonymity`: k, l and t of a table as it stands."""

from __future__ import annotations

import click

from pramana.app.screen import json_option, show


@click.command("anonymity")
@click.argument("table")
@click.option("--quasi", required=True, help="The quasi-identifying columns, separated by commas.")
@click.option("--sensitive", default=None, help="A sensitive column, for l and t.")
@click.option("--encoding", default=None, help="Of a CSV file; recognised without it.")
@click.option("--delimiter", default=None, help="Of a CSV file; the likeliest one if not given.")
@json_option
def anonymity_command(
    table: str, quasi: str, sensitive: str | None, encoding: str | None, delimiter: str | None, as_json: bool
) -> None:
    """Measure TABLE (a file or a folder, of any size): the smallest class of rows that look alike, and l and t."""
    from pramana.audit import anonymity_of_table
    from pramana.theory import rounding

    columns = [name.strip() for name in quasi.split(",") if name.strip()]
    found = anonymity_of_table(table, columns, sensitive, encoding=encoding, delimiter=delimiter)
    words = [
        f"{found.records:,} records in {found.classes:,} classes that agree on {', '.join(columns)}: k = {found.k}"
    ]
    if found.entropy_l is not None and found.t is not None:
        # e^H of equally frequent values is whole but for the floats' last digits, which decide nothing
        entropy, t = rounding.shown_down(round(found.entropy_l, 9), 4), rounding.shown_up(round(found.t, 9), 4)
        measured = f"distinct l = {found.l}, entropy l = {entropy}, t = {t} (equal distance)"
        words.append(f"of {sensitive}: {measured}")
    show(as_json, found.to_json(), words)
