"""recipe -> plan -> bundle; certificate; verify.

What only some commands need loads on first use: a small release should not wait for the ledger.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pramana.release.bundle import Bundle
from pramana.release.certificate import Certificate, make_signing_key
from pramana.release.matrix_file import read_matrix
from pramana.release.method import Method, Plan, Published
from pramana.release.publish import METHODS, Released, method_of, release
from pramana.release.verification import Check, Verification, verify

if TYPE_CHECKING:
    from pramana.release.analysis import crosstab, open_study
    from pramana.release.generalized_read import PublishedCells
    from pramana.release.issuing import Created, Issued, create_levels, issue, issued_versions
    from pramana.release.levels import LevelPlan
    from pramana.release.planning import Outlook, plan
    from pramana.release.presence import PresencePlan
    from pramana.release.randomised import RandomisedPlan
    from pramana.release.record import plan_for_records, randomise_record
    from pramana.release.reports import report

_MODULE_OF = {
    "Created": "issuing",
    "Issued": "issuing",
    "LevelPlan": "levels",
    "Outlook": "planning",
    "PresencePlan": "presence",
    "PublishedCells": "generalized_read",
    "RandomisedPlan": "randomised",
    "create_levels": "issuing",
    "crosstab": "analysis",
    "issue": "issuing",
    "issued_versions": "issuing",
    "open_study": "analysis",
    "plan": "planning",
    "plan_for_records": "record",
    "randomise_record": "record",
    "report": "reports",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'pramana.release' has no attribute {name!r}")
    return getattr(importlib.import_module(f"pramana.release.{_MODULE_OF[name]}"), name)


__all__ = [
    "METHODS",
    "Bundle",
    "Certificate",
    "Check",
    "Created",
    "Issued",
    "LevelPlan",
    "Method",
    "Outlook",
    "Plan",
    "PresencePlan",
    "Published",
    "PublishedCells",
    "RandomisedPlan",
    "Released",
    "Verification",
    "create_levels",
    "crosstab",
    "issue",
    "issued_versions",
    "make_signing_key",
    "method_of",
    "open_study",
    "plan",
    "plan_for_records",
    "randomise_record",
    "read_matrix",
    "release",
    "report",
    "verify",
]
