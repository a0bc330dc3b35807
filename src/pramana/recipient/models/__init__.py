"""Models in scikit-learn's manner, fitted to randomised records (extra `models`).

`fit` takes published codes, as a release has them; `predict` takes true ones, as those have of whom the model
is asked. All learn from reconstructed tables only, so what they see of a record is what the release tells.

>>> import numpy as np
>>> import pramana
>>> around = pramana.Circumstances(records=4)
>>> law = pramana.calibrate({"smokes": 2, "ill": 2}, pramana.Wanted(around, epsilon=4.0))
>>> smokes, ill = np.array([[0], [0], [1], [1]], np.uint8), np.array([0, 0, 1, 1], np.uint8)
>>> model = pramana.models.RandomisedNaiveBayes(law, ["smokes"], "ill").fit(smokes, ill)
>>> model.predict(smokes).tolist()
[0, 0, 1, 1]
"""

from __future__ import annotations

from pramana.recipient.models.base import MOST_CELLS, ModelInputError
from pramana.recipient.models.linear import RandomisedLinearRegression, RandomisedLogisticRegression
from pramana.recipient.models.trees import (
    RandomisedGradientBoosting,
    RandomisedNaiveBayes,
    RandomisedTreeClassifier,
)

__all__ = [
    "MOST_CELLS",
    "ModelInputError",
    "RandomisedGradientBoosting",
    "RandomisedLinearRegression",
    "RandomisedLogisticRegression",
    "RandomisedNaiveBayes",
    "RandomisedTreeClassifier",
]
