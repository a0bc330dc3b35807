"""Sections of recipes and certificates as typed structures, read by msgspec, with messages for people.

A field's type says what must hold. Where its own words are better than those made from the type, they stand in
its metadata: `Meta(extra={"must": "..."})`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta
from msgspec import inspect as types

from pramana.errors import InputError, RecipeError

T = TypeVar("T")
_LONGEST = 80  # characters of what was got
_NAMES = {"NoneType": "null", "list": "a list", "str": "text", "int": "a number", "float": "a number"}

Positive = Annotated[float, Meta(gt=0, extra={"must": "a positive number"})]
AtLeastOne = Annotated[float, Meta(ge=1, extra={"must": "a number of at least 1"})]
Share = Annotated[float, Meta(ge=0, le=1, extra={"must": "a number between 0 and 1"})]
Inside = Annotated[float, Meta(gt=0, lt=1, extra={"must": "a number above 0 and below 1"})]
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
        got = type(content).__name__
        if error is RecipeError:
            raise error(f"{where} must be a section of the recipe", got)
        raise error(f"{where} must be a JSON object", _NAMES.get(got, got))
    if error is not RecipeError and not prefix:
        prefix = f"{where}: "
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as fault:
        raise _in_words(kind, content, str(fault), where, error, prefix) from None
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can spell
        raise error(f"{where} must be text that UTF-8 can hold", "half of a surrogate pair") from None


def check_keys(content: Mapping[str, object], known: Collection[str], what: str) -> None:
    for key in content:
        if key not in known:
            hint = near(key, known) or f"Known: {', '.join(sorted(known))}."
            raise RecipeError(f"Every key must be {what}", repr(key), hint)


def _in_words(
    kind: object, content: Mapping[str, object], fault: str, where: str, error: type[InputError], prefix: str
) -> InputError:
    """msgspec's message in our words: which field, what must hold, and what was got."""
    tail = re.search(r" - at (?P<key>`key` in )?`(?P<path>\$[^`]*)`$", fault)
    position = _position_of(kind, content, "$" if tail is None else tail["path"])
    inside = f"{prefix}{position.name}" if position.name else where
    head = fault if tail is None else fault[: tail.start()]
    if absent := re.fullmatch(r"Object missing required field `(\w+)`", head):
        return error(f"{inside} must state {absent[1]}{_as_stated(position.info, absent[1])}", "none")
    if strange := re.fullmatch(r"Object contains unknown field `(.*)`", head, re.DOTALL):
        return error(f"{inside} must have known keys only", _shown(strange[1]))
    if tail is None:
        return error(f"{where} must have the form it is documented with", fault[:_LONGEST])
    if tail["key"]:
        tables = (part for part in _alternatives(position.info) if isinstance(part, types.DictType))
        info = next((part.key_type for part in tables), None)
        known = _choices(info)
        odd = next((key for key in _entries(position.value) if known and key not in known), ...)
        what = f"{prefix}every key of {position.name}" if prefix.endswith(" ") else f"Every key of {inside}"
        return error(f"{what} must be {_must(info, head)}", _shown(odd))
    if position.field is not None and (stated := _words(position.field)):  # it speaks for all that is inside
        got = type(position.whole).__name__ if _extra(position.field, "secret") else _shown(position.whole)
        return error(f"{prefix}{position.top} must be {stated}", got)
    got = type(position.value).__name__ if _extra(position.info, "secret") else _shown(position.value)
    return error(f"{inside} must be {_must(position.info, head)}", got)


@dataclass(frozen=True)
class _Position:
    """Where a fault is: the innermost field with its type and value, and the key of the section that it is in."""

    name: str
    info: types.Type | None
    value: object
    top: str = ""
    field: types.Type | None = None
    whole: object = None


def _position_of(kind: object, content: object, path: str) -> _Position:
    """What msgspec's path leads to: `$.parts.files[0].name`, or `$.files[...]` for some value of a table."""
    position = _Position("", types.type_info(kind), content)
    for step in re.findall(r"\.(\w+)|\[(\d+|\.\.\.)\]", path):
        position = _field(position, step[0]) if step[0] else _item(position, step[1])
    return position


def _field(position: _Position, key: str) -> _Position:
    info = _type_of(position.info, key)
    value = position.value.get(key) if isinstance(position.value, Mapping) else None
    if not position.name:
        return _Position(key, info, value, key, info, value)
    return replace(position, name=f"{position.name}.{key}", info=info, value=value)


def _item(position: _Position, step: str) -> _Position:
    kinds = _alternatives(position.info)
    if step == "...":
        info = next((part.value_type for part in kinds if isinstance(part, types.DictType)), None)
        key = next((key for key, value in _entries(position.value).items() if not _fits(value, info)), None)
        name = f"{position.name}[...]" if key is None else f"{position.name}[{_shown(key)}]"
        return replace(position, name=name, info=info, value=_entries(position.value).get(key, ...))
    items = position.value if isinstance(position.value, list | tuple) else ()
    value = items[int(step)] if int(step) < len(items) else None
    return replace(position, name=f"{position.name}[{step}]", info=_type_of_item(kinds, int(step)), value=value)


def _type_of_item(kinds: Iterable[types.Type], number: int) -> types.Type | None:
    for part in kinds:
        if isinstance(part, types.CollectionType):
            return part.item_type
        if isinstance(part, types.TupleType) and number < len(part.item_types):
            return part.item_types[number]
    return None


def _entries(value: object) -> Mapping[object, object]:
    return value if isinstance(value, Mapping) else {}


def _fits(value: object, info: types.Type | None) -> bool:
    """Whether a value of a table is none with a fault; sections and texts are tried, others are let be."""
    for part in _alternatives(info):
        tried: object = None
        if isinstance(part, types.StructType):
            tried = part.cls
        elif isinstance(part, types.StrType):
            tried = Annotated[str, Meta(min_length=part.min_length, max_length=part.max_length)]
        if tried is not None:
            try:
                msgspec.convert(value, tried)
            except msgspec.ValidationError:
                continue
        return True
    return info is None


def _shown(value: object) -> str:
    """A short form of it; `...` stands for a value that cannot be told from the others."""
    if value is ...:
        return "a value of another form"
    shown = repr(value if not isinstance(value, str) else value[: _LONGEST + 1])
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."


def _must(info: types.Type | None, fault: str) -> str:
    """The field's own words, its choices, or what its type comes to."""
    if info is None:
        return "as it is documented"
    if stated := _words(info):
        return stated
    if choices := _choices(info):
        return f"one of {', '.join(choices)}"
    words = [text for part in _alternatives(info) if (text := _of_type(part))]
    return " or ".join(dict.fromkeys(words)) or fault


def _of_type(info: types.Type) -> str | None:
    """What a value of this type is, with its bounds."""
    if isinstance(info, types.IntType | types.FloatType):
        return f"a {'whole ' if isinstance(info, types.IntType) else ''}number{_range(info)}"
    if isinstance(info, types.StrType):
        return f"text{_lengths(info, ' characters')}"
    if isinstance(info, types.BoolType):
        return "true or false"
    if isinstance(info, types.CollectionType | types.TupleType):
        return f"a list{_lengths(info, ' entries') if isinstance(info, types.CollectionType) else ''}"
    return "a section" if isinstance(info, types.DictType | types.StructType) else None


def _range(info: types.IntType | types.FloatType) -> str:
    if info.ge is not None and info.le is not None:
        return f" from {info.ge:,} to {info.le:,}"
    ends = {"of at least": info.ge, "above": info.gt, "of at most": info.le, "below": info.lt}
    return " and".join(f" {words} {end:,}" for words, end in ends.items() if end is not None)


def _lengths(info: types.StrType | types.CollectionType, unit: str) -> str:
    if info.min_length and info.max_length:
        return f" of {info.min_length:,} to {info.max_length:,}{unit}"
    if info.min_length:
        return f" of {info.min_length:,} or more{unit}"
    return f" of at most {info.max_length:,}{unit}" if info.max_length else ""


def _type_of(info: types.Type | None, key: str) -> types.Type | None:
    for part in _alternatives(info):
        if isinstance(part, types.StructType):
            return next((field.type for field in part.fields if field.encode_name == key), None)
    return None


def _alternatives(info: types.Type | None) -> Iterator[types.Type]:
    """All that a value of this type may be: members of unions, and what metadata is about."""
    if isinstance(info, types.UnionType):
        for part in info.types:
            yield from _alternatives(part)
    elif info is not None:
        yield info
        if isinstance(info, types.Metadata):
            yield from _alternatives(info.type)


def _words(info: types.Type) -> str | None:
    stated = _extra(info, "must")
    return None if stated is None else str(stated)


def _extra(info: types.Type | None, name: str) -> object:
    for part in _alternatives(info):
        if isinstance(part, types.Metadata) and part.extra and name in part.extra:
            return part.extra[name]
    return None


def _choices(info: types.Type | None) -> list[str]:
    for part in _alternatives(info):
        if isinstance(part, types.LiteralType):
            return [str(value) for value in part.values]
        if isinstance(part, types.EnumType):
            return [str(member.value) for member in part.cls]
    return []


def _as_stated(section: types.Type | None, key: str) -> str:
    """What a key that is missing would have to be, where the type has words for it."""
    info = _type_of(section, key)
    if info is None:
        return ""
    if stated := _words(info):
        return f", {stated}"
    choices = _choices(info)
    return f", one of {', '.join(choices)}" if choices else ""
