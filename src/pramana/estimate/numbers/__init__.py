"""Numbers and dates as recipients use them: means that hold whole bins, quantiles, regressions, smooth shares."""

from pramana.estimate.numbers.means import mean_of_middles, mean_within_bins
from pramana.estimate.numbers.quantiles import EstimatedQuantile, estimate_quantiles
from pramana.estimate.numbers.regression import Coefficient, EstimatedRegression, estimate_regression
from pramana.estimate.numbers.smoothing import smooth_fit

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
