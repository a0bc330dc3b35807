"""Numbers as offices write them, 1.234,5 or 1'234.5, turned into plain ones: 1234.5."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa

from pramana.errors import RecipeError, SourceError

DECIMALS = (".", ",")
_BLANKS = " \u00a0\u202f"  # plain, fixed and narrow: a printed thousand is parted by any of them
THOUSANDS = (".", ",", "'", "\u2019", *_BLANKS)


@dataclass(frozen=True)
class NumberMarks:
    """The decimal mark, and the one between thousands, if there is one."""

    decimal: str = "."
    thousands: str | None = None

    def __post_init__(self) -> None:
        if self.decimal not in DECIMALS:
            raise RecipeError('source.decimal must be "." or ","', repr(self.decimal))
        if self.thousands is not None and self.thousands not in THOUSANDS:
            raise RecipeError(
                "source.thousands must be a point, a comma, an apostrophe or a blank", repr(self.thousands)
            )
        if self.thousands == self.decimal:
            raise RecipeError("source.thousands must be another mark than source.decimal", repr(self.thousands))

    @property
    def are_plain(self) -> bool:
        return self.decimal == "." and self.thousands is None

    def plain(self, texts: pa.Array, name: str, number: bool) -> pa.Array:
        """Every text that is a number in this notation, as a plain one; the others as they are.

        In a column of numbers (`number`) one in another notation is refused: 1.234 is a thousand to one reader and
        little more than one to another.
        """
        import pyarrow.compute as pc

        fits = pc.match_substring_regex(texts, self._pattern())
        if number and pc.any(pc.and_not(pc.match_substring_regex(texts, _OTHER), fits)).as_py():
            raise SourceError(
                f"Every number of the column {name!r} must be written with the decimal mark {self.decimal!r}"
                + ("" if self.thousands is None else f" and {self.thousands!r} between thousands"),
                "others",
                "Check decimal and thousands in [source].",
            )
        changed = texts
        for mark in self._between():
            changed = pc.replace_substring(changed, mark, "")
        if self.decimal == ",":
            changed = pc.replace_substring(changed, ",", ".")
        return pc.if_else(fits, changed, texts)

    def _between(self) -> str:
        if self.thousands is None:
            return ""
        return _BLANKS if self.thousands in _BLANKS else self.thousands

    def _pattern(self) -> str:
        whole, decimal = "[0-9]+", re.escape(self.decimal)
        if self.thousands is not None:
            whole = f"(?:[0-9]+|[0-9]{{1,3}}(?:[{re.escape(self._between())}][0-9]{{3}})+)"
        return rf"^[+-]?{whole}(?:{decimal}[0-9]+)?(?:[eE][+-]?[0-9]{{1,4}})?$"


_OTHER = r"^[+-]?[0-9][0-9.,'\x{2019} \x{a0}\x{202f}]*$"  # digits and marks, in whatever order
