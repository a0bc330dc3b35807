"""How a promise is best spent on the tables that a recipe names: coins, shares of epsilon, coarser values."""

from pramana.calibration.spending.frontier import Candidate, best_candidate, frontier, way_of_units
from pramana.calibration.spending.question import Coarsening, SpendingQuestion

__all__ = ["Candidate", "Coarsening", "SpendingQuestion", "best_candidate", "frontier", "way_of_units"]
