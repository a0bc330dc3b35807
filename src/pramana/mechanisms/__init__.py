"""Channels, mechanisms for whole records, and the guarantees proved of them."""

from pramana.mechanisms.channel import Channel, Dense, Retention, channel_from_json, integers_of
from pramana.mechanisms.guarantees import DEFAULT_DELTA, Circumstances, guarantees_of, k_of
from pramana.mechanisms.history import History, RecordedLevels
from pramana.mechanisms.ladder import Ladder
from pramana.mechanisms.level_guarantees import level_guarantees
from pramana.mechanisms.levels import AtLevel, KeyedLevels, LevelDesign, LevelSource
from pramana.mechanisms.replacement import Replacement, Uniform, Weighted
from pramana.mechanisms.table import (
    Mechanism,
    Product,
    RecordRetention,
    digest_of,
    mechanism_from_json,
)

__all__ = [
    "DEFAULT_DELTA",
    "AtLevel",
    "Channel",
    "Circumstances",
    "Dense",
    "History",
    "KeyedLevels",
    "Ladder",
    "LevelDesign",
    "LevelSource",
    "Mechanism",
    "Product",
    "RecordRetention",
    "RecordedLevels",
    "Replacement",
    "Retention",
    "Uniform",
    "Weighted",
    "channel_from_json",
    "digest_of",
    "guarantees_of",
    "integers_of",
    "k_of",
    "level_guarantees",
    "mechanism_from_json",
]
