"""`pramana report`: the one-file HTML of a bundle."""

from __future__ import annotations

import click

from pramana.app.screen import json_option, show


@click.command("report")
@click.argument("bundle")
@click.option("--out", default=None, help="Where to write; BUNDLE.report.html without.")
@click.option("--table", "tables", multiple=True, help="A table to reconstruct, such as sex,age. Repeatable.")
@click.option("--source", default=None, help="The original file: the holder's private report, not for release.")
@click.option("--unverified", is_flag=True, help="Go on with a bundle that fails verification.")
@json_option
def report_command(
    bundle: str, out: str | None, tables: tuple[str, ...], source: str | None, unverified: bool, as_json: bool
) -> None:
    """Write a page with the promises, pictures and reconstructed tables of BUNDLE; it needs no network."""
    from pramana import report

    asked = [[name.strip() for name in table.split(",")] for table in tables]
    path = report(bundle, out, tables=asked, source=source, unverified=unverified)
    words = f"Report written to {path}"
    if source is not None:
        words += ". NOT FOR RELEASE: it shows true counts."
    show(as_json, {"path": str(path), "private": source is not None}, [words])
