"""`pramana audit`, `anonymity` and `generalize`: attacks on a bundle, k, l and t of a table, its levels.

Options whose names are those of the public function's parameters are passed on as they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pramana.app.screen import NAMES, Answer, csv_options, html_option, json_option, table_lines
from pramana.errors import RecipeError

_SHOWN = 20


@click.command("audit")
@click.argument("bundle")
@click.option("--source", required=True, help="The original table, or its recipe.")
@click.option("--key", default=None, help="The release's key.")
@click.option("--seed", type=int, default=None, help="The seed of a release that is marked as not private.")
@click.option("--control", default=None, help="A table of other people, who are not in the release.")
@click.option("--public", default=None, help="The public table of a presence release in two files.")
@click.option("--also", multiple=True, help="Another bundle of the same source and key. May be repeated.")
@click.option("--ledger", default=None, help="The ledger: its total beside --also, or levels that collude.")
@click.option(
    "--recipients", type=NAMES, default="", help="Recipients of its levels who collude, with commas between them."
)
@html_option
@json_option
def audit_command(
    bundle: str, source: str, key: str | None, seed: int | None, html: str | None, **options: Any
) -> Answer:
    """Attack BUNDLE and count how often the attacks are right, beside what was claimed. Exits with 1 when a
    claim is broken. Source and key say which row is whose; what is found is for the holder's eyes."""
    from pramana.holder.audit.suite import audit_bundle
    from pramana.holder.audit.verdict import check_page_name, write_attack_page
    from pramana.randomness.key import Key

    if html is not None:
        check_page_name(Path(html))
    if key is not None and seed is not None:
        raise RecipeError("A release has a key or a seed", "both")
    secret = key if seed is None else Key.from_seed(seed)
    if secret is None:
        raise RecipeError("To count right answers, --key or --seed must be given")
    report = audit_bundle(bundle, source, secret, **options)
    if html is not None:
        write_attack_page(report, Path(bundle).name, Path(html))
    return Answer(report.to_json(), report.sentences(), report.ok)


@click.command("anonymity")
@click.argument("table")
@click.option("--quasi", type=NAMES, required=True, help="The quasi-identifying columns, separated by commas.")
@click.option("--sensitive", default=None, help="A sensitive column, for l and t.")
@csv_options
@json_option
def anonymity_command(table: str, quasi: tuple[str, ...], sensitive: str | None, **options: Any) -> Answer:
    """Measure TABLE (a file or a folder, of any size): the smallest class of rows that look alike, and l and t."""
    from pramana.holder.audit.anonymity import anonymity_of_table
    from pramana.theory import rounding

    measured = anonymity_of_table(table, quasi, sensitive, **options)
    counted = f"{measured.records:,} records in {measured.classes:,} classes"
    lines = [f"{counted} that agree on {', '.join(quasi)}: k = {measured.k}"]
    if measured.entropy_l is not None and measured.t is not None:
        # e^H of equally frequent values is whole but for the floats' last digits, which decide nothing
        entropy = rounding.shown_down(round(measured.entropy_l, 9), 4)
        t = rounding.shown_up(round(measured.t, 9), 4)
        lines.append(f"of {sensitive}: distinct l = {measured.l}, entropy l = {entropy}, t = {t} (equal distance)")
    return Answer(measured.to_json(), lines)


@click.group("generalize")
def generalize_command() -> None:
    """Look at the space of solutions of a recipe with method generalize."""


@generalize_command.command("space")
@click.argument("recipe")
@click.option("--out", default=None, help="A folder for all nodes (CSV, Markdown) and the picture (SVG, PNG).")
@json_option
def space(recipe: str, out: str | None) -> Answer:
    """List the nodes that RECIPE could be published at: levels, costs, and in how many records what fails. For the
    holder: it tells of the table. Write levels = { ... } in [release] to publish another node."""
    from pramana.methods.generalize.space import space_picture
    from pramana.pages.figures import write_figure, write_table
    from pramana.run.planning import plan

    nodes: Any = plan(recipe, ks=[], space=True).space
    if nodes is None:
        raise RecipeError('A space of solutions needs a recipe with method = "generalize"')
    rows = nodes.rows()
    lines = table_lines(rows[:_SHOWN])
    if len(rows) > _SHOWN:
        lines.append(f"... and {len(rows) - _SHOWN} further nodes; --out or --json has them all.")
    holding = sum(node.holds for node in nodes.nodes)
    kind = "cells" if nodes.suppress == "cells" else "records"
    lines.append(
        f"{holding} of {len(rows)} nodes hold with at most {nodes.limit:,} {kind} suppressed; "
        f"cost is {nodes.measure}, 'fail' counts records."
    )
    files: list[Path] = []
    if out is not None:
        files = [*write_table(rows, f"{out}/space"), *write_figure(space_picture(nodes), f"{out}/space")]
    return Answer(nodes.to_json() | {"files": [str(path) for path in files]}, lines)
