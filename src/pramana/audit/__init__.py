"""Attacks that are run, not argued."""

from pramana.audit.collusion import Collusion, collude, collusion

__all__ = ["Collusion", "collude", "collusion"]
