"""Every minimal edit of a JSON statement: a key or entry gone, a value replaced, neighbours exchanged."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

LONG = "a" * 100_000
REPLACEMENTS: tuple[Any, ...] = (
    True, -1, 0, 7, 2**64, 0.5, "nan", "a", "٣", "", "\x1b[2J\n", [], {}, [[]], None, LONG,
)  # fmt: skip
Place = tuple[str | int, ...]

# Where an edit may leave a bundle valid, and why: nothing that a recipient has can show that it is wrong. With the
# source and the key the holder finds out. An unsigned certificate is anyone's word for these.
MAY_STAY = {
    "about*": "what the holder says of the release: only a signature shows whose words they are",
    "pramana": "the version that is named; nothing follows from it",
    "dataset": "a name that coins are bound to, which only the key shows",
    "dropped*": "columns that are not there",
    "source.*": "how the source was read; only the source can tell",
    "escaped": "where no text would be run, nothing follows from it",
    "key.commitment": "of the key; only the key can tell",
    "attributes.*.role": "the holder's judgement",
    "attributes.*.kind": "of a column released unchanged: how to read it",
    "attributes.*.domain.members*": "finer values of the source",
    "mechanism.tables*": "what the holder thinks recipients need",
    "mechanism.delta": "where no central guarantee is stated, nothing follows from it",
    "mechanism.candidates": "where k is not stated, nothing follows from it",
    "mechanism.keyed": "whether the versions come from the key or a ledger",
    "mechanism.setting*": "how the law or the classes were searched for; only the source can tell",
    "mechanism.levels_given": "whether levels were searched for",
    "mechanism.people": "of the public table",
    "mechanism.flag": "of the public table",
    "mechanism.public": "of the public table",
    "mechanism.source_records": "only the source can tell",
    "mechanism.measured.cost": "only the search can tell, as `verify` says",
    "mechanism.measured.kl_cost": "only the source can tell, as `verify` says",
    "mechanism.measured.nodes": "only the search can tell, as `verify` says",
    "mechanism.measured.checked": "only the search can tell, as `verify` says",
    "mechanism.reached.*": "only the public table can tell, as `verify` says",
    "mechanism.measured.journalist": "only the population can tell, as `verify` says",
    "mechanism.quasi.*.labels.[1-9]*": "the holder's hierarchy: what groups are called that no cell shows",
    "mechanism.quasi.*.levels.[1-9]*": "the holder's hierarchy: groups of a level that no cell shows",
    "mechanism.sensitive.*.values": "the order in which values are listed",
    "mechanism.quasi.*.ordered": "how classes were cut; only the source can tell",
}
MAY_STAY_AGGREGATED = {
    "mechanism.measured.lost*": "only the source can tell, as `verify` says",
    "mechanism.measured.total": "only the source can tell, as `verify` says",
    "attributes.*.domain.labels": "the order of categories, by which nothing is published",
}
# Where the matrix is withheld, only the largest risk is in a guarantee.
MAY_STAY_WITHHELD = {
    "mechanism.risks.*": "of a withheld matrix, and below the largest; only the source can tell",
}
_ROUNDING = 1e-9  # sums of floats are compared up to it


def dotted(path: Place) -> str:
    return ".".join(map(str, path))


def may_stay(path: Place, statement: Any, edited: Any, shown: frozenset[str]) -> bool:
    """`shown`: the texts that the data file holds, where it is a CSV."""
    more = MAY_STAY_WITHHELD if statement["mechanism"].get("matrix") == "withheld" else {}
    more = MAY_STAY_AGGREGATED if statement["method"] == "microaggregate" else more
    if any(fnmatchcase(dotted(path), pattern) for pattern in (*MAY_STAY, *more)):
        return True
    before, after = _at(statement, path), _at(edited, path)
    if fnmatchcase(dotted(path), "attributes.*.domain.labels.*"):
        return bool(shown) and before not in shown  # a label that no row has; Parquet's dictionary has all of them
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (before, after))
    return numbers and abs(before - after) < _ROUNDING


def _at(statement: Any, path: Place) -> Any:
    for key in path:
        try:
            statement = statement[key]
        except (LookupError, TypeError):
            return None
    return statement


def edits(statement: Any) -> Iterator[tuple[Place, str, Any]]:
    """The place of each edit, what it is, and the whole statement after it."""
    for path, value in places(statement):
        if path:
            yield path, "deleted", _without(statement, path)
            for other in REPLACEMENTS:
                if other != value or isinstance(other, bool) != isinstance(value, bool):
                    yield path, f"replaced by {json.dumps(other)[:20]}", _with(statement, path, other)
        if isinstance(value, list) and len(value) > 1 and value[0] != value[1]:
            yield path, "exchanged", _with(statement, path, [value[1], value[0], *value[2:]])
        if isinstance(value, list) and value:
            yield path, "repeated", _with(statement, path, [*value, value[-1]])
        if isinstance(value, dict):
            yield path, "added", _with(statement, path, {**value, "more": 1})


def places(value: Any, path: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every value with its path; of long lists the first two, the middle and the last."""
    yield path, value
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for number in sorted({0, 1, len(value) // 2, len(value) - 1}):
            if 0 <= number < len(value):
                yield from places(value[number], (*path, number))


def _with(statement: Any, path: Place, value: Any) -> Any:
    if not path:
        return value
    changed = copy.copy(statement)
    changed[path[0]] = _with(statement[path[0]], path[1:], value)
    return changed


def _without(statement: Any, path: Place) -> Any:
    changed = copy.copy(statement)
    if len(path) == 1:
        del changed[path[0]]
    else:
        changed[path[0]] = _without(statement[path[0]], path[1:])
    return changed


def with_repeated_keys(text: str) -> Iterator[str]:
    """The JSON text with one key of it twice, its value the same: one line of the file doubled."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if re.match(r'\s+"[^"]+": [^\[{]*,$', line):
            yield "\n".join([*lines[: number + 1], line, *lines[number + 1 :]]) + "\n"
