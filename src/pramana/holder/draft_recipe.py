"""`pramana init`: a commented recipe with its hierarchies, tried on the table before it is written."""

from __future__ import annotations

import csv
import datetime
import io
import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import wrap
from typing import Any

import msgspec
import pyarrow as pa

from pramana.errors import InputError, PramanaError, RecipeError, SourceError, printable
from pramana.files.atomic import check_free, write_all
from pramana.files.locations import local_path, located, path_text
from pramana.files.scratch import readable_by_name
from pramana.files.store_path import AnyPath, StorePath
from pramana.holder.draft_columns import ColumnDraft, Value
from pramana.holder.draft_jobs import JOBS, Draft, Wish, households_in, persons_in
from pramana.holder.inspect import Examined, examine
from pramana.io.source import Source
from pramana.methods.recipe import AnyRecipe, Recipe
from pramana.run.release import rehearse
from pramana.schema.domain import Role
from pramana.schema.hierarchy import Hierarchy
from pramana.schema.typed import near

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 40
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_WIDE = 110  # of a comment
PURPOSES = {
    "publish": "publish the table with randomised columns",
    "frequencies": "publish a table whose counts are used as they are",
    "levels": "serve many recipients at levels of trust",
    "k-anonymity": "publish a generalised table",
    "presence": "publish a table in which being listed is the secret",
    "microaggregate": "publish numbers as means of small groups",
}


# ---------------------------------------------------------------- TOML with comments
#
# Names and values are anyone's: everything is quoted, and nothing leaves its line.


def key_text(name: str) -> str:
    return name if _BARE.fullmatch(name) else text_of(name)


def text_of(text: str) -> str:
    """A basic string: what JSON escapes, TOML escapes alike, but for the delete sign and the next-line sign."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() or c == " " else f"\\U{ord(c):08X}" for c in quoted)


def value_text(value: Value) -> str:
    if isinstance(value, str):
        return text_of(value)
    if isinstance(value, int):  # true and false, too
        return json.dumps(value)
    if isinstance(value, float):
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
        return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key_text(k)} = {value_text(v)}" for k, v in value.items()) + " }"
    return "[" + ", ".join(value_text(item) for item in value) + "]"


def comment(words: str, mark: str = "") -> Iterator[str]:
    """A comment in lines of bearable length; `mark` stands before the first, as room before the others."""
    lines = wrap(printable(words), _WIDE - len(mark), break_on_hyphens=False) or [""]
    yield f"# {mark}{lines[0]}"
    yield from (f"# {' ' * len(mark)}{line}" for line in lines[1:])


def section(path: Sequence[str], keys: Mapping[str, Value], words: str = "") -> Iterator[str]:
    """A header with its keys, and what is to be said of it before."""
    if words:
        yield from comment(words)
    yield f"[{'.'.join(key_text(part) for part in path)}]"
    for key, value in keys.items():
        yield f"{key} = {value_text(value)}"
    yield ""


def recipe_text(document: Mapping[str, Any]) -> str:
    """A recipe as a file has it, from what such a file holds: a section each, and one for every column."""
    lines: list[str] = []
    for name, body in document.items():
        if name == "attributes":
            for column, keys in body.items():
                lines += section([name, column], keys)
        else:
            lines += section([name], body)
    return "\n".join(lines)


# ---------------------------------------------------------------- a draft as text


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
            f"A first recipe, to {PURPOSES[job]} (job {job}). Drafted by looking at the table; it runs as it is."
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
    for ask in dict.fromkeys(ask for column in draft.columns for ask in column.asks):
        yield ask.replace("{}", ", ".join(column.name for column in draft.columns if ask in column.asks))
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


_MOST_TRIALS = 24


@dataclass(frozen=True)
class DraftedRecipe:
    """Where a first recipe and its hierarchies lie, and what a person must confirm of it."""

    recipe: Path
    job: str
    hierarchies: tuple[Path, ...]
    confirm: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "recipe": str(self.recipe),
            "job": self.job,
            "hierarchies": [str(path) for path in self.hierarchies],
            "confirm": list(self.confirm),
        }


def draft_recipe(
    data: str | Path | Mapping[str, Any],
    out: str | Path = "recipe.toml",
    *,
    job: str = "publish",
    public: str | Path | None = None,
    present: str | None = None,
    roles: Mapping[str, str] | None = None,
    unit: Mapping[str, Any] | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
) -> DraftedRecipe:
    """Write a first recipe for a table, commented and ready to run, with hierarchies beside it.

    The recipe is tried on the table first. Nothing that exists is overwritten.

    Args:
        data: A file, or what [source] says of a database.
        out: The new recipe.
        job: publish, frequencies, levels, k-anonymity, presence or microaggregate.
        public: For presence, the table of everyone.
        present: For presence, the column that marks who is in the table.
        roles: Roles of some columns; the others are guessed as `inspect` guesses them.
        unit: What [unit] says.
        encoding: Of a CSV file, where it is not recognised.
        delimiter: Of a CSV file, likewise.

    Returns:
        Where the recipe and its hierarchies lie, and what a person must confirm of it.

    Raises:
        SourceError: The table cannot be read.
        InputError: An argument is wrong, or a file exists already.
        RecipeError: No first recipe for the job runs on this table.

    >>> import pramana
    >>> pramana.draft_recipe("people.csv", "first.toml", job="k-anonymity").job
    'k-anonymity'
    """
    if job not in JOBS:
        raise InputError(f"The job must be one of {', '.join(JOBS)}", repr(job), near(job, list(JOBS)))
    target = local_path(out, "A recipe", InputError)
    named: dict[str, Any] = (
        dict(data) if isinstance(data, Mapping) else {"path": path_text(data, "The source", SourceError)}
    )
    if target.suffix != ".toml":
        raise InputError("A recipe must have a name that ends in .toml", repr(target.name))
    check_free([target])
    stated = {key: value for key, value in (("encoding", encoding), ("delimiter", delimiter)) if value is not None}
    keys: dict[str, Value] = {**named, **stated}
    examined = _with_roles(examine(Source.from_options(keys)), roles or {})
    if _has_decimal_commas(examined):
        keys["decimal"] = ","
    if present is not None:
        examined.check_has(present, "The mark of presence must be a column")
    wish = Wish(None if public is None else str(located(public, "The public table").absolute()), present)
    units = list(_units(examined)) if unit is None else [dict(unit)]
    whole = {"path": str(located(named["path"]).absolute())} if "path" in named else {}
    draft, stated_unit = _first_that_runs(examined, job, wish, {**keys, **whole}, units, target)
    if "person" in stated_unit and "household" not in stated_unit and (households := households_in(examined)):
        line = f'household = "{households[0].name}"'
        ask = f"Households are not protected as a whole: write {line} in [unit] if they must be."
        draft = replace(draft, confirm=(*draft.confirm, ask))
    if "public" in draft.release:
        draft = replace(draft, release={**draft.release, "public": _reference(located(str(wish.public)), target)})
    if "path" in named:
        keys["path"] = _reference(located(named["path"]), target)
    written = write_draft(draft, stated_unit, job, target.stem, keys)
    files = {target.with_name(name): text for name, text in written.hierarchies.items()}
    write_all({**files, target: written.text})
    return DraftedRecipe(target, job, tuple(files), written.confirm)


def _with_roles(examined: Examined, roles: Mapping[str, str]) -> Examined:
    """With roles that someone stated, who is surer than a guess."""
    guesses = dict(examined.guesses)
    for name, stated in roles.items():
        examined.check_has(name, "Every role must be of a column of the table")
        known = [role.value for role in Role]
        if stated not in known:
            raise InputError(f"A role must be one of {', '.join(known)}", repr(stated)[:80])
        guess, role = guesses[name], Role(stated)
        reason = guess.reason if guess.role is role else "as you stated"
        guesses[name] = replace(guess, role=role, reason=reason, firm=True)
    return replace(examined, guesses=guesses)


def _has_decimal_commas(examined: Examined) -> bool:
    """Whether numbers with a fraction are written with a comma, and none with a point."""
    texts = [look for look in examined.looks if look.form.kind == "number" and not look.form.typed]
    commas = [look for look in texts if look.form.decimal == ","]
    return bool(commas) and all(look.form.decimal == "," or look.form.whole for look in texts)


def _reference(path: AnyPath, target: Path) -> str:
    """A file as the recipe names it: from the recipe's folder where it lies below, else in full."""
    if isinstance(path, StorePath):
        return str(path)
    whole, folder = path.absolute(), target.absolute().parent
    return str(whole.relative_to(folder)) if whole.is_relative_to(folder) else str(whole)


# ---------------------------------------------------------------- trying


def _first_that_runs(
    examined: Examined,
    job: str,
    wish: Wish,
    source: Mapping[str, Value],
    units: Sequence[Mapping[str, Value]],
    target: Path,
) -> tuple[Draft, Mapping[str, Value]]:
    """The first candidate that a release takes; what the last one was refused for is said where none is."""
    refused: PramanaError | None = None
    trials = 0
    for draft in JOBS[job](examined, wish):
        for unit in units:
            trials += 1
            fitting = draft if "person" in unit else draft.without_constants()
            refused = _tried(write_draft(fitting, unit, job, "trial", source), fitting.sample, target)
            if refused is None:
                return fitting, unit
        if trials >= _MOST_TRIALS:
            break
    raise RecipeError(
        f"A first recipe for the job {job} must run on this table",
        "none that does" if refused is None else f"none that does: {refused}",
        "Try another job, or write a recipe by hand.",
    )


def _units(examined: Examined) -> Iterator[dict[str, Value]]:
    """What [unit] may say, the preferred first.

    Persons go by the finest identifier, a promise for whom costs least; households by one that is called so.
    """
    if examined.repeated:
        persons, households = persons_in(examined), households_in(examined)
        finest = (persons or households)[0]
        person: dict[str, Value] = {"person": finest.name, "rows": int(finest.column.counts.max())}
        yield person
        if persons and households:
            yield {**person, "household": households[0].name}
    else:
        yield {}
    yield {"row": True}


def _tried(written: Written, sample: int | None, target: Path) -> PramanaError | None:
    """Release the table by this recipe, written nowhere; the error where it is refused."""
    content = tomllib.loads(written.text)
    with readable_by_name(written.hierarchies, target) as paths:
        for column in content["attributes"].values():
            if "hierarchy" in column:
                column["hierarchy"] = str(paths[column["hierarchy"]])
        try:
            read = Recipe.parse(content, target.absolute().parent)
            rehearse(read, data=None if sample is None else _head(read, sample))
        except PramanaError as error:
            return error
    return None


def _head(recipe: AnyRecipe, rows: int) -> pa.Table:
    stated = msgspec.structs.asdict(recipe.source)
    source = Source.from_options({key: value for key, value in stated.items() if value is not None})
    return pa.table(dict(source.read().columns)).slice(0, rows)
