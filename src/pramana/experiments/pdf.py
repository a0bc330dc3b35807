"""Paper 4, section VI.A: what distributions in the cells are worth to rule mining under k-anonymity (Figure 3).

Adult's complete rows, eight quasi-identifiers, age in ten groups. Each class structure (Incognito, Mondrian, and
our partition of least KL cost) is published with every kind of cell, reconstructed five times, mined, and compared
with the rules of the original (mining).

Section VI.B, what distributions are worth under delta-presence (Figure 4 and Table VIII).
The public table is Adult's complete rows. The paper's private table of 1,957 diabetics is not published; ours is
drawn from Adult by a seed, without replacement, in proportion to the prevalence of diabetes by age, sex and race
among adults of the United States, 2017 to March 2020: National Center for Health Statistics, National Health
Statistics Reports number 158 (14 June 2021, doi 10.15620/cdc:106273), Table 8, the columns for men and women.

Every rate below was compared with the body of that table in a stored copy of its page at the National Library of
Medicine's Bookshelf (NBK606854), not with the printed report. The copy runs footnote marks into the numbers;
they were told apart by the confidence intervals beside them, and the footnotes themselves were not at hand. The
table gives age by sex and race by sex, not all three, so the product of both over the sex's total is taken: the
age-adjusted one, 16.3 and 13.4 (crude: 17.7 and 14.8). Its youngest group is 20 to 39, which stands for everyone
below 40, and the rate of its men is starred. Hispanic origin, which Adult's races do not know, is not used;
American Indians and others, which the table does not list, have the total's. Age groups go by their middle.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.counting.classes import Layout
from pramana.experiments.adult_trees import AGE_WIDTH, AdultTable, Miner, hierarchies, read_adult
from pramana.experiments.outputs import Outputs
from pramana.methods.cells import kl_cost
from pramana.methods.generalize.conditions import KAnonymous
from pramana.methods.generalize.lines import grouped_for
from pramana.methods.generalize.recoding import Generalised, full_domain, partition
from pramana.methods.presence.algorithms import PresenceDesign
from pramana.methods.presence.search import Pair, PresentClasses, presented, spalm
from pramana.methods.presence.shaping import Presence
from pramana.pages.figures import Panel, Picture, Series
from pramana.randomness.key import Key

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
    deltas, wanted = (DELTAS[2:3], PATIENTS // 4) if quick else (DELTAS, PATIENTS)
    rows = figure_4(table, deltas, draws, wanted)
    outputs.table(rows, "pdf-figure-4")
    outputs.figure(presence_picture(rows, deltas), "pdf-figure-4")
    outputs.table(table_8(table, deltas, wanted), "pdf-table-8")


def figure_3(table: AdultTable, ks: Sequence[int], draws: int) -> list[dict[str, Any]]:
    """One row per algorithm, k and kind of cell: errors are means over the draws."""
    miner = Miner(table)
    rows = []
    for algorithm in ALGORITHMS:
        for k in ks:
            generalised = classes_of(table, algorithm, k)
            for name, (kind, step) in CELLS.items():
                if name == ("interval" if algorithm == "incognito" else "DGH"):
                    continue
                cells = generalised.cells(kind, step)
                rows.append(
                    {
                        "algorithm": algorithm,
                        "k": k,
                        "cells": name,
                        "classes": generalised.classes,
                        "KL cost": sum(kl_cost(o, c) for o, c in zip(generalised.pdf, cells, strict=True)),
                        **miner.errors(generalised.class_of, cells, draws),
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


# ---------------------------------------------------------------- delta-presence


PATIENTS = 1957
# percent, men and women (Table 8)
BY_AGE = ((40, (4.0, 4.7)), (60, (17.1, 15.9)), (math.inf, (36.3, 24.4)))
BY_RACE = {"White": (13.6, 10.6), "Black": (18.9, 18.7), "Asian-Pac-Islander": (20.7, 15.8)}
TOTAL = (16.3, 13.4)
# the settings of the paper's Table VIII as far as they can be read: dmin at dmax = 0.8, then dmax at dmin = 0.001
DELTAS = (
    ("0.00001", "0.8"),
    ("0.001", "0.8"),
    ("0.01", "0.8"),
    ("0.001", "0.5"),
    ("0.001", "0.6"),
    ("0.001", "0.7"),
)
METHODS = {
    "SPALM": PresenceDesign("spalm"),
    "WPALM": PresenceDesign("wpalm", "private"),
    "PPALM": PresenceDesign("ppalm", "private"),
    "optimal": PresenceDesign("optimal", "private"),
    "optimal, public (default)": PresenceDesign("optimal", "public"),
}
PAPERS_LIMIT = 5_000_000  # combinations beyond which the paper's WPALM leaves a class out
SEED = 1


def patients(table: AdultTable, wanted: int = PATIENTS) -> NDArray[np.bool_]:
    """Who of the table is drawn: the largest ln(u)/weight, which is a draw without replacement by weight."""
    weight = prevalence(table)
    words = Key.from_seed(SEED).stream("experiment", "patients").words(0, table.rows)
    order = np.argsort(-np.log((words.astype(np.float64) + 0.5) / 2.0**64) / weight)
    present = np.zeros(table.rows, np.bool_)
    present[order[:wanted]] = True
    return present


def prevalence(table: AdultTable) -> NDArray[np.float64]:
    names = [ladder.name for ladder in table.ladders]
    leaves = hierarchies()
    middle = 17 + AGE_WIDTH * np.arange(len(leaves["age"].leaves)) + AGE_WIDTH / 2
    by_age = np.array([next(rate for until, rate in BY_AGE if age < until) for age in middle])
    by_race = np.array([BY_RACE.get(race, TOTAL) for race in leaves["race"].leaves])
    woman = np.array([leaf == "Female" for leaf in leaves["sex"].leaves]).astype(int)
    age, race, sex = (table.columns[names.index(name)] for name in ("age", "race", "sex"))
    which = woman[sex]
    return np.asarray(by_age[age, which] * by_race[race, which] / np.array(TOTAL)[which])


def figure_4(
    table: AdultTable, deltas: Sequence[tuple[str, str]], draws: int, wanted: int = PATIENTS
) -> list[dict[str, Any]]:
    """One row per range and method; errors are means over the draws."""
    present = patients(table, wanted)
    private = AdultTable(table.ladders, tuple(c[present] for c in table.columns), table.salary[present])
    miner = Miner(private)
    rows = []
    for low, high in deltas:
        pair = Pair(Layout(table.ladders), table.columns, present)
        start = time.perf_counter()
        classes = spalm(pair, Presence.of(low, high))
        searched = time.perf_counter() - start
        for name, setting in METHODS.items():
            start = time.perf_counter()
            release = presented(classes, setting)
            spent = searched + time.perf_counter() - start
            least, most = release.existence
            rows.append(
                {
                    "dmin": low,
                    "dmax": high,
                    "method": name,
                    "classes": classes.classes,
                    "KL cost": release.cost,
                    "gain": release.gain,
                    **miner.errors(classes.class_of[present], release.cells, draws),
                    "seconds": spent,
                    "lowest": least,
                    "highest": most,
                }
            )
    return rows


def table_8(table: AdultTable, deltas: Sequence[tuple[str, str]], wanted: int = PATIENTS) -> list[dict[str, Any]]:
    """The share of the public rows that WPALM works on, under the paper's limit and here, and what each moves."""
    present = patients(table, wanted)
    rows = []
    for low, high in deltas:
        classes = spalm(Pair(Layout(table.ladders), table.columns, present), Presence.of(low, high))
        share = _by_enumeration(classes) / table.rows
        # people of classes without anyone present need no distribution
        here = (int(classes.people.sizes.sum()) + classes.alone) / table.rows
        moved = {f"moved by {name}": _moved(classes, METHODS[name]) / table.rows for name in list(METHODS)[1:4]}
        rows.append({"dmin": low, "dmax": high, "by enumeration (paper)": share, "here": here, **moved})
    return rows


def _moved(classes: PresentClasses, setting: PresenceDesign) -> int:
    """People of classes whose cells are not the uniform ones any more."""
    return int(classes.people.sizes[presented(classes, setting).reached != 0].sum())


def _by_enumeration(classes: PresentClasses) -> int:
    pairs = zip(classes.people.sizes.tolist(), classes.present.tolist(), strict=True)
    return sum(people for people, n in pairs if _combinations(people, n) <= math.log(PAPERS_LIMIT))


def _combinations(people: int, n: int) -> float:
    return math.lgamma(people + 1) - math.lgamma(n + 1) - math.lgamma(people - n + 1)


def presence_picture(rows: Sequence[dict[str, Any]], deltas: Sequence[tuple[str, str]]) -> Picture:
    settings = [f"{low}\n{high}" for low, high in deltas]
    panels = []
    for what in ("KL cost", "association rule error", "class rule error", "seconds"):
        series = [Series(name, settings, [r[what] for r in rows if r["method"] == name]) for name in METHODS]
        timed = what == "seconds"
        panels.append(Panel(series, what, "dmin above dmax", log_y=timed, from_zero=not timed))
    return Picture(panels, "Distributions under delta-presence (paper 4, Figure 4)", columns=2, width=10.0)
