"""Logistic regression on the reconstructed joint table, with standard errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from sklearn.linear_model import LogisticRegression

from pramana.estimate.inversion import DEFAULT_CONFIDENCE, quantile
from pramana.estimate.law import Array
from pramana.estimate.models.base import (
    Codes,
    ModelInputError,
    RandomisedClassifier,
    Tables,
    cells_of,
    fitted,
)
from pramana.estimate.table import PublishedTable
from pramana.mechanisms import Mechanism


class RandomisedLogisticRegression(RandomisedClassifier):
    """Logistic regression on one-hot features, fitted to the reconstructed joint table.

    `standard_errors_` and `coef_interval_` (intercept first; two classes) account for the randomisation: with c
    the score of a coefficient, a published record z adds G(z) = (B^T c)(z) to it, so the scores' covariance over
    people and coins is sum_z y_z G(z) G(z)^T.
    """

    def __init__(
        self,
        mechanism: Mechanism | None = None,
        features: Sequence[str] | None = None,
        target: str | None = None,
        sizes: Mapping[str, int] | None = None,
        C: float = 1.0,  # noqa: N803
        confidence: float = DEFAULT_CONFIDENCE,
    ) -> None:
        super().__init__(mechanism, features, target, sizes)
        self.C = C
        self.confidence = confidence

    def _learn(self, table: Tables) -> None:
        joint = table([*self.feature_codes_, self.target_])
        counts = fitted(joint).reshape(-1, len(self.classes_))
        shape = joint.law.shape[:-1]
        design = self._design(cells_of(self.feature_codes_, shape))
        weights = counts.T.ravel()
        used = weights > 1e-9 * weights.sum()
        rows = np.tile(np.arange(len(counts)), len(self.classes_))[used]
        classes = np.repeat(np.arange(len(self.classes_)), len(counts))[used]
        if len(np.unique(classes)) < 2:
            raise ModelInputError("A model must see two classes in the reconstructed table", "1 class")
        model = LogisticRegression(C=self.C, max_iter=2000)
        self.model_ = model.fit(design[rows], classes, sample_weight=weights[used])
        self.coef_, self.intercept_ = model.coef_, model.intercept_
        if len(self.classes_) == 2:
            self.standard_errors_ = self._errors(joint, design, counts)
            half = quantile(self.confidence) * self.standard_errors_
            centre = np.concatenate([self.intercept_, self.coef_[0]])
            self.coef_interval_ = np.stack([centre - half, centre + half])

    def _errors(self, joint: PublishedTable, design: Array, counts: Array) -> Array:
        """Of the intercept and each coefficient: the sandwich, with the coins in its middle."""
        wide = np.column_stack([np.ones(len(design)), design])
        chance = self.model_.predict_proba(design)[:, 1]
        weights = counts.sum(axis=1) * chance * (1 - chance)
        penalty = np.diag([0.0, *[1 / self.C] * design.shape[1]])
        bread = np.linalg.pinv((wide * weights[:, None]).T @ wide + penalty)
        reach = []
        for column in wide.T:
            score = np.stack([-chance * column, (1 - chance) * column], axis=-1).reshape(joint.law.shape)
            reach.append(joint.law.inverse_adjoint(score).ravel())
        middle = (np.array(reach) * joint.squares.ravel()) @ np.array(reach).T
        return np.asarray(np.sqrt(np.maximum(np.diag(bread @ middle @ bread), 0.0)))

    def _design(self, columns: Mapping[str, Codes]) -> Array:
        """One column for each value but the first of each feature."""
        parts = [np.eye(self.sizes_[name])[:, 1:][columns[name]] for name in self.feature_codes_]
        return np.concatenate(parts, axis=1)

    def _chances(self, columns: Mapping[str, Codes]) -> Array:
        chances = np.zeros((len(next(iter(columns.values()))), len(self.classes_)))
        chances[:, self.model_.classes_] = self.model_.predict_proba(self._design(columns))
        return chances
