"""A first look at a table: what its columns are, the risk today, and a first recipe."""

from pramana.inspection.inspecting import NOTICE, ColumnReport, Inspection, inspect
from pramana.inspection.new_files import write_page

__all__ = ["NOTICE", "ColumnReport", "Inspection", "inspect", "write_page"]
