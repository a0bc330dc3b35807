"""`retention` and `matrix`: each published value is drawn from a channel of the true one (paper 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.doors import on_first_use
from pramana.methods.retention.curves import epsilon_of
from pramana.methods.retention.explanation import explanation_of_law
from pramana.methods.retention.method import DrawnMethod, MatrixMethod, RetentionMethod, check_promise
from pramana.methods.retention.plan import RandomisedPlan, check_sizes, circumstances_for, law_in_order
from pramana.methods.retention.setting import Delta, DrawnSetting, Epsilon, K
from pramana.methods.retention.units import around_units, calibrated_for_units, units_of

if TYPE_CHECKING:
    from pramana.methods.retention.advice import advice_for_retention
    from pramana.methods.retention.matrix_file import read_matrix

_MODULE_OF = {"advice_for_retention": "advice", "read_matrix": "matrix_file"}  # what few releases need
METHODS = {method.name: method for method in (RetentionMethod(), MatrixMethod())}

if not TYPE_CHECKING:
    __getattr__ = on_first_use(__name__, _MODULE_OF)

__all__ = [
    "METHODS",
    "Delta",
    "DrawnMethod",
    "DrawnSetting",
    "Epsilon",
    "K",
    "RandomisedPlan",
    "advice_for_retention",
    "around_units",
    "calibrated_for_units",
    "check_promise",
    "check_sizes",
    "circumstances_for",
    "epsilon_of",
    "explanation_of_law",
    "law_in_order",
    "read_matrix",
    "units_of",
]
