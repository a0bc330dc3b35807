"""What a person must look at before a release: nothing here is new, it is what recipe, plan and ledger say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pramana import Ledger
from pramana.app.studio.work import Journey
from pramana.errors import PramanaError
from pramana.schema import Role, shown_url


@dataclass(frozen=True)
class Finding:
    """Something to look at. `good`: it needs no decision."""

    title: str
    words: str
    good: bool = False


def findings_of(journey: Journey) -> list[Finding]:
    return [*_unit(journey), *_columns(journey), *_promise(journey), *_ledger(journey)]


def _unit(journey: Journey) -> Iterator[Finding]:
    unit = journey.recipe().unit
    if unit is None or unit.row:
        yield Finding(
            "Whose privacy",
            "Every row is one person. The promises are for one row: someone with several has less.",
            True,
        )
        return
    who = [f"rows with the same {unit.person} are one person's"] if unit.person else []
    who += [f"rows with the same {unit.household} are one household's"] if unit.household else []
    yield Finding("Whose privacy", f"In this table {' and '.join(who)}. The promises are for them.", True)


def _columns(journey: Journey) -> Iterator[Finding]:
    recipe = journey.recipe()
    read = [name for name, column in recipe.published.items() if column.from_data]
    if read:
        yield Finding(
            "Domains read from the data",
            f"The values of {_names(read)} are taken from the table, which tells which of them occur. List them "
            "in the recipe if that must not be known.",
        )
    else:
        yield Finding("Domains", "No list of values is read from the data.", True)
    unchanged = [name for name, body in journey.document.columns.items() if _is_unchanged(journey, body)]
    if unchanged:
        yield Finding(
            "Published unchanged",
            f"{_names(unchanged)}: outside every promise. Nobody must be found by these.",
        )
    else:
        yield Finding("Published unchanged", "No column.", True)
    left = [n for n in recipe.dropped if journey.roles.get(n) != "identifying"]
    if left:
        yield Finding("Left out", f"{_names(left)}: with these the promise would leave nothing to learn.")
    dropped = [n for n in recipe.dropped if n not in left]
    if dropped:
        yield Finding("Dropped", f"{_names(dropped)}: they name people.", True)


def _is_unchanged(journey: Journey, body: dict[str, object]) -> bool:
    """By the recipe alone: a column that is published, and that its method does not protect."""
    role = body.get("role")
    if role == Role.IDENTIFYING.value:
        return False
    perturbed = Role.SENSITIVE.value if journey.document.method == "levels" else Role.QUASI_IDENTIFYING.value
    return not bool(body.get("randomise", role == perturbed))


def _promise(journey: Journey) -> Iterator[Finding]:
    if not journey.document.promise:
        return
    setting = journey.dial().at(journey.value)
    if setting.refused:
        yield Finding("The promise", setting.refused)
        return
    for words in setting.words:
        yield Finding("Promised", words, True)
    worth = setting.usefulness
    if worth.useless:
        yield Finding(
            "Usefulness", "Nothing can be learned at this promise. Turn the dial, or protect fewer columns."
        )
    elif worth.tables:
        yield Finding("Usefulness", " ".join(worth.sentences()), good=not worth.hopeless)
    for warning in setting.warnings:
        yield Finding("Note", warning)


def _ledger(journey: Journey) -> Iterator[Finding]:
    section = journey.recipe().ledger
    if section is None:
        yield Finding(
            "Earlier releases",
            "No ledger is named, so nobody adds up what was released about these people before. Name one below.",
        )
        return
    try:
        known = Ledger.open(section.path)
        try:
            total = known.total(section.people)
        finally:
            known.close()
    except PramanaError as error:
        yield Finding("Earlier releases", f"{shown_url(section.path)}: {error}")
        return
    count = "1 release" if total.releases == 1 else f"{total.releases} releases"
    words = f"{count} about {section.people} before this one: {total.words()}."
    yield Finding("Earlier releases", words, good=not total.releases)


def _names(names: list[str]) -> str:
    shown = names[:12]
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(shown) + more
