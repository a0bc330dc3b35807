"""Rows brought together by person and household."""

from pramana.rows.units.people import HOUSEHOLD, PERSON, People, UnitShape, bring_together

__all__ = ["HOUSEHOLD", "PERSON", "People", "UnitShape", "bring_together"]
