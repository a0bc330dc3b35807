"""Guarantees of people and households whose rows are several."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pramana.mechanisms.units.draws import UnitDraws, composed
    from pramana.mechanisms.units.guarantees import k_if_counts_are_known, unit_guarantees

_MODULE_OF = {  # a command loads what it uses
    "UnitDraws": "draws",
    "composed": "draws",
    "k_if_counts_are_known": "guarantees",
    "unit_guarantees": "guarantees",
}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'pramana.mechanisms.units' has no attribute {name!r}")
    return vars(importlib.import_module(f"pramana.mechanisms.units.{_MODULE_OF[name]}"))[name]


__all__ = ["UnitDraws", "composed", "k_if_counts_are_known", "unit_guarantees"]
