"""`pramana release`, `verify`, `export`, `plan` and `report`.

Options whose names are those of the public function's parameters are passed on as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from pramana.app.screen import (
    NAMES,
    Answer,
    ProgressLine,
    engine_options,
    guarantee_lines,
    json_option,
    numbers,
    sign_option,
    table_lines,
    unverified_option,
)
from pramana.errors import OutsideDomainError, RecipeError


@click.command("release")
@click.argument("recipe")
@click.option("--out", required=True, help="The folder to make, or its URL in a store; it must not exist.")
@click.option(
    "--key",
    default=None,
    help="The key of an earlier release, to re-make it. Without: a new one, OUT.key (of a URL, NAME.key here).",
)
@click.option("--seed", type=int, default=None, help="A reproducible release that is marked as not private.")
@sign_option
@click.option("--source", default=None, help="Read this file or URL instead of the recipe's.")
@engine_options
@click.option("--threads", type=click.IntRange(0, 1024), default=0, help="0: as many as there are cores.")
@click.option("--memory", default=None, help="Stream the table through within so much memory, e.g. 2GiB.")
@click.option("--show-values", is_flag=True, help="Show values outside their domain on this screen.")
@click.option("--even-if-useless", is_flag=True, help="Publish although nothing can be learned from it.")
@json_option
def release_command(recipe: str, out: str, source: str | None, show_values: bool, **options: Any) -> Answer:
    """Publish the table of RECIPE (a TOML file) as a bundle: data, certificate and report."""
    from pramana.methods.recipe import Recipe
    from pramana.run.release import release

    read = Recipe.read(recipe)
    if source is not None:
        read = read.with_source(source)
    try:
        with ProgressLine() as progress:
            done = release(read, out, progress=progress, show_values=show_values, **options)
    except OutsideDomainError as error:
        if show_values:
            raise
        hint = " ".join(filter(None, (error.hint, "Run with --show-values to see them on this screen.")))
        raise OutsideDomainError(error.what, error.got, hint) from None
    certificate = done.certificate
    content = {
        "bundle": str(done.out),
        "key": None if done.key_file is None else str(done.key_file),
        "records": done.records,
        "guarantees": [dict(g) for g in done.guarantees],
        "warnings": list(certificate.warnings),
        "formulas": list(done.formulas),
        "ledger": list(done.ledger),
        "notes": list(done.notes),
        "usefulness": done.usefulness.to_json(),
    }
    return Answer(content, [*_words(content), "", *done.usefulness.sentences()])


def _words(content: dict[str, Any]) -> list[str]:
    lines = [f"{content['records']:,} records published in {content['bundle']}"]
    if content["key"]:
        lines.append(
            f"The key is {content['key']}: keep it secret, and keep it. Whoever has it can undo the release."
        )
    lines += guarantee_lines(content["guarantees"])
    lines += ["", *(f"Note: {w}" for w in content["warnings"])] if content["warnings"] else []
    lines += content["ledger"]
    if content["formulas"]:
        lines.append(
            f"Note: a spreadsheet would run texts of {', '.join(content['formulas'])} as formulas. Write "
            "escape_formulas = true in [output] to put an apostrophe before them."
        )
    return [*lines, *(f"Note: {note}" for note in content["notes"])]


@click.command("verify")
@click.argument("bundle")
@click.option("--source", default=None, help="The original table or its recipe, to make the data again.")
@click.option("--key", default=None, help="The release's key.")
@click.option("--seed", type=int, default=None, help="The seed of a release that is marked as not private.")
@click.option("--public-key", default=None, help="The holder's public key, to compare the signature with.")
@click.option("--part", default=None, help="Check this part alone, of a bundle that is a set of files.")
@click.option("--threads", type=click.IntRange(0, 1024), default=0)
@click.option("--memory", default=None, help="Make the data again within so much memory, e.g. 2GiB.")
@engine_options
@json_option
def verify_command(bundle: str, key: str | None, seed: int | None, **options: Any) -> Answer:
    """Check BUNDLE: its digests, signature and guarantees and, with source and key, every byte of its data."""
    from pramana.run.verify import verify

    if key is not None and seed is not None:
        raise RecipeError("A release has a key or a seed", "both")
    with ProgressLine() as progress:
        result = verify(bundle, key=key, seed=seed, progress=progress, **options)
    lines = []
    for check in result.checks:
        passed = "ok  " if check.derived else "said"
        lines.append(f"{passed if check.ok else 'FAIL'}  {check.name}: {check.detail}")
    lines.append(result.verdict)
    lines += [f"Note: {w}" for w in result.warnings] if result.valid else []
    return Answer(result.to_json(), lines, result.valid)


@click.command("export")
@click.argument("bundle")
@click.option(
    "--out",
    required=True,
    help="The file to write, or its URL: .sav, .zsav, .dta, .xlsx, .arrow, .feather; .yaml, .json, .xml.",
)
@click.option(
    "--as", "form", type=click.Choice(["opendp-registry", "croissant", "ddi"]), default=None,
    help="Describe the release for a catalogue instead: YAML, JSON-LD or XML.",
)  # fmt: skip
@click.option("--about", multiple=True, help="With --as: KEY=TEXT that [about] does not say. Repeatable.")
@unverified_option
@json_option
def export_command(bundle: str, out: str, form: str | None, about: tuple[str, ...], unverified: bool) -> Answer:
    """Write the data of BUNDLE for SPSS, Stata, Excel or Arrow, with the labels that its source had."""
    from pramana.reporting.exporting import export

    texts = dict(line.partition("=")[::2] for line in about)
    path = export(bundle, out, form=form, about=texts, unverified=unverified)
    done = "and read back" if form is None else f"as {form}"
    return Answer({"file": str(path)}, [f"{path} was written, {done}."])


_RANGE = numbers(float, "numbers, such as 2,10,100")


@click.command("plan")
@click.argument("recipes", nargs=-1, required=True, metavar="RECIPE...")
@click.option("--records", type=click.IntRange(min=1), default=None, help="Plan for this many; nothing is read.")
@click.option("--k", "ks", type=_RANGE, default=None, help="The values of k to show, such as 2,10,100.")
@click.option(
    "--epsilon", "epsilons", type=_RANGE, default=None, help="The values of epsilon to show, such as 1,2,4."
)
@click.option("--with-data", is_flag=True, help="For the holder: use the true tables' shape.")
@click.option("--out", default=None, help="A folder for the table (CSV, Markdown) and the picture (SVG, PNG).")
@json_option
def plan_command(recipes: tuple[str, ...], out: str | None, **options: Any) -> Answer:
    """Show what the tables that RECIPE names will be worth, so that k and epsilon can be chosen; of several
    recipes, side by side."""
    from pramana.run.planning import plan

    if len(recipes) > 1:
        compared = plan(list(recipes), **options)
        content = compared.to_json() | {"files": [] if out is None else compared.write(out)}
        return Answer(content, [*table_lines(compared.to_rows()), *_advice(compared.candidates)])
    outlook = plan(recipes[0], **options)
    lines = table_lines(outlook.to_rows())
    if lines:
        lines.append("L1: expected sum of absolute errors of the table's shares (0 perfect, 2 useless).")
    if outlook.unreachable:
        lines.append(f"Out of reach with {outlook.counted}: {', '.join(outlook.unreachable)}.")
    if outlook.frontier:
        lines += ["", outlook.frontier_title, *table_lines(outlook.frontier_rows())]
        lines.append(
            "mean: over the tables that the recipe names, or all pairs; large errors count by their proportion."
        )
    if outlook.usefulness.tables:
        lines += ["", "The recipe as it is:", *outlook.usefulness.sentences()]
    content = outlook.to_json() | {"files": [] if out is None else outlook.write(out)}
    return Answer(content, [*lines, *_advice([outlook]), *outlook.notes])


def _advice(candidates: Sequence[Any]) -> list[str]:
    lines = []
    for candidate in candidates:
        if candidate.usefulness.useless:
            lines.append(f"{candidate.title} is useless: nothing can be learned from it.")
            lines += [f"  {advice}" for advice in candidate.advice]
    return lines


@click.command("report")
@click.argument("bundle")
@click.option("--out", default=None, help="Where to write, also as URL of a store; BUNDLE.report.html without.")
@click.option(
    "--table", "tables", type=NAMES, multiple=True, help="A table to reconstruct, such as sex,age. Repeatable."
)
@click.option("--source", default=None, help="The original file: the holder's private report, not for release.")
@click.option("--audit", default=None, help="The JSON that `pramana audit` wrote: its attacks go in, privately.")
@click.option(
    "--dossier", is_flag=True, help="A dossier for data protection officers instead: BUNDLE.dossier.html."
)
@click.option("--key", default=None, help="With --dossier and --source: the release's key, to run attacks now.")
@unverified_option
@engine_options
@json_option
def report_command(
    bundle: str, out: str | None, source: str | None, audit: str | None, dossier: bool, key: str | None,
    **options: Any,
) -> Answer:  # fmt: skip
    """Write a page with the promises, pictures and reconstructed tables of BUNDLE; it needs no network."""
    from pramana.reporting.reports import report

    if key is not None or (dossier and source is not None):
        if not dossier or source is None or key is None or audit is not None:
            got = {"--dossier": dossier, "--source": source, "--key": key, "--audit": audit}
            raise RecipeError(
                "To run attacks, --dossier must come with --source and --key, and without --audit",
                " ".join(name for name, value in got.items() if value),
                "Attacks that were run already are given by --audit.",
            )
        from pramana.holder.audit.suite import audit_bundle

        attacks = audit_bundle(bundle, source, key).to_json()
        path = report(bundle, out, audit=attacks, dossier=True, **options)
    else:
        path = report(bundle, out, source=source, audit=audit, dossier=dossier, **options)
    private = source is not None or audit is not None
    words = f"{'Dossier' if dossier else 'Report'} written to {path}"
    if private:
        words += f". NOT FOR RELEASE: it shows {_shown(source, audit, dossier)}."
    return Answer({"path": str(path), "private": private}, [words])


def _shown(source: str | None, audit: str | None, dossier: bool) -> str:
    if dossier or source is None:
        return "what attacks found"
    return "true counts" if audit is None else "true counts and attacks"
