"""How a promise is best spent on the tables that a recipe names: coins, shares of epsilon, coarser values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.calibration.spending.frontier import Candidate, best_candidate, frontier, way_of_units
from pramana.doors import on_first_use

if TYPE_CHECKING:
    from pramana.calibration.spending.question import Coarsening, SpendingQuestion

_MODULE_OF = {  # a command loads what it uses
    "Coarsening": "question",
    "SpendingQuestion": "question",
}

if not TYPE_CHECKING:
    __getattr__ = on_first_use(__name__, _MODULE_OF)

__all__ = ["Candidate", "Coarsening", "SpendingQuestion", "best_candidate", "frontier", "way_of_units"]
