"""`pramana experiment`: the papers' tables and figures, made again."""

from __future__ import annotations

import click

from pramana.app.screen import json_option, show
from pramana.experiments import EXPERIMENTS

_HELP = f"""Reproduce the experiment NAME: tables as CSV and Markdown, pictures as SVG and PNG.

NAME is one of {", ".join(sorted(EXPERIMENTS))}."""


@click.command("experiment", help=_HELP)
@click.argument("name")
@click.option("--out", required=True, help="The folder to write tables and figures into.")
@click.option("--quick", is_flag=True, help="Smaller sizes: a minute at most.")
@json_option
def experiment_command(name: str, out: str, quick: bool, as_json: bool) -> None:
    from pramana.experiments import run_experiment

    content = run_experiment(name, out, quick).to_json()
    show(as_json, content, [*content["tables"], *content["figures"]])
