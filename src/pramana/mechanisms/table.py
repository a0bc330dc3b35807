"""Mechanisms for whole records: independent attributes, one coin for all or for each group, joint channels.

A mechanism says which streams it reads and how a batch of rows is published from them. It never forms the
matrix of the product domain.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pramana.errors import MatrixError
from pramana.mechanisms.channel import (
    Blankets,
    Channel,
    Retention,
    blankets_of_channels,
    blankets_of_retentions,
    check_size,
)
from pramana.randomness._kernels import retain_joint
from pramana.randomness.key import Stream
from pramana.randomness.samplers import ONE, Codes, code_dtype, joint_codes, split_codes
from pramana.theory import pk

Columns = Mapping[str, Codes]
StreamOf = Callable[[str, str], Stream]  # (purpose, column) -> the stream to read

_WORD = 1 << 64


_kept = threading.local()


def scratch(rows: int) -> NDArray[np.uint64]:
    """Room for a chunk's words, kept by the thread: asking the system for it anew makes threads wait in line."""
    room: NDArray[np.uint64] | None = getattr(_kept, "words", None)
    if room is None or len(room) < rows:
        room = _kept.words = np.empty(rows, np.uint64)
    return room[:rows]


class Mechanism(Protocol):
    """The law of a published record given the true one."""

    @property
    def sizes(self) -> dict[str, int]:
        """Domain size of each randomised attribute, in column order."""

    @property
    def likelihood_ratio(self) -> Fraction | None:
        """e^epsilon of the whole record, exactly; None for infinity."""

    @property
    def anonymity_ratio(self) -> Fraction:
        """AR of the whole record: a lower bound, exact for the cases pk.md names."""

    @property
    def blankets(self) -> Blankets | None:
        """What all records share, for the shuffling bounds; None where no epsilon is claimed at all."""

    def retentions(self) -> list[float]:
        """What `calibrate` and `guarantee` print."""

    def publish(self, streams: StreamOf, first: int, codes: Columns, out: Columns) -> None:
        """Publish rows first, first+1, ... from codes into out."""

    def to_json(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Product:
    """Every attribute through its own channel with its own coin."""

    channels: Mapping[str, Channel]

    @property
    def sizes(self) -> dict[str, int]:
        return {name: channel.size for name, channel in self.channels.items()}

    @property
    def likelihood_ratio(self) -> Fraction | None:
        """Corollary 1: epsilons of independent attributes add up."""
        return pk.joint_likelihood_ratio(channel.likelihood_ratio for channel in self.channels.values())

    @property
    def anonymity_ratio(self) -> Fraction:
        """Corollary 4."""
        return math.prod((c.anonymity_ratio for c in self.channels.values()), start=Fraction(1))

    @cached_property
    def blankets(self) -> Blankets | None:
        # In order of name, as a certificate is read back: a sum of floats depends on its order.
        return blankets_of_channels([self.channels[name] for name in sorted(self.channels)], self.likelihood_ratio)

    def retentions(self) -> list[float]:
        return [float(_retention(channel)) for channel in self.channels.values()]

    def publish(self, streams: StreamOf, first: int, codes: Columns, out: Columns) -> None:
        for name, channel in self.channels.items():
            words = scratch(len(codes[name]))
            streams("value", name).fill(first, words)
            channel.publish(words, codes[name], out[name])

    def to_json(self) -> dict[str, Any]:
        return {"coin": "attribute", "channels": {n: c.to_json() for n, c in self.channels.items()}}


def _retention(channel: Channel) -> Fraction:
    """rho of a retention; for another matrix the largest rho whose retention it contains, V*min(A) off one."""
    if isinstance(channel, Retention):
        return channel.retention
    return 1 - Fraction(channel.size * int(channel.weights.min()), ONE)


@dataclass(frozen=True)
class RecordRetention:
    """One coin for the record: keep all of it, or redraw every attribute uniformly and independently.

    Below `bound` out of ONE the record is redrawn. A redrawn attribute is floor(w*V/2^64) of a 64-bit word w,
    so each value has floor or ceil of 2^64/V chances; the guarantees take the smaller everywhere.
    """

    sizes: dict[str, int]
    bound: int

    def __post_init__(self) -> None:
        for size in self.sizes.values():
            check_size(size)
        if not 0 <= self.bound <= ONE:
            raise MatrixError("The record coin must lie between 0 and 2^62", str(self.bound))

    @classmethod
    def at(cls, retention: Fraction | float, sizes: Mapping[str, int]) -> RecordRetention:
        """The nearest realisable retention that is not above the wanted one."""
        if not 0 <= retention <= 1:
            raise MatrixError("A retention must lie between 0 and 1", str(retention))
        return cls(dict(sizes), math.ceil((1 - Fraction(retention)) * ONE))

    @property
    def retention(self) -> Fraction:
        return 1 - Fraction(self.bound, ONE)

    @property
    def smallest_redraw(self) -> Fraction:
        """The probability that a redraw gives the least likely record."""
        return math.prod((Fraction(_WORD // v, _WORD) for v in self.sizes.values()), start=Fraction(1))

    @property
    def likelihood_ratio(self) -> Fraction | None:
        return pk.likelihood_ratio_of_redraw(self.retention, self.smallest_redraw)

    @property
    def anonymity_ratio(self) -> Fraction:
        """A retention over the joint domain, so the square of the likelihood ratio's reciprocal."""
        return pk.anonymity_ratio_of_redraw(self.likelihood_ratio)

    @property
    def blankets(self) -> Blankets | None:
        """A retention over the joint domain, redrawn from the law that is sampled."""
        return blankets_of_retentions([self.retention], [self.smallest_redraw], self.likelihood_ratio)

    def retentions(self) -> list[float]:
        return [float(self.retention)]

    def publish(self, streams: StreamOf, first: int, codes: Columns, out: Columns) -> None:
        self.publish_by(streams("coin", ""), streams, first, codes, out)

    def publish_by(self, coin: Stream, streams: StreamOf, first: int, codes: Columns, out: Columns) -> None:
        """By the words of `coin`: a record of several groups has one for each."""
        rows = len(next(iter(codes.values())))
        coins = coin.words(first, rows)
        words = scratch(rows)
        for name, size in self.sizes.items():
            streams("value", name).fill(first, words)
            retain_joint(coins, words, codes[name], out[name], size, self.bound)

    def to_json(self) -> dict[str, Any]:
        return {"coin": "record", "sizes": dict(self.sizes), "bound": str(self.bound)}


@dataclass(frozen=True)
class CoinGroups:
    """One coin for each group of attributes, independent of each other; the others have coins of their own.

    Within a group this is `RecordRetention`, between groups a product: both are special cases. `sizes` has every
    attribute in column order.
    """

    sizes: dict[str, int]
    groups: tuple[RecordRetention, ...]
    channels: Mapping[str, Channel]

    def __post_init__(self) -> None:
        if any(len(group.sizes) < 2 for group in self.groups):
            raise MatrixError("A group of columns must have at least two", "one")
        sizes = [pair for group in self.groups for pair in group.sizes.items()]
        sizes += [(name, channel.size) for name, channel in self.channels.items()]
        if len(dict(sizes)) != len(sizes):
            raise MatrixError("Every column of a law must have one coin", "a column with two")
        if missing := {*self.sizes} ^ {*dict(sizes)}:
            raise MatrixError("The groups and channels of a law must cover its columns", repr(min(missing)))
        if dict(sizes) != self.sizes:
            raise MatrixError("The groups and channels of a law must fit its domains", str(dict(sizes)))

    @cached_property
    def alone(self) -> Product:
        """The law of the columns that have coins of their own."""
        return Product({name: self.channels[name] for name in self.sizes if name in self.channels})

    @property
    def parts(self) -> tuple[Product | RecordRetention, ...]:
        """Independent laws whose product this is."""
        return (*((self.alone,) if self.channels else ()), *self.groups)

    def part_of(self, name: str) -> Product | RecordRetention:
        """The part that publishes a column."""
        return next(part for part in self.parts if name in part.sizes)

    @property
    def likelihood_ratio(self) -> Fraction | None:
        """Corollary 1, with a group for an attribute."""
        return pk.joint_likelihood_ratio(part.likelihood_ratio for part in self.parts)

    @property
    def anonymity_ratio(self) -> Fraction:
        """Corollary 4, with a group for an attribute."""
        return math.prod((part.anonymity_ratio for part in self.parts), start=Fraction(1))

    @cached_property
    def blankets(self) -> Blankets | None:
        """A group is a retention over its joint domain, redrawn from the law that is sampled."""
        ratio = self.likelihood_ratio
        groups = sorted(self.groups, key=lambda group: sorted(group.sizes))
        coins = [(group.retention, group.smallest_redraw) for group in groups]
        return blankets_of_channels([self.channels[name] for name in sorted(self.channels)], ratio, coins)

    def retentions(self) -> list[float]:
        """For each attribute that of its coin."""
        own = {name: float(group.retention) for group in self.groups for name in group.sizes}
        own |= {name: float(_retention(channel)) for name, channel in self.channels.items()}
        return [own[name] for name in self.sizes]

    def publish(self, streams: StreamOf, first: int, codes: Columns, out: Columns) -> None:
        if self.channels:
            self.alone.publish(streams, first, codes, out)
        for group in self.groups:
            names = list(group.sizes)
            coin = streams("coin", min(names))
            group.publish_by(coin, streams, first, {n: codes[n] for n in names}, {n: out[n] for n in names})

    def to_json(self) -> dict[str, Any]:
        return {
            "coin": "groups",
            "sizes": dict(self.sizes),
            "groups": [{"columns": list(g.sizes), "bound": str(g.bound)} for g in self.groups],
            "channels": {name: channel.to_json() for name, channel in self.channels.items()},
        }


def streams_of(mechanism: Mechanism) -> list[tuple[str, str]]:
    """The streams, by purpose and column, that a mechanism reads."""
    groups = mechanism.groups if isinstance(mechanism, CoinGroups) else ()
    coins = [("coin", min(group.sizes)) for group in groups]
    return [*(("value", name) for name in mechanism.sizes), ("coin", ""), *coins]


def digest_of(mechanism: Mechanism) -> str:
    """Names the law: streams are bound to it, so that one key never runs two laws on the same coins."""
    text = json.dumps(mechanism.to_json(), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


# A mechanism whose channels may act on combinations of columns: several attributes at once, or within strata.


@dataclass(frozen=True)
class ChannelGroup:
    """Columns whose combination, in C order of their codes, goes through one channel."""

    columns: tuple[str, ...]
    channel: Channel


@dataclass(frozen=True)
class Exchange:
    """Each group of columns through its own channel with its own coin."""

    sizes: dict[str, int]
    groups: tuple[ChannelGroup, ...]

    def __post_init__(self) -> None:
        named = [name for group in self.groups for name in group.columns]
        if sorted(named) != sorted(self.sizes):
            raise MatrixError("Every randomised column must belong to one group")
        for group in self.groups:
            if math.prod(self.sizes[name] for name in group.columns) != group.channel.size:
                raise MatrixError("A group's channel must have as many values as its columns have combinations")

    @property
    def likelihood_ratio(self) -> Fraction | None:
        """Corollary 1 of paper 1, over groups."""
        return pk.joint_likelihood_ratio(group.channel.likelihood_ratio for group in self.groups)

    @property
    def anonymity_ratio(self) -> Fraction:
        """Corollary 4 of paper 1, over groups."""
        return math.prod((g.channel.anonymity_ratio for g in self.groups), start=Fraction(1))

    @property
    def blankets(self) -> Blankets | None:
        """None: made from the table, so no differential privacy, local or central, is claimed."""
        return None

    def retentions(self) -> list[float]:
        return []

    def publish(self, streams: StreamOf, first: int, codes: Columns, out: Columns) -> None:
        words = np.empty(len(next(iter(codes.values()))), np.uint64)
        for group in self.groups:
            streams("value", group.columns[0]).fill(first, words)
            if len(group.columns) == 1:
                name = group.columns[0]
                group.channel.publish(words, codes[name], out[name])
                continue
            joint = self.joined(group, codes).astype(code_dtype(group.channel.size))
            group.channel.publish(words, joint, joint)
            sizes = [self.sizes[name] for name in group.columns]
            for name, part in zip(group.columns, split_codes(joint.astype(np.uint32), sizes), strict=True):
                out[name][:] = part

    def joined(self, group: ChannelGroup, codes: Columns) -> NDArray[np.uint32]:
        """The codes of the combinations."""
        names = group.columns
        return joint_codes([codes[name] for name in names], [self.sizes[name] for name in names], np.uint32)

    def to_json(self) -> dict[str, Any]:
        groups = [{"columns": list(g.columns), "channel": g.channel.to_json()} for g in self.groups]
        return {"coin": "exchange", "sizes": dict(self.sizes), "groups": groups}
