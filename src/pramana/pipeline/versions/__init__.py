"""Versions for recipients at different levels: reserved in a ledger, made by the pipeline, committed."""

from pramana.pipeline.versions.issuing import Created, Issued, create_levels, issue, issued_versions

__all__ = ["Created", "Issued", "create_levels", "issue", "issued_versions"]
