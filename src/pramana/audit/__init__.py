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
from pramana.audit.linkage import link_posteriors
from pramana.audit.page import attack_page, check_page_name, write_attack_page
from pramana.audit.reversal import ReversalAudit, reversal
from pramana.audit.suite import audit_bundle
from pramana.audit.verdict import Attack, AttackReport, NotRun

__all__ = [
    "Attack",
    "AttackReport",
    "Collusion",
    "GroupValues",
    "Holding",
    "NotRun",
    "ReversalAudit",
    "TableAnonymity",
    "alone_posterior",
    "anonymity_of_table",
    "attack_page",
    "audit_bundle",
    "check_page_name",
    "collude",
    "collusion",
    "independent_posteriors",
    "independent_versions",
    "k_of_table",
    "link_posteriors",
    "reversal",
    "write_attack_page",
]
