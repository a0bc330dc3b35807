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
from pramana.calibration.ordered import Criterion, OrderedValues, interval_design, ordered_channel, with_ordered
from pramana.calibration.retention import DrawnLaw, Wanted, calibrate
from pramana.calibration.spending import (
    Candidate,
    Coarsening,
    SpendingQuestion,
    best_candidate,
    frontier,
    way_of_units,
)
from pramana.calibration.usefulness import (
    CellLook,
    TableWorth,
    Usefulness,
    blind_error,
    tables_asked,
    worth_of_cells,
    worth_of_law,
    worth_of_total,
)

__all__ = [
    "BlockPlan",
    "Candidate",
    "CellLook",
    "Coarsening",
    "Criterion",
    "DrawnLaw",
    "OrderedValues",
    "SpendingQuestion",
    "TableWorth",
    "Usefulness",
    "Wanted",
    "best_candidate",
    "blind_error",
    "calibrate",
    "checked_counts",
    "checked_xi",
    "expected_error",
    "frontier",
    "interval_design",
    "ordered_channel",
    "plan_blocks",
    "plan_combinations",
    "plan_strata",
    "tables_asked",
    "tables_that_matter",
    "variance_inflation",
    "way_of_units",
    "with_ordered",
    "worth_of_cells",
    "worth_of_law",
    "worth_of_total",
]
