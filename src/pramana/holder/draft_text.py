"""TOML with comments. Names and values are anyone's: everything is quoted, and nothing leaves its line."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any

from pramana.errors import printable

Value = str | int | float | bool | datetime.date | Sequence["Value"] | Mapping[str, "Value"]
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_WIDE = 110


def key_text(name: str) -> str:
    return name if _BARE.fullmatch(name) else text_of(name)


def text_of(text: str) -> str:
    """A basic string: what JSON escapes, TOML escapes alike, but for the delete sign and the next-line sign."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() or c == " " else f"\\U{ord(c):08X}" for c in quoted)


def value_text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return text_of(value)
    if isinstance(value, int):
        return str(value)
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
