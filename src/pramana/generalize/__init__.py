"""Generalisation: classes of rows, searches for the best of them, and the distributions in their cells."""

from pramana.generalize.anonymity import (
    Risks,
    entropy_l_diversity,
    k_anonymity,
    l_diversity,
    recursive_c,
    t_closeness,
)
from pramana.generalize.classes import Classes, Ladder, Layout, grouped, with_counts_of
from pramana.generalize.conditions import (
    All,
    Close,
    Condition,
    DistinctDiverse,
    EntropyDiverse,
    KAnonymous,
    RecursiveDiverse,
)
from pramana.generalize.lattice import Solution, search
from pramana.generalize.measures import MEASURES, Measure, measure_of

__all__ = [
    "MEASURES",
    "All",
    "Classes",
    "Close",
    "Condition",
    "DistinctDiverse",
    "EntropyDiverse",
    "KAnonymous",
    "Ladder",
    "Layout",
    "Measure",
    "RecursiveDiverse",
    "Risks",
    "Solution",
    "entropy_l_diversity",
    "grouped",
    "k_anonymity",
    "l_diversity",
    "measure_of",
    "recursive_c",
    "search",
    "t_closeness",
    "with_counts_of",
]
