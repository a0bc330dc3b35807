"""Parts of a JSON statement, taken as they are: a wrong shape is refused, never turned into the right one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pramana.errors import SchemaError


def mapping_in(
    content: object, what: str, required: Collection[str], optional: Collection[str] = ()
) -> Mapping[str, Any]:
    """The statement, if it is an object with all the required keys and no unknown one."""
    keys = set(content) if isinstance(content, Mapping) else set()
    if not isinstance(content, Mapping) or not {*required} <= keys <= {*required, *optional}:
        raise SchemaError(f"{what} must be stated with {', '.join(sorted(required))}", "something else")
    return content


def text_in(statement: Mapping[str, Any], key: str, what: str) -> str:
    value = statement[key]
    if not isinstance(value, str):
        raise _refusal(what, key, "a text", value)
    return value


def flag_in(statement: Mapping[str, Any], key: str, what: str, default: bool | None = None) -> bool:
    value = statement.get(key, default)
    if not isinstance(value, bool):
        raise _refusal(what, key, "true or false", value)
    return value


def texts_in(
    statement: Mapping[str, Any], key: str, what: str, default: tuple[str, ...] | None = None
) -> tuple[str, ...]:
    value = statement.get(key, default)
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise _refusal(what, key, "a list of texts", value)
    return tuple(value)


def pairs_in(statement: Mapping[str, Any], key: str, what: str) -> dict[str, str]:
    value = statement.get(key, {})
    if not isinstance(value, Mapping) or not all(isinstance(text, str) for pair in value.items() for text in pair):
        raise _refusal(what, key, "texts for texts", value)
    return dict(value)


def _refusal(what: str, key: str, wanted: str, value: object) -> SchemaError:
    inside = " with something else in it" if isinstance(value, list | tuple | Mapping) else ""
    return SchemaError(f"{what}'s {key} must be {wanted}", f"{type(value).__name__}{inside}")
