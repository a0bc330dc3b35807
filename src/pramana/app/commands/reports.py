"""`pramana report`: the one-file HTML of a bundle."""

from __future__ import annotations

import click

from pramana.app.screen import json_option, show


@click.command("report")
@click.argument("bundle")
@click.option("--out", default=None, help="Where to write; BUNDLE.report.html without.")
@click.option("--table", "tables", multiple=True, help="A table to reconstruct, such as sex,age. Repeatable.")
@click.option("--source", default=None, help="The original file: the holder's private report, not for release.")
@click.option("--audit", default=None, help="The JSON that `pramana audit` wrote: its attacks go in, privately.")
@click.option("--unverified", is_flag=True, help="Go on with a bundle that fails verification.")
@json_option
def report_command(
    bundle: str, out: str | None, tables: tuple[str, ...], source: str | None, audit: str | None,
    unverified: bool, as_json: bool,
) -> None:  # fmt: skip
    """Write a page with the promises, pictures and reconstructed tables of BUNDLE; it needs no network."""
    from pramana import report

    asked = [[name.strip() for name in table.split(",")] for table in tables]
    path = report(bundle, out, tables=asked, source=source, audit=audit, unverified=unverified)
    words = f"Report written to {path}"
    private = source is not None or audit is not None
    if private:
        shown = (
            "true counts"
            if audit is None
            else "what attacks found"
            if source is None
            else "true counts and attacks"
        )
        words += f". NOT FOR RELEASE: it shows {shown}."
    show(as_json, {"path": str(path), "private": private}, [words])
