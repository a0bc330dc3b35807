"""Paper 4, section VI.A: what distributions in the cells are worth to rule mining under k-anonymity (Figure 3).

Adult's complete rows, eight quasi-identifiers, age in ten groups. Each class structure (Incognito, Mondrian, and
our partition of least KL cost) is published with every kind of cell, reconstructed five times, mined, and compared
with the rules of the original. The paper does not state its minimum support; ours is below.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pramana.errors import MissingExtraError
from pramana.estimate import RuleSet, association_rules, class_rules, rule_distance, tree_accuracy
from pramana.experiments.adult_trees import AdultTable, read_adult
from pramana.experiments.outputs import Outputs
from pramana.generalize import (
    Cells,
    Generalised,
    KAnonymous,
    Layout,
    full_domain,
    grouped_for,
    kl_cost,
    multidimensional,
    reconstructed,
)
from pramana.randomness import Codes, Key
from pramana.report import Panel, Picture, Series

KS = (5, 10, 25, 50, 75, 100)
DRAWS = 5
MIN_SUPPORT = 0.01
LEFT_OUT = ("workclass", "race", "native-country")  # of rule mining: nearly all rows have one value
ALGORITHMS = {"incognito": "Incognito", "mondrian": "Mondrian", "kl": "least KL cost (ours)"}
# name -> kind of cell and step between the set (NDGH) and the optimum; the last is the search's own kind
CELLS: dict[str, tuple[str, tuple[int, int] | None]] = {
    "PDF": ("pdf", None),
    "INTER1": ("pdf", (2, 3)),
    "INTER2": ("pdf", (1, 3)),
    "NDGH": ("set", None),
    "DGH": ("hierarchy", None),
    "interval": ("interval", None),
}
SEED = 1


def run(outputs: Outputs, quick: bool) -> None:
    table = read_adult()
    if quick:
        table = AdultTable(table.ladders, tuple(c[::4] for c in table.columns), table.salary[::4])
    ks, draws = (KS[1:4:2], 2) if quick else (KS, DRAWS)
    rows = figure_3(table, ks, draws)
    outputs.table(rows, "pdf-figure-3")
    outputs.figure(picture(rows, ks), "pdf-figure-3")


def figure_3(table: AdultTable, ks: Sequence[int], draws: int) -> list[dict[str, Any]]:
    """One row per algorithm, k and kind of cell: errors are means over the draws."""
    miner = _Miner(table)
    rows = []
    for algorithm in ALGORITHMS:
        for k in ks:
            made = classes_of(table, algorithm, k)
            for name, (kind, step) in CELLS.items():
                if name == ("interval" if algorithm == "incognito" else "DGH"):
                    continue
                cells = made.cells(kind, step)
                rows.append(
                    {
                        "algorithm": algorithm,
                        "k": k,
                        "cells": name,
                        "classes": made.classes,
                        "KL cost": sum(kl_cost(o, c) for o, c in zip(made.pdf, cells, strict=True)),
                        **miner.errors(made, cells, draws),
                    }
                )
    return rows


def classes_of(table: AdultTable, algorithm: str, k: int) -> Generalised:
    if algorithm != "incognito":
        return multidimensional(table.ladders, table.columns, k, algorithm)
    layout = Layout(table.ladders)
    base, index = grouped_for(layout, table.columns)
    return full_domain(layout, table.columns, base, index, KAnonymous(k))


class _Miner:
    """The original's rules, and what a reconstruction's differ from them by."""

    def __init__(self, table: AdultTable) -> None:
        self.table = table
        self.names = [ladder.name for ladder in table.ladders]
        self.kept = [a for a, name in enumerate(self.names) if name not in LEFT_OUT]
        self.sizes = [table.ladders[a].leaves for a in self.kept]
        self.rules = self._mined(table.columns)

    def _mined(self, columns: Sequence[Codes]) -> tuple[RuleSet, RuleSet]:
        chosen = [columns[a] for a in self.kept]
        return (
            association_rules(chosen, self.sizes, MIN_SUPPORT),
            class_rules(chosen, self.sizes, self.table.salary, 2, MIN_SUPPORT),
        )

    def errors(self, made: Generalised, cells: Sequence[Cells], draws: int) -> dict[str, Any]:
        key = Key.from_seed(SEED)
        found = []
        accuracy: float | None = None
        for draw in range(draws):
            columns = reconstructed(cells, self.names, made.class_of, key, draw)
            mined = self._mined(columns)
            found.append([rule_distance(a, b) for a, b in zip(self.rules, mined, strict=True)])
            if draw == 0:
                accuracy = self._accuracy(columns)
        means = np.mean(found, axis=0)
        return {
            "association rule error": float(means[0]),
            "class rule error": float(means[1]),
            "tree accuracy": accuracy,
            "draws": draws,
        }

    def _accuracy(self, columns: Sequence[Codes]) -> float | None:
        """A tree learnt from the reconstruction, tried on the original; none without scikit-learn."""
        try:
            return tree_accuracy(columns, self.table.salary, self.table.columns, self.table.salary)
        except MissingExtraError:
            return None


def picture(rows: Sequence[dict[str, Any]], ks: Sequence[int]) -> Picture:
    panels = []
    for error in ("association rule error", "class rule error"):
        for algorithm, title in ALGORITHMS.items():
            series = []
            for name in CELLS:
                here = [r for r in rows if r["algorithm"] == algorithm and r["cells"] == name]
                if here:
                    series.append(Series(name, list(ks), [r[error] for r in here]))
            panels.append(Panel(series, title, "k", error, from_zero=True))
    return Picture(panels, "Rule errors of reconstructions (paper 4, Figure 3)", columns=3, width=10.0)
