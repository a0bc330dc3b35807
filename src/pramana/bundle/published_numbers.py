"""Numbers and days that are published for bins: made of codes, written as Arrow has them, and read back strictly.

The numbers of all bins of a column stand in one row, bin after bin; where a value stands in it is its position.
The content digest is of positions, which are the same in every format.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.errors import BundleError
from pramana.io.columns import flags_of, numbers, values_of
from pramana.randomness.samplers import Codes, code_dtype
from pramana.schema.domain import Attribute, Domain
from pramana.schema.kind import Kind, decimal_number

WITHIN_BIN = "within bin"  # the purpose of the coins that choose a number within a published bin
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_HALF_WORD = np.uint64(32)
_LOW_BITS = np.uint64((1 << 32) - 1)


class PublishedNumbers:
    """What the bins of one column are published as."""

    def __init__(self, name: str, domain: Domain) -> None:
        stated = domain.numbers
        assert stated is not None, "labels are published where no numbers are"
        self.name, self.domain, self.stated = name, domain, stated
        self._first = np.array(stated.first, np.int64)
        self._counts = np.array(stated.counts, np.int64)
        self._offsets = np.cumsum(self._counts) - self._counts
        self.size = int(self._counts.sum()) + domain.missing  # positions; the last is for a missing value

    @property
    def type(self) -> pa.DataType:
        if self.stated.kind is Kind.DATE:
            return pa.date32()
        return pa.float64() if self.stated.decimals else pa.int64()

    @property
    def drawn(self) -> bool:
        return self.stated.publish == "draw"

    # ------------------------------------------------------------------ from codes to numbers

    def positions(self, codes: Codes, words: NDArray[np.uint64] | None = None) -> Codes:
        """The position of what is published for each code; `words` are the coins of a draw, one for each row."""
        missing = codes == self.domain.missing_code if self.domain.missing else None
        known = codes if missing is None else np.where(missing, 0, codes)
        chosen = self._offsets[known]
        if words is not None:
            chosen = chosen + scaled(words, self._counts[known])
        if missing is not None:
            chosen = np.where(missing, self.size - 1, chosen)
        return chosen.astype(code_dtype(self.size))

    def codes(self, positions: Codes) -> Codes:
        """The bins of positions."""
        bins = np.searchsorted(self._offsets, positions, side="right") - 1
        if self.domain.missing_code is not None:
            bins = np.where(positions == self.size - 1, self.domain.missing_code, bins)
        return bins.astype(code_dtype(self.domain.size))

    def column(self, positions: Codes) -> pa.Array:
        """The numbers or days themselves, null where missing."""
        missing = positions == self.size - 1 if self.domain.missing else np.zeros(len(positions), np.bool_)
        bins = np.where(missing, 0, np.searchsorted(self._offsets, positions, side="right") - 1)
        steps = np.where(missing, 0, self._first[bins] + positions.astype(np.int64) - self._offsets[bins])
        valid = ~missing if self.domain.missing else None
        if self.stated.kind is Kind.DATE:
            return numbers((steps - _EPOCH).astype(np.int32), valid).view(pa.date32())
        return numbers(steps / 10.0**self.stated.decimals if self.stated.decimals else steps, valid)

    def label(self, code: int, words: NDArray[np.uint64] | None) -> str | None:
        """What is published of one record."""
        value = self.column(self.positions(np.array([code], code_dtype(self.domain.size)), words))[0].as_py()
        return None if value is None else str(value)

    def parts(self, positions: Codes, most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The bin of each drawn value, and in which of at most `most` parts of the bin it lies."""
        drawn = positions[positions < self.size - 1] if self.domain.missing else positions
        bins = np.searchsorted(self._offsets, drawn, side="right") - 1
        within = drawn.astype(np.int64) - self._offsets[bins]
        return bins.astype(np.int64), within * most // self._counts[bins]

    def chances(self, most: int) -> NDArray[np.float64]:
        """For each bin the chance of each of its parts."""
        ends = -(-np.arange(most + 1)[None, :] * self._counts[:, None] // most)  # rounded up
        return np.diff(ends, axis=1) / self._counts[:, None]

    # ------------------------------------------------------------------ and back

    def read(self, column: pa.Array) -> Codes:
        """The positions of published values; a value that the law cannot have published is refused."""
        if pa.types.is_dictionary(column.type):
            entries = self._of_texts(column.dictionary.to_pylist())
            missing = flags_of(column.indices.is_null())
            steps = np.append(entries, 0)[np.where(missing, len(entries), values_of(column.indices))]
        elif column.type == self.type:
            missing = flags_of(column.is_null())
            plain = column.view(pa.int32()) if self.stated.kind is Kind.DATE else column
            steps = self._of_values(np.where(missing, 0, values_of(plain)))
        else:
            raise self._refusal()
        if missing.any() and not self.domain.missing:
            raise BundleError(
                f"The column {self.name!r} must have no missing values", f"{int(missing.sum())} rows without one"
            )
        steps = np.where(missing, self._first[0], steps)
        bins = np.searchsorted(self._first, steps, side="right") - 1
        within = steps - self._first[np.maximum(bins, 0)]
        if ((bins < 0) | (within >= self._counts[bins])).any():
            raise self._refusal()
        return np.where(missing, self.size - 1, self._offsets[bins] + within).astype(code_dtype(self.size))

    def _of_values(self, values: NDArray[Any]) -> NDArray[np.int64]:
        if self.stated.kind is Kind.DATE:
            return np.asarray(values, np.int64) + _EPOCH
        if not self.stated.decimals:
            return np.asarray(values, np.int64)
        scale = 10.0**self.stated.decimals
        if not (np.abs(values) * scale < 1e16).all():  # neither a number nor one that could have been published
            raise self._refusal()
        steps: NDArray[np.int64] = np.rint(values * scale).astype(np.int64)
        if (steps / scale != values).any():
            raise self._refusal()
        return steps

    def _of_texts(self, entries: Sequence[str | None]) -> NDArray[np.int64]:
        return np.array([self._of_text(entry or "") for entry in entries], np.int64)

    def _of_text(self, text: str) -> int:
        if self.stated.kind is Kind.DATE:
            exact = Kind.DATE.point_of(text)
        else:
            number = decimal_number(text)
            exact = (
                None if number is None or number.adjusted() > 15 else number * Decimal(10) ** self.stated.decimals
            )
        if exact is None or exact != int(exact) or abs(exact) >= 1 << 62:
            raise self._refusal()
        return int(exact)

    def _refusal(self) -> BundleError:
        what = "midpoints" if not self.drawn else f"multiples of {self.stated.step} within the bins"
        words = "days within the bins" if self.drawn and self.stated.kind is Kind.DATE else what
        return BundleError(
            f"The column {self.name!r} must hold what its law can publish: {words}", "a value that it cannot"
        )


def numbers_of(attributes: Sequence[Attribute]) -> dict[str, PublishedNumbers]:
    """The columns that are published as numbers or days instead of labels."""
    coded = [(a.name, a.coded) for a in attributes if not a.raw]
    return {name: PublishedNumbers(name, domain) for name, domain in coded if domain.numbers is not None}


def scaled(words: NDArray[np.uint64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """floor(word * size / 2^64), exactly: uniform below each size, which is less than 2^32."""
    size = sizes.astype(np.uint64)
    low = ((words & _LOW_BITS) * size) >> _HALF_WORD
    return (((words >> _HALF_WORD) * size + low) >> _HALF_WORD).astype(np.int64)


def notes_on_numbers(attributes: Sequence[Attribute]) -> list[str]:
    """What a report says of the columns that are published as numbers or days."""
    return [f"{name} is published as {_words_of(numbers)}." for name, numbers in numbers_of(attributes).items()]


def _words_of(numbers: PublishedNumbers) -> str:
    stated = numbers.stated
    end = "the value next to the edge" if numbers.domain.rounded is None else "the multiple it was rounded to"
    if not numbers.drawn:
        return f"the middle of its bin, or at an open end as {end}"
    grid = "the days" if stated.kind is Kind.DATE else f"the multiples of {stated.step}"
    return (
        f"a draw, uniform on {grid} in its bin, or at an open end as {end}; it is made of the bin as it came out, "
        "and tells no more than that"
    )
