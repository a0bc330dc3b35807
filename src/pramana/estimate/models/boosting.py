"""Gradient boosting on the reconstructed joint table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from pramana.estimate.law import Array
from pramana.estimate.models.base import (
    Codes,
    ModelInputError,
    RandomisedClassifier,
    Tables,
    cells_of,
    fitted,
)
from pramana.mechanisms import Mechanism

_MOST_VALUES = 255  # of a feature, in scikit-learn's histograms


def one_thread() -> threadpool_limits:
    """A table's cells are few: threads would wait for each other longer than they work."""
    return threadpool_limits(limits=1, user_api="openmp")


class RandomisedGradientBoosting(RandomisedClassifier):
    """Boosted trees of scikit-learn, fitted to the cells of the reconstructed joint table, with their counts.

    A split divides the codes of a feature in their order. Fewer or smaller steps keep the trees from following the
    noise that reconstruction leaves.
    """

    def __init__(
        self,
        mechanism: Mechanism | None = None,
        features: Sequence[str] | None = None,
        target: str | None = None,
        sizes: Mapping[str, int] | None = None,
        max_iter: int = 60,
        learning_rate: float = 0.1,
        max_leaf_nodes: int = 8,
        l2_regularization: float = 50.0,
    ) -> None:
        super().__init__(mechanism, features, target, sizes)
        self.max_iter = max_iter
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.l2_regularization = l2_regularization

    def _learn(self, table: Tables) -> None:
        if wide := [n for n in self.feature_codes_ if self.sizes_[n] > _MOST_VALUES]:
            raise ModelInputError(f"A feature must have at most {_MOST_VALUES} values", ", ".join(wide))
        joint = table([*self.feature_codes_, self.target_])
        counts = fitted(joint).reshape(-1, len(self.classes_))
        design = np.column_stack(list(cells_of(self.feature_codes_, joint.law.shape[:-1]).values()))
        row, label = np.nonzero(counts > 1e-9 * counts.sum())
        if len(np.unique(label)) < 2:
            raise ModelInputError("A model must see two classes in the reconstructed table", "1 class")
        model = HistGradientBoostingClassifier(
            max_iter=self.max_iter,
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.max_leaf_nodes,
            l2_regularization=self.l2_regularization,
            min_samples_leaf=1,  # rows are cells here, and their weights say how many records they are
            early_stopping=False,
            categorical_features=None,  # such splits ask for ten rows a value, and a table has few cells
            random_state=0,
        )
        with one_thread():
            self.model_ = model.fit(design[row], label, sample_weight=counts[row, label])
        self.n_iter_ = model.n_iter_

    def _chances(self, columns: Mapping[str, Codes]) -> Array:
        design = np.column_stack([columns[n] for n in self.feature_codes_])
        chances = np.zeros((len(design), len(self.classes_)))
        with one_thread():
            chances[:, self.model_.classes_] = self.model_.predict_proba(design)
        return chances
