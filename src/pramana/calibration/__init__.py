"""From a wanted guarantee to the mechanism that reaches it; what is returned has been re-checked."""

from pramana.calibration.blocks import (
    BlockPlan,
    checked_counts,
    checked_xi,
    plan_blocks,
    plan_combinations,
    plan_strata,
)
from pramana.calibration.error import expected_error, tables_that_matter, variance_inflation
from pramana.calibration.retention import Wanted, calibrate

__all__ = [
    "BlockPlan",
    "Wanted",
    "calibrate",
    "checked_counts",
    "checked_xi",
    "expected_error",
    "plan_blocks",
    "plan_combinations",
    "plan_strata",
    "tables_that_matter",
    "variance_inflation",
]
