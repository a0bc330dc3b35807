"""Attacks that are run, not argued."""

from pramana.audit.anonymity import TableAnonymity, anonymity_of_table, k_of_table
from pramana.audit.collusion import (
    Cells,
    Collusion,
    Seen,
    alone_posterior,
    collude,
    collusion,
    independent_posteriors,
    independent_versions,
)
from pramana.audit.reversal import ReversalAudit, reversal

__all__ = [
    "Cells",
    "Collusion",
    "ReversalAudit",
    "Seen",
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
