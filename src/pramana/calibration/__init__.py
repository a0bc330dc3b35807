"""From a wanted guarantee to the mechanism that reaches it; what is returned has been re-checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.doors import on_first_use

if TYPE_CHECKING:
    from pramana.calibration.blocks import (
        BlockPlan,
        checked_counts,
        checked_xi,
        plan_blocks,
        plan_combinations,
        plan_strata,
    )
    from pramana.calibration.error import expected_error, tables_that_matter, variance_inflation
    from pramana.calibration.ordered import (
        Criterion,
        OrderedValues,
        interval_design,
        ordered_channel,
        with_ordered,
    )
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

_MODULE_OF = {  # a command loads what it uses
    "BlockPlan": "blocks",
    "Candidate": "spending",
    "CellLook": "usefulness",
    "Coarsening": "spending.question",
    "Criterion": "ordered.criterion",
    "DrawnLaw": "retention",
    "OrderedValues": "ordered.choosing",
    "SpendingQuestion": "spending.question",
    "TableWorth": "usefulness",
    "Usefulness": "usefulness",
    "Wanted": "retention",
    "best_candidate": "spending",
    "blind_error": "usefulness",
    "calibrate": "retention",
    "checked_counts": "blocks",
    "checked_xi": "blocks",
    "expected_error": "error",
    "frontier": "spending",
    "interval_design": "ordered.design",
    "ordered_channel": "ordered.choosing",
    "plan_blocks": "blocks",
    "plan_combinations": "blocks",
    "plan_strata": "blocks",
    "tables_asked": "usefulness",
    "tables_that_matter": "error",
    "variance_inflation": "error",
    "way_of_units": "spending",
    "with_ordered": "ordered.choosing",
    "worth_of_cells": "usefulness",
    "worth_of_law": "usefulness",
    "worth_of_total": "usefulness",
}

if not TYPE_CHECKING:
    __getattr__ = on_first_use(__name__, _MODULE_OF)

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
