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

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from pramana.errors import InputError, MissingExtraError, install_command
from pramana.mechanisms.table import Mechanism, Product
from pramana.recipient.inversion import DEFAULT_CONFIDENCE, quantile
from pramana.recipient.law import Array, Keep, PublishedTable, TableLaw, law_of, tabulate
from pramana.recipient.likelihood import fit as fit_table
from pramana.recipient.study import Study
from pramana.schema.domain import Axis

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    hint = f"Install it with: {install_command('models')}"
    raise MissingExtraError("The models need scikit-learn", "no such library", hint) from None

__all__ = [
    "MOST_CELLS",
    "ModelInputError",
    "RandomisedGradientBoosting",
    "RandomisedLinearRegression",
    "RandomisedLogisticRegression",
    "RandomisedNaiveBayes",
    "RandomisedTreeClassifier",
]

Codes = NDArray[np.int64]
CodeSet = NDArray[np.bool_]
Tables = Callable[[Sequence[str]], PublishedTable]
MOST_CELLS = 2_000_000
_MOST_VALUES = 255  # of a feature, in scikit-learn's histograms
_ROUNDS = 1000
_ROWS = 65_536  # that are worked on at once


class ModelInputError(InputError, ValueError):
    """What cannot be fitted or predicted from; a ValueError, too, as scikit-learn expects."""


@dataclass(eq=False, repr=False)  # scikit-learn reads the parameters from the signature of __init__
class FromCodes(BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """A model of codes: a column of X for each feature, counted from 0 as a release has them.

    Without a mechanism, and for columns that it does not know, values are taken as they are.
    """

    mechanism: Mechanism | None = None
    features: Sequence[str] | None = None
    target: str | None = None
    sizes: Mapping[str, int] | None = None

    def fit_study(self, study: Study) -> Self:
        """Learn from a bundle's published columns; features and target must be named."""
        if self.features is None or self.target is None:
            absent = "no features" if self.features is None else "no target"
            raise ModelInputError("Features and target must be named for a bundle", absent)
        columns = study.columns([*self.features, self.target])
        sizes = {name: study.axis(name).size for name in columns}
        return self._fit(np.column_stack([columns[n] for n in self.features]), columns[self.target], sizes)

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - scikit-learn's names
        """Learn from published codes: a column of X for each feature, and the published target."""
        return self._fit(X, y, self.sizes or {})

    def _fit(self, X: Any, y: Any, sizes: Mapping[str, int]) -> Self:  # noqa: N803
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.positive_only = True
        tags.target_tags.required = True
        return tags

    @property
    def _law(self) -> Mechanism:
        return Product({}) if self.mechanism is None else self.mechanism

    def _named(self, X: Array, sizes: Mapping[str, int]) -> dict[str, Codes]:  # noqa: N803
        """The columns by their names; codes that are no whole numbers within their sizes are refused."""
        names = [f"x{i}" for i in range(X.shape[1])] if self.features is None else list(self.features)
        if X.shape[1] != len(names):
            raise ModelInputError(f"X must have {len(names)} columns, one for each feature", str(X.shape))
        return {name: checked_codes(X[:, i], name, sizes.get(name)) for i, name in enumerate(names)}

    def _learn_names(self, X: Array, sizes: Mapping[str, int]) -> dict[str, Codes]:  # noqa: N803
        """The columns by their names; which they are, how large they are and the target are remembered."""
        columns = self._named(X, sizes)
        self.feature_codes_ = list(columns)
        self.target_ = "y" if self.target is None else self.target
        self.sizes_ = {n: sizes.get(n, int(c.max(initial=0)) + 1) for n, c in columns.items()}
        return columns

    def _columns(self, X: Any) -> dict[str, Codes]:  # noqa: N803
        """The columns of records to predict."""
        check_is_fitted(self)
        return self._named(validate_data(self, X, reset=False), self.sizes_)


def checked_codes(values: Array, name: str, size: int | None) -> Codes:
    numbers = np.asarray(values, np.float64)
    if (numbers < 0).any():
        raise ModelInputError(
            f"Negative values in data passed to a model of codes: the codes of {name} are counted"
        )
    wrong = (numbers != np.floor(numbers)) | (numbers >= (np.inf if size is None else size))
    if wrong.any():
        most = "" if size is None else f" to {size - 1}"
        raise ModelInputError(
            f"The codes of {name} must be whole numbers, from 0{most}", f"{wrong.sum():,} that are not"
        )
    return numbers.astype(np.int64)


class RandomisedClassifier(ClassifierMixin, FromCodes):  # type: ignore[misc]
    """What the classifiers share."""

    def _fit(self, X: Any, y: Any, sizes: Mapping[str, int]) -> Self:  # noqa: N803
        X, y = validate_data(self, X, y)  # noqa: N806
        check_classification_targets(y)
        sizes = {**self._law.sizes, **sizes}
        columns = self._learn_names(X, sizes)
        target = self.target_
        if target in sizes:
            self.classes_ = np.arange(sizes[target])
            columns[target] = checked_codes(y, target, sizes[target])
        else:  # a class that no coin has touched may have any name
            self.classes_, columns[target] = np.unique(y, return_inverse=True)
        self.sizes_[target] = len(self.classes_)
        axes = {name: Axis(name, tuple(map(str, range(size)))) for name, size in self.sizes_.items()}
        self._learn(lambda names: table_of(columns, [axes[n] for n in names], self._law))
        return self

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        chances = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(chances, axis=1)])

    def predict_proba(self, X: Any) -> Array:  # noqa: N803
        return self._chances(self._columns(X))

    def _learn(self, table: Tables) -> None:
        raise NotImplementedError

    def _chances(self, columns: Mapping[str, Codes]) -> Array:
        raise NotImplementedError


def table_of(columns: Mapping[str, Codes], axes: Sequence[Axis], mechanism: Mechanism) -> PublishedTable:
    cells = math.prod(axis.size for axis in axes)
    if cells > MOST_CELLS:
        raise ModelInputError(
            f"A model's table must have at most {MOST_CELLS:,} cells",
            f"{cells:,}",
            "Use fewer or coarser features.",
        )
    return tabulate({a.name: columns[a.name].astype(np.uint32) for a in axes}, axes, mechanism)


def fitted(table: PublishedTable) -> Array:
    return fit_table(table, most_rounds=_ROUNDS).values


# ---------------------------------------------------------------- classifiers from small tables


@dataclass(eq=False, repr=False)
class RandomisedNaiveBayes(RandomisedClassifier):
    """Naive Bayes: each feature's table with the class, reconstructed; `smoothing` records are added to a cell."""

    smoothing: float = 1.0

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


@dataclass
class _Split:
    """A feature, which of its codes go left, and the nodes on both sides."""

    feature: str
    left_codes: CodeSet
    left: _Node
    right: _Node


@dataclass
class _Node:
    chances: Array
    split: _Split | None = None


@dataclass(eq=False, repr=False)
class RandomisedTreeClassifier(RandomisedClassifier):
    """A decision tree: at each node the best split by Gini impurity of reconstructed tables.

    A node's tables are over the attributes of its path, one candidate and the class, restricted to the path.
    """

    max_depth: int = 4
    min_records: float = 100.0

    def _learn(self, table: Tables) -> None:
        known: dict[tuple[str, ...], Array] = {}

        def restricted(path: Mapping[str, CodeSet], extra: Sequence[str] = ()) -> Array:
            """Reconstructed counts by the extra attribute and the class, among records of the path."""
            names = tuple(sorted({*path, *extra}))
            if names not in known:
                known[names] = fitted(table([*names, self.target_]))
            counts = known[names]
            for axis, name in enumerate(names):
                if name in path:
                    counts = counts * path[name].reshape([-1 if i == axis else 1 for i in range(counts.ndim)])
            return np.asarray(counts.sum(axis=tuple(i for i, name in enumerate(names) if name not in extra)))

        self.tree_ = self._grow(restricted, {}, 0)

    def _grow(self, restricted: Callable[..., Array], path: Mapping[str, CodeSet], depth: int) -> _Node:
        here = restricted(path)
        total = float(here.sum())
        node = _Node((here + 1.0) / (total + len(here)))
        if depth >= self.max_depth or total < self.min_records:
            return node
        best: tuple[float, str, CodeSet] | None = None
        for name in self.feature_codes_:
            try:
                gain, left = _best_split(restricted(path, [name]), self.min_records)
            except ModelInputError:  # the table of so long a path is too large: other features may do
                continue
            if left is not None and (best is None or gain > best[0]):
                best = gain, name, left
        if best is None or best[0] <= 1e-9 * total:
            return node
        _, name, codes = best
        before = path.get(name, np.ones(self.sizes_[name], bool))
        sides = [self._grow(restricted, {**path, name: before & part}, depth + 1) for part in (codes, ~codes)]
        node.split = _Split(name, codes, *sides)
        return node

    def _chances(self, columns: Mapping[str, Codes]) -> Array:
        rows = len(next(iter(columns.values())))
        chances = np.empty((rows, len(self.classes_)))
        todo: list[tuple[_Node, NDArray[np.intp]]] = [(self.tree_, np.arange(rows))]
        while todo:
            node, at = todo.pop()
            if (split := node.split) is None:
                chances[at] = node.chances
                continue
            left = split.left_codes[columns[split.feature][at]]
            todo += [(split.left, at[left]), (split.right, at[~left])]
        return chances


def _best_split(table: Array, least: float) -> tuple[float, CodeSet | None]:
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


# ---------------------------------------------------------------- classifiers from the joint table


class _FromJointTable(RandomisedClassifier):
    """A classifier of scikit-learn, fitted to the cells of the reconstructed joint table, with their counts."""

    def _design(self, columns: Mapping[str, Codes]) -> NDArray[Any]:
        """The features as the classifier takes them."""
        raise NotImplementedError

    def _fit_cells(self, model: Any, joint: PublishedTable) -> tuple[NDArray[Any], Array]:
        """Fit `model` to the table; return the features of its cells, and their counts by class."""
        counts = fitted(joint).reshape(-1, len(self.classes_))
        codes = np.unravel_index(np.arange(len(counts)), joint.law.shape[:-1])
        design = self._design(dict(zip(self.feature_codes_, codes, strict=True)))
        row, label = np.nonzero(counts > 1e-9 * counts.sum())
        if len(np.unique(label)) < 2:
            raise ModelInputError("A model must see two classes in the reconstructed table", "1 class")
        with _one_thread():
            self.model_ = model.fit(design[row], label, sample_weight=counts[row, label])
        return design, counts

    def _chances(self, columns: Mapping[str, Codes]) -> Array:
        design = self._design(columns)
        chances = np.zeros((len(design), len(self.classes_)))
        with _one_thread():
            chances[:, self.model_.classes_] = self.model_.predict_proba(design)
        return chances


def _one_thread() -> threadpool_limits:
    """A table's cells are few: threads would wait for each other longer than they work."""
    return threadpool_limits(limits=1, user_api="openmp")


@dataclass(eq=False, repr=False)
class RandomisedGradientBoosting(_FromJointTable):
    """Boosted trees of scikit-learn, fitted to the cells of the reconstructed joint table, with their counts.

    A split divides the codes of a feature in their order. Fewer or smaller steps keep the trees from following the
    noise that reconstruction leaves.
    """

    max_iter: int = 60
    learning_rate: float = 0.1
    max_leaf_nodes: int = 8
    l2_regularization: float = 50.0

    def _learn(self, table: Tables) -> None:
        if wide := [n for n in self.feature_codes_ if self.sizes_[n] > _MOST_VALUES]:
            raise ModelInputError(f"A feature must have at most {_MOST_VALUES} values", ", ".join(wide))
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
        self._fit_cells(model, table([*self.feature_codes_, self.target_]))
        self.n_iter_ = model.n_iter_

    def _design(self, columns: Mapping[str, Codes]) -> NDArray[Any]:
        return np.column_stack([columns[n] for n in self.feature_codes_])


@dataclass(eq=False, repr=False)
class RandomisedLogisticRegression(_FromJointTable):
    """Logistic regression on one-hot features, fitted to the reconstructed joint table.

    `standard_errors_` and `coef_interval_` (intercept first; two classes) account for the randomisation: with c
    the score of a coefficient, a published record z adds G(z) = (B^T c)(z) to it, so the scores' covariance over
    people and coins is sum_z y_z G(z) G(z)^T.
    """

    C: float = 1.0
    confidence: float = DEFAULT_CONFIDENCE

    def _learn(self, table: Tables) -> None:
        joint, model = table([*self.feature_codes_, self.target_]), LogisticRegression(C=self.C, max_iter=2000)
        design, counts = self._fit_cells(model, joint)
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


# ---------------------------------------------------------------- linear regression


@dataclass(frozen=True, eq=False)
class _Terms:
    """One summand of what a published record tells: for each attribute the estimated chances of its values."""

    weight: float
    chances: tuple[Array, ...]  # rows by values, a table for each feature
    numbers: Array  # of the target


@dataclass(eq=False, repr=False)
class RandomisedLinearRegression(RegressorMixin, FromCodes):  # type: ignore[misc]
    """Least squares. With B = A^-1, a published record z tells of its true values by B[z], without bias.

    Products of what two attributes tell are unbiased where their coins are independent; under the record coin, a
    function f of the whole record is told by f(z)/rho - (1-rho)/rho * mean(f). So the normal equations need pairs
    of attributes only, and any number of features will do. `numbers` gives, by name, the numbers that codes stand
    for: of a feature to use as a number instead of named categories, and of the target. `standard_errors_`
    (intercept first) cover people and coins: M^-1 (sum of scores' squares) M^-1, the sandwich, which is HC0 where
    nothing was randomised.
    """

    numbers: Mapping[str, Sequence[float]] | None = None
    confidence: float = DEFAULT_CONFIDENCE

    def _fit(self, X: Any, y: Any, sizes: Mapping[str, int]) -> Self:  # noqa: N803
        X, y = validate_data(self, X, y, y_numeric=True)  # noqa: N806
        sizes = {**self._law.sizes, **sizes}
        columns = self._learn_names(X, sizes)
        self.designs_ = [self._design_of(name) for name in self.feature_codes_]
        pieces = list(self._pieces(columns, np.asarray(y), sizes))
        moments, products = self._moments(pieces)
        wide = np.linalg.pinv(moments, rcond=1e-10, hermitian=True)
        solved = wide @ products
        middle = sum(s.T @ s for s in (self._scores(piece, solved) for piece in pieces))
        self.intercept_, self.coef_ = float(solved[0]), solved[1:]
        self.covariance_ = np.asarray(wide @ middle @ wide)
        self.standard_errors_ = np.sqrt(np.maximum(np.diag(self.covariance_), 0.0))
        half = quantile(self.confidence) * self.standard_errors_
        self.coef_interval_ = np.stack([solved - half, solved + half])
        return self

    def predict(self, X: Any) -> Array:  # noqa: N803
        columns = self._columns(X)
        parts = [design[columns[n]] for n, design in zip(self.feature_codes_, self.designs_, strict=True)]
        return np.asarray(self.intercept_ + np.concatenate(parts, axis=1) @ self.coef_)

    def _design_of(self, name: str) -> Array:
        """A row for each code: the number it stands for, or a column for each value but the first."""
        size, numbers = self.sizes_[name], (self.numbers or {}).get(name)
        if numbers is None:
            return np.eye(size)[:, 1:]
        finite = int(np.isfinite(numbers).sum())
        if len(numbers) != size or finite != size:
            raise ModelInputError(
                f"The numbers of {name} must be {size} finite ones, one for each code",
                f"{len(numbers)}, of which {finite} are finite",
            )
        return np.asarray(numbers, np.float64)[:, None]

    def _pieces(self, columns: Mapping[str, Codes], y: Array, sizes: Mapping[str, int]) -> Iterator[list[_Terms]]:
        """What published records tell, some rows at a time."""
        names = list(self.feature_codes_)
        drawn = self.target_ in sizes
        codes = checked_codes(y, self.target_, sizes[self.target_]) if drawn else None
        usual = range(sizes[self.target_] if drawn else 0)
        values = np.asarray((self.numbers or {}).get(self.target_, usual), np.float64)
        randomised = {self.target_: len(values)} if drawn else {}
        law = law_of(self._law, {n: self.sizes_[n] for n in names} | randomised)
        coin = _record_coin(law)
        for start in range(0, len(y), _ROWS):
            rows = slice(start, start + _ROWS)
            own = [np.eye(self.sizes_[n])[columns[n][rows]] for n in names]
            plain = y[rows] if codes is None else values[codes[rows]]
            if coin is None:
                chances = tuple(_rows_of_inverse(law, a, own[a]) for a in range(len(names)))
                target = plain
                if codes is not None:
                    target = _rows_of_inverse(law, len(names), np.eye(len(values))[codes[rows]]) @ values
                yield [_Terms(1.0, chances, target)]
                continue
            means = [np.full_like(o, 1 / o.shape[1]) if a in coin.axes else o for a, o in enumerate(own)]
            mean = np.full_like(plain, values.mean()) if len(names) in coin.axes else plain
            rho = coin.retention
            yield [_Terms(1 / rho, tuple(own), plain), _Terms(-(1 - rho) / rho, tuple(means), mean)]

    def _wide(self, terms: _Terms) -> Array:
        parts = [chances @ design for chances, design in zip(terms.chances, self.designs_, strict=True)]
        return np.concatenate([np.ones((len(terms.numbers), 1)), *parts], axis=1)

    def _blocks(self, terms: _Terms) -> Iterator[tuple[slice, Array, Array]]:
        """Of each feature its columns in the design, its chances and its part of the design."""
        first = 1
        for chances, design in zip(terms.chances, self.designs_, strict=True):
            yield slice(first, first + design.shape[1]), chances, design
            first += design.shape[1]

    def _moments(self, pieces: Sequence[Sequence[_Terms]]) -> tuple[Array, Array]:
        """Unbiased sums of d d^T and of d y over the true records' design rows d."""
        size = 1 + sum(design.shape[1] for design in self.designs_)
        moments, products = np.zeros((size, size)), np.zeros(size)
        for terms in (t for piece in pieces for t in piece):
            wide = self._wide(terms)
            square = wide.T @ wide
            for block, chances, design in self._blocks(terms):  # an attribute is not independent of itself
                square[block, block] = (design * chances.sum(axis=0)[:, None]).T @ design
            moments += terms.weight * square
            products += terms.weight * (wide.T @ terms.numbers)
        return moments, products

    def _scores(self, piece: Sequence[_Terms], solved: Array) -> Array:
        """What each record adds to the normal equations at their solution."""
        total: Array = np.zeros(1)
        for terms in piece:
            wide = self._wide(terms)
            scores = wide * (terms.numbers - wide @ solved)[:, None]
            for block, chances, design in self._blocks(terms):
                part = wide[:, block]
                scores[:, block] += part * (part @ solved[block])[:, None]
                scores[:, block] -= chances @ (design * (design @ solved[block])[:, None])
            total = total + terms.weight * scores
        return total


def _record_coin(law: TableLaw) -> Keep | None:
    """The coin that is on several attributes at once, if there is one; others that are must be refused."""
    joint = [factor for factor in law.factors if len(factor.axes) > 1]
    if not joint:
        return None
    if len(law.factors) > 1 or not isinstance(joint[0], Keep):
        raise ModelInputError("Columns must be randomised one by one, or whole records", "groups of columns")
    return joint[0]


def _rows_of_inverse(law: TableLaw, axis: int, own: Array) -> Array:
    """Rows of the inverse for the published codes: what they tell of the true ones."""
    for factor in law.factors:
        if factor.axes == (axis,):
            return factor.moved({axis: 1}).inverse_power(own, 1)
    return own
