"""A draft as text: the recipe with its comments, and its hierarchies as files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pramana.inspection.drafting.columns import ColumnDraft
from pramana.inspection.drafting.drafts import Draft
from pramana.inspection.drafting.toml_text import Value, comment, section
from pramana.schema import Hierarchy, Role

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 40
MEANT = {
    "publish": "publish the table with randomised columns",
    "frequencies": "publish a table whose counts are used as they are",
    "levels": "serve many recipients at levels of trust",
    "k-anonymity": "publish a generalised table",
    "presence": "publish a table in which being listed is the secret",
    "microaggregate": "publish numbers as means of small groups",
}


@dataclass(frozen=True)
class Written:
    """The text of a recipe and those of its hierarchies, by file name."""

    text: str
    hierarchies: Mapping[str, str]
    confirm: tuple[str, ...]


def write_draft(
    draft: Draft, unit: Mapping[str, Value], job: str, stem: str, source: Mapping[str, Value]
) -> Written:
    names = _file_names(draft.columns, stem)
    confirm = tuple(_confirmed(draft, unit))
    lines = [
        *comment(
            f"A first recipe, to {MEANT[job]} (job {job}). Drafted by looking at the table; it runs as it is."
        ),
        *comment("Before anything is published, a person who knows the table must confirm:"),
        *(line for sentence in confirm for line in comment(sentence, "- ")),
        "",
        *section(["source"], source),
        *(section(["unit"], unit, "Whose privacy is meant.") if unit else ()),
        *section(["release"], draft.release, draft.words),
    ]
    for column in draft.columns:
        lines += section(["attributes", column.name], _keys(column, names), column.words)
    lines += section(["output"], {"format": "parquet"})
    built = {names[c.name]: c.built.hierarchy for c in draft.columns if c.built is not None}
    return Written("\n".join(lines), {name: hierarchy_text(tree) for name, tree in built.items()}, confirm)


def _confirmed(draft: Draft, unit: Mapping[str, Value]) -> Iterator[str]:
    dropped = [c.name for c in draft.columns if c.role is Role.IDENTIFYING and not c.asks]
    known = [c.name for c in draft.columns if c.role is Role.QUASI_IDENTIFYING]
    if known:
        yield f"An intruder may know {', '.join(known)}, and no other column: move what is missing or too much."
    if dropped:
        yield f"These columns name people and are dropped: {', '.join(dropped)}."
    yield from draft.confirm
    asked: dict[str, list[str]] = {}
    for column in draft.columns:
        for ask in column.asks:
            asked.setdefault(ask, []).append(column.name)
    yield from (ask.replace("{}", ", ".join(names)) for ask, names in asked.items())
    if "person" in unit:
        yield f"Rows with the same {unit['person']} are one person's; nobody has more than {unit.get('rows', 1)}."
    if "household" in unit:
        yield f"Rows with the same {unit['household']} are one household's."
    if unit.get("row"):
        yield "Every row is taken for a person of its own."


def _keys(column: ColumnDraft, names: Mapping[str, str]) -> dict[str, Value]:
    keys: dict[str, Value] = {"role": column.role.value, **column.keys}
    if column.built is not None:
        keys["hierarchy"] = names[column.name]
        if column.level:
            keys["level"] = column.level
    return keys


def _file_names(columns: tuple[ColumnDraft, ...], stem: str) -> dict[str, str]:
    """A file name for each hierarchy: letters of the column's name, and a number where that is taken."""
    names: dict[str, str] = {}
    for column in columns:
        if column.built is None:
            continue
        plain = _UNSAFE.sub("-", column.name).strip("-")[:_LONGEST_NAME] or "column"
        name, number = f"{stem}-{plain}.csv", 2
        while name.lower() in {taken.lower() for taken in names.values()}:
            name, number = f"{stem}-{plain}-{number}.csv", number + 1
        names[column.name] = name
    return names


def hierarchy_text(hierarchy: Hierarchy) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(zip(*hierarchy.levels, strict=True))
    return text.getvalue()
