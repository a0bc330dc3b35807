"""Classifiers that are trained to tell, from the published file alone, where in the source a row stood.

They learn from half of the rows, whose true places are given to them, and are asked about the other half: that
is more help than any adversary has. Values may tell of places by themselves, where a source is sorted; so of
places they are asked for the half of the source, and of the bytes of a line for the half among rows of its values.
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


def classified_by_place(order: Numbers, places: Features) -> list[Outcome]:
    """Is this row from the first or the second half of the source?"""
    later = order >= np.median(order)
    return _learned("places", "which half of the source a row is from", later, places)


def classified_by_bytes(order: Numbers, look: Numbers, written: Features | None) -> list[Outcome]:
    """Of rows with the same values: is this one from the first or the second half of theirs?

    Besides how a row is written, the learner has its values, and how it differs from rows of the same ones.
    """
    names = [f"rows, {model} on bytes" for model in ("logistic regression", "tree")]
    if not written:
        return [NotRun(name, "a row of this file has no bytes of its own") for name in names]
    by_look = np.lexsort((order, look))
    first = np.searchsorted(look[by_look], look[by_look])
    sizes = np.bincount(look)[look[by_look]]
    place = np.arange(len(order)) - first
    told = (2 * place + 1 != sizes) & (sizes > 1)  # the one in the middle is in neither half
    rows, later = by_look[told], (2 * place + 1 > sizes)[told]
    features = {"values": look[rows].astype(np.float64)}
    for name, column in written.items():
        usual = np.bincount(look, weights=column) / np.maximum(np.bincount(look), 1)
        features[name], features[f"{name}, unusual"] = column[rows], (column - usual[look])[rows]
    return _learned("bytes", "which half of the rows with its values a row is from", later, features)


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
