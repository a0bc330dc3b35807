"""recipe -> plan -> bundle; certificate; verify."""

from pramana.release.analysis import crosstab, open_study
from pramana.release.bundle import Bundle
from pramana.release.certificate import Certificate, make_signing_key
from pramana.release.generalized_read import PublishedCells
from pramana.release.issuing import Created, Issued, create_levels, issue, issued_versions
from pramana.release.levels import LevelPlan
from pramana.release.matrix_file import read_matrix
from pramana.release.method import Method, Plan, Published
from pramana.release.planning import Outlook, plan
from pramana.release.presence import PresencePlan
from pramana.release.publish import METHODS, Released, method_of, release
from pramana.release.randomised import RandomisedPlan
from pramana.release.record import plan_for_records, randomise_record
from pramana.release.reports import report
from pramana.release.verification import Check, Verification, verify

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
