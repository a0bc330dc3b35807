"""Naive Bayes on reconstructed tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pramana.estimate.law import Array
from pramana.estimate.models.base import Codes, RandomisedClassifier, Tables, fitted
from pramana.mechanisms import Mechanism


class RandomisedNaiveBayes(RandomisedClassifier):
    """Naive Bayes: each feature's table with the class, reconstructed; `smoothing` records are added to a cell."""

    def __init__(
        self,
        mechanism: Mechanism | None = None,
        features: Sequence[str] | None = None,
        target: str | None = None,
        sizes: Mapping[str, int] | None = None,
        smoothing: float = 1.0,
    ) -> None:
        super().__init__(mechanism, features, target, sizes)
        self.smoothing = smoothing

    def _learn(self, table: Tables) -> None:
        prior = fitted(table([self.target_])) + self.smoothing
        self.class_log_prior_ = np.log(prior / prior.sum())
        self.feature_log_prob_ = {}
        for name in self.feature_codes_:
            joint = fitted(table([self.target_, name])) + self.smoothing
            self.feature_log_prob_[name] = np.log(joint / joint.sum(axis=1, keepdims=True))

    def _chances(self, columns: Mapping[str, Codes]) -> Array:
        score = self.class_log_prior_ + sum(
            self.feature_log_prob_[n][:, columns[n]].T for n in self.feature_codes_
        )
        score -= score.max(axis=1, keepdims=True)
        chances = np.exp(score)
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))
