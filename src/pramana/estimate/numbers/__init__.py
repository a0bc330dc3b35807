"""Numbers and dates as recipients use them: means that hold whole bins, quantiles, regressions, smooth shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.doors import on_first_use

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

if not TYPE_CHECKING:
    __getattr__ = on_first_use(__name__, _MODULE_OF)

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
