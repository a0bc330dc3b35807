"""Local suppression: single cells become the top label, so that every class of a full-domain node is published."""

from pramana.generalize.suppression.choice import (
    WithCells,
    cells_of,
    cheapest_with_cells,
    cost_of,
    suppressed_at,
)
from pramana.generalize.suppression.problem import Problem, Suppression
from pramana.generalize.suppression.solving import suppress_cells

__all__ = [
    "Problem",
    "Suppression",
    "WithCells",
    "cells_of",
    "cheapest_with_cells",
    "cost_of",
    "suppress_cells",
    "suppressed_at",
]
