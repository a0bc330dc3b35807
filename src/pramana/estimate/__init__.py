"""What recipients do: cross-tabulations with intervals, reconstruction, models."""

from pramana.estimate.inversion import Estimate, Selection, covariance, invert, linear, to_simplex
from pramana.estimate.law import Law, law_of
from pramana.estimate.likelihood import Fit, fit, fit_with_intervals, profile_interval
from pramana.estimate.table import Axis, PublishedTable, check_memory, tabulate

__all__ = [
    "Axis",
    "Estimate",
    "Fit",
    "Law",
    "PublishedTable",
    "Selection",
    "check_memory",
    "covariance",
    "fit",
    "fit_with_intervals",
    "invert",
    "law_of",
    "linear",
    "profile_interval",
    "tabulate",
    "to_simplex",
]
