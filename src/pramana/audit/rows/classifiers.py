"""Classifiers that are trained to tell, from the published file alone, where in the source a row stood.

They learn from half of the rows, whose true places are given to them, and are asked about the other half: that is
more help than any adversary has. They are asked for the half of the source: by a row's place in the file, and by
how its values are written, with what the values themselves tell taken out, for a source may be sorted.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pramana.audit.verdict import Attack, NotRun, Outcome, clopper_pearson

Numbers = NDArray[np.int64]
Features = Mapping[str, NDArray[np.float64]]
_MOST_ROWS = 20_000
_LEAST_ROWS = 40
_FREQUENT = 8  # values of a column that are looked at by themselves
_SAME = 1e-9


def classified_by_place(order: Numbers, places: Features) -> list[Outcome]:
    """Is this row from the first or the second half of the source?"""
    later = order >= np.median(order)
    return _learned("places", "which half of the source a row is from", later, places)


def classified_by_bytes(
    order: Numbers, values: Mapping[str, Numbers], written: Mapping[str, Features] | None
) -> list[Outcome]:
    """The same question, asked of how values are written: what cells of equal values have that others have not.

    Of every feature of a cell the learner has the difference from cells of the same value, for all values together
    and for the most frequent ones by themselves. What a value itself tells of its place is no part of it.
    """
    names = [f"rows, {model} on bytes" for model in ("logistic regression", "tree")]
    if written is None or not any(written.values()):
        return [NotRun(name, "a row of this file has no bytes of its own") for name in names]
    rows = min([len(order), *(len(f) for features in written.values() for f in features.values())])
    unusual = {"nothing": np.zeros(rows)}
    for column, features in written.items():
        if column not in values:
            continue
        value = values[column][:rows]
        counts = np.bincount(value)
        frequent = np.argsort(-counts, kind="stable")[:_FREQUENT]
        for name, feature in features.items():
            apart = feature[:rows] - (np.bincount(value, weights=feature[:rows]) / np.maximum(counts, 1))[value]
            if np.abs(apart).max(initial=0.0) > _SAME:
                unusual[f"{column}: {name}"] = apart
                unusual |= {f"{column}: {name}, {v}": np.where(value == v, apart, 0.0) for v in frequent.tolist()}
    later = order[:rows] >= np.median(order[:rows])
    return _learned("bytes", "which half of the source a row is from, by how it is written", later, unusual)


def _learned(on: str, asked: str, later: NDArray[np.bool_], features: Features) -> list[Outcome]:
    names = [f"rows, {model} on {on}" for model in ("logistic regression", "tree")]
    if importlib.util.find_spec("sklearn") is None:
        return [NotRun(name, "scikit-learn is missing (extra `models`)") for name in names]
    rows = np.random.default_rng(20).permutation(len(later))[:_MOST_ROWS]
    if len(rows) < _LEAST_ROWS:
        return [NotRun(name, f"{len(rows)} rows are too few to learn from") for name in names]
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    half, truth = len(rows) // 2, later[rows]
    seen = StandardScaler().fit_transform(np.column_stack([column[rows] for column in features.values()]))
    chance = max(float(truth[half:].mean()), 1 - float(truth[half:].mean()))
    outcomes: list[Outcome] = []
    models = (LogisticRegression(max_iter=500), DecisionTreeClassifier(max_depth=12, random_state=20))
    for name, model in zip(names, models, strict=True):
        if truth[:half].all() or not truth[:half].any():
            outcomes.append(NotRun(name, "all rows to learn from are of one half"))
            continue
        right = int((model.fit(seen[:half], truth[:half]).predict(seen[half:]) == truth[half:]).sum())
        tries = len(rows) - half
        low, high = clopper_pearson(right, tries)
        what = f"{asked}: right {right:,} times of {tries:,}; chance is {chance:.4g}"
        outcomes.append(Attack(name, chance, right / tries, low <= chance, what, (low, high)))
    return outcomes
