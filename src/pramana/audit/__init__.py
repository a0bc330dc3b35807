"""Attacks that are run, not argued."""

from pramana.audit.anonymity import TableAnonymity, anonymity_of_table, k_of_table
from pramana.audit.collusion import (
    Collusion,
    GroupValues,
    Holding,
    alone_posterior,
    collude,
    collusion,
    independent_posteriors,
    independent_versions,
)
from pramana.audit.reversal import ReversalAudit, reversal

__all__ = [
    "Collusion",
    "GroupValues",
    "Holding",
    "ReversalAudit",
    "TableAnonymity",
    "alone_posterior",
    "anonymity_of_table",
    "collude",
    "collusion",
    "independent_posteriors",
    "independent_versions",
    "k_of_table",
    "reversal",
]
