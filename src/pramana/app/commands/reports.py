"""`pramana report`: the one-file HTML of a bundle."""

from __future__ import annotations

import click

from pramana.app.screen import engine_of, engine_options, json_option, show
from pramana.errors import RecipeError


@click.command("report")
@click.argument("bundle")
@click.option("--out", default=None, help="Where to write, also as URL of a store; BUNDLE.report.html without.")
@click.option("--table", "tables", multiple=True, help="A table to reconstruct, such as sex,age. Repeatable.")
@click.option("--source", default=None, help="The original file: the holder's private report, not for release.")
@click.option("--audit", default=None, help="The JSON that `pramana audit` wrote: its attacks go in, privately.")
@click.option(
    "--dossier", is_flag=True, help="A dossier for data protection officers instead: BUNDLE.dossier.html."
)
@click.option("--key", default=None, help="With --dossier and --source: the release's key, to run attacks now.")
@click.option("--unverified", is_flag=True, help="Go on with a bundle that fails verification.")
@engine_options
@json_option
def report_command(
    bundle: str, out: str | None, tables: tuple[str, ...], source: str | None, audit: str | None, dossier: bool,
    key: str | None, unverified: bool, engine: str, master: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Write a page with the promises, pictures and reconstructed tables of BUNDLE; it needs no network."""
    from pramana import report

    chosen = engine_of(engine, master)
    if key is not None or (dossier and source is not None):
        if not dossier or source is None or key is None or audit is not None:
            raise RecipeError(
                "To run attacks, --dossier must come with --source and --key, and without --audit",
                "others",
                "Attacks that were run already are given by --audit.",
            )
        from pramana.audit import audit_bundle

        found = audit_bundle(bundle, source, key)
        path = report(bundle, out, audit=found.to_json(), dossier=True, unverified=unverified, engine=chosen)
    else:
        asked = [[name.strip() for name in table.split(",")] for table in tables]
        path = report(
            bundle, out, tables=asked, source=source, audit=audit, dossier=dossier, unverified=unverified,
            engine=chosen,
        )  # fmt: skip
    private = source is not None or audit is not None
    words = f"{'Dossier' if dossier else 'Report'} written to {path}"
    if private:
        words += f". NOT FOR RELEASE: it shows {_shown(source, audit, dossier)}."
    show(as_json, {"path": str(path), "private": private}, [words])


def _shown(source: str | None, audit: str | None, dossier: bool) -> str:
    if dossier or source is None:
        return "what attacks found"
    return "true counts" if audit is None else "true counts and attacks"
