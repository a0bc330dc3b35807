"""`pramana audit`: attacks on a bundle, run by its holder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pramana.app.screen import json_option, show, table_lines
from pramana.errors import RecipeError


@click.command("audit")
@click.argument("bundle")
@click.option("--source", required=True, help="The original table, or its recipe.")
@click.option("--key", default=None, help="The release's key.")
@click.option("--seed", type=int, default=None, help="The seed of a release that is marked as not private.")
@click.option("--control", default=None, help="A table of other people, who are not in the release.")
@click.option("--public", default=None, help="The public table of a presence release in two files.")
@click.option("--also", multiple=True, help="Another bundle of the same source and key. May be repeated.")
@click.option("--ledger", default=None, help="The ledger: its total beside --also, or levels that collude.")
@click.option("--recipients", default="", help="Recipients of its levels who collude, with commas between them.")
@click.option("--html", default=None, help="Also write the page to this new file, for its owner alone.")
@json_option
def audit_command(
    bundle: str, source: str, key: str | None, seed: int | None, control: str | None, public: str | None,
    also: tuple[str, ...], ledger: str | None, recipients: str, html: str | None, as_json: bool,
) -> int:  # fmt: skip
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
        raise RecipeError("To count right answers the release's key must be given", "none")
    names = [name.strip() for name in recipients.split(",") if name.strip()]
    found = audit_bundle(
        bundle, source, secret, control=control, public=public, also=also, ledger=ledger, recipients=names
    )
    if html is not None:
        write_attack_page(found, Path(bundle).name, Path(html))
    show(as_json, found.to_json(), found.sentences())
    return 0 if found.ok else 1


# `pramana anonymity`: k, l and t of a table as it stands.


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
    from pramana.holder.audit.anonymity import anonymity_of_table
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


# `pramana generalize`: what a search for levels chooses from.


_SHOWN = 20


@click.group("generalize")
def generalize_command() -> None:
    """Look at the space of solutions of a recipe with method generalize."""


@generalize_command.command("space")
@click.argument("recipe")
@click.option("--out", default=None, help="A folder for all nodes (CSV, Markdown) and the picture (SVG, PNG).")
@json_option
def space(recipe: str, out: str | None, as_json: bool) -> None:
    """List the nodes that RECIPE could be published at: levels, costs, and in how many records what fails. For the
    holder: it tells of the table. Write levels = { ... } in [release] to publish another node."""
    from pramana.run.planning import plan

    found: Any = plan(recipe, ks=[], space=True).space
    if found is None:
        raise RecipeError("A space of solutions must be of a generalisation", "none")
    content = found.to_json() | {"files": [] if out is None else _write(found, out)}
    rows = found.rows()
    lines = table_lines(rows[:_SHOWN])
    if len(rows) > _SHOWN:
        lines.append(f"... and {len(rows) - _SHOWN} further nodes; --out or --json has them all.")
    holding = sum(node.holds for node in found.nodes)
    kind = "cells" if found.suppress == "cells" else "records"
    words = f"{holding} of {len(rows)} nodes hold with at most {found.limit:,} {kind} suppressed; "
    show(as_json, content, [*lines, words + f"cost is {found.measure}, 'fail' counts records."])


def _write(found: Any, folder: str) -> list[str]:
    from pramana.methods.generalize.space import space_picture
    from pramana.pages.figures import write_figure, write_table

    paths = [*write_table(found.rows(), f"{folder}/space"), *write_figure(space_picture(found), f"{folder}/space")]
    return [str(path) for path in paths]
