"""`pramana ledger`: what was released about whom, by every method, and what it adds up to."""

from __future__ import annotations

from fractions import Fraction

import click

from pramana.app.screen import json_option, show
from pramana.errors import RecipeError

_dataset = click.option("--dataset", default=None, help="Which dataset, where the ledger has several.")
_who = click.option("--by", "who", default=None, help="Who asks for it. Without: you.")


@click.group("ledger")
def ledger_command() -> None:
    """Keep account of releases. LEDGER is a SQLite file, a postgresql:// URL, or env:NAME for one that an
    environment variable holds. A recipe with a [ledger] section is entered into it when it is released."""


@ledger_command.command("create")
@click.argument("ledger")
@json_option
def create(ledger: str, as_json: bool) -> None:
    """Make a ledger, if there is none yet."""
    from pramana.ledger.ledger import Ledger
    from pramana.schema.connection import shown_url

    made = Ledger.create(ledger)
    count = len(made.releases())
    made.close()
    words = f"{shown_url(ledger)} is a ledger with {count} releases."
    show(as_json, {"ledger": shown_url(ledger), "releases": count}, [words])


@ledger_command.command("total")
@click.argument("ledger")
@click.option("--people", default=None, help="About whom. Without: the only ones that the ledger knows.")
@click.option("--delta", type=float, default=1e-6, show_default=True, help="At which the central total is stated.")
@json_option
def total(ledger: str, people: str | None, delta: float, as_json: bool) -> None:
    """What all releases about some people add up to."""
    from pramana.ledger.ledger import Ledger

    known = Ledger.open(ledger)
    sum_of_all = known.total(people, delta)
    known.close()
    count = "1 release" if sum_of_all.releases == 1 else f"{sum_of_all.releases} releases"
    lines = [f"{count} about {sum_of_all.people!r}: {sum_of_all.words()}.", *sum_of_all.notes]
    show(as_json, sum_of_all.to_json(), lines)


@ledger_command.command("list")
@click.argument("ledger")
@_dataset
@json_option
def list_releases(ledger: str, dataset: str | None, as_json: bool) -> None:
    """List who received what, by which method, and at which level."""
    from pramana.ledger.ledger import Ledger
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
    lines = [
        f"{'dataset':<16} {'recipient':<20} {'method':<14} {'level':<10} {'epsilon':>10}  status     committed"
    ]
    for r in releases:
        epsilon = "none" if r["epsilon"] is None else rounding.shown_up(r["epsilon"])
        who = f"{r['dataset']:<16} {r['recipient']:<20} {r['method']:<14} {r['retention'] or '':<10}"
        lines.append(f"{who} {epsilon:>10}  {r['status']:<10} {r['committed_at'] or ''}")
    show(as_json, content, lines)


@ledger_command.command("limit")
@click.argument("ledger")
@click.option("--people", required=True, help="Whom the datasets are about.")
@click.option("--epsilon", required=True, help="The most that all releases about them may add up to.")
@click.option("--delta", type=float, default=None, help="Limit the central epsilon at this delta instead.")
@_who
@json_option
def limit(ledger: str, people: str, epsilon: str, delta: float | None, who: str | None, as_json: bool) -> None:
    """Limit the total epsilon of all releases about some people: what would pass it is refused."""
    from pramana.ledger.ledger import Ledger
    from pramana.ledger.turns import whoami

    try:
        value = Fraction(epsilon if len(epsilon) < 30 and "e" not in epsilon.lower() else "none")
    except (ValueError, ZeroDivisionError):
        raise RecipeError("epsilon must be a decimal number", repr(epsilon)) from None
    Ledger.open(ledger).limit(people, value, who or whoami(), delta)
    content = {"people": people, "epsilon": float(value), "delta": delta}
    at = "" if delta is None else f" at delta {delta:g}"
    show(as_json, content, [f"Limited to {float(value):g}{at}."])


@ledger_command.command("abandon")
@click.argument("ledger")
@click.argument("release")
@click.option("--reason", required=True, help="Why it reached no one, and will not.")
@_who
@json_option
def abandon(ledger: str, release: str, reason: str, who: str | None, as_json: bool) -> None:
    """Give up a reserved release whose bundle reached no one."""
    from pramana.ledger.ledger import Ledger
    from pramana.ledger.turns import whoami

    Ledger.open(ledger).abandon(release, who or whoami(), reason)
    show(as_json, {"release": release, "status": "abandoned"}, [f"Release {release} is abandoned."])


@ledger_command.command("export")
@click.argument("ledger")
@click.option("--out", default=None, help="A new file, or the URL of one in a store, such as s3://bucket/name.")
def export(ledger: str, out: str | None) -> None:
    """Write every entry, one line of JSON each: to standard output, a new file, or a new object of a store."""
    from pramana.ledger.ledger import Ledger

    known = Ledger.open(ledger)
    if out is None:
        for line in known.lines():
            click.echo(line)
        return
    count = known.export(out)
    click.echo(f"{count} entries were written to {out}.")


@ledger_command.command("check")
@click.argument("ledger")
@json_option
def check(ledger: str, as_json: bool) -> int:
    """Check that every entry is as it was written, and that none is missing between two."""
    from pramana.ledger.ledger import Ledger

    known = Ledger.open(ledger)
    whole = known.is_unbroken()
    count = len(known.entries())
    show(as_json, {"valid": whole, "entries": count}, [f"{count} entries, {'unbroken' if whole else 'BROKEN'}."])
    return 0 if whole else 1
