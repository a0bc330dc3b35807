"""A mechanism whose channels may act on combinations of columns: several attributes at once, or within strata."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.errors import MatrixError
from pramana.mechanisms.channel import (
    Blankets,
    Channel,
    channel_from_json,
    joint_likelihood_ratio,
    list_in,
    mapping_in,
    names_in,
)
from pramana.mechanisms.table import Columns, StreamOf, sizes_in
from pramana.randomness.samplers import code_dtype, joint_codes, split_codes


@dataclass(frozen=True)
class ChannelGroup:
    """Columns whose combination, in C order of their codes, goes through one channel."""

    columns: tuple[str, ...]
    channel: Channel


@dataclass(frozen=True)
class Exchange:
    """Each group of columns through its own channel with its own coin."""

    domains: Mapping[str, int]
    groups: tuple[ChannelGroup, ...]

    def __post_init__(self) -> None:
        named = [name for group in self.groups for name in group.columns]
        if sorted(named) != sorted(self.domains):
            raise MatrixError("Every randomised column must belong to one group")
        for group in self.groups:
            if math.prod(self.domains[name] for name in group.columns) != group.channel.size:
                raise MatrixError("A group's channel must have as many values as its columns have combinations")

    @property
    def sizes(self) -> dict[str, int]:
        return dict(self.domains)

    @property
    def likelihood_ratio(self) -> Fraction | None:
        """Corollary 1 of paper 1, over groups."""
        return joint_likelihood_ratio(group.channel for group in self.groups)

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
            sizes = [self.domains[name] for name in group.columns]
            for name, part in zip(group.columns, split_codes(joint.astype(np.uint32), sizes), strict=True):
                out[name][:] = part

    def joined(self, group: ChannelGroup, codes: Columns) -> NDArray[np.uint32]:
        """The codes of the combinations."""
        names = group.columns
        return joint_codes([codes[name] for name in names], [self.domains[name] for name in names], np.uint32)

    def to_json(self) -> dict[str, Any]:
        groups = [{"columns": list(g.columns), "channel": g.channel.to_json()} for g in self.groups]
        return {"coin": "exchange", "sizes": dict(self.domains), "groups": groups}

    @classmethod
    def from_json(cls, content: object) -> Exchange:
        statement = mapping_in(content, "coin", "sizes", "groups")
        groups = []
        for stated in list_in(statement["groups"]):
            group = mapping_in(stated, "columns", "channel")
            groups.append(ChannelGroup(names_in(group["columns"]), channel_from_json(group["channel"])))
        return cls(sizes_in(statement["sizes"]), tuple(groups))
