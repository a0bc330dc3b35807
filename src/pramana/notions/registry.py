"""All notions by name, and what is asked of them: promises kept, titles for a report.

Every module of this room is imported here, so that a new notion is one new file.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from pramana.errors import UnreachableError
from pramana.notions.guarantee import BOUND, Guarantee, Stated
from pramana.schema.sections import Setting


def _notions() -> Iterator[type[Guarantee]]:
    """In the order of the modules and of the classes in them, whatever was imported before."""
    for name in sorted(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])):
        module = importlib.import_module(f"pramana.notions.{name}")
        for defined in vars(module).values():
            if isinstance(defined, type) and issubclass(defined, Guarantee) and "notion" in vars(defined):
                yield defined


NOTIONS: Mapping[str, type[Guarantee]] = {notion.notion: notion for notion in _notions()}
PROMISES = tuple(dict.fromkeys(key for notion in NOTIONS.values() for key in notion.promises))


# ---------------------------------------------------------------- promises


def check_promises(setting: Setting, guarantees: Sequence[Guarantee], waived: Sequence[str] = ()) -> None:
    """Refuse a release that does not certify everything its recipe promises, and name what is missing.

    Every key of a setting that is a promise is looked for, whatever the method: a method that forgets one is
    refused like one that fails to keep it.
    """
    stated = msgspec.to_builtins(setting)
    for key in PROMISES:
        value = stated.get(key)
        if value is None or key in waived:
            continue
        if not _is_kept(key, value, guarantees):
            certified = "; ".join(f"{g.notion} {_shown(g.value)}" for g in guarantees) or "nothing"
            raise UnreachableError(
                f"The promise {key} = {_shown(value)} of the recipe must be kept by the release",
                f"these guarantees: {certified}",
                "Nothing was published. Leave the promise out, or choose a method that makes it.",
            )


def _is_kept(key: str, wanted: object, guarantees: Sequence[Guarantee]) -> bool:
    """Whether of every part of the promise that guarantees answer for, one keeps it; and there is such a part."""
    if isinstance(wanted, str):
        return False
    kept: dict[object, bool] = {}
    for guarantee in guarantees:
        keeps = guarantee.promises[key](guarantee, wanted) if key in guarantee.promises else None
        if keeps is not None:
            kept[guarantee.promised_of] = keeps or kept.get(guarantee.promised_of, False)
    return bool(kept) and all(kept.values())


def _shown(value: object) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


# ---------------------------------------------------------------- by the name of a notion, as certificates have it


@dataclass(frozen=True)
class NotionExplanation:
    """What a report says of a notion: a title, and what its number measures."""

    title: str
    meaning: str


def explanation_of(notion: str) -> NotionExplanation:
    """Title and meaning of a notion by its name; a name of a later version stands for itself."""
    known = NOTIONS.get(notion)
    return NotionExplanation(notion, "") if known is None else NotionExplanation(known.title, known.meaning)


def kind_of_number(stated: Stated) -> str:
    """Whether the number of a stated guarantee bounds anything."""
    notion = NOTIONS.get(str(stated["notion"]), Guarantee)
    if notion.kind_of_number != BOUND:
        return notion.kind_of_number
    return "no bound at this value" if notion.is_empty(stated["value"]) else BOUND


def said_together(stated: Sequence[str]) -> list[str]:
    """What can be said of several releases about the same people that state notions of these names."""
    return [notion.together for name, notion in NOTIONS.items() if name in stated and notion.together]
