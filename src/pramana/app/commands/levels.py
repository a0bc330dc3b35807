"""`pramana levels`: one table, many recipients, each at their own level, with a ledger of who received what."""

from __future__ import annotations

from typing import Any

import click

from pramana.app.commands.ledger import abandon, check, export, limit, list_releases
from pramana.app.screen import ProgressLine, engine_of, engine_options, json_option, show
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
@engine_options
@_who
@json_option
def create(
    ledger: str, recipe: str, dataset: str | None, key: str | None, independent: bool, memory: str | None,
    engine: str, master: str | None, who: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Register the table of a recipe under a new key, and make the ledger if there is none."""
    from pramana.run.levels import create_levels
    from pramana.schema.connection import shown_url

    progress = ProgressLine()
    created = create_levels(
        ledger, recipe, name=dataset, key=key, who=who, independent=independent, memory=memory,
        engine=engine_of(engine, master), progress=progress,
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
@click.option("--out", required=True, help="The folder to make, or its URL in a store; it must not exist.")
@click.option("--sign", default=None, help="An Ed25519 private key (PEM) to sign the certificate with.")
@click.option("--threads", type=click.IntRange(min=0), default=0, help="0: as many as there are cores.")
@click.option("--even-if-useless", is_flag=True, help="Issue it although nothing can be learned from it.")
@_memory
@engine_options
@_dataset
@_key
@_who
@json_option
def issue_version(
    ledger: str, recipient: str, retention: str, out: str, sign: str | None, threads: int, even_if_useless: bool,
    memory: str | None, engine: str, master: str | None, dataset: str | None, key: str | None, who: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Issue a recipient's version at a level as a bundle. Asked again, it has the same data."""
    from pramana.run.levels import issue

    progress = ProgressLine()
    issued = issue(
        ledger, recipient, retention, out, dataset=dataset, key=key, who=who, sign=sign, threads=threads,
        memory=memory, engine=engine_of(engine, master), progress=progress,
        even_if_useless=even_if_useless,
    )  # fmt: skip
    progress.close()
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
    lines = [
        f"{certificate.records:,} records at level {issued.release.level} for {recipient!r} in {issued.out}"
        + (", the same as before" if issued.again else "")
    ]
    for guarantee in certificate.guarantees:
        lines += ["", f"{guarantee['notion']} (holds for {guarantee['scope']})", f"  {guarantee['words']}"]
        lines += [f"  - assumes: {a}" for a in guarantee["assumptions"]]
    lines += ["", *(f"Note: {w}" for w in certificate.warnings)] if certificate.warnings else []
    show(as_json, content, [*lines, "", *issued.usefulness.sentences()])


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
    from pramana.holder.audit.collusion import collude

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
    from pramana.pages.figures import write_figure
    from pramana.pages.results import coalition_picture

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
    from pramana.ledger.ledger import Ledger
    from pramana.ledger.turns import whoami
    from pramana.theory.levels import Level

    known, level = Ledger.open(ledger), Level.of(retention)
    name = known.dataset(dataset).name
    known.allow(name, "" if recipient == "*" else recipient, level, who or whoami())
    show(as_json, {"dataset": name, "recipient": recipient, "retention": str(level)}, [f"Allowed up to {level}."])


for _shared in (list_releases, limit, abandon, export, check):
    levels_command.add_command(_shared)
