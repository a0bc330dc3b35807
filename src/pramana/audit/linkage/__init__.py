"""Linkage: who is behind which published row, asked by the strongest adversary of paper 1."""

from pramana.audit.linkage.attacks import (
    LinkedTable,
    best_matching,
    everyone_linked,
    exact_linkage,
    linkage_attacks,
    matched_linkage,
    sampled_linkage,
)
from pramana.audit.linkage.likelihood import AttackedLaw, likelihoods_of, pairwise_likelihoods
from pramana.audit.linkage.posterior import link_posteriors
from pramana.audit.linkage.sampling import r_hat, sampled_posterior

__all__ = [
    "AttackedLaw",
    "LinkedTable",
    "best_matching",
    "everyone_linked",
    "exact_linkage",
    "likelihoods_of",
    "link_posteriors",
    "linkage_attacks",
    "matched_linkage",
    "pairwise_likelihoods",
    "r_hat",
    "sampled_linkage",
    "sampled_posterior",
]
