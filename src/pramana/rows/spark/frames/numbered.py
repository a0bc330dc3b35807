"""Columns of a data frame whose values are known beforehand: Spark numbers them, and texts stay where they are.

What Spark needs to turn a row into Arrow grows with its texts. Where a recipe states a column's values, an
expression that Spark compiles tells which of them a row has, a byte for each column, eight columns in one integer.
A row with another value has the number 0: whoever finds one must take the texts instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_MOST_VALUES = 64  # Spark looks for a value in a list from its beginning: more take as long as the text itself
_MOST_COLUMNS = 16  # one compiled function has them all, and Java gives up on large ones
_WIDTH = 8  # columns in a word
_BETWEEN = "\x1f"  # what separates units, and is in no value


@dataclass(frozen=True)
class NumberedColumns:
    """Columns with the values each may have. Numbers begin at 1; the one after the last stands for null.

    An empty text, where it may be, is the last.
    """

    values: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, frame: Any, stated: Mapping[str, Sequence[str]]) -> NumberedColumns:
        """Those of the columns with stated values that are worth it: texts, compared byte by byte."""
        from pyspark.sql.types import StringType

        texts = {field.name for field in frame.schema.fields if field.dataType == StringType()}
        few = {n: tuple(v) for n, v in stated.items() if n in texts and 0 < len(v) <= _MOST_VALUES}
        few = {n: v for n, v in few.items() if not any(_BETWEEN in value for value in v)}
        return cls(dict(list(few.items())[:_MOST_COLUMNS]))

    def words(self) -> dict[str, tuple[str, ...]]:
        """The columns in each of the integers that travel, by its name: that of its first column."""
        names = tuple(self.values)
        return {names[start]: names[start : start + _WIDTH] for start in range(0, len(names), _WIDTH)}

    def expressions(self) -> list[Any]:
        """The words as Spark computes them."""
        from pyspark.sql import functions as F  # noqa: N812 - as everyone calls it

        def numbers(name: str) -> Any:
            values = self.values[name]
            known = F.split(F.lit(_BETWEEN.join(values)), _BETWEEN)  # a constant, once Spark has seen it
            number = F.array_position(known, F.col(quoted(name)))
            return F.coalesce(number, F.lit(len(values) + 1).cast("long"))

        words = []
        for word, names in self.words().items():
            whole = numbers(names[0])
            for place, name in enumerate(names[1:], 1):
                whole = whole.bitwiseOR(F.shiftleft(numbers(name), 8 * place))
            words.append(whole.alias(word))
        return words

    def columns(self, batch: pa.Table) -> Iterator[tuple[str, pa.ChunkedArray | None]]:
        """Every column from its word, as a dictionary of all its values; None where a row has another value."""
        for word, names in self.words().items():
            rows = batch.column(word).to_numpy().astype("<i8", copy=False).view(np.uint8).reshape(-1, _WIDTH)
            for place, name in enumerate(names):
                yield name, _texts(np.ascontiguousarray(rows[:, place]), self.values[name])


def quoted(name: str) -> str:
    """A column's name as Spark reads it, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def _texts(numbers: NDArray[np.uint8], values: tuple[str, ...]) -> pa.ChunkedArray | None:
    if not numbers.all():
        return None
    if values[-1] == "" and not (numbers == len(values)).any():
        return _texts(np.minimum(numbers, np.uint8(len(values))), values[:-1])  # domains often have no room for it
    missing = numbers > len(values)
    places = pa.array((numbers - 1).view(np.int8), mask=missing if missing.any() else None)
    return pa.chunked_array([pa.DictionaryArray.from_arrays(places, pa.array(values, pa.string()))])
