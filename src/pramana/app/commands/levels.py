"""`pramana levels`: one table, many recipients, each at their own level, with a ledger of who received what."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import click

from pramana.app.screen import ProgressLine, bytes_of, json_option, show
from pramana.errors import CheckError, RecipeError

_dataset = click.option("--dataset", default=None, help="Which dataset, where the ledger has several.")
_key = click.option("--key", default=None, help="The dataset's key, if it is no longer where it was made.")
_who = click.option("--by", "who", default=None, help="Who asks for it. Without: you.")


_memory = click.option("--memory", default=None, help="Stream the table through within so much memory, e.g. 2GiB.")


@click.group("levels")
def levels_command() -> None:
    """Issue versions of one table at many levels. LEDGER is a SQLite file, a postgresql:// URL, or
    env:NAME for one that an environment variable holds."""


@levels_command.command("create")
@click.argument("ledger")
@click.option("--recipe", required=True, help='A recipe with method = "levels".')
@click.option("--dataset", default=None, help="Its name. Without: source.dataset, or the name of the recipe.")
@click.option("--key", default=None, help="Where to put the new key. Without: LEDGER.key.")
@click.option("--independent", is_flag=True, help="Register a table again although recipients could then collude.")
@_memory
@_who
@json_option
def create(
    ledger: str, recipe: str, dataset: str | None, key: str | None, independent: bool, memory: str | None,
    who: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Register the table of a recipe under a new key, and make the ledger if there is none."""
    from pramana import create_levels
    from pramana.schema import shown_url

    progress = ProgressLine()
    created = create_levels(
        ledger, recipe, name=dataset, key=key, who=who, independent=independent, memory=bytes_of(memory),
        progress=progress,
    )  # fmt: skip
    progress.close()
    content = {
        "ledger": shown_url(ledger),
        "dataset": created.dataset,
        "records": created.records,
        "key": str(created.key_file),
        "warnings": list(created.warnings),
    }
    words = [
        f"{created.records:,} records are registered as {created.dataset!r}.",
        f"The key is {created.key_file}: keep it secret, and keep it. Whoever has it can undo every version.",
        *(f"Note: {w}" for w in created.warnings),
    ]
    show(as_json, content, words)


@levels_command.command("issue")
@click.argument("ledger")
@click.option("--recipient", required=True, help="Who receives it.")
@click.option("--retention", required=True, help="The level: an exact decimal, such as 0.3.")
@click.option("--out", required=True, help="The folder to make; it must not exist.")
@click.option("--sign", default=None, help="An Ed25519 private key (PEM) to sign the certificate with.")
@click.option("--threads", type=click.IntRange(min=0), default=0, help="0: as many as there are cores.")
@click.option("--even-if-useless", is_flag=True, help="Issue it although nothing can be learned from it.")
@_memory
@_dataset
@_key
@_who
@json_option
def issue_version(
    ledger: str, recipient: str, retention: str, out: str, sign: str | None, threads: int, even_if_useless: bool,
    memory: str | None, dataset: str | None, key: str | None, who: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Issue a recipient's version at a level as a bundle. Asked again, it has the same data."""
    from pramana import issue

    progress = ProgressLine()
    issued = issue(
        ledger, recipient, retention, out, dataset=dataset, key=key, who=who, sign=sign, threads=threads,
        memory=bytes_of(memory), progress=progress, even_if_useless=even_if_useless,
    )  # fmt: skip
    progress.close()
    certificate = issued.certificate
    content = {
        "bundle": str(issued.bundle),
        "records": certificate.records,
        "release": issued.release.to_json(),
        "again": issued.again,
        "guarantees": [dict(g) for g in certificate.guarantees],
        "warnings": list(certificate.warnings),
        "usefulness": issued.usefulness.to_json(),
    }
    lines = [
        f"{certificate.records:,} records at level {issued.release.level} for {recipient!r} in {issued.bundle}"
        + (", the same as before" if issued.again else "")
    ]
    for guarantee in certificate.guarantees:
        lines += ["", f"{guarantee['notion']} (holds for {guarantee['scope']})", f"  {guarantee['words']}"]
        lines += [f"  - assumes: {a}" for a in guarantee["assumptions"]]
    lines += ["", *(f"Note: {w}" for w in certificate.warnings)] if certificate.warnings else []
    show(as_json, content, [*lines, "", *issued.usefulness.sentences()])


@levels_command.command("list")
@click.argument("ledger")
@_dataset
@json_option
def list_releases(ledger: str, dataset: str | None, as_json: bool) -> None:
    """List who received what, at which level."""
    from pramana import Ledger
    from pramana.theory import rounding

    known = Ledger.open(ledger)
    if dataset is not None:
        known.dataset(dataset)
    state = known.state()
    releases = [r.to_json() for r in known.releases(dataset)]
    content = {
        "releases": releases,
        "datasets": [{"name": d.name, "records": d.records, "people": d.people} for d in state.datasets.values()],
    }
    lines = [f"{'dataset':<16} {'recipient':<20} {'level':<16} {'epsilon':>10}  status     committed"]
    for r in releases:
        epsilon = "infinite" if r["epsilon"] is None else rounding.shown_up(r["epsilon"])
        when = r["committed_at"] or ""
        lines.append(
            f"{r['dataset']:<16} {r['recipient']:<20} {r['retention']:<16} {epsilon:>10}  {r['status']:<10} {when}"
        )
    show(as_json, content, lines)


@levels_command.command("collude")
@click.argument("ledger")
@click.option("--recipients", required=True, help="Names, with commas between them.")
@click.option("--picture", default=None, help="Also draw reconstruction against coalition size, as PICTURE.svg.")
@_dataset
@_key
@json_option
def collude_recipients(
    ledger: str, recipients: str, picture: str | None, dataset: str | None, key: str | None, as_json: bool
) -> None:
    """What these recipients learn together, what their best member knows alone, and what independent releases
    would have leaked: mean probabilities that a record's true value is reconstructed."""
    from pramana import collude

    names = [name.strip() for name in recipients.split(",") if name.strip()]
    if not names:
        raise RecipeError("Recipients must be names with commas between them", repr(recipients))
    coalition = collude(ledger, names, dataset=dataset, key=key)
    content = coalition.to_json()
    if picture is not None:
        content["picture"] = [str(path) for path in _draw(coalition, picture)]
    words = [
        f"together     {coalition.together:.6f}",
        f"best alone   {coalition.best_alone:.6f}   (level {coalition.best_level})",
        f"independent  {coalition.independent:.6f}   (had the {coalition.members} versions been drawn separately)",
        f"prior        {coalition.prior:.6f}   (for someone who sees no version)",
        "Collusion is useless." if coalition.useless else "COLLUSION PAYS: the versions are not of one process.",
    ]
    show(as_json, content, words)
    if not coalition.useless:
        raise CheckError("The coalition must learn no more than its best member", "more")


def _draw(coalition: Any, stem: str) -> list[Any]:
    from pramana.pages import coalition_picture, write_figure

    return list(write_figure(coalition_picture(coalition.by_size), stem))


@levels_command.command("allow")
@click.argument("ledger")
@click.option("--recipient", required=True, help='Who; "*" for everybody without an allowance of their own.')
@click.option("--retention", required=True, help="The highest level they may get.")
@_dataset
@_who
@json_option
def allow(
    ledger: str, recipient: str, retention: str, dataset: str | None, who: str | None, as_json: bool
) -> None:
    """Set the highest level a recipient may get."""
    from pramana import Ledger
    from pramana.ledger import whoami
    from pramana.theory import Level

    known, level = Ledger.open(ledger), Level.of(retention)
    name = known.dataset(dataset).name
    known.allow(name, "" if recipient == "*" else recipient, level, who or whoami())
    show(as_json, {"dataset": name, "recipient": recipient, "retention": str(level)}, [f"Allowed up to {level}."])


@levels_command.command("limit")
@click.argument("ledger")
@click.option("--people", required=True, help="Whom the datasets are about.")
@click.option("--epsilon", required=True, help="The most that all datasets about them may add up to.")
@_who
@json_option
def limit(ledger: str, people: str, epsilon: str, who: str | None, as_json: bool) -> None:
    """Limit the total epsilon of all datasets about some people."""
    from pramana import Ledger
    from pramana.ledger import whoami

    try:
        value = Fraction(epsilon if len(epsilon) < 30 and "e" not in epsilon.lower() else "none")
    except (ValueError, ZeroDivisionError):
        raise RecipeError("epsilon must be a decimal number", repr(epsilon)) from None
    Ledger.open(ledger).limit(people, value, who or whoami())
    show(as_json, {"people": people, "epsilon": float(value)}, [f"Limited to {float(value):g}."])


@levels_command.command("abandon")
@click.argument("ledger")
@click.argument("release")
@click.option("--reason", required=True, help="Why it reached no one, and will not.")
@_who
@json_option
def abandon(ledger: str, release: str, reason: str, who: str | None, as_json: bool) -> None:
    """Give up a reserved release whose bundle reached no one."""
    from pramana import Ledger
    from pramana.ledger import whoami

    Ledger.open(ledger).abandon(release, who or whoami(), reason)
    show(as_json, {"release": release, "status": "abandoned"}, [f"Release {release} is abandoned."])


@levels_command.command("export")
@click.argument("ledger")
def export(ledger: str) -> None:
    """Write every entry to standard output, one line of JSON each."""
    from pramana import Ledger

    for line in Ledger.open(ledger).lines():
        click.echo(line)


@levels_command.command("check")
@click.argument("ledger")
@json_option
def check(ledger: str, as_json: bool) -> int:
    """Check that every entry is as it was written, and that none is missing between two."""
    from pramana import Ledger

    known = Ledger.open(ledger)
    whole = known.is_unbroken()
    count = len(known.entries())
    show(as_json, {"valid": whole, "entries": count}, [f"{count} entries, {'unbroken' if whole else 'BROKEN'}."])
    return 0 if whole else 1
