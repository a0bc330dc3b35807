"""Microaggregation: groups of at least k rows that are near each other, and one published value for each group."""

from pramana.generalize.microaggregation.columns import Numbers
from pramana.generalize.microaggregation.groups import Microaggregation, mdav, optimal_univariate
from pramana.generalize.microaggregation.loss import ColumnLoss, MicroaggregationLoss, information_loss
from pramana.generalize.microaggregation.representatives import class_means, class_medians, class_modes

__all__ = [
    "ColumnLoss",
    "Microaggregation",
    "MicroaggregationLoss",
    "Numbers",
    "class_means",
    "class_medians",
    "class_modes",
    "information_loss",
    "mdav",
    "optimal_univariate",
]
