"""What the recipes of this version know, found by asking: nothing is written that would be refused."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pramana.errors import PramanaError
from pramana.methods import Recipe


def is_known(content: Mapping[str, Any], column: Mapping[str, Any] | None = None) -> bool:
    """Whether a recipe with these sections, and a column of these keys, is one."""
    keys = {"role": "quasi-identifying", "domain": ["a", "b"]} if column is None else dict(column)
    whole = {"release": {"epsilon": 1.0}, "attributes": {"a": keys}, **content}
    try:
        Recipe.parse(whole)
    except PramanaError:
        return False
    return True


@cache
def knows_units() -> bool:
    return is_known({"unit": {"row": True}})


@cache
def knows_missing_lists() -> bool:
    return is_known({}, {"role": "quasi-identifying", "domain": ["a", "b"], "missing": ["99"]})


@cache
def knows_decimals() -> bool:
    return is_known({"source": {"path": "a.csv", "decimal": ","}})


@cache
def knows_widths() -> bool:
    return is_known({}, {"role": "quasi-identifying", "bins": {"width": 5, "from": 0, "to": 100}})
