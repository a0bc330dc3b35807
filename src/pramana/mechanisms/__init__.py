"""Channels, mechanisms for whole records, and the guarantees proved of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.doors import on_first_use

if TYPE_CHECKING:
    from pramana.mechanisms.central import central_epsilon, central_excess, profile_of_shuffled
    from pramana.mechanisms.channel import Channel, Dense, Redrawn, Retention, channel_from_json, integers_of
    from pramana.mechanisms.exchange import ChannelGroup, Exchange
    from pramana.mechanisms.guarantees import DEFAULT_DELTA, Circumstances, guarantees_of, k_of
    from pramana.mechanisms.guarantees_at_levels import level_guarantees
    from pramana.mechanisms.history import History, RecordedLevels
    from pramana.mechanisms.invariant import (
        Block,
        BlockInvariant,
        drawn_diagonals,
        drift_of,
        exchanged,
        inverse_frequency,
        realised,
        redrawn,
        sinkhorn,
        two_stage,
    )
    from pramana.mechanisms.ladder import ChannelLadder
    from pramana.mechanisms.levels import AtLevel, KeyedLevels, LevelDesign, LevelSource
    from pramana.mechanisms.matching import MatchRisk, largest_risk, largest_risks, match_risk
    from pramana.mechanisms.replacement import Replacement, Uniform, Weighted
    from pramana.mechanisms.table import (
        CoinGroup,
        CoinGroups,
        Mechanism,
        Product,
        RecordRetention,
        digest_of,
        mechanism_from_json,
        streams_of,
    )
    from pramana.mechanisms.units import UnitDraws, composed, k_if_counts_are_known, unit_guarantees

_MODULE_OF = {  # a command loads what it uses
    "AtLevel": "levels",
    "Block": "invariant",
    "BlockInvariant": "invariant",
    "Channel": "channel",
    "ChannelGroup": "exchange",
    "ChannelLadder": "ladder",
    "Circumstances": "guarantees",
    "CoinGroup": "table",
    "CoinGroups": "table",
    "DEFAULT_DELTA": "guarantees",
    "Dense": "channel",
    "Exchange": "exchange",
    "History": "history",
    "KeyedLevels": "levels",
    "LevelDesign": "levels",
    "LevelSource": "levels",
    "MatchRisk": "matching",
    "Mechanism": "table",
    "Product": "table",
    "RecordRetention": "table",
    "RecordedLevels": "history",
    "Redrawn": "channel",
    "Replacement": "replacement",
    "Retention": "channel",
    "Uniform": "replacement",
    "UnitDraws": "units.draws",
    "Weighted": "replacement",
    "central_epsilon": "central",
    "central_excess": "central",
    "channel_from_json": "channel",
    "composed": "units.draws",
    "digest_of": "table",
    "drawn_diagonals": "invariant",
    "drift_of": "invariant",
    "exchanged": "invariant",
    "guarantees_of": "guarantees",
    "integers_of": "channel",
    "inverse_frequency": "invariant",
    "k_if_counts_are_known": "units.guarantees",
    "level_guarantees": "guarantees_at_levels",
    "k_of": "guarantees",
    "largest_risk": "matching",
    "largest_risks": "matching",
    "match_risk": "matching",
    "mechanism_from_json": "table",
    "profile_of_shuffled": "central",
    "realised": "invariant",
    "redrawn": "invariant",
    "sinkhorn": "invariant",
    "streams_of": "table",
    "two_stage": "invariant",
    "unit_guarantees": "units.guarantees",
}

if not TYPE_CHECKING:
    __getattr__ = on_first_use(__name__, _MODULE_OF)

__all__ = [
    "DEFAULT_DELTA",
    "AtLevel",
    "Block",
    "BlockInvariant",
    "Channel",
    "ChannelGroup",
    "ChannelLadder",
    "Circumstances",
    "CoinGroup",
    "CoinGroups",
    "Dense",
    "Exchange",
    "History",
    "KeyedLevels",
    "LevelDesign",
    "LevelSource",
    "MatchRisk",
    "Mechanism",
    "Product",
    "RecordRetention",
    "RecordedLevels",
    "Redrawn",
    "Replacement",
    "Retention",
    "Uniform",
    "UnitDraws",
    "Weighted",
    "central_epsilon",
    "central_excess",
    "channel_from_json",
    "composed",
    "digest_of",
    "drawn_diagonals",
    "drift_of",
    "exchanged",
    "guarantees_of",
    "integers_of",
    "inverse_frequency",
    "k_if_counts_are_known",
    "k_of",
    "largest_risk",
    "largest_risks",
    "level_guarantees",
    "match_risk",
    "mechanism_from_json",
    "profile_of_shuffled",
    "realised",
    "redrawn",
    "sinkhorn",
    "streams_of",
    "two_stage",
    "unit_guarantees",
]
