"""What the models share: names, sizes, codes that are checked, and tables reconstructed from published codes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError, MissingExtraError, install_command
from pramana.mechanisms.table import Mechanism, Product
from pramana.recipient.law import Array
from pramana.recipient.likelihood import fit as fit_table
from pramana.recipient.study import Study
from pramana.recipient.table import PublishedTable, tabulate
from pramana.schema.axis import Axis

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise MissingExtraError(
        "The models need scikit-learn",
        "no such library",
        f"Install it with: {install_command('models')}",
    ) from None

Codes = NDArray[np.int64]
Tables = Callable[[Sequence[str]], PublishedTable]
MOST_CELLS = 2_000_000
_ROUNDS = 1000


class ModelInputError(InputError, ValueError):
    """What cannot be fitted or predicted from; a ValueError, too, as scikit-learn expects."""


class FromCodes(BaseEstimator):  # type: ignore[misc] # scikit-learn ships no types
    """A model of codes: a column of X for each feature, counted from 0 as a release has them.

    Without a mechanism, and for columns that it does not know, values are taken as they are.
    """

    def __init__(
        self,
        mechanism: Mechanism | None = None,
        features: Sequence[str] | None = None,
        target: str | None = None,
        sizes: Mapping[str, int] | None = None,
    ) -> None:
        self.mechanism = mechanism
        self.features = features
        self.target = target
        self.sizes = sizes

    def fit_study(self, study: Study) -> Self:
        """Learn from a bundle's published columns; features and target must be named."""
        if self.features is None or self.target is None:
            raise ModelInputError("Features and target must be named for a bundle", "none")
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

    def _named(self, X: Array, sizes: Mapping[str, int], fitting: bool) -> dict[str, Codes]:  # noqa: N803
        """The columns by their names; codes that are no whole numbers within their sizes are refused."""
        names = [f"x{i}" for i in range(X.shape[1])] if self.features is None else list(self.features)
        if X.shape[1] != len(names):
            raise ModelInputError(f"X must have {len(names)} columns, one for each feature", str(X.shape))
        columns = {name: checked_codes(X[:, i], name, sizes.get(name)) for i, name in enumerate(names)}
        if fitting:
            self.feature_codes_ = names
        return columns


def checked_codes(values: Array, name: str, size: int | None) -> Codes:
    numbers = np.asarray(values, np.float64)
    if (numbers < 0).any():
        raise ModelInputError(
            f"Negative values in data passed to a model of codes: the codes of {name} are counted"
        )
    if (numbers != np.floor(numbers)).any() or (size is not None and (numbers >= size).any()):
        most = "" if size is None else f" to {size - 1}"
        raise ModelInputError(f"The codes of {name} must be whole numbers, from 0{most}", "others")
    return numbers.astype(np.int64)


class RandomisedClassifier(ClassifierMixin, FromCodes):  # type: ignore[misc]
    """What the classifiers share."""

    def _fit(self, X: Any, y: Any, sizes: Mapping[str, int]) -> Self:  # noqa: N803
        X, y = validate_data(self, X, y)  # noqa: N806
        check_classification_targets(y)
        sizes = {**self._law.sizes, **sizes}
        columns = self._named(X, sizes, fitting=True)
        target = "y" if self.target is None else self.target
        if target in sizes:
            self.classes_ = np.arange(sizes[target])
            columns[target] = checked_codes(y, target, sizes[target])
        else:  # a class that no coin has touched may have any name
            self.classes_, columns[target] = np.unique(y, return_inverse=True)
        self.sizes_ = {n: sizes.get(n, int(c.max(initial=0)) + 1) for n, c in columns.items()}
        self.sizes_[target] = len(self.classes_)
        self.target_ = target
        axes = {name: Axis(name, tuple(map(str, range(size)))) for name, size in self.sizes_.items()}
        self._learn(lambda names: table_of(columns, [axes[n] for n in names], self._law))
        return self

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        chances = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(chances, axis=1)])

    def predict_proba(self, X: Any) -> Array:  # noqa: N803
        check_is_fitted(self)
        return self._chances(self._named(validate_data(self, X, reset=False), self.sizes_, fitting=False))

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


def cells_of(names: Sequence[str], shape: tuple[int, ...]) -> dict[str, Codes]:
    """The codes of every combination, in the order of a table's cells."""
    codes = np.unravel_index(np.arange(math.prod(shape)), shape)
    return {name: np.asarray(column, np.int64) for name, column in zip(names, codes, strict=True)}
