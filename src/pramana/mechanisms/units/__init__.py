"""Guarantees of people and households whose rows are several."""

from pramana.mechanisms.units.draws import UnitDraws, composed
from pramana.mechanisms.units.guarantees import k_if_counts_are_known, unit_guarantees

__all__ = ["UnitDraws", "composed", "k_if_counts_are_known", "unit_guarantees"]
