"""`invariant`: frequencies kept in expectation, and no match more likely than xi (paper 2)."""

from pramana.methods.invariant.method import InvariantMethod

METHODS = {InvariantMethod.name: InvariantMethod()}

__all__ = ["METHODS"]
