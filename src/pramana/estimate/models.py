"""Classifiers in scikit-learn's manner, fitted to randomised records (extra `models`).

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

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError, MissingExtraError
from pramana.estimate.axis import Axis
from pramana.estimate.inversion import DEFAULT_CONFIDENCE, quantile
from pramana.estimate.law import Array
from pramana.estimate.likelihood import fit as fit_table
from pramana.estimate.study import Study
from pramana.estimate.table import PublishedTable, tabulate
from pramana.mechanisms import Mechanism

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.linear_model import LogisticRegression
except ImportError:
    raise MissingExtraError(
        "The models need scikit-learn",
        "no such library",
        "Install pramana with the extra: pip install 'pramana[models]'.",
    ) from None

Codes = NDArray[np.integer[Any]]
MOST_CELLS = 2_000_000
_ROUNDS = 1000


class _FromTables(ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """What the classifiers share: names, sizes, and tables reconstructed from the published codes."""

    def __init__(
        self, mechanism: Mechanism, features: Sequence[str], target: str, sizes: Mapping[str, int] | None = None
    ) -> None:
        self.mechanism = mechanism
        self.features = features
        self.target = target
        self.sizes = sizes

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - scikit-learn's names
        """Learn from published codes: a column of X for each feature, and the published classes."""
        columns = self._columns(X)
        columns[self.target] = np.asarray(y).astype(np.int64)
        sizes = {**self.mechanism.sizes, **(self.sizes or {})}
        axes = {}
        for name, codes in columns.items():
            size = sizes.get(name, int(codes.max()) + 1)  # a column the mechanism does not know is unchanged
            if len(codes) != len(columns[self.target]) or codes.min() < 0 or codes.max() >= size:
                raise InputError(f"The codes of {name} must be as many as the classes, from 0 to {size - 1}")
            axes[name] = Axis(name, tuple(map(str, range(size))))
        self.classes_ = np.arange(axes[self.target].size)
        self.n_features_in_ = len(self.features)
        self.sizes_ = {name: axis.size for name, axis in axes.items()}
        self._learn(lambda names: _table(columns, [axes[n] for n in names], self.mechanism))
        return self

    def fit_study(self, study: Study) -> Self:
        """Learn from a bundle's published columns."""
        columns = study.columns([*self.features, self.target])
        self.sizes = {name: study.axis(name).size for name in columns}
        return self.fit(np.column_stack([columns[n] for n in self.features]), columns[self.target])

    def predict(self, X: Any) -> Codes:  # noqa: N803
        chances = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(chances, axis=1)])

    def predict_proba(self, X: Any) -> Array:  # noqa: N803
        if not hasattr(self, "classes_"):
            raise InputError("A model must be fitted before it predicts")
        return self._chances(self._columns(X))

    def _columns(self, X: Any) -> dict[str, Codes]:  # noqa: N803
        table = np.asarray(X)
        if table.ndim != 2 or table.shape[1] != len(self.features):
            raise InputError(f"X must have {len(self.features)} columns, one for each feature", str(table.shape))
        return {name: table[:, i].astype(np.int64) for i, name in enumerate(self.features)}

    def _learn(self, table: Callable[[Sequence[str]], PublishedTable]) -> None:
        raise NotImplementedError

    def _chances(self, columns: Mapping[str, Codes]) -> Array:
        raise NotImplementedError


def _table(columns: Mapping[str, Codes], axes: Sequence[Axis], mechanism: Mechanism) -> PublishedTable:
    cells = math.prod(axis.size for axis in axes)
    if cells > MOST_CELLS:
        raise InputError(
            f"A model's table must have at most {MOST_CELLS:,} cells",
            f"{cells:,}",
            "Use fewer or coarser features.",
        )
    return tabulate({a.name: columns[a.name].astype(np.uint32) for a in axes}, axes, mechanism)


def _fitted(table: PublishedTable) -> Array:
    return fit_table(table, most_rounds=_ROUNDS).values


class RandomisedNaiveBayes(_FromTables):
    """Naive Bayes: each feature's table with the class, reconstructed; `smoothing` records are added to a cell."""

    def __init__(
        self,
        mechanism: Mechanism,
        features: Sequence[str],
        target: str,
        sizes: Mapping[str, int] | None = None,
        smoothing: float = 1.0,
    ) -> None:
        super().__init__(mechanism, features, target, sizes)
        self.smoothing = smoothing

    def _learn(self, table: Callable[[Sequence[str]], PublishedTable]) -> None:
        prior = _fitted(table([self.target])) + self.smoothing
        self.class_log_prior_ = np.log(prior / prior.sum())
        self.feature_log_prob_ = {}
        for name in self.features:
            joint = _fitted(table([self.target, name])) + self.smoothing
            self.feature_log_prob_[name] = np.log(joint / joint.sum(axis=1, keepdims=True))

    def _chances(self, columns: Mapping[str, Codes]) -> Array:
        score = self.class_log_prior_ + sum(self.feature_log_prob_[n][:, columns[n]].T for n in self.features)
        score -= score.max(axis=1, keepdims=True)
        chances = np.exp(score)
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))


@dataclass
class _Node:
    chances: Array
    feature: str | None = None
    left_codes: NDArray[np.bool_] | None = None
    left: _Node | None = None
    right: _Node | None = None


class RandomisedTreeClassifier(_FromTables):
    """A decision tree: at each node the best split by Gini impurity of reconstructed tables.

    A node's tables are over the attributes of its path, one candidate and the class, restricted to the path.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        features: Sequence[str],
        target: str,
        sizes: Mapping[str, int] | None = None,
        max_depth: int = 4,
        min_records: float = 100.0,
    ) -> None:
        super().__init__(mechanism, features, target, sizes)
        self.max_depth = max_depth
        self.min_records = min_records

    def _learn(self, table: Callable[[Sequence[str]], PublishedTable]) -> None:
        known: dict[tuple[str, ...], Array] = {}

        def counts(names: tuple[str, ...]) -> Array:
            if names not in known:
                known[names] = _fitted(table([*names, self.target]))
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
        for name in self.features:
            try:
                table = self._restricted(counts, path, (name,))
            except InputError:  # the table of so long a path is too large: other features may do
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


class RandomisedLogisticRegression(_FromTables):
    """Logistic regression on one-hot features, fitted to the reconstructed joint table.

    `coef_interval_` accounts for the randomisation: with c the score of a coefficient, a published record z adds
    G(z) = (B^T c)(z) to it, so the scores' covariance over people and coins is sum_z y_z G(z) G(z)^T.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        features: Sequence[str],
        target: str,
        sizes: Mapping[str, int] | None = None,
        C: float = 1.0,  # noqa: N803
        confidence: float = DEFAULT_CONFIDENCE,
    ) -> None:
        super().__init__(mechanism, features, target, sizes)
        self.C = C
        self.confidence = confidence

    def _learn(self, table: Callable[[Sequence[str]], PublishedTable]) -> None:
        joint = table([*self.features, self.target])
        counts = _fitted(joint).reshape(-1, len(self.classes_))
        shape = joint.law.shape[:-1]
        codes = np.array(np.unravel_index(np.arange(len(counts)), shape))
        design = self._design(dict(zip(self.features, codes, strict=True)))
        weights = counts.T.ravel()
        used = weights > 1e-9 * weights.sum()
        rows = np.tile(np.arange(len(counts)), len(self.classes_))[used]
        classes = np.repeat(self.classes_, len(counts))[used]
        if len(np.unique(classes)) < 2:
            raise InputError("A model must see two classes in the reconstructed table", "one")
        model = LogisticRegression(C=self.C, max_iter=2000)
        self.model_ = model.fit(design[rows], classes, sample_weight=weights[used])
        self.coef_, self.intercept_ = model.coef_, model.intercept_
        if len(self.classes_) == 2:
            self.coef_interval_ = self._intervals(joint, design, counts)

    def _intervals(self, joint: PublishedTable, design: Array, counts: Array) -> Array:
        """Low and high of the intercept and each coefficient: the sandwich, with the coins in its middle."""
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
        half = quantile(self.confidence) * np.sqrt(np.maximum(np.diag(bread @ middle @ bread), 0.0))
        centre = np.concatenate([self.intercept_, self.coef_[0]])
        return np.stack([centre - half, centre + half])

    def _design(self, columns: Mapping[str, Codes]) -> Array:
        """One column for each value but the first of each feature."""
        parts = [np.eye(self.sizes_[name])[:, 1:][columns[name]] for name in self.features]
        return np.concatenate(parts, axis=1)

    def _chances(self, columns: Mapping[str, Codes]) -> Array:
        return np.asarray(self.model_.predict_proba(self._design(columns)))
