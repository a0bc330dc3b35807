"""`pramana export`."""

from __future__ import annotations

import click

from pramana.app.screen import json_option, show


@click.command("export")
@click.argument("bundle")
@click.option("--out", required=True, help="The file to write: .sav, .zsav, .dta, .xlsx, .arrow or .feather.")
@click.option("--unverified", is_flag=True, help="Go on although the bundle was not verified.")
@json_option
def export_command(bundle: str, out: str, unverified: bool, as_json: bool) -> None:
    """Write the data of BUNDLE for SPSS, Stata, Excel or Arrow, with the labels that its source had."""
    from pramana import export

    path = export(bundle, out, unverified=unverified)
    show(as_json, {"file": str(path)}, [f"{path} was written, and read back."])
