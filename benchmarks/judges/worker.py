"""Runs in a judge's own environment: one judge, one original, one synthetic and one control table; JSON back.

It imports nothing of Pramana: `python worker.py JUDGE ORIGINAL SYNTHETIC CONTROL SECRET`.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

ROWS = 2_000  # that the slowest judge looks at
ATTACKS = 300
ATTEMPTS = 20_000  # at a predicate that one record alone fulfils
SAMPLE = 1_000  # rows for what takes the square of them


def sdmetrics(original: Any, synthetic: Any, control: Any, secret: str) -> dict[str, float]:
    """The quality report: how alike single columns and pairs of columns are."""
    del control, secret
    from sdmetrics.reports.single_table import QualityReport

    metadata = {"columns": {name: {"sdtype": "categorical"} for name in original.columns}}
    report = QualityReport()
    report.generate(original, synthetic, metadata, verbose=False)
    parts = report.get_properties().set_index("Property")["Score"]
    return {"quality": report.get_score(), "columns": parts["Column Shapes"], "pairs": parts["Column Pair Trends"]}


def sdmetrics_privacy(original: Any, synthetic: Any, control: Any, secret: str) -> dict[str, float]:
    """Guesses of the secret, rows that are new, and distances to the nearest record; 1 is the safest."""
    from sdmetrics.single_table import (
        DCRBaselineProtection,
        DCROverfittingProtection,
        DisclosureProtection,
        NewRowSynthesis,
    )

    metadata = {"columns": {name: {"sdtype": "categorical"} for name in original.columns}}
    tables = {"tables": {"people": metadata}}
    known = [name for name in original.columns if name != secret]
    few = [table[:SAMPLE] for table in (original, synthetic, control)]
    guessed = DisclosureProtection.compute_breakdown(
        few[0], few[1], known_column_names=known[:3], sensitive_column_names=[secret], computation_method="cap"
    )
    return {
        "disclosure protection": guessed["score"],
        "new rows": NewRowSynthesis.compute(original, synthetic, metadata, synthetic_sample_size=SAMPLE),
        "DCR, against random": DCRBaselineProtection.compute(few[0], few[1], tables, "people"),
        "DCR, against the control": DCROverfittingProtection.compute(*few, tables, "people"),
    }


def syntheval(original: Any, synthetic: Any, control: Any, secret: str) -> dict[str, float]:
    """Distances of distributions and dependences, whether a classifier tells both apart, and near neighbours."""
    from syntheval import SynthEval

    names = list(original.columns)
    judge = SynthEval(
        original[:ROWS], holdout_dataframe=control[:ROWS], cat_cols=names, verbose=False, console="off",
        enable_plots=False, show_warnings=False,
    )  # fmt: skip
    found = judge.evaluate(
        synthetic[:ROWS],
        analysis_target=secret,
        h_dist={},
        mi_diff={},
        p_mse={"k_folds": 5, "max_iter": 100, "solver": "liblinear"},
        nnaa={"n_resample": 2},
    )
    return {f"{row['metric']}": float(row["val"]) for _, row in found.reset_index().iterrows()}


def syntheval_privacy(original: Any, synthetic: Any, control: Any, secret: str) -> dict[str, float]:
    """Distances, hits, identifiability, attribute disclosure and membership, as it has them."""
    from syntheval import SynthEval

    names = list(original.columns)
    judge = SynthEval(
        original[:SAMPLE], holdout_dataframe=control[:SAMPLE], cat_cols=names, verbose=False, console="off",
        enable_plots=False, show_warnings=False,
    )  # fmt: skip
    found = judge.evaluate(
        synthetic[:SAMPLE], analysis_target=secret, dcr={}, hit_rate={}, eps_risk={}, mia={"num_eval_iter": 2},
        nnaa={"n_resample": 2},
    )  # fmt: skip
    return {f"{row['metric']}": float(row["val"]) for _, row in found.reset_index().iterrows()}


def anonymeter(original: Any, synthetic: Any, control: Any, secret: str) -> dict[str, float]:
    """The risks of the three attacks of the European data protection authorities, above those of the control."""
    from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

    names = [name for name in original.columns if name != secret]
    attacks = {
        "singling out": SinglingOutEvaluator(
            original, synthetic, n_attacks=ATTACKS, n_cols=len(names), control=control, seed=1,
            max_attempts=ATTEMPTS,
        ),
        "linkability": LinkabilityEvaluator(
            original, synthetic, aux_cols=(names[: len(names) // 2], [*names[len(names) // 2 :], secret]),
            n_attacks=ATTACKS, control=control,
        ),
        "inference": InferenceEvaluator(
            original, synthetic, aux_cols=names, secret=secret, n_attacks=ATTACKS, control=control
        ),
    }  # fmt: skip
    found: dict[str, float] = {}
    for name, attack in attacks.items():
        attack.evaluate(n_jobs=1) if name != "singling out" else attack.evaluate(mode="multivariate")
        risk = attack.risk()
        found |= {name: float(risk.value), f"{name}, up to": float(risk.ci[1])}
    return found


def anonymeter_defaults(original: Any, synthetic: Any, control: Any, secret: str) -> dict[str, float]:
    """Singling out as it comes: 500 predicates of three columns."""
    from anonymeter.evaluators import SinglingOutEvaluator

    del secret
    attack = SinglingOutEvaluator(original, synthetic, control=control, seed=1, max_attempts=ATTEMPTS)
    attack.evaluate(mode="multivariate")
    risk = attack.risk()
    return {"singling out": float(risk.value), "singling out, up to": float(risk.ci[1])}


JUDGES: dict[str, Callable[..., Any]] = {
    "sdmetrics": sdmetrics,
    "sdmetrics privacy": sdmetrics_privacy,
    "syntheval": syntheval,
    "syntheval privacy": syntheval_privacy,
    "anonymeter": anonymeter,
    "anonymeter defaults": anonymeter_defaults,
}


def main() -> None:
    judge, original, synthetic, control, secret = sys.argv[1:]
    warnings.simplefilter("ignore")
    np.random.seed(1)  # the only way to seed some of them
    tables = [pd.read_csv(path, dtype=str, keep_default_na=False) for path in (original, synthetic, control)]
    with contextlib.redirect_stdout(io.StringIO()):
        found = JUDGES[judge](*tables, secret)
    print(json.dumps({"version": importlib.metadata.version(judge.split()[0]), "found": found}))


if __name__ == "__main__":
    main()
