"""Channels, mechanisms for whole records, and the guarantees proved of them."""

from pramana.mechanisms.channel import Channel, Dense, Retention, channel_from_json, integers_of
from pramana.mechanisms.exchange import Exchange, Group
from pramana.mechanisms.guarantees import DEFAULT_DELTA, Circumstances, guarantees_of, k_of
from pramana.mechanisms.invariant import (
    Block,
    BlockInvariant,
    drawn_diagonals,
    drift_of,
    exchanged,
    inverse_frequency,
    realised,
    sinkhorn,
    two_stage,
)
from pramana.mechanisms.matching import MatchRisk, largest_risk, largest_risks, match_risk
from pramana.mechanisms.table import (
    Mechanism,
    Product,
    RecordRetention,
    digest_of,
    mechanism_from_json,
)

__all__ = [
    "DEFAULT_DELTA",
    "Block",
    "BlockInvariant",
    "Channel",
    "Circumstances",
    "Dense",
    "Exchange",
    "Group",
    "MatchRisk",
    "Mechanism",
    "Product",
    "RecordRetention",
    "Retention",
    "channel_from_json",
    "digest_of",
    "drawn_diagonals",
    "drift_of",
    "exchanged",
    "guarantees_of",
    "integers_of",
    "inverse_frequency",
    "k_of",
    "largest_risk",
    "largest_risks",
    "match_risk",
    "mechanism_from_json",
    "realised",
    "sinkhorn",
    "two_stage",
]
