"""open -> plan -> publish -> write, once for every method: release, level versions, verify; and what follows.

What only some commands need loads on first use: a small release should not wait for the ledger.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.doors import on_first_use

if TYPE_CHECKING:
    from pramana.pipeline.analysis import crosstab, open_study
    from pramana.pipeline.booking import book_collection, commit_collection
    from pramana.pipeline.collected import Devices, publish_collected
    from pramana.pipeline.files.exporting import export
    from pramana.pipeline.planning import Outlook, plan
    from pramana.pipeline.promises import PROMISES, check_promises
    from pramana.pipeline.recipient.synthesis import Synthesised, synthesise
    from pramana.pipeline.rehearsing import rehearse
    from pramana.pipeline.releasing import Released, release
    from pramana.pipeline.reporting.attacks import AuditResult, attack_sections, audited_files
    from pramana.pipeline.reporting.reports import report
    from pramana.pipeline.retracing import Retraced, coded_as_certified, retraced
    from pramana.pipeline.single_record import plan_for_records, randomise_record
    from pramana.pipeline.verification import Verification, verify
    from pramana.pipeline.versions import Created, Issued, create_levels, issue, issued_versions

_MODULE_OF = {
    "AuditResult": "reporting.attacks",
    "Created": "versions",
    "Devices": "collected",
    "Issued": "versions",
    "Outlook": "planning",
    "PROMISES": "promises",
    "Released": "releasing",
    "Retraced": "retracing",
    "Synthesised": "recipient.synthesis",
    "Verification": "verification",
    "attack_sections": "reporting.attacks",
    "audited_files": "reporting.attacks",
    "book_collection": "booking",
    "check_promises": "promises",
    "coded_as_certified": "retracing",
    "commit_collection": "booking",
    "create_levels": "versions",
    "crosstab": "analysis",
    "export": "files.exporting",
    "issue": "versions",
    "issued_versions": "versions",
    "open_study": "analysis",
    "plan": "planning",
    "plan_for_records": "single_record",
    "publish_collected": "collected",
    "randomise_record": "single_record",
    "rehearse": "rehearsing",
    "release": "releasing",
    "report": "reporting.reports",
    "retraced": "retracing",
    "synthesise": "recipient.synthesis",
    "verify": "verification",
}

if not TYPE_CHECKING:
    __getattr__ = on_first_use(__name__, _MODULE_OF)

__all__ = [
    "PROMISES",
    "AuditResult",
    "Created",
    "Devices",
    "Issued",
    "Outlook",
    "Released",
    "Retraced",
    "Synthesised",
    "Verification",
    "attack_sections",
    "audited_files",
    "book_collection",
    "check_promises",
    "coded_as_certified",
    "commit_collection",
    "create_levels",
    "crosstab",
    "export",
    "issue",
    "issued_versions",
    "open_study",
    "plan",
    "plan_for_records",
    "publish_collected",
    "randomise_record",
    "rehearse",
    "release",
    "report",
    "retraced",
    "synthesise",
    "verify",
]
