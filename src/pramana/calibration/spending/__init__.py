"""How a promise is best spent on the tables that a recipe names: coins, shares of epsilon, coarser values."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from pramana.calibration.spending.frontier import Candidate, best_candidate, frontier, way_of_units

if TYPE_CHECKING:
    from pramana.calibration.spending.question import Coarsening, SpendingQuestion

_MODULE_OF = {  # a command loads what it uses
    "Coarsening": "question",
    "SpendingQuestion": "question",
}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'pramana.calibration.spending' has no attribute {name!r}")
    return vars(importlib.import_module(f"pramana.calibration.spending.{_MODULE_OF[name]}"))[name]


__all__ = ["Candidate", "Coarsening", "SpendingQuestion", "best_candidate", "frontier", "way_of_units"]
