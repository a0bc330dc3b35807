"""`presence`: that someone is in the table stays uncertain, for these two tables (paper 4, section V)."""

from pramana.methods.presence.method import PresenceMethod
from pramana.methods.presence.plan import PresencePlan

METHODS = {PresenceMethod.name: PresenceMethod()}

__all__ = ["METHODS", "PresencePlan"]
