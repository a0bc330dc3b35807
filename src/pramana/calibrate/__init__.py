"""From a wanted guarantee to the mechanism that reaches it; what is returned has been re-checked."""

from pramana.calibrate.error import expected_error, tables_that_matter, variance_inflation
from pramana.calibrate.retention import Wanted, calibrate

__all__ = ["Wanted", "calibrate", "expected_error", "tables_that_matter", "variance_inflation"]
