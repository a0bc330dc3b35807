"""Rows brought together by person and household."""

from pramana.rows.units.owners import HOUSEHOLD, PERSON, Owners, UnitShape, bring_together
from pramana.rows.units.shared import SharedDraws

__all__ = ["HOUSEHOLD", "PERSON", "Owners", "SharedDraws", "UnitShape", "bring_together"]
