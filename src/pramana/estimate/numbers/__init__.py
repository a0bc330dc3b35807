"""Numbers and dates as recipients use them: means that hold whole bins, quantiles, regressions, smooth shares."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pramana.estimate.numbers.means import mean_of_middles, mean_within_bins
    from pramana.estimate.numbers.quantiles import EstimatedQuantile, estimate_quantiles
    from pramana.estimate.numbers.regression import Coefficient, EstimatedRegression, estimate_regression
    from pramana.estimate.numbers.smoothing import smooth_fit

_MODULE_OF = {  # a command loads what it uses
    "Coefficient": "regression",
    "EstimatedQuantile": "quantiles",
    "EstimatedRegression": "regression",
    "estimate_quantiles": "quantiles",
    "estimate_regression": "regression",
    "mean_of_middles": "means",
    "mean_within_bins": "means",
    "smooth_fit": "smoothing",
}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'pramana.estimate.numbers' has no attribute {name!r}")
    return vars(importlib.import_module(f"pramana.estimate.numbers.{_MODULE_OF[name]}"))[name]


__all__ = [
    "Coefficient",
    "EstimatedQuantile",
    "EstimatedRegression",
    "estimate_quantiles",
    "estimate_regression",
    "mean_of_middles",
    "mean_within_bins",
    "smooth_fit",
]
