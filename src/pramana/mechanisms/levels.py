"""Releases at many levels (paper 3), by the keyed process: no history, any order, the same bytes when asked again.

A row's chain of events V1 > V2 > ... is read from its own place in the keyed stream and does not know which
level is asked for; the version at level k is the mark of the last event that is not below k. The laws are
exact (theory/levels.md): retention at level k is k/GRID, and a coalition learns what its best member knows.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pramana.errors import MatrixError
from pramana.mechanisms import _levels
from pramana.mechanisms.channel import (
    Blankets,
    Channel,
    Dense,
    Retention,
    blankets_of_retentions,
    integers_of,
)
from pramana.mechanisms.table import Columns, Product, RecordRetention, StreamOf
from pramana.randomness.key import Stream
from pramana.randomness.samplers import ONE, Codes, alias_table
from pramana.theory import levels, pk
from pramana.theory.levels import GRID, Level

# Replacement laws: what a value is redrawn from, exactly, wherever it is not kept.


Rows = NDArray[np.uint32]
Blocks = Callable[[Rows, int], NDArray[np.uint64]]  # rows, attempt -> two uniform words for each row
_MOST_VALUES = 1 << 32


@dataclass(frozen=True)
class Uniform:
    """Every value alike, exactly: words that would tip the balance are thrown away and drawn again."""

    size: int

    def __post_init__(self) -> None:
        if not 1 <= self.size <= _MOST_VALUES:
            raise MatrixError("A domain must have between 1 and 2^32 values", str(self.size))

    @property
    def least(self) -> Fraction:
        """The probability of the least likely replacement."""
        return Fraction(1, self.size)

    @property
    def law(self) -> levels.Law:
        return levels.uniform_law(self.size)

    def draw(self, blocks: Blocks, rows: Rows, out: Codes) -> None:
        """out[row] = a fresh value, for each of `rows`."""
        rows, attempt = rows.copy(), 0
        while len(rows):
            left = _levels.uniform(blocks(rows, attempt), rows, out, self.size)
            rows, attempt = rows[:left].copy(), attempt + 1

    def to_json(self) -> dict[str, Any]:
        return {"kind": "uniform", "size": self.size}


@dataclass(frozen=True)
class Weighted:
    """Any law, in integers out of ONE that sum to it (the paper's remark at the end of section 5)."""

    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.weights or min(self.weights) < 0 or sum(self.weights) != ONE:
            raise MatrixError("The weights of a replacement law must not be negative and must sum to 2^62")

    @classmethod
    def of(cls, probabilities: Sequence[Fraction | float]) -> Weighted:
        """Realised to one unit of 2^-62; what is positive stays positive."""
        if any(not 0 <= p <= 1 for p in probabilities):
            raise MatrixError("Every entry of a replacement law must lie between 0 and 1")
        return cls(tuple(integers_of([Fraction(p) for p in probabilities], "the replacement law")))

    @property
    def size(self) -> int:
        return len(self.weights)

    @property
    def least(self) -> Fraction:
        return Fraction(min(self.weights), ONE)

    @property
    def law(self) -> levels.Law:
        return tuple(Fraction(w, ONE) for w in self.weights)

    @cached_property
    def _table(self) -> tuple[NDArray[np.uint64], int]:
        return alias_table(np.array([self.weights], np.int64))

    def draw(self, blocks: Blocks, rows: Rows, out: Codes) -> None:
        table, bits = self._table
        if len(rows):
            _levels.weighted(blocks(rows, 0), rows, out, table, bits)

    def to_json(self) -> dict[str, Any]:
        return {"kind": "weighted", "weights": [str(w) for w in self.weights]}


Replacement = Uniform | Weighted


# A stream holds blocks high*2^64 + row. Events read high = 0, 1, ...; the mark of event j, attempt a, has its
# own half of the space; level 0, which lies below every event, has the mark of "event 0".
_MARKS = 1 << 63
_ATTEMPT = 1 << 32
_CHUNK = 1 << 16  # rows at a time: their state stays in cache
_LARGEST_MATRIX = 1 << 10


@dataclass(frozen=True)
class LevelDesign:
    """What is perturbed and how, whatever the level: one design, one key and one table give all versions.

    Not `joint`: every attribute has its own chain of events. `joint`: one chain for all of them, the paper's
    product domain; an event redraws the whole record.
    """

    laws: Mapping[str, Replacement]
    joint: bool = False

    def __post_init__(self) -> None:
        if not self.laws:
            raise MatrixError("At least one attribute must be perturbed", "none", "Give one the role 'sensitive'.")

    @property
    def sizes(self) -> dict[str, int]:
        return {name: law.size for name, law in self.laws.items()}

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The attributes that share a chain of events."""
        return (tuple(self.laws),) if self.joint else tuple((name,) for name in self.laws)

    def likelihood_ratio(self, level: Level) -> Fraction | None:
        """e^epsilon of the record at this level, exactly; None for infinity."""
        ratios = (pk.likelihood_ratio_of_redraw(level.retention, least) for least in self.least_redraws)
        return pk.joint_likelihood_ratio(ratios)

    @property
    def least_redraws(self) -> list[Fraction]:
        """The chance of the least likely redraw of each group."""
        return [math.prod((self.laws[n].least for n in group), start=Fraction(1)) for group in self.groups]

    def to_json(self) -> dict[str, Any]:
        return {"joint": self.joint, "laws": {name: law.to_json() for name, law in self.laws.items()}}

    @property
    def digest(self) -> str:
        """Names the design. Streams are bound to it and never to the level: attribute, domain and law."""
        text = json.dumps(["levels", GRID, self.to_json()], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


class LevelSource(Protocol):
    """What issues versions; the contract suite in tests/contracts runs on each of them."""

    @property
    def design(self) -> LevelDesign: ...

    def version(self, level: Level, codes: Columns) -> dict[str, Codes]:
        """The version at a level: always the same one for the same level."""


@dataclass(frozen=True)
class AtLevel:
    """A design at one level: a mechanism for whole records, as the engines and the certificates know them."""

    design: LevelDesign
    level: Level

    @property
    def sizes(self) -> dict[str, int]:
        return self.design.sizes

    @property
    def likelihood_ratio(self) -> Fraction | None:
        return self.design.likelihood_ratio(self.level)

    @property
    def anonymity_ratio(self) -> Fraction:
        """Each of AR's two quotients is at least e^-epsilon; exact for the uniform law (paper 1, Corollary 5)."""
        return pk.anonymity_ratio_of_redraw(self.likelihood_ratio)

    @cached_property
    def blankets(self) -> Blankets | None:
        """A retention for each group of attributes, redrawn from its replacement law."""
        least = self.design.least_redraws
        return blankets_of_retentions([self.level.retention] * len(least), least, self.likelihood_ratio)

    def retentions(self) -> list[float]:
        return [float(self.level.retention)] * len(self.design.groups)

    def publish(self, streams: StreamOf, first: int, codes: Columns, out: Columns) -> None:
        """Rows first, first+1, ...: a pure function of the streams, the row's number and its value."""
        for group in self.design.groups:
            chain = streams("coin", "") if self.design.joint else streams("value", group[0])
            events = events_above(chain, first, len(codes[group[0]]), self.level)
            rows = np.flatnonzero(events).astype(np.uint32) if self.level.steps else None
            for name in group:
                np.copyto(out[name], codes[name])
                self._mark(streams("value", name), name, first, events, rows, out[name])

    def _mark(
        self, stream: Stream, name: str, first: int, events: NDArray[np.uint16], rows: Rows | None, out: Codes
    ) -> None:
        if rows is None:  # level 0: every row
            rows = np.arange(len(out), dtype=np.uint32)

        def blocks(wanted: Rows, attempt: int) -> NDArray[np.uint64]:
            high = events[wanted] + np.uint64(_MARKS + attempt * _ATTEMPT)
            return stream.blocks_at(high, wanted + np.uint64(first))

        self.design.laws[name].draw(blocks, rows, out)

    def as_single(self) -> Product | RecordRetention | None:
        """The ordinary mechanism of the same law (Theorem 2), to one unit of 2^-62: what recipients analyse with.

        None where there is none: one chain for several attributes with a replacement law that is not uniform, or
        such a law over so many values that its matrix would outgrow what states it.
        """
        rho = self.level.retention
        if any(isinstance(law, Weighted) and law.size > _LARGEST_MATRIX for law in self.design.laws.values()):
            return None
        if self.design.joint and len(self.design.laws) > 1:
            uniform = all(isinstance(law, Uniform) for law in self.design.laws.values())
            return RecordRetention.at(rho, self.sizes) if uniform else None
        return Product({name: _channel(rho, law) for name, law in self.design.laws.items()})

    def to_json(self) -> dict[str, Any]:
        return {"coin": "levels", "level": str(self.level), **self.design.to_json()}


def _channel(retention: Fraction, law: Replacement) -> Channel:
    if isinstance(law, Uniform):
        return Retention.at(retention, law.size)
    values = range(law.size)
    return Dense.of([[levels.transition(retention, law.law, x, y) for y in values] for x in values])


def events_above(stream: Stream, first: int, rows: int, level: Level) -> NDArray[np.uint16]:
    """How many events each row has that are not below the level; 0 where the true value is kept."""
    counts = np.zeros(rows, np.uint16)
    if level.steps == 0 or rows == 0:
        return counts
    alive = np.arange(rows, dtype=np.uint32)
    places = np.full(rows, GRID, np.uint64)
    blocks, going, high = stream.blocks(first, rows), rows, 0
    while going:
        going = _levels.advance(blocks, alive, places, counts, going, level.steps)
        high += 1
        blocks = stream.blocks_at(high, alive[:going] + np.uint64(first))
    return counts


@dataclass(frozen=True)
class KeyedLevels:
    """The process as a source of versions: stateless, `first` being the number of the first row."""

    design: LevelDesign
    streams: StreamOf
    first: int = 0

    def version(self, level: Level, codes: Columns) -> dict[str, Codes]:
        out = {name: np.empty_like(codes[name]) for name in self.design.laws}
        mechanism, rows = AtLevel(self.design, level), len(next(iter(out.values())))
        streams = {key: self.streams(*key) for key in [("coin", ""), *(("value", name) for name in out)]}
        for start in range(0, rows, _CHUNK):
            part = slice(start, start + _CHUNK)
            mechanism.publish(
                lambda purpose, column: streams[purpose, column],
                self.first + start,
                {name: codes[name][part] for name in out},
                {name: values[part] for name, values in out.items()},
            )
        return out
