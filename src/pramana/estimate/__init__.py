"""What recipients do: cross-tabulations with intervals, reconstruction, models. Formulas: estimate.md."""

from pramana.estimate.axis import MISSING, Axis
from pramana.estimate.filters import Filter
from pramana.estimate.inversion import (
    DEFAULT_CONFIDENCE,
    Estimate,
    Selection,
    covariance,
    invert,
    invert_counts,
    linear,
    to_simplex,
)
from pramana.estimate.law import Law, law_of
from pramana.estimate.likelihood import Fit, fit, profile_interval
from pramana.estimate.study import Comparison, Crosstab, Measure, Study
from pramana.estimate.table import PublishedTable, check_memory, tabulate

__all__ = [
    "DEFAULT_CONFIDENCE",
    "MISSING",
    "Axis",
    "Comparison",
    "Crosstab",
    "Estimate",
    "Filter",
    "Fit",
    "Law",
    "Measure",
    "PublishedTable",
    "Selection",
    "Study",
    "check_memory",
    "covariance",
    "fit",
    "invert",
    "invert_counts",
    "law_of",
    "linear",
    "profile_interval",
    "tabulate",
    "to_simplex",
]
