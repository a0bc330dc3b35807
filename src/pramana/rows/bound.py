"""A bound on memory as people state it: a number of bytes, or a text with a unit."""

from __future__ import annotations

import re
from numbers import Integral

from pramana.errors import RecipeError

_SIZE = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[KMGT]?)(?P<binary>i?)B?", re.IGNORECASE)
_MOST = 1 << 50  # no machine has more, and what is larger is a slip
_HINT = "Write 2147483648, 2GB or 2GiB."


def bytes_of(size: int | str | None) -> int | None:
    """The bytes; None where no bound is stated."""
    if size is None:
        return None
    if isinstance(size, Integral) and not isinstance(size, bool):
        number = float(size) if abs(size) <= _MOST else _MOST * 2.0
    elif isinstance(size, str) and (told := _SIZE.fullmatch(size.strip())) is not None:
        number = float(told["number"]) * (1024 if told["binary"] else 1000) ** " KMGT".index(
            told["unit"].upper() or " "
        )
    else:
        got = repr(size[:80]) if isinstance(size, str) else f"{type(size).__name__} {str(size)[:80]}"
        raise RecipeError("memory must be a number of bytes", got, _HINT)
    if not 0 <= number <= _MOST:
        raise RecipeError(f"memory must be a number of bytes up to {_MOST:,}", "another", _HINT)
    return int(number)
