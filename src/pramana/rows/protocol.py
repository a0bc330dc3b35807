"""What a method asks of a table, wherever its rows are: in memory, spooled within a bound, or on Spark.

Rows are opened under a key, which no method sees: the keyed digests of the source and the coins come from here.
Planning and publishing are written once against `Rows`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pramana.io.source import Source
from pramana.mechanisms.table import Mechanism, Product
from pramana.randomness.key import Key, Stream
from pramana.randomness.samplers import Codes
from pramana.rows.digest import Column
from pramana.rows.owners import Owners, SharedDraws
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
NO_UNITS: Mapping[str, Storey] = MappingProxyType({})
ROW_NUMBER = "\0row"  # a column of every table, which others may be derived from: which row of it this is


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


@dataclass(frozen=True)
class Draw:
    """What is to be published: some columns through a mechanism, and what its coins are bound to.

    `once`: the columns that are drawn once for a person or a household, and repeated over their rows.
    """

    mechanism: Mechanism
    context: str
    shuffled: bool
    names: tuple[str, ...]
    stage: str = "randomising"
    once: Mapping[str, Storey] = field(default_factory=lambda: NO_UNITS)


class Rows(ABC):
    """A table's rows, under a key. What is the same wherever they are is done here."""

    def __init__(self, key: Key, progress: Progress, show: bool) -> None:
        self._key, self._progress, self._show = key, progress, show
        self._attributes: tuple[Attribute, ...] = ()
        self._commitments: dict[Key, str] = {}
        self._owners: Owners | None = None

    @property
    @abstractmethod
    def records(self) -> int: ...

    @property
    def owners(self) -> Owners | None:
        """Whose rows they are, where they were brought together."""
        return self._owners

    @abstractmethod
    def repeats(self, name: str) -> bool:
        """Whether a value of a column that is read as it is occurs twice; missing ones do not count."""

    @abstractmethod
    def values(self, names: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        """The values that occur in some columns, each at least once."""

    @abstractmethod
    def has_missing(self, name: str) -> bool:
        """Whether a column that is coded has missing values."""

    def encode(self, attributes: Sequence[Attribute]) -> None:
        """Every domain is known now: refuse values outside them, and read the rows in their codes."""
        if tuple(attributes) != self._attributes:
            self._encode(attributes)
            self._attributes = tuple(attributes)
            self._commitments.clear()

    @abstractmethod
    def _encode(self, attributes: Sequence[Attribute]) -> None:
        """Read the columns in the codes of their domains."""

    @abstractmethod
    def derive(self, name: str, of: Sequence[str], work: Work) -> None:
        """A column that is worked out from others, row by row: codes, or an Arrow array that passes unchanged.

        `ROW_NUMBER` is one of the others.
        """

    def counts(self, names: Sequence[str], shape: Sequence[int]) -> NDArray[np.int64]:
        """How often each combination of codes occurs."""
        sizes, cells = tuple(shape), int(np.prod(shape))

        def count(codes: Columns) -> NDArray[np.int64]:
            return np.bincount(np.ravel_multi_index([codes[name] for name in names], sizes), minlength=cells)

        return self.summed(names, count).astype(np.int64, copy=False).reshape(sizes)

    @abstractmethod
    def combinations(self, groups: Sequence[Mapping[str, int]]) -> list[CountedCombinations]:
        """The combinations that occur, in any order, of groups of columns: names and numbers of codes."""

    @abstractmethod
    def summed(self, names: Sequence[str], work: Callable[[Columns], S]) -> S:
        """The sum of what `work` makes of some columns, in pieces of any sizes, where the rows are.

        Which rows are in a piece, and which pieces come first, differs between engines: what is bound to the rows
        must be summed without rounding.
        """

    def check_room(self, needed: int) -> None:  # noqa: B027 - only rows within a bound have one
        """Refuse what needs more bytes than there is room for."""

    def commitment(self, key: Key | None = None) -> str:
        """A keyed digest of all columns that are published, coded ones first: what coins and order are bound to.

        Under another key than the rows', if one is given.
        """
        under = self._key if key is None else key
        if under not in self._commitments:
            names = [a.name for a in sorted(self._attributes, key=lambda a: a.raw)]
            self._commitments[under] = self._digest_under(under, names)
        return self._commitments[under]

    @abstractmethod
    def _digest_under(self, key: Key, names: Sequence[str]) -> str:
        """The keyed digest of some columns."""

    @abstractmethod
    def publish(self, draw: Draw) -> Iterator[Columns]:
        """Some columns through a mechanism, piece by piece in published order."""

    def _draw_once(self, draw: Draw, threads: int) -> SharedDraws:
        """The values that a person or a household has in common, drawn, and the law of all others.

        The coin of such a value is that of the unit's number: no column is drawn both ways in one release.
        """
        if not draw.once:
            return SharedDraws(draw.mechanism)
        from pramana.rows.engines import LocalEngine

        assert isinstance(draw.mechanism, Product), "columns are drawn once where each has a coin of its own"
        assert self._owners is not None, "rows are brought together where columns are drawn once"
        channels = draw.mechanism.channels
        drawn: dict[str, Codes] = {}
        for name, of in draw.once.items():
            own = Product({name: channels[name]})
            common = {name: self.codes(own.sizes)[name][self._owners.first_rows(of)]}
            drawn |= LocalEngine(threads).publish(own, self._key, draw.context, common)
        each = Product({name: channel for name, channel in channels.items() if name not in draw.once})
        return SharedDraws(each, drawn, {name: self._owners.numbers_of(of) for name, of in draw.once.items()})

    @abstractmethod
    def in_order(self, names: Sequence[str]) -> Iterator[Columns]:
        """Some columns as they are, piece by piece in the order of the source."""

    @abstractmethod
    def marked(self, name: str) -> Rows:
        """The table of the rows that have 1 in a column that is derived from columns read as they are."""

    @abstractmethod
    def open_reference_table(self, source: Source, readings: Sequence[ColumnReading]) -> Rows:
        """Another table, which a method looks at and does not publish, open no longer than these rows."""

    def stream(self, purpose: str, context: str, column: str, draw: int) -> Stream:
        """Coins for what a method draws besides rows."""
        return self._key.stream(purpose, context, column, draw)

    def whole(self) -> Rows:
        """All rows at once, whose order may be one of their own; refused where they do not fit."""
        return self

    @abstractmethod
    def codes(self, sizes: Mapping[str, int]) -> dict[str, Codes]:
        """The codes of some columns of all rows, which are given with their numbers of codes."""

    @abstractmethod
    def attach(self, name: str, codes: Codes) -> None:
        """A further column, or one in another's place when rows are published, of the rows of `codes`."""


def chunks_of(column: Column) -> pa.ChunkedArray:
    """A column that passes unchanged, in the form in which columns are encoded."""
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
