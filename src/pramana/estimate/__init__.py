"""What recipients do: cross-tabulations with intervals, reconstruction, models. Formulas: estimate.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.doors import on_first_use

if TYPE_CHECKING:
    from pramana.estimate.axis import MISSING, Axis
    from pramana.estimate.cells import CellColumn, CellComparison, CellStudy
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
    from pramana.estimate.models import (
        RandomisedGradientBoosting,
        RandomisedLinearRegression,
        RandomisedLogisticRegression,
        RandomisedNaiveBayes,
        RandomisedTreeClassifier,
    )
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
    from pramana.estimate.synthesis import RecordModel, fit_records
    from pramana.estimate.table import PublishedTable, check_memory, tabulate

_MODULE_OF = {  # a command loads what it uses; the models need scikit-learn, an extra
    "AllOf": "filters",
    "AnyOf": "filters",
    "AttributeFilter": "filters",
    "Axis": "axis",
    "CellColumn": "cells",
    "CellComparison": "cells",
    "CellStudy": "cells",
    "Coefficient": "numbers.regression",
    "Crosstab": "crosstab",
    "DEFAULT_CONFIDENCE": "inversion",
    "Doubt": "doubt",
    "Estimate": "inversion",
    "EstimatedNumber": "ratios",
    "EstimatedQuantile": "numbers.quantiles",
    "EstimatedRegression": "numbers.regression",
    "Filter": "filters",
    "Fit": "likelihood",
    "GroupComparison": "study",
    "MIN_CONFIDENCE": "rules",
    "MISSING": "axis",
    "Negation": "filters",
    "PartCounts": "study",
    "PartWork": "study",
    "PublishedTable": "table",
    "RandomisedGradientBoosting": "models",
    "RandomisedLinearRegression": "models",
    "RandomisedLogisticRegression": "models",
    "RandomisedNaiveBayes": "models",
    "RandomisedTreeClassifier": "models",
    "RecordModel": "synthesis",
    "Rule": "rules",
    "RuleSet": "rules",
    "Selection": "inversion",
    "Study": "study",
    "TableLaw": "law",
    "association_rules": "rules",
    "check_memory": "table",
    "class_rules": "rules",
    "covariance": "inversion",
    "expected_l1": "inversion",
    "fit": "likelihood",
    "fit_records": "synthesis",
    "in_whole_numbers": "crosstab",
    "invert": "inversion",
    "invert_counts": "inversion",
    "law_of": "law",
    "linear": "inversion",
    "profile_interval": "likelihood",
    "rule_distance": "rules",
    "simultaneous_confidence": "inversion",
    "smooth_fit": "numbers.smoothing",
    "tabulate": "table",
    "to_simplex": "inversion",
    "tree_accuracy": "rules",
}

if not TYPE_CHECKING:
    __getattr__ = on_first_use(__name__, _MODULE_OF)

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
