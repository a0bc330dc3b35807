"""Generalisation: classes of rows, searches for the best of them, and the distributions in their cells."""

from pramana.generalize.anonymity import (
    Risks,
    entropy_l_diversity,
    k_anonymity,
    l_diversity,
    recursive_c,
    t_closeness,
)
from pramana.generalize.cells import (
    KINDS,
    Cells,
    cells_between,
    common_levels,
    expected_counts,
    hierarchy_cells,
    interval_cells,
    kl_cost,
    log_matching_probability,
    pdf_cells,
    reconstructed,
    set_cells,
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
from pramana.generalize.partition import MODES, Partition, partition

__all__ = [
    "KINDS",
    "MEASURES",
    "MODES",
    "All",
    "Cells",
    "Classes",
    "Close",
    "Condition",
    "DistinctDiverse",
    "EntropyDiverse",
    "KAnonymous",
    "Ladder",
    "Layout",
    "Measure",
    "Partition",
    "RecursiveDiverse",
    "Risks",
    "Solution",
    "cells_between",
    "common_levels",
    "entropy_l_diversity",
    "expected_counts",
    "grouped",
    "hierarchy_cells",
    "interval_cells",
    "k_anonymity",
    "kl_cost",
    "l_diversity",
    "log_matching_probability",
    "measure_of",
    "partition",
    "pdf_cells",
    "reconstructed",
    "recursive_c",
    "search",
    "set_cells",
    "t_closeness",
    "with_counts_of",
]
