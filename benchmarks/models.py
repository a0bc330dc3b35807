"""Models from a randomised Adult table: python -m benchmarks.models [--adult FILE] [--into FILE]

Each model is trained on the original training records, on the published ones as if nothing had happened, with the
randomisation accounted for, and on records of `pramana.synthesise`. All are tested on the true values of the test
records: linear regression on hours worked a week, the others on salary.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import pramana
from pramana import models
from pramana.recipient.study import Study

ROOT = Path(__file__).resolve().parents[1]
PLACES = ("adult.csv", "data/adult.csv", "../shared/data/adult.csv", "../../shared/data/adult.csv")
GROUPS = {  # few values each, so that the joint table is one that noise leaves readable
    "age": [0, 25, 35, 45, 55, 200],
    "hours-per-week": [0, 35, 41, 51, 200],
}
EDUCATION = {
    **dict.fromkeys(("Bachelors", "Masters", "Doctorate", "Prof-school"), "degree"),
    **dict.fromkeys(("Some-college", "Assoc-voc", "Assoc-acdm"), "college"),
}
FEATURES, TARGET = ("sex", "age", "education", "married", "hours-per-week"), "salary-class"
Rows = dict[str, np.ndarray]


def adult(path: Path) -> tuple[Rows, Rows, dict[str, list[str]]]:
    """Training and test records in codes, and the labels of the codes."""
    table = pacsv.read_csv(path)
    text = {name: np.array(table[name].to_pylist()) for name in table.column_names}
    columns = {
        "sex": text["sex"],
        "education": np.array([EDUCATION.get(str(v), "school") for v in text["education"]]),
        "married": np.where(np.char.startswith(text["marital-status"].astype(str), "Married"), "yes", "no"),
        TARGET: text[TARGET],
    }
    for name, edges in GROUPS.items():
        bins = np.digitize(text[name].astype(int), edges[1:-1])
        columns[name] = np.array([f"[{a},{b})" for a, b in pairwise(edges)])[bins]
    labels = {name: sorted(set(map(str, values))) for name, values in columns.items()}
    codes = {n: np.searchsorted(labels[n], v.astype(str)).astype(np.uint8) for n, v in columns.items()}
    first = text["split"] == "train"
    return {n: c[first] for n, c in codes.items()}, {n: c[~first] for n, c in codes.items()}, labels


def published(train: Rows, labels: dict[str, list[str]], k: float, coin: str, folder: Path) -> Path:
    """A bundle of the training records, as a recipient gets it."""
    import pyarrow as pa

    pq.write_table(pa.table({n: np.array(labels[n])[c] for n, c in train.items()}), folder / "adult.parquet")
    recipe = {
        "source": {"path": "adult.parquet"},
        "release": {"k": k, "coin": coin},
        "attributes": {n: {"role": "quasi-identifying", "domain": labels[n]} for n in train},
    }
    pramana.release(pramana.Recipe.parse(recipe, folder), folder / "bundle", seed=1, even_if_useless=True)
    return folder / "bundle"


def synthesised(bundle: Path, labels: dict[str, list[str]]) -> Rows:
    """Records drawn from what the bundle tells."""
    out = bundle.parent / "synthetic.parquet"
    pramana.synthesise(bundle, out)
    table = pq.read_table(out)
    return {n: np.array([labels[n].index(v) for v in table[n].to_pylist()], np.uint8) for n in labels}


def matrix(rows: Rows, names: tuple[str, ...]) -> np.ndarray:
    return np.column_stack([rows[name] for name in names])


def contenders(labels: dict[str, list[str]]) -> dict[str, tuple[Callable[[], Any], type, tuple[str, ...], str]]:
    def one_hot(model: Any, names: tuple[str, ...]) -> Any:
        return make_pipeline(OneHotEncoder(categories=[range(len(labels[n])) for n in names]), model)

    least = [len(labels[n]) for n in FEATURES]
    others = tuple(n for n in FEATURES if n != "hours-per-week")
    return {
        "naive Bayes": (
            lambda: CategoricalNB(min_categories=least), models.RandomisedNaiveBayes, FEATURES, TARGET
        ),
        "tree": (
            lambda: DecisionTreeClassifier(max_depth=4, min_samples_leaf=100),
            models.RandomisedTreeClassifier, FEATURES, TARGET,
        ),
        "gradient boosting": (
            lambda: HistGradientBoostingClassifier(max_iter=60),
            models.RandomisedGradientBoosting, FEATURES, TARGET,
        ),
        "logistic regression": (
            lambda: one_hot(LogisticRegression(max_iter=500), FEATURES),
            models.RandomisedLogisticRegression, FEATURES, TARGET,
        ),
        "linear regression (R²)": (
            lambda: one_hot(LinearRegression(), others),
            models.RandomisedLinearRegression, others, "hours-per-week",
        ),
    }  # fmt: skip


def compare(train: Rows, test: Rows, labels: dict[str, list[str]], k: float, coin: str) -> list[dict[str, Any]]:
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        study = pramana.open_study(published(train, labels, k, coin, Path(folder)))
        assert isinstance(study, Study)
        noisy = {name: np.asarray(codes) for name, codes in study.columns([*labels]).items()}
        made = synthesised(Path(folder) / "bundle", labels)
    for name, (usual, ours, features, target) in contenders(labels).items():

        def score(records: Rows, usual: Any = usual, features: Any = features, target: Any = target) -> float:
            model = usual().fit(matrix(records, features), records[target])
            return float(model.score(matrix(test, features), test[target]))

        before = time.perf_counter()
        model = ours(study.mechanism, list(features), target).fit(matrix(noisy, features), noisy[target])
        seconds = time.perf_counter() - before
        rows.append({
            "k": k, "coin": coin, "model": name, "original": round(score(train), 4),
            "noise ignored": round(score(noisy), 4),
            "corrected": round(float(model.score(matrix(test, features), test[target])), 4),
            "synthesised": round(score(made), 4),
            "seconds": round(seconds, 2),
        })  # fmt: skip
    return rows


def _words(train: int, test: int) -> list[str]:
    return [
        "# Models on randomised Adult records",
        "",
        "    python -m benchmarks.models",
        "",
        f"{train:,} training records with {len(FEATURES)} features and the class of salary, published with a",
        f"promise of k by one coin for each record or for each attribute; {test:,} test records with their true",
        "values. Scores are shares of classes that are right, and R² for linear regression (of the group of hours",
        'from the other four). "Original" is the same model on the records as they were, "noise ignored" on the',
        'published ones as if nothing had happened, "corrected" the model of `pramana.models`, "synthesised" the',
        "usual model on the records of `pramana.synthesise`.",
        "",
        "At k = 2 the correction is worth its trouble for every model. As k grows little is left to correct, and",
        "a corrected model may do worse than one that ignores the noise: look at k = 200 before you train on it.",
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.models", description="Models on the Adult table.")
    parser.add_argument("--adult", type=Path, default=None)
    parser.add_argument("--into", type=Path, default=ROOT / "docs" / "experiments" / "models.md")
    options = parser.parse_args()
    places = [options.adult] if options.adult else [ROOT / place for place in PLACES]
    path = next((place for place in places if place.exists()), None)
    if path is None:
        parser.error("the Adult table is not there; name it with --adult FILE (adult.csv)")
    train, test, labels = adult(path)
    rows = []
    for k in (2.0, 20.0, 200.0):
        for coin in ("record", "attribute"):
            rows += compare(train, test, labels, k, coin)
    heads = list(rows[0])
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    lines += ["| " + " | ".join(str(row[h]) for h in heads) + " |" for row in rows]
    page = "\n".join([*_words(len(train[TARGET]), len(test[TARGET])), *lines, ""])
    options.into.write_text(page, "utf-8")
    print(page)


if __name__ == "__main__":
    main()
