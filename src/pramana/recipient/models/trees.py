"""Decision trees whose splits are chosen on reconstructed tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from pramana.mechanisms.table import Mechanism
from pramana.recipient.law import Array
from pramana.recipient.models.base import Codes, ModelInputError, RandomisedClassifier, Tables, cells_of, fitted


@dataclass
class _Node:
    chances: Array
    feature: str | None = None
    left_codes: NDArray[np.bool_] | None = None
    left: _Node | None = None
    right: _Node | None = None


class RandomisedTreeClassifier(RandomisedClassifier):
    """A decision tree: at each node the best split by Gini impurity of reconstructed tables.

    A node's tables are over the attributes of its path, one candidate and the class, restricted to the path.
    """

    def __init__(
        self,
        mechanism: Mechanism | None = None,
        features: Sequence[str] | None = None,
        target: str | None = None,
        sizes: Mapping[str, int] | None = None,
        max_depth: int = 4,
        min_records: float = 100.0,
    ) -> None:
        super().__init__(mechanism, features, target, sizes)
        self.max_depth = max_depth
        self.min_records = min_records

    def _learn(self, table: Tables) -> None:
        known: dict[tuple[str, ...], Array] = {}

        def counts(names: tuple[str, ...]) -> Array:
            if names not in known:
                known[names] = fitted(table([*names, self.target_]))
            return known[names]

        self.tree_ = self._grow(counts, {}, 0)

    def _grow(
        self, counts: Callable[[tuple[str, ...]], Array], path: Mapping[str, NDArray[np.bool_]], depth: int
    ) -> _Node:
        here = self._restricted(counts, path, ())
        total = float(here.sum())
        node = _Node((here + 1.0) / (total + len(here)))
        if depth >= self.max_depth or total < self.min_records:
            return node
        best: tuple[float, str, NDArray[np.bool_]] | None = None
        for name in self.feature_codes_:
            try:
                table = self._restricted(counts, path, (name,))
            except ModelInputError:  # the table of so long a path is too large: other features may do
                continue
            gain, left = _best_split(table, self.min_records)
            if left is not None and (best is None or gain > best[0]):
                best = gain, name, left
        if best is None or best[0] <= 1e-9 * total:
            return node
        _, node.feature, node.left_codes = best
        before = path.get(node.feature, np.ones(self.sizes_[node.feature], bool))
        node.left = self._grow(counts, {**path, node.feature: before & node.left_codes}, depth + 1)
        node.right = self._grow(counts, {**path, node.feature: before & ~node.left_codes}, depth + 1)
        return node

    def _restricted(
        self,
        counts: Callable[[tuple[str, ...]], Array],
        path: Mapping[str, NDArray[np.bool_]],
        extra: tuple[str, ...],
    ) -> Array:
        """Reconstructed counts by the extra attribute and the class, among records of the path."""
        names = tuple(sorted({*path, *extra}))
        table = counts(names)
        for axis, name in enumerate(names):
            if name in path:
                shape = [-1 if i == axis else 1 for i in range(table.ndim)]
                table = table * path[name].reshape(shape)
        others = tuple(i for i, name in enumerate(names) if name not in extra)
        return np.asarray(table.sum(axis=others))

    def _chances(self, columns: Mapping[str, Codes]) -> Array:
        rows = len(next(iter(columns.values())))
        chances = np.empty((rows, len(self.classes_)))
        todo: list[tuple[_Node, NDArray[np.intp]]] = [(self.tree_, np.arange(rows))]
        while todo:
            node, at = todo.pop()
            if node.feature is None or node.left_codes is None or node.left is None or node.right is None:
                chances[at] = node.chances
                continue
            left = node.left_codes[columns[node.feature][at]]
            todo += [(node.left, at[left]), (node.right, at[~left])]
        return chances


def _best_split(table: Array, least: float) -> tuple[float, NDArray[np.bool_] | None]:
    """The split of values that lowers Gini impurity most, among those in order of the largest class's share.

    For two classes this order holds the best of all splits (Breiman et al. 1984, Theorem 4.5).
    """
    sums = table.sum(axis=1)
    top = int(np.argmax(table.sum(axis=0)))
    share = np.divide(table[:, top], sums, out=np.zeros_like(sums), where=sums > 0)
    order = np.argsort(share, kind="stable")
    left = np.cumsum(table[order], axis=0)[:-1]
    right = table.sum(axis=0) - left
    sizes = left.sum(axis=1), right.sum(axis=1)
    allowed = (sizes[0] >= least) & (sizes[1] >= least)
    if not allowed.any():
        return 0.0, None
    purity = sum(
        (part**2).sum(axis=1) / np.maximum(size, 1e-12) for part, size in zip((left, right), sizes, strict=True)
    )
    gain = np.where(allowed, purity - (table.sum(axis=0) ** 2).sum() / max(float(table.sum()), 1e-12), -np.inf)
    best = int(np.argmax(gain))
    chosen = np.zeros(len(table), bool)
    chosen[order[: best + 1]] = True
    return float(gain[best]), chosen


# Gradient boosting on the reconstructed joint table.


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


# Naive Bayes on reconstructed tables.


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
