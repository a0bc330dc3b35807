from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import CategoricalNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests import needs
from tests.estimate.simulation import streams_of
from tests.statistical.thresholds import COVERAGE_OF_MODELS, OF_A_SHARE

from pramana.errors import InputError
from pramana.mechanisms.channel import Dense, Retention
from pramana.mechanisms.table import Mechanism, Product, RecordRetention
from pramana.randomness.key import Key
from pramana.recipient.models import (
    RandomisedGradientBoosting,
    RandomisedLinearRegression,
    RandomisedLogisticRegression,
    RandomisedNaiveBayes,
    RandomisedTreeClassifier,
)
from pramana.recipient.study import Study
from pramana.schema.domain import Axis

SIZES = {"a": 3, "b": 4, "c": 2, "ill": 2}
FEATURES = ["a", "b", "c"]
EACH = Product({name: Retention.at(0.6, size) for name, size in SIZES.items()})
WHOLE = RecordRetention.at(0.5, SIZES)
NONE = Product({name: Retention.at(1, size) for name, size in SIZES.items()})
LOGITS = {"a": [-1.0, 0.0, 1.5], "b": [-0.5, 0.0, 0.5, 1.0], "c": [-1.0, 1.0]}


def people(rows: int, seed: int, xor: bool = False) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = {name: rng.integers(0, SIZES[name], rows).astype(np.uint8) for name in FEATURES}
    score = sum(np.array(LOGITS[name])[codes[name]] for name in FEATURES)
    if xor:
        score = 4.0 * ((codes["a"] == 2) ^ (codes["c"] == 1)) - 2.0
    codes["ill"] = (rng.random(rows) < 1 / (1 + np.exp(-score))).astype(np.uint8)
    return codes


def published(true: dict[str, np.ndarray], mechanism: Mechanism) -> dict[str, np.ndarray]:
    out = {name: np.empty_like(codes) for name, codes in true.items()}
    mechanism.publish(streams_of(Key.from_seed(5)), 0, true, out)
    return out


def matrix(codes: dict[str, np.ndarray]) -> np.ndarray:
    return np.column_stack([codes[name] for name in FEATURES])


@pytest.mark.parametrize("mechanism", [EACH, WHOLE], ids=["each", "record"])
@pytest.mark.parametrize(
    ("ours", "theirs", "xor"),
    [
        (RandomisedNaiveBayes, CategoricalNB(), False),
        (RandomisedTreeClassifier, DecisionTreeClassifier(max_depth=4, min_samples_leaf=100), False),
        (RandomisedTreeClassifier, DecisionTreeClassifier(max_depth=4, min_samples_leaf=100), True),
        (RandomisedLogisticRegression, LogisticRegression(), False),
        (RandomisedGradientBoosting, HistGradientBoostingClassifier(max_iter=30), False),
        (RandomisedGradientBoosting, HistGradientBoostingClassifier(max_iter=30), True),
    ],
    ids=["bayes", "tree", "tree of an interaction", "logistic", "boosting", "boosting of an interaction"],
)
def test_models_come_near_the_same_model_on_the_originals(
    ours: type, theirs: Any, xor: bool, mechanism: Mechanism
) -> None:
    true, new = people(30_000, 1, xor), people(20_000, 2, xor)
    noisy = published(true, mechanism)
    model = ours(mechanism, FEATURES, "ill").fit(matrix(noisy), noisy["ill"])
    original = theirs.fit(matrix(true), true["ill"]).score(matrix(new), new["ill"])
    naive = clone(theirs).fit(matrix(noisy), noisy["ill"])
    assert model.score(matrix(new), new["ill"]) > original - 0.02
    chances, unaware = model.predict_proba(matrix(new)), naive.predict_proba(matrix(new))
    assert chances.sum(axis=1) == pytest.approx(1)
    best = theirs.predict_proba(matrix(new))
    # Ignoring the randomisation shrinks every chance towards the mean; the models undo it.
    assert np.abs(chances - best).mean() < 0.6 * np.abs(unaware - best).mean()


def test_without_randomisation_the_models_are_the_usual_ones() -> None:
    true = people(5_000, 3)
    bayes = RandomisedNaiveBayes(NONE, FEATURES, "ill").fit(matrix(true), true["ill"])
    usual = CategoricalNB().fit(matrix(true), true["ill"])
    assert bayes.predict_proba(matrix(true)) == pytest.approx(usual.predict_proba(matrix(true)), abs=0.01)
    logistic = RandomisedLogisticRegression(NONE, FEATURES, "ill", C=1e4).fit(matrix(true), true["ill"])
    onehot = np.concatenate([np.eye(SIZES[n])[:, 1:][true[n]] for n in FEATURES], axis=1)
    same = LogisticRegression(C=1e4, max_iter=2000).fit(onehot, true["ill"])
    assert logistic.coef_ == pytest.approx(same.coef_, abs=0.02)


@pytest.mark.parametrize("mechanism", [EACH, WHOLE], ids=["each", "record"])
def test_intervals_of_coefficients_cover_the_law_that_made_the_data(mechanism: Mechanism) -> None:
    want = [-1.0 - 0.5 - 1.0, 1.0, 2.5, 0.5, 1.0, 1.5, 2.0]
    covered = []
    for seed in range(40):
        true = people(20_000, 100 + seed)
        out = {name: np.empty_like(codes) for name, codes in true.items()}
        mechanism.publish(streams_of(Key.from_seed(seed)), 0, true, out)
        model = RandomisedLogisticRegression(mechanism, FEATURES, "ill", C=1e4).fit(matrix(out), out["ill"])
        low, high = model.coef_interval_
        covered.append((low <= want) & (want <= high))
    least, most = COVERAGE_OF_MODELS
    assert least <= np.mean(covered) <= most


def test_a_bundle_s_columns_can_be_learnt_from() -> None:
    true = people(10_000, 4)
    noisy = published(true, EACH)
    axes = [Axis.of_labels(name, [f"{name}{i}" for i in range(size)]) for name, size in SIZES.items()]
    study = Study.of_codes(axes, EACH, noisy)
    one = RandomisedNaiveBayes(EACH, FEATURES, "ill").fit_study(study)
    two = RandomisedNaiveBayes(EACH, FEATURES, "ill").fit(matrix(noisy), noisy["ill"])
    assert (one.predict_proba(matrix(true)) == two.predict_proba(matrix(true))).all()


def test_parameters_follow_scikit_learn() -> None:
    model = RandomisedTreeClassifier(EACH, FEATURES, "ill", max_depth=2)
    assert clone(model).get_params()["max_depth"] == 2
    with pytest.raises(NotFittedError):
        model.predict(np.zeros((1, 3)))
    with pytest.raises(InputError, match="3 columns"):
        model.fit(np.zeros((5, 2), int), np.zeros(5, int))
    with pytest.raises(InputError, match="from 0 to 1"):
        model.fit(np.zeros((5, 3), int), np.full(5, 2))
    wide = Product({f"f{i}": Retention.at(0.5, 100) for i in range(4)})
    with pytest.raises(InputError, match="at most 2,000,000 cells"):
        RandomisedLogisticRegression(wide, ["f0", "f1", "f2"], "f3").fit(np.zeros((5, 3), int), np.zeros(5, int))


# Before 1.8 one of its checks takes a mean, a fraction, from whole numbers, which models of categories are given.
OLD_CHECKS = {"check_positive_only_tag_during_fit": "a fault of the check"} if sklearn.__version__ < "1.8" else {}


@parametrize_with_checks(  # type: ignore[untyped-decorator] # scikit-learn ships no types
    [
        RandomisedNaiveBayes(),
        RandomisedTreeClassifier(min_records=5.0),  # their tables have some hundred rows
        RandomisedLogisticRegression(),
        RandomisedGradientBoosting(l2_regularization=1.0),
        RandomisedLinearRegression(),
    ],
    expected_failed_checks=lambda _: OLD_CHECKS,
)
def test_the_models_are_estimators_of_scikit_learn(estimator: Any, check: Any) -> None:
    """Its own checks, all of them: without a mechanism the models take codes as they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


# ---------------------------------------------------------------- linear regression

EFFECTS = {"a": [0.0, 1.0, -2.0], "b": [0.0, 0.5, 1.0, 3.0], "c": [0.0, -1.0]}
WANT = [3.0, 1.0, -2.0, 0.5, 1.0, 3.0, -1.0]
SCORE_SIZES = {"a": 3, "b": 4, "c": 2, "score": 12}


def scored(rows: int, seed: int) -> dict[str, np.ndarray]:
    """A number from 0 to 11 whose mean is linear in the values of three columns."""
    rng = np.random.default_rng(seed)
    codes = {name: rng.integers(0, SIZES[name], rows).astype(np.uint8) for name in FEATURES}
    mean = 3.0 + sum(np.array(EFFECTS[name])[codes[name]] for name in FEATURES)
    codes["score"] = rng.binomial(11, mean / 11).astype(np.uint8)
    return codes


SCORED: dict[str, Mechanism] = {
    "each": Product({name: Retention.at(0.6, size) for name, size in SCORE_SIZES.items()}),
    "record": RecordRetention.at(0.5, SCORE_SIZES),
    "dense": Product({"a": Dense.of([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.0, 0.3, 0.7]])}),
    "some of a record": RecordRetention.at(0.5, {"a": 3, "score": 12}),
}


@pytest.mark.parametrize("name", SCORED)
def test_linear_regression_is_unbiased_and_its_errors_are_those_of_repetition(name: str) -> None:
    """Beside brute force: people and coins drawn anew, with fixed keys."""
    mechanism, found, errors, plain = SCORED[name], [], [], []
    for seed in range(60):
        true = scored(4_000, seed)
        out = {n: np.empty_like(codes) for n, codes in true.items()}
        drawn = {n: true[n] for n in mechanism.sizes}
        mechanism.publish(streams_of(Key.from_seed(seed)), 0, drawn, {n: out[n] for n in drawn})
        noisy = {n: out[n] if n in drawn else true[n] for n in true}
        model = RandomisedLinearRegression(mechanism, FEATURES, "score").fit(matrix(noisy), noisy["score"])
        found.append([model.intercept_, *model.coef_])
        errors.append(model.standard_errors_)
        onehot = np.concatenate([np.eye(SIZES[n])[:, 1:][noisy[n]] for n in FEATURES], axis=1)
        usual = LinearRegression().fit(onehot, noisy["score"])
        plain.append([usual.intercept_, *usual.coef_])
    spread = np.std(found, axis=0, ddof=1)
    off = np.abs(np.mean(found, axis=0) - WANT) / (spread / np.sqrt(60))
    assert off.max() < OF_A_SHARE
    assert np.mean(np.mean(errors, axis=0) / spread) == pytest.approx(1, abs=0.12)
    ignored = np.abs(np.mean(plain, axis=0) - WANT) / (np.std(plain, axis=0, ddof=1) / np.sqrt(60))
    assert ignored.max() > 3 * OF_A_SHARE  # the coins cannot be ignored


def test_without_randomisation_the_regressions_are_those_of_statsmodels() -> None:
    sm = needs.package("statsmodels.api")
    true = scored(3_000, 1)
    onehot = np.concatenate([np.ones((3_000, 1)), *[np.eye(SIZES[n])[:, 1:][true[n]] for n in FEATURES]], axis=1)
    linear = RandomisedLinearRegression(features=FEATURES).fit(matrix(true), true["score"])
    usual = sm.OLS(true["score"].astype(float), onehot).fit(cov_type="HC0")
    assert [linear.intercept_, *linear.coef_] == pytest.approx(usual.params)
    assert linear.standard_errors_ == pytest.approx(usual.bse)
    high = (true["score"] > 4).astype(int)
    logistic = RandomisedLogisticRegression(features=FEATURES, C=1e8).fit(matrix(true), high)
    usual = sm.Logit(high, onehot).fit(disp=0, cov_type="HC0")
    assert [*logistic.intercept_, *logistic.coef_[0]] == pytest.approx(usual.params, abs=0.01)
    assert logistic.standard_errors_ == pytest.approx(usual.bse, rel=0.02)


def test_codes_can_stand_for_numbers() -> None:
    true = scored(5_000, 2)
    noisy = {n: np.empty_like(codes) for n, codes in true.items()}
    SCORED["each"].publish(streams_of(Key.from_seed(2)), 0, true, noisy)
    numbers: dict[str, list[float]] = {"b": [0.0, 0.5, 1.0, 3.0], "score": [10.0 * i for i in range(12)]}
    model = RandomisedLinearRegression(SCORED["each"], FEATURES, "score", numbers=numbers)
    model.fit(matrix(noisy), noisy["score"])
    want = np.array([3.0, 1.0, -2.0, 1.0, -1.0]) * 10
    low, high = model.coef_interval_
    assert ((low - model.standard_errors_ <= want) & (want <= high + model.standard_errors_)).all()
    assert model.predict(matrix(true)).shape == (5_000,)
    with pytest.raises(InputError, match="must be 4 finite ones"):
        RandomisedLinearRegression(features=FEATURES, numbers={"b": [1.0]}).fit(matrix(true), true["score"])
