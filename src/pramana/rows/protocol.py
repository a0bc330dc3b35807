"""What a method asks of a table, wherever its rows are: in memory, spooled within a bound, or on Spark.

Rows are opened under a key, which no method sees: the keyed digests of the source and the coins come from here.
Planning and publishing are written once against `Rows`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.io.source import Source
from pramana.mechanisms.table import Mechanism
from pramana.randomness.key import Key, Stream
from pramana.randomness.samplers import Codes
from pramana.rows.digest import Column
from pramana.rows.owners import Owners
from pramana.schema.domain import Attribute, Domain
from pramana.schema.unit import Storey

if TYPE_CHECKING:
    from pramana.counting.classes import CountedCombinations


Columns = dict[str, Column]
Work = Callable[[Columns], Column]
Kept = Callable[[Columns], NDArray[np.bool_]]  # which of some rows are published
Progress = Callable[[str, int, int], None]  # stage, done, of
R = TypeVar("R")
S = TypeVar("S", bound="Summand")
ROW_NUMBER = "\0row"  # a column of every table, which others may be derived from: which row of it this is
NO_UNITS: Mapping[str, Storey] = MappingProxyType({})


def no_progress(stage: str, done: int, of: int) -> None:
    """For callers who show nothing."""


@dataclass(frozen=True)
class ColumnReading:
    """How a column is read: by a domain that is known, into one that shows only at the end, or as it is.

    A missing category is added to a domain that is `open_ended` where the column has missing values.
    """

    name: str
    domain: Domain | None = None
    discovered: bool = False
    open_ended: bool = False

    @property
    def raw(self) -> bool:
        return self.domain is None and not self.discovered

    @classmethod
    def of(cls, attribute: Attribute) -> ColumnReading:
        """As an attribute has it that is known in full."""
        return cls(attribute.name, attribute.domain)


class Summand(Protocol):
    """What pieces of a table can be summed up in."""

    def __add__(self: S, other: S, /) -> S: ...


class SpreadPieces(Iterator[Columns], ABC):
    """Rows on their way out that lie on many machines: they come in pieces, or are worked on where they are."""

    @abstractmethod
    def each_part(
        self, rows: int, work: Callable[[int, Iterator[Columns]], R], kept: Kept | None = None
    ) -> list[R]:
        """What `work` makes of each run of so many rows in published order: its number, and its pieces.

        `kept` tells the rows that are published where some are not: only they are numbered. Both are sent to where
        the rows are; what `work` returns is all that comes back.
        """


class WholeRows(Protocol):
    """All rows at once, for methods that need them so. Their order may be one of their own."""

    def codes(self, sizes: Mapping[str, int]) -> dict[str, Codes]:
        """The codes of some columns, which are given with their numbers of codes."""

    def attach(self, name: str, of: Sequence[str], codes: Codes) -> None:
        """A further column, or one in another's place when rows are published, of the rows last asked for.

        `of` are the columns that it follows from, where rows with the same values have the same code.
        """


class Rows(Protocol):
    """A table's rows."""

    @property
    def records(self) -> int: ...

    @property
    def owners(self) -> Owners | None:
        """Whose rows they are, where they were brought together."""

    def repeats(self, name: str) -> bool:
        """Whether a value of a column that is read as it is occurs twice; missing ones do not count."""

    def values(self, names: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        """The values that occur in some columns, each at least once."""

    def has_missing(self, name: str) -> bool:
        """Whether a column that is coded has missing values."""

    def encode(self, attributes: Sequence[Attribute]) -> None:
        """Every domain is known now: refuse values outside them, and read the rows in their codes."""

    def derive(self, name: str, of: Sequence[str], work: Work) -> None:
        """A column that is worked out from others, row by row: codes, or an Arrow array that passes unchanged.

        `ROW_NUMBER` is one of the others.
        """

    def counts(self, names: Sequence[str], shape: Sequence[int]) -> NDArray[np.int64]:
        """How often each combination of codes occurs."""

    def combinations(self, groups: Sequence[Mapping[str, int]]) -> list[CountedCombinations]:
        """The combinations that occur, in any order, of groups of columns: names and numbers of codes."""

    def summed(self, names: Sequence[str], work: Callable[[Columns], S]) -> S:
        """The sum of what `work` makes of some columns, in pieces of any sizes, where the rows are.

        Which rows are in a piece, and which pieces come first, is up to the home: what is bound to the rows must
        be summed without rounding.
        """

    def check_room(self, needed: int) -> None:
        """Refuse what needs more bytes than there is room for."""

    def commitment(self, key: Key | None = None) -> str:
        """A keyed digest of all columns that are published, coded ones first: what coins and order are bound to.

        Under another key than the rows', if one is given.
        """

    def publish(
        self,
        mechanism: Mechanism,
        context: str,
        shuffled: bool,
        names: Sequence[str],
        stage: str = "randomising",
        once: Mapping[str, Storey] = NO_UNITS,
    ) -> Iterator[Columns]:
        """Some columns through a mechanism, piece by piece in published order; `context` binds the coins.

        `once`: the columns that are drawn once for a person or a household, and repeated over their rows.
        """

    def in_order(self, names: Sequence[str]) -> Iterator[Columns]:
        """Some columns as they are, piece by piece in the order of the source."""

    def marked(self, name: str) -> Rows:
        """The table of the rows that have 1 in a column that is derived from columns read as they are."""

    def beside(self, source: Source, readings: Sequence[ColumnReading]) -> Rows:
        """Another table, which a method looks at and does not publish, held no longer than these rows."""

    def stream(self, purpose: str, context: str, column: str, draw: int) -> Stream:
        """Coins for what a method draws besides rows."""

    def whole(self) -> WholeRows:
        """All rows at once; refused where they do not fit."""


def chunks_of(column: Column) -> pa.ChunkedArray:
    """A column that passes unchanged, in the form in which columns are encoded."""
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
