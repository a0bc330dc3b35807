"""What recipients do: cross-tabulations with intervals, reconstruction, models. Formulas: estimate.md."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pramana.estimate.axis import MISSING, Axis
from pramana.estimate.crosstab import Crosstab, in_whole_numbers
from pramana.estimate.doubt import Doubt
from pramana.estimate.filters import AllOf, AnyOf, AttributeFilter, Filter, Negation
from pramana.estimate.inversion import (
    DEFAULT_CONFIDENCE,
    Estimate,
    Selection,
    covariance,
    expected_l1,
    invert,
    invert_counts,
    linear,
    simultaneous_confidence,
    to_simplex,
)
from pramana.estimate.law import TableLaw, law_of
from pramana.estimate.likelihood import Fit, fit, profile_interval
from pramana.estimate.numbers import Coefficient, EstimatedQuantile, EstimatedRegression, smooth_fit
from pramana.estimate.ratios import EstimatedNumber
from pramana.estimate.rules import (
    MIN_CONFIDENCE,
    Rule,
    RuleSet,
    association_rules,
    class_rules,
    rule_distance,
    tree_accuracy,
)
from pramana.estimate.study import GroupComparison, PartCounts, PartWork, Study
from pramana.estimate.table import PublishedTable, check_memory, tabulate

if TYPE_CHECKING:
    from pramana.estimate.cells import CellColumn as CellColumn
    from pramana.estimate.cells import CellComparison as CellComparison
    from pramana.estimate.cells import CellStudy as CellStudy
    from pramana.estimate.models import RandomisedGradientBoosting as RandomisedGradientBoosting
    from pramana.estimate.models import RandomisedLinearRegression as RandomisedLinearRegression
    from pramana.estimate.models import RandomisedLogisticRegression as RandomisedLogisticRegression
    from pramana.estimate.models import RandomisedNaiveBayes as RandomisedNaiveBayes
    from pramana.estimate.models import RandomisedTreeClassifier as RandomisedTreeClassifier
    from pramana.estimate.synthesis import RecordModel as RecordModel
    from pramana.estimate.synthesis import fit_records as fit_records

_MODELS = (
    "RandomisedGradientBoosting",
    "RandomisedLinearRegression",
    "RandomisedLogisticRegression",
    "RandomisedNaiveBayes",
    "RandomisedTreeClassifier",
)
_ON_FIRST_USE = {
    "CellColumn": "cells",
    "CellComparison": "cells",
    "CellStudy": "cells",
    "RecordModel": "synthesis",
    "fit_records": "synthesis",
}


def __getattr__(name: str) -> Any:
    """The models need scikit-learn, an extra: they load on first use, and so does what few commands need."""
    if name in _ON_FIRST_USE:
        return getattr(importlib.import_module(f"pramana.estimate.{_ON_FIRST_USE[name]}"), name)
    if name not in _MODELS:
        raise AttributeError(f"module 'pramana.estimate' has no attribute {name!r}")
    return getattr(importlib.import_module("pramana.estimate.models"), name)


__all__ = [
    "DEFAULT_CONFIDENCE",
    "MIN_CONFIDENCE",
    "MISSING",
    "AllOf",
    "AnyOf",
    "AttributeFilter",
    "Axis",
    "CellColumn",
    "CellComparison",
    "CellStudy",
    "Coefficient",
    "Crosstab",
    "Doubt",
    "Estimate",
    "EstimatedNumber",
    "EstimatedQuantile",
    "EstimatedRegression",
    "Filter",
    "Fit",
    "GroupComparison",
    "Negation",
    "PartCounts",
    "PartWork",
    "PublishedTable",
    "RandomisedGradientBoosting",
    "RandomisedLinearRegression",
    "RandomisedLogisticRegression",
    "RandomisedNaiveBayes",
    "RandomisedTreeClassifier",
    "RecordModel",
    "Rule",
    "RuleSet",
    "Selection",
    "Study",
    "TableLaw",
    "association_rules",
    "check_memory",
    "class_rules",
    "covariance",
    "expected_l1",
    "fit",
    "fit_records",
    "in_whole_numbers",
    "invert",
    "invert_counts",
    "law_of",
    "linear",
    "profile_interval",
    "rule_distance",
    "simultaneous_confidence",
    "smooth_fit",
    "tabulate",
    "to_simplex",
    "tree_accuracy",
]
