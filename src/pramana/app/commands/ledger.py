"""`pramana ledger` and `pramana levels`: who received what, what it adds up to, and versions at many levels.

Options whose names are those of the public function's parameters are passed on as they are.
"""

from __future__ import annotations

from contextlib import closing
from fractions import Fraction
from typing import Any

import click

from pramana.app.screen import (
    NAMES,
    Answer,
    ParsedText,
    ProgressLine,
    engine_options,
    guarantee_lines,
    json_option,
    sign_option,
)
from pramana.errors import RecipeError
from pramana.ledger.ledger import Ledger
from pramana.ledger.turns import whoami
from pramana.schema.connection import shown_url
from pramana.theory import rounding
from pramana.theory.levels import Level

_dataset = click.option("--dataset", default=None, help="Which dataset, where the ledger has several.")
_who = click.option("--by", "who", default=None, help="Who asks for it. Without: you.")
_key = click.option("--key", default=None, help="The dataset's key, if it is no longer where it was made.")
_memory = click.option("--memory", default=None, help="Stream the table through within so much memory, e.g. 2GiB.")


def _decimal(text: str) -> Fraction:
    return Fraction(text if len(text) < 30 and "e" not in text.lower() else "none")


_EPSILON = ParsedText(_decimal, "a decimal number")


@click.group("ledger")
def ledger_command() -> None:
    """Keep account of releases. LEDGER is a SQLite file, a postgresql:// URL, or env:NAME for one that an
    environment variable holds. A recipe with a [ledger] section is entered into it when it is released."""


@ledger_command.command("create")
@click.argument("ledger")
@json_option
def create(ledger: str) -> Answer:
    """Make a ledger, if there is none yet."""
    with closing(Ledger.create(ledger)) as opened:
        count = len(opened.releases())
    words = f"{shown_url(ledger)} is a ledger with {count} releases."
    return Answer({"ledger": shown_url(ledger), "releases": count}, [words])


@ledger_command.command("total")
@click.argument("ledger")
@click.option("--people", default=None, help="About whom. Without: the only ones that the ledger knows.")
@click.option("--delta", type=float, default=1e-6, show_default=True, help="At which the central total is stated.")
@json_option
def total(ledger: str, people: str | None, delta: float) -> Answer:
    """What all releases about some people add up to."""
    with closing(Ledger.open(ledger)) as opened:
        sum_of_all = opened.total(people, delta)
    count = "1 release" if sum_of_all.releases == 1 else f"{sum_of_all.releases} releases"
    lines = [f"{count} about {sum_of_all.people!r}: {sum_of_all.words()}.", *sum_of_all.notes]
    return Answer(sum_of_all.to_json(), lines)


@ledger_command.command("list")
@click.argument("ledger")
@_dataset
@json_option
def list_releases(ledger: str, dataset: str | None) -> Answer:
    """List who received what, by which method, and at which level."""
    with closing(Ledger.open(ledger)) as opened:
        if dataset is not None:
            opened.dataset(dataset)
        datasets = opened.state().datasets.values()
        releases = [r.to_json() for r in opened.releases(dataset)]
    content = {
        "releases": releases,
        "datasets": [{"name": d.name, "records": d.records, "people": d.people} for d in datasets],
    }
    lines = [
        f"{'dataset':<16} {'recipient':<20} {'method':<14} {'level':<10} {'epsilon':>10}  status     committed"
    ]
    for r in releases:
        epsilon = "none" if r["epsilon"] is None else rounding.shown_up(r["epsilon"])
        who = f"{r['dataset']:<16} {r['recipient']:<20} {r['method']:<14} {r['retention'] or '':<10}"
        lines.append(f"{who} {epsilon:>10}  {r['status']:<10} {r['committed_at'] or ''}")
    return Answer(content, lines)


@ledger_command.command("limit")
@click.argument("ledger")
@click.option("--people", required=True, help="Whom the datasets are about.")
@click.option(
    "--epsilon", type=_EPSILON, required=True, help="The most that all releases about them may add up to."
)
@click.option("--delta", type=float, default=None, help="Limit the central epsilon at this delta instead.")
@_who
@json_option
def limit(ledger: str, people: str, epsilon: Fraction, delta: float | None, who: str | None) -> Answer:
    """Limit the total epsilon of all releases about some people: what would pass it is refused."""
    Ledger.open(ledger).limit(people, epsilon, who or whoami(), delta)
    content = {"people": people, "epsilon": float(epsilon), "delta": delta}
    at = "" if delta is None else f" at delta {delta:g}"
    return Answer(content, [f"Limited to {float(epsilon):g}{at}."])


@ledger_command.command("abandon")
@click.argument("ledger")
@click.argument("release")
@click.option("--reason", required=True, help="Why it reached no one, and will not.")
@_who
@json_option
def abandon(ledger: str, release: str, reason: str, who: str | None) -> Answer:
    """Give up a reserved release whose bundle reached no one."""
    Ledger.open(ledger).abandon(release, who or whoami(), reason)
    return Answer({"release": release, "status": "abandoned"}, [f"Release {release} is abandoned."])


@ledger_command.command("export")
@click.argument("ledger")
@click.option("--out", default=None, help="A new file, or the URL of one in a store, such as s3://bucket/name.")
def export(ledger: str, out: str | None) -> None:
    """Write every entry, one line of JSON each: to standard output, a new file, or a new object of a store."""
    opened = Ledger.open(ledger)
    if out is None:
        for line in opened.lines():
            click.echo(line)
        return
    click.echo(f"{opened.export(out)} entries were written to {out}.")


@ledger_command.command("check")
@click.argument("ledger")
@json_option
def check(ledger: str) -> Answer:
    """Check that every entry is as it was written, and that none is missing between two."""
    opened = Ledger.open(ledger)
    whole, count = opened.is_unbroken(), len(opened.entries())
    lines = [f"{count} entries, {'unbroken' if whole else 'BROKEN'}."]
    return Answer({"valid": whole, "entries": count}, lines, ok=whole)


@click.group("levels")
def levels_command() -> None:
    """Issue versions of one table at many levels. LEDGER is a SQLite file, a postgresql:// URL, or
    env:NAME for one that an environment variable holds."""


@levels_command.command("create")
@click.argument("ledger")
@click.option("--recipe", required=True, help='A recipe with method = "levels".')
@click.option(
    "--dataset", "name", default=None, help="Its name. Without: source.dataset, or the name of the recipe."
)
@click.option("--key", default=None, help="Where to put the new key. Without: LEDGER.key.")
@click.option("--independent", is_flag=True, help="Register a table again although recipients could then collude.")
@_memory
@engine_options
@_who
@json_option
def create_dataset(ledger: str, recipe: str, **options: Any) -> Answer:
    """Register the table of a recipe under a new key, and make the ledger if there is none."""
    from pramana.run.levels import create_levels

    with ProgressLine() as progress:
        created = create_levels(ledger, recipe, progress=progress, **options)
    content = {
        "ledger": shown_url(ledger),
        "dataset": created.dataset,
        "records": created.records,
        "key": str(created.key_file),
        "warnings": list(created.warnings),
    }
    lines = [
        f"{created.records:,} records are registered as {created.dataset!r}.",
        f"The key is {created.key_file}: keep it secret, and keep it. Whoever has it can undo every version.",
        *(f"Note: {w}" for w in created.warnings),
    ]
    return Answer(content, lines)


@levels_command.command("issue")
@click.argument("ledger")
@click.option("--recipient", required=True, help="Who receives it.")
@click.option("--retention", required=True, help="The level: an exact decimal, such as 0.3.")
@click.option("--out", required=True, help="The folder to make, or its URL in a store; it must not exist.")
@sign_option
@click.option("--threads", type=click.IntRange(min=0), default=0, help="0: as many as there are cores.")
@click.option("--even-if-useless", is_flag=True, help="Issue it although nothing can be learned from it.")
@_memory
@engine_options
@_dataset
@_key
@_who
@json_option
def issue_version(ledger: str, recipient: str, retention: str, out: str, **options: Any) -> Answer:
    """Issue a recipient's version at a level as a bundle. Asked again, it has the same data."""
    from pramana.run.levels import issue

    with ProgressLine() as progress:
        issued = issue(ledger, recipient, retention, out, progress=progress, **options)
    certificate = issued.certificate
    content = {
        "bundle": str(issued.out),
        "records": certificate.records,
        "release": issued.release.to_json(),
        "again": issued.again,
        "guarantees": [dict(g) for g in certificate.guarantees],
        "warnings": list(certificate.warnings),
        "usefulness": issued.usefulness.to_json(),
    }
    again = ", the same as before" if issued.again else ""
    version = f"{certificate.records:,} records at level {issued.release.level} for {recipient!r}"
    lines = [f"{version} in {issued.out}{again}", *guarantee_lines(certificate.guarantees)]
    lines += ["", *(f"Note: {w}" for w in certificate.warnings)] if certificate.warnings else []
    return Answer(content, [*lines, "", *issued.usefulness.sentences()])


@levels_command.command("collude")
@click.argument("ledger")
@click.option("--recipients", type=NAMES, required=True, help="Names, with commas between them.")
@click.option("--picture", default=None, help="Also draw reconstruction against coalition size, as PICTURE.svg.")
@_dataset
@_key
@json_option
def collude_recipients(ledger: str, recipients: tuple[str, ...], picture: str | None, **options: Any) -> Answer:
    """What these recipients learn together, what their best member knows alone, and what independent releases
    would have leaked: mean probabilities that a record's true value is reconstructed."""
    from pramana.holder.audit.collusion import collude
    from pramana.pages.figures import write_figure
    from pramana.pages.results import coalition_picture

    if not recipients:
        raise RecipeError("--recipients must be names with commas between them", "no name")
    coalition = collude(ledger, list(recipients), **options)
    content = coalition.to_json()
    if picture is not None:
        content["picture"] = [str(p) for p in write_figure(coalition_picture(coalition.by_size), picture)]
    lines = [
        f"together     {coalition.together:.6f}",
        f"best alone   {coalition.best_alone:.6f}   (level {coalition.best_level})",
        f"independent  {coalition.independent:.6f}   (had the {coalition.members} versions been drawn separately)",
        f"prior        {coalition.prior:.6f}   (for someone who sees no version)",
        "Collusion is useless." if coalition.useless else "COLLUSION PAYS: the versions are not of one process.",
    ]
    problem = "" if coalition.useless else "The coalition learns more than its best member knows alone"
    return Answer(content, lines, problem=problem)


@levels_command.command("allow")
@click.argument("ledger")
@click.option("--recipient", required=True, help='Who; "*" for everybody without an allowance of their own.')
@click.option("--retention", required=True, help="The highest level they may get.")
@_dataset
@_who
@json_option
def allow(ledger: str, recipient: str, retention: str, dataset: str | None, who: str | None) -> Answer:
    """Set the highest level a recipient may get."""
    opened, level = Ledger.open(ledger), Level.of(retention)
    name = opened.dataset(dataset).name
    opened.allow(name, "" if recipient == "*" else recipient, level, who or whoami())
    content = {"dataset": name, "recipient": recipient, "retention": str(level)}
    return Answer(content, [f"Allowed up to {level}."])


for _shared in (list_releases, limit, abandon, export, check):
    levels_command.add_command(_shared)
