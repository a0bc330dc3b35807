"""Channels, mechanisms for whole records, and the guarantees proved of them."""

from pramana.mechanisms.central import central_epsilon, central_excess, profile_of_shuffled
from pramana.mechanisms.channel import Channel, Dense, Redrawn, Retention, channel_from_json, integers_of
from pramana.mechanisms.exchange import ChannelGroup, Exchange
from pramana.mechanisms.guarantees import DEFAULT_DELTA, Circumstances, guarantees_of, k_of
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
from pramana.mechanisms.level_guarantees import level_guarantees
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
