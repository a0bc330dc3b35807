"""Pictures and the one-file HTML; computes nothing."""

from pramana.report.page import report_page

__all__ = ["report_page"]
