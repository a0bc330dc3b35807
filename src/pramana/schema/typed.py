"""Sections of recipes and certificates as typed structures, read by msgspec, with messages for people.

A field's type says what must hold. Where its own words are better than those made from the type, they stand in
its metadata: `Meta(extra={"must": "..."})`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta
from msgspec import inspect as types

from pramana.errors import InputError, RecipeError

T = TypeVar("T")
_LONGEST = 80  # characters of what was got

Positive = Annotated[float, Meta(gt=0, extra={"must": "a positive number"})]
AtLeastOne = Annotated[float, Meta(ge=1, extra={"must": "a number of at least 1"})]
Share = Annotated[float, Meta(ge=0, le=1, extra={"must": "a number between 0 and 1"})]
Inside = Annotated[float, Meta(gt=0, lt=1, extra={"must": "a number between 0 and 1"})]
Count = Annotated[int, Meta(ge=1, extra={"must": "a whole number of at least 1"})]
Ordinal = Annotated[int, Meta(ge=0, extra={"must": "a whole number from 0 on"})]
Flag = Annotated[bool, Meta(extra={"must": "true or false"})]
Text = Annotated[str, Meta(extra={"must": "text"})]
PlainText = Annotated[str, Meta(min_length=1, pattern="^[^\\x00]*$", extra={"must": "text"})]
FilePath = Annotated[str, Meta(min_length=1, pattern="^[^\\x00]*$", extra={"must": "a path"})]


def near(name: object, known: Collection[object]) -> str | None:
    """A hint for a name that is almost one of the known ones."""
    close = difflib.get_close_matches(str(name), [str(k) for k in known], 1)
    return f"Did you mean {close[0]!r}?" if close else None


def keys_of(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """The keys a section of this kind may have."""
    return kind.__struct_encode_fields__  # what `structs.fields` says takes every annotation to pieces


def read_section(
    kind: type[T], content: object, where: str, error: type[InputError] = RecipeError, prefix: str = ""
) -> T:
    """The section as its type; the first fault as `error`. `where` names it; `prefix` stands before its keys."""
    if not isinstance(content, Mapping):
        raise error(f"{where} must be a section of the recipe", type(content).__name__)
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as fault:
        raise _told(kind, content, str(fault), where, error, prefix) from None
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can spell
        raise error(f"{where} must be text that UTF-8 can hold", "other characters") from None


def check_keys(content: Mapping[str, object], known: Collection[str], what: str) -> None:
    for key in content:
        if key not in known:
            hint = near(key, known) or f"Known: {', '.join(sorted(known))}."
            raise RecipeError(f"Every key must be {what}", repr(key), hint)


def _told(
    kind: object, content: Mapping[str, object], fault: str, where: str, error: type[InputError], prefix: str
) -> InputError:
    """msgspec's message in our words: what must hold, and what was got."""
    if absent := re.search(r"missing required field `(\w+)`", fault):
        return error(f"{where} must state {absent[1]}{_as_stated(kind, absent[1])}", "none")
    if strange := re.search(r"unknown field `(.*)`", fault):
        return error(f"{where} must have known keys only", repr(strange[1]))
    key = re.search(r"`?\$\.([A-Za-z_]\w*)", fault)
    if key is None:
        return error(f"{where} must have the form it is documented with", fault[:_LONGEST])
    value = content.get(key[1])
    got = type(value).__name__ if _is_secret(kind, key[1]) else _shown(value)
    return error(f"{prefix}{key[1]} must be {_must(kind, key[1], fault)}", got)


def _is_secret(kind: object, key: str) -> bool:
    """Whether a value may hold a password, and is never shown: `Meta(extra={"secret": True})`."""
    info = _type_of(kind, key)
    return info is not None and bool(_extra(info, "secret"))


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."


def _must(kind: object, key: str, fault: str) -> str:
    """The field's own words, its choices, or what its type comes to."""
    info = _type_of(kind, key)
    if info is None:
        return fault
    if stated := _words(info):
        return stated
    if choices := _choices(info):
        return f"one of {', '.join(choices)}"
    names = {"float": "a number", "int": "a whole number", "str": "text", "bool": "true or false"}
    wanted = re.match(r"Expected `([^`]*)`", fault)
    parts = [] if wanted is None else [p for p in wanted[1].split(" | ") if p != "null"]
    return " or ".join(names.get(p, {"array": "a list", "object": "a section"}.get(p, p)) for p in parts) or fault


def _type_of(kind: object, key: str) -> types.Type | None:
    info = types.type_info(kind)
    if not isinstance(info, types.StructType):
        return None
    return next((field.type for field in info.fields if field.encode_name == key), None)


def _alternatives(info: types.Type) -> tuple[types.Type, ...]:
    return info.types if isinstance(info, types.UnionType) else (info,)


def _words(info: types.Type) -> str | None:
    stated = _extra(info, "must")
    return None if stated is None else str(stated)


def _extra(info: types.Type, name: str) -> object:
    for part in _alternatives(info):
        if isinstance(part, types.Metadata):
            if part.extra and name in part.extra:
                return part.extra[name]
            if (inner := _extra(part.type, name)) is not None:
                return inner
    return None


def _choices(info: types.Type) -> list[str]:
    for part in _alternatives(info):
        if isinstance(part, types.Metadata) and (inner := _choices(part.type)):
            return inner
        if isinstance(part, types.LiteralType):
            return [str(value) for value in part.values]
        if isinstance(part, types.EnumType):
            return [str(member.value) for member in part.cls]
    return []


def _as_stated(kind: object, key: str) -> str:
    """What a key that is missing would have to be, where the type has words for it."""
    info = _type_of(kind, key)
    if info is None:
        return ""
    if stated := _words(info):
        return f", {stated}"
    choices = _choices(info)
    return f", one of {', '.join(choices)}" if choices else ""
