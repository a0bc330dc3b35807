"""`pramana audit`: attacks on a bundle, run by its holder."""

from __future__ import annotations

from pathlib import Path

import click

from pramana.app.screen import json_option, show
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
    from pramana import Key
    from pramana.audit import audit_bundle, check_page_name, write_attack_page

    if html is not None:
        check_page_name(Path(html))
    secret: Key | str
    if key is not None and seed is None:
        secret = key
    elif seed is not None and key is None:
        secret = Key.from_seed(seed)
    else:
        raise RecipeError("A release has a key or a seed", "neither" if key is None else "both")
    names = [name.strip() for name in recipients.split(",") if name.strip()]
    found = audit_bundle(
        bundle, source, secret, control=control, public=public, also=also, ledger=ledger, recipients=names
    )
    if html is not None:
        write_attack_page(found, Path(bundle).name, Path(html))
    show(as_json, found.to_json(), found.sentences())
    return 0 if found.ok else 1
