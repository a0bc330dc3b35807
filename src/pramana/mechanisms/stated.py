"""Laws as a certificate states them: read one way only, and bounded before anything is made of them.

Python's own reader of integers also takes " 7 ", "+5", "1_000" and the digits of every script: two readers of one
certificate could then see two laws. Weights are texts, because JSON's numbers are exact up to 2^53 only. Nothing
larger than what is stated is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from pramana.errors import InputError, MatrixError
from pramana.mechanisms.channel import MOST_VALUES, Channel, Dense, Redrawn, Retention
from pramana.mechanisms.table import ChannelGroup, CoinGroups, Exchange, Mechanism, Product, RecordRetention
from pramana.theory.levels import Level

# The laws themselves check that a weight is at most 2^62; the pattern keeps it below 2^63.
Weight = Annotated[str, Meta(pattern=r"\A(0|[1-9][0-9]{0,17}|[1-4][0-9]{18})\Z")]
Size = Annotated[int, Meta(ge=1, le=MOST_VALUES)]
Sizes = dict[str, Size]
Names = Annotated[list[str], Meta(min_length=1)]
Rows = list[list[Weight]]


class _Stated(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a law: all of its keys are stated, and no others."""


class _Retention(_Stated, frozen=True, tag_field="kind", tag="retention"):
    size: Size
    step: Weight

    def build(self) -> Channel:
        return Retention(self.size, int(self.step))


class _Redrawn(_Stated, frozen=True, tag_field="kind", tag="redrawn"):
    size: Size

    def build(self) -> Channel:
        return Redrawn(self.size)


class _Dense(_Stated, frozen=True, tag_field="kind", tag="dense"):
    weights: Rows

    def build(self) -> Channel:
        return Dense(_square(self.weights))


class _Block(_Stated, frozen=True):
    members: list[int]
    weights: Rows


class _Blocks(_Stated, frozen=True, tag_field="kind", tag="blocks"):
    size: Size
    blocks: list[_Block]

    def build(self) -> Channel:
        from pramana.mechanisms.invariant import Block, BlockInvariant

        return BlockInvariant(
            self.size, tuple(Block(tuple(block.members), _square(block.weights)) for block in self.blocks)
        )


_Channel = _Retention | _Redrawn | _Dense | _Blocks


class _Attributes(_Stated, frozen=True, tag_field="coin", tag="attribute"):
    channels: dict[str, _Channel]

    def build(self) -> Mechanism:
        return Product({name: channel.build() for name, channel in self.channels.items()})


class _Record(_Stated, frozen=True, tag_field="coin", tag="record"):
    sizes: Sizes
    bound: Weight

    def build(self) -> Mechanism:
        return RecordRetention(self.sizes, int(self.bound))


class _Group(_Stated, frozen=True):
    columns: Names
    bound: Weight


class _Groups(_Stated, frozen=True, tag_field="coin", tag="groups"):
    sizes: Sizes
    groups: list[_Group]
    channels: dict[str, _Channel]

    def build(self) -> Mechanism:
        for group in self.groups:
            if not set(group.columns) <= set(self.sizes) or len(set(group.columns)) < len(group.columns):
                raise MatrixError("A group of a law must be of its columns, each once", repr(group.columns))
        groups = [RecordRetention({n: self.sizes[n] for n in g.columns}, int(g.bound)) for g in self.groups]
        channels = {name: channel.build() for name, channel in self.channels.items()}
        return CoinGroups(self.sizes, tuple(groups), channels)


class _ChannelGroup(_Stated, frozen=True):
    columns: Names
    channel: _Channel


class _Exchange(_Stated, frozen=True, tag_field="coin", tag="exchange"):
    sizes: Sizes
    groups: list[_ChannelGroup]

    def build(self) -> Mechanism:
        groups = (ChannelGroup(tuple(group.columns), group.channel.build()) for group in self.groups)
        return Exchange(self.sizes, tuple(groups))


class _Uniform(_Stated, frozen=True, tag_field="kind", tag="uniform"):
    size: Annotated[int, Meta(ge=1, le=1 << 32)]


class _Weighted(_Stated, frozen=True, tag_field="kind", tag="weighted"):
    weights: list[Weight]


class _Levels(_Stated, frozen=True, tag_field="coin", tag="levels"):
    level: str
    joint: bool
    laws: dict[str, _Uniform | _Weighted]

    def build(self) -> Mechanism:
        """The level is stated the one way that it is written."""
        from pramana.mechanisms.levels import AtLevel, LevelDesign, Uniform, Weighted

        try:
            level = Level.of(self.level)
        except InputError:
            level = None
        if level is None or str(level) != self.level:
            raise MatrixError("A version must state its level as a decimal, such as 0.3", repr(self.level))
        laws = {
            name: Uniform(law.size) if isinstance(law, _Uniform) else Weighted(tuple(map(int, law.weights)))
            for name, law in self.laws.items()
        }
        return AtLevel(LevelDesign(laws, self.joint), level)


_Mechanism = _Attributes | _Record | _Groups | _Exchange | _Levels


def channel_from_json(content: object) -> Channel:
    """Read what `to_json` of a channel wrote; anything else is refused."""
    channel: _Channel = _read(_Channel, content, "A channel")
    return channel.build()


def mechanism_from_json(content: object) -> Mechanism:
    """Read what `to_json` of a mechanism wrote; anything else is refused."""
    mechanism: _Mechanism = _read(_Mechanism, content, "A law")
    return mechanism.build()


def _read(form: Any, content: object, what: str) -> Any:
    try:
        return msgspec.convert(content, form)
    except msgspec.ValidationError as fault:
        raise MatrixError(f"{what} must be stated as documented in docs/certificate.md: {fault}") from None
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can spell
        raise MatrixError(f"{what} must name its columns in text that UTF-8 can encode") from None


def _square(rows: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    if not rows or any(len(row) != len(rows) for row in rows):
        raise MatrixError("A transition matrix must be square", f"{len(rows)} rows of {sorted({*map(len, rows)})}")
    return np.array([[int(weight) for weight in row] for row in rows], np.int64)
