"""Records drawn from what a published table tells of the private one."""

from pramana.estimate.synthesis.model import RecordModel, fit_records

__all__ = ["RecordModel", "fit_records"]
