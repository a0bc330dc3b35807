"""Rows brought together by person and household."""

from pramana.rows.units.owners import HOUSEHOLD, PERSON, Owners, UnitShape, bring_together

__all__ = ["HOUSEHOLD", "PERSON", "Owners", "UnitShape", "bring_together"]
