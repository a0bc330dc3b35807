"""Paper 4, section VI.A: what distributions in the cells are worth to rule mining under k-anonymity (Figure 3).

Adult's complete rows, eight quasi-identifiers, age in ten groups. Each class structure (Incognito, Mondrian, and
our partition of least KL cost) is published with every kind of cell, reconstructed five times, mined, and compared
with the rules of the original (mining). Section VI.B is in pdf_presence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pramana.counting.classes import Layout
from pramana.experiments import pdf_presence
from pramana.experiments.adult_trees import AdultTable, Miner, read_adult
from pramana.experiments.outputs import Outputs
from pramana.methods.cells import kl_cost
from pramana.methods.generalize.conditions import KAnonymous
from pramana.methods.generalize.lines import grouped_for
from pramana.methods.generalize.partition import partition
from pramana.methods.generalize.recoding import Generalised, full_domain
from pramana.pages.figures import Panel, Picture, Series

KS = (5, 10, 25, 50, 75, 100)
DRAWS = 5
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


def run(outputs: Outputs, quick: bool) -> None:
    table = read_adult()
    if quick:
        table = AdultTable(table.ladders, tuple(c[::4] for c in table.columns), table.salary[::4])
    ks, draws = (KS[1:4:2], 2) if quick else (KS, DRAWS)
    rows = figure_3(table, ks, draws)
    outputs.table(rows, "pdf-figure-3")
    outputs.figure(picture(rows, ks), "pdf-figure-3")
    deltas = pdf_presence.QUICK if quick else pdf_presence.DELTAS
    wanted = pdf_presence.PATIENTS // 4 if quick else pdf_presence.PATIENTS
    rows = pdf_presence.figure_4(table, deltas, draws, wanted)
    outputs.table(rows, "pdf-figure-4")
    outputs.figure(pdf_presence.picture(rows, deltas), "pdf-figure-4")
    outputs.table(pdf_presence.table_8(table, deltas, wanted), "pdf-table-8")


def figure_3(table: AdultTable, ks: Sequence[int], draws: int) -> list[dict[str, Any]]:
    """One row per algorithm, k and kind of cell: errors are means over the draws."""
    miner = Miner(table)
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
                        **miner.errors(made.class_of, cells, draws),
                    }
                )
    return rows


def classes_of(table: AdultTable, algorithm: str, k: int) -> Generalised:
    if algorithm != "incognito":
        return partition(table.ladders, table.columns, k, algorithm)
    return full_domain(grouped_for(Layout(table.ladders), table.columns), KAnonymous(k))


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
