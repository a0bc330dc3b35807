"""`invariant`: frequencies kept in expectation, and no match more likely than xi (paper 2)."""

from pramana.methods.invariant.method import InvariantMethod
from pramana.methods.invariant.plan import InvariantPlan
from pramana.methods.invariant.table_law import channel_for

METHODS = {InvariantMethod.name: InvariantMethod()}

__all__ = ["METHODS", "InvariantPlan", "channel_for"]
