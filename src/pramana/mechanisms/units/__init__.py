"""Guarantees of people and households whose rows are several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.doors import on_first_use

if TYPE_CHECKING:
    from pramana.mechanisms.units.draws import UnitDraws, composed
    from pramana.mechanisms.units.guarantees import k_if_counts_are_known, unit_guarantees

_MODULE_OF = {  # a command loads what it uses
    "UnitDraws": "draws",
    "composed": "draws",
    "k_if_counts_are_known": "guarantees",
    "unit_guarantees": "guarantees",
}

if not TYPE_CHECKING:
    __getattr__ = on_first_use(__name__, _MODULE_OF)

__all__ = ["UnitDraws", "composed", "k_if_counts_are_known", "unit_guarantees"]
