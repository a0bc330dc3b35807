"""Linear regression from normal equations that the coins leave unbiased, with standard errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted, validate_data

from pramana.mechanisms.table import Mechanism
from pramana.recipient.inversion import DEFAULT_CONFIDENCE, quantile
from pramana.recipient.law import Array, Keep, TableLaw, law_of
from pramana.recipient.models.base import (
    Codes,
    FromCodes,
    ModelInputError,
    RandomisedClassifier,
    Tables,
    cells_of,
    checked_codes,
    fitted,
)
from pramana.recipient.table import PublishedTable

_ROWS = 65_536  # that are worked on at once


@dataclass(frozen=True, eq=False)
class _Terms:
    """One summand of what a published record tells: for each attribute the estimated chances of its values."""

    weight: float
    chances: tuple[Array, ...]  # rows by values, a table for each feature
    numbers: Array  # of the target


class RandomisedLinearRegression(RegressorMixin, FromCodes):  # type: ignore[misc]
    """Least squares. With B = A^-1, a published record z tells of its true values by B[z], without bias.

    Products of what two attributes tell are unbiased where their coins are independent; under the record coin, a
    function f of the whole record is told by f(z)/rho - (1-rho)/rho * mean(f). So the normal equations need pairs
    of attributes only, and any number of features will do. `numbers` gives, by name, the numbers that codes stand
    for: of a feature to use as a number instead of named categories, and of the target. `standard_errors_`
    (intercept first) cover people and coins: M^-1 (sum of scores' squares) M^-1, the sandwich, which is HC0 where
    nothing was randomised.
    """

    def __init__(
        self,
        mechanism: Mechanism | None = None,
        features: Sequence[str] | None = None,
        target: str | None = None,
        sizes: Mapping[str, int] | None = None,
        numbers: Mapping[str, Sequence[float]] | None = None,
        confidence: float = DEFAULT_CONFIDENCE,
    ) -> None:
        super().__init__(mechanism, features, target, sizes)
        self.numbers = numbers
        self.confidence = confidence

    def _fit(self, X: Any, y: Any, sizes: Mapping[str, int]) -> Self:  # noqa: N803
        X, y = validate_data(self, X, y, y_numeric=True)  # noqa: N806
        sizes = {**self._law.sizes, **sizes}
        columns = self._named(X, sizes, fitting=True)
        self.target_ = "y" if self.target is None else self.target
        self.sizes_ = {n: sizes.get(n, int(c.max(initial=0)) + 1) for n, c in columns.items()}
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
        check_is_fitted(self)
        columns = self._named(validate_data(self, X, reset=False), self.sizes_, fitting=False)
        parts = [design[columns[n]] for n, design in zip(self.feature_codes_, self.designs_, strict=True)]
        return np.asarray(self.intercept_ + np.concatenate(parts, axis=1) @ self.coef_)

    def _design_of(self, name: str) -> Array:
        """A row for each code: the number it stands for, or a column for each value but the first."""
        size, numbers = self.sizes_[name], (self.numbers or {}).get(name)
        if numbers is None:
            return np.eye(size)[:, 1:]
        if len(numbers) != size or not np.isfinite(numbers).all():
            raise ModelInputError(f"The numbers of {name} must be {size} finite ones, one for each code", "others")
        return np.asarray(numbers, np.float64)[:, None]

    # ------------------------------------------------------------ what published records tell

    def _pieces(self, columns: Mapping[str, Codes], y: Array, sizes: Mapping[str, int]) -> Iterator[list[_Terms]]:
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
                told = [_told(law, a, own[a]) for a in range(len(names))]
                target = plain
                if codes is not None:
                    target = _told(law, len(names), np.eye(len(values))[codes[rows]]) @ values
                yield [_Terms(1.0, tuple(told), target)]
                continue
            means = [np.full_like(o, 1 / o.shape[1]) if a in coin.axes else o for a, o in enumerate(own)]
            mean = np.full_like(plain, values.mean()) if len(names) in coin.axes else plain
            rho = coin.retention
            yield [_Terms(1 / rho, tuple(own), plain), _Terms(-(1 - rho) / rho, tuple(means), mean)]

    def _wide(self, terms: _Terms) -> Array:
        parts = [chances @ design for chances, design in zip(terms.chances, self.designs_, strict=True)]
        return np.concatenate([np.ones((len(terms.numbers), 1)), *parts], axis=1)

    def _moments(self, pieces: Sequence[Sequence[_Terms]]) -> tuple[Array, Array]:
        """Unbiased sums of d d^T and of d y over the true records' design rows d."""
        size = 1 + sum(design.shape[1] for design in self.designs_)
        moments, products = np.zeros((size, size)), np.zeros(size)
        for terms in (t for piece in pieces for t in piece):
            wide = self._wide(terms)
            square, first = wide.T @ wide, 1
            for chances, design in zip(terms.chances, self.designs_, strict=True):
                block = slice(first, first + design.shape[1])  # an attribute is not independent of itself
                square[block, block] = (design * chances.sum(axis=0)[:, None]).T @ design
                first = block.stop
            moments += terms.weight * square
            products += terms.weight * (wide.T @ terms.numbers)
        return moments, products

    def _scores(self, piece: Sequence[_Terms], solved: Array) -> Array:
        """What each record adds to the normal equations at their solution."""
        total: Array = np.zeros(1)
        for terms in piece:
            wide = self._wide(terms)
            scores = wide * (terms.numbers - wide @ solved)[:, None]
            first = 1
            for chances, design in zip(terms.chances, self.designs_, strict=True):
                block = slice(first, first + design.shape[1])
                part = wide[:, block]
                scores[:, block] += part * (part @ solved[block])[:, None]
                scores[:, block] -= chances @ (design * (design @ solved[block])[:, None])
                first = block.stop
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


def _told(law: TableLaw, axis: int, own: Array) -> Array:
    """Rows of the inverse for the published codes: what they tell of the true ones."""
    for factor in law.factors:
        if factor.axes == (axis,):
            return factor.moved({axis: 1}).inverse(own)
    return own


# Logistic regression on the reconstructed joint table, with standard errors.


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
