"""How the frozen bundles were made, before issue 31 moved anything. The tests read the files and do not need this.

`python -m tests.frozen.make FOLDER` writes sources, keys, bundles, ledgers and what they say into a new folder.
Some keys are drawn, so a second run gives other bytes. What is stored stays as it is; a later version of the
certificate's format gets a folder of its own.
"""

from __future__ import annotations

import datetime
import json
import os
import shutil
import sqlite3
import sys
import tomllib
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from pramana import Key, Ledger, Recipe, create_levels, issue, make_signing_key, release
from pramana.datasets import survey

ROWS = 180
JOBS = [f"job {i}" for i in range(8)]
TOWNS = [f"t{i}" for i in range(6)]
ILLNESSES = ["none", "flu", "cold", "gout"]


# ---------------------------------------------------------------- sources


def make_sources(folder: Path) -> None:
    draw = np.random.default_rng(31)
    columns = {
        "sex": draw.choice(["F", "M"], ROWS),
        "age": np.minimum(draw.integers(0, 60, ROWS) + draw.integers(0, 40, ROWS), 99),
        "job": draw.choice(JOBS, ROWS, p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05]),
        "town": draw.choice(TOWNS, ROWS),
        "illness": draw.choice(ILLNESSES, ROWS, p=[0.5, 0.3, 0.15, 0.05]),
        "income": draw.integers(0, 90_000, ROWS),
        "height": np.round(draw.normal(170, 9, ROWS), 1),
        "note": draw.choice(["fine", "=1+1", "+49 30", "@home", "ä, ö"], ROWS),
    }
    first = datetime.date(1990, 1, 1)
    born = [first + datetime.timedelta(days=int(d)) for d in draw.integers(0, 3_600, ROWS)]
    blank = draw.random(ROWS) < 0.05
    people = pa.table({n: pa.array(c.tolist(), mask=blank if n == "town" else None) for n, c in columns.items()})
    people = people.append_column("born", pa.array(born, pa.date32()))
    here = draw.random(ROWS) < 0.35
    pq.write_table(people, folder / "people.parquet")
    pacsv.write_csv(people, folder / "people.csv")
    pacsv.write_csv(people.append_column("here", pa.array(here.astype(int))), folder / "everyone.csv")
    pacsv.write_csv(people.filter(pa.array(here)), folder / "present.csv")
    with sqlite3.connect(folder / "people.db") as base:
        base.execute("create table people (sex text, job text, age integer)")
        rows = people.select(["sex", "job", "age"]).to_pylist()
        base.executemany("insert into people values (:sex, :job, :age)", rows)
    base.close()
    (folder / "database.toml").write_text(DATABASE)
    ages = [f"{a};{a // 10 * 10}-{a // 10 * 10 + 9};{'young' if a < 40 else 'old'};*" for a in range(100)]
    (folder / "age.csv").write_text("\n".join(ages) + "\n")
    (folder / "sex.csv").write_text("F;*\nM;*\n")
    (folder / "town.csv").write_text(
        "".join(f"{t};{'north' if i < 3 else 'south'};*\n" for i, t in enumerate(TOWNS))
    )
    (folder / "job.csv").write_text(
        "".join(f"{j};{'office' if i < 4 else 'yard'};*\n" for i, j in enumerate(JOBS))
    )
    (folder / "illness.csv").write_text("none;well;*\nflu;lungs;*\ncold;lungs;*\ngout;other;*\n")
    (folder / "work.csv").write_text("x;xy;*\ny;xy;*\nz;z;*\n")
    (folder / "town_matrix.csv").write_text(
        "\n".join(",".join(["0.5" if i == j else "0.1" for j in range(6)]) for i in range(6)) + "\n"
    )
    more: dict[str, Any] = {
        "sex": ["F", "M"],
        "age": range(100),
        "town": TOWNS,
        "illness": ILLNESSES,
        "note": ["=1+1", "fine"],
    }
    long = pa.table({name: draw.choice(list(values), 2_100) for name, values in more.items()})
    pq.write_table(long, folder / "long.parquet")
    pq.write_table(_panel(draw), folder / "panel.parquet")
    office = survey(150, seed=3)
    office.write_csv(folder / "survey.csv")
    office.write_sav(folder / "survey.sav")
    office.write_dta(folder / "survey.dta")


def _panel(draw: np.random.Generator, people: int = 60, homes: int = 25) -> pa.Table:
    home = np.concatenate([np.arange(homes), draw.integers(0, homes, people - homes)])
    sex, birth, region = draw.integers(0, 2, people), draw.integers(0, 8, people), draw.integers(0, 3, homes)
    pid = draw.permutation(np.repeat(np.arange(people), draw.integers(1, 5, people)))
    return pa.table(
        {
            "pid": pa.array([f"p{p}" for p in pid]),
            "hid": pa.array(home[pid]),
            "sex": pa.array(np.array(["F", "M"])[sex[pid]]),
            "birth": pa.array(birth[pid]),
            "region": pa.array(np.array(["a", "b", "c"])[region[home[pid]]]),
            "work": pa.array(np.array(["x", "y", "z"])[draw.integers(0, 3, len(pid))]),
            "income": pa.array(draw.integers(0, 5_000, len(pid))),
            "illness": pa.array(np.array(ILLNESSES)[draw.integers(0, 4, len(pid))]),
        }
    )


# ---------------------------------------------------------------- recipes

QUASI = {"role": "quasi-identifying"}
RAW, SECRET, NAMES = {"role": "insensitive"}, {"role": "sensitive"}, {"role": "identifying"}
SEX = {**QUASI, "domain": ["F", "M"]}
AGE = {**QUASI, "bins": list(range(0, 101, 10))}
JOB = {**QUASI, "domain": JOBS}
TOWN = {**QUASI, "domain": TOWNS}
ILLNESS = {**SECRET, "domain": ILLNESSES}
INCOME = {**QUASI, "bins": {"count": 6, "from": 0, "to": 90_000}}
DRAWN = {**QUASI, "bins": {"width": 10, "from": 0}, "top": 80, "publish": "draw"}
MIDDLE = {**QUASI, "round": 15_000, "bottom": 0, "top": 90_000, "publish": "midpoint"}
BORN = {**QUASI, "bins": {"calendar": "year", "from": "1990-01-01", "to": "2000-01-01"}}
FINE = {n: {**QUASI, "hierarchy": f"{n}.csv"} for n in ("age", "sex", "town", "job")}
SWAP, NOISE = {"swap": True}, {"noise": True}
MATRIX = [[0.8, 0.2], [0.3, 0.7]]
PANEL_SEX = {**SEX, "constant": True}
PANEL_REGION = {**QUASI, "domain": ["a", "b", "c"], "constant": "household"}
PANEL_WORK = {**QUASI, "domain": ["x", "y", "z"]}

DATABASE = """
[source]
url = "sqlite:///people.db"
table = "people"
[release]
epsilon = 5.0
[attributes.sex]
role = "quasi-identifying"
domain = ["F", "M"]
[attributes.age]
role = "quasi-identifying"
bins = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
"""
RANDOMISED = {"sex": SEX, "age": AGE, "job": JOB, "town": TOWN, "income": RAW}
GENERAL = {**{n: FINE[n] for n in ("sex", "age", "town")}, "illness": SECRET, "income": RAW}
LISTED = {"sex": FINE["sex"], "age": FINE["age"], "illness": SECRET}
SPREAD = {"age": {**QUASI, "decimals": 1}, "income": QUASI, "town": TOWN, "illness": SECRET}


def case(
    method: str,
    setting: Mapping[str, Any],
    columns: Mapping[str, Any],
    source: str = "people.csv",
    **sections: Any,
) -> dict[str, Any]:
    """A recipe. The sections are those of its file; `by` is how the key is given: a file, a seed, or signed."""
    by = sections.pop("by", "key")
    content = {
        "source": {"path": source, "dataset": "frozen", **sections.pop("source_options", {})},
        "release": {"method": method, **setting},
        "attributes": dict(columns),
        "output": sections.pop("output", {"format": "csv"}),
        **sections,
    }
    return {"by": by, "recipe": content}


def _retention(**setting: Any) -> dict[str, Any]:
    return case("retention", setting, RANDOMISED)


def _retained() -> dict[str, dict[str, Any]]:
    small = {"sex": SEX, "age": AGE}
    ordered = {**AGE, "channel": "ordered"}
    tables = {"tables": [["sex", "age"], ["town", "job"]]}
    panel = {"pid": NAMES, "sex": PANEL_SEX, "work": PANEL_WORK}
    home = {"pid": NAMES, "hid": NAMES, "region": PANEL_REGION, "sex": PANEL_SEX, "work": PANEL_WORK}
    return {
        "retention-k": case("retention", {"k": 3}, small),
        "retention-defaults": case("retention", {"k": 3}, small, output={}),
        "retention-k-and-epsilon": case("retention", {"k": 2, "epsilon": 5.0}, small),
        "retention-epsilon": _retention(epsilon=6.0),
        "retention-central": case("retention", {"central": {"epsilon": 2.0, "delta": 1e-4}}, small),
        "retention-delta": case("retention", {"k": 2, "delta": 1e-3}, small),
        "retention-candidates": case("retention", {"k": 4, "candidates": 5_000}, small),
        "retention-record": _retention(epsilon=6.0, coin="record"),
        "retention-best": _retention(k=4, coin="best", **tables),
        "retention-best-coarser": case(
            "retention",
            {"k": 30, "coin": "best", **tables},
            {
                "sex": SEX,
                "age": {**AGE, "coarsen": True},
                "town": {**FINE["town"], "coarsen": True, "missing": "category"},
                "job": JOB,
            },
        ),
        "retention-allocated": _retention(epsilon=6.0, allocation="best", **tables),
        "retention-stated-in-order": _retention(retention=0.4, shuffle=False),
        "retention-by-column": case(
            "retention", {"retention": 0.4}, {"sex": SEX, "age": {**AGE, "retention": 0.7}}
        ),
        "retention-numbers": case(
            "retention", {"retention": 0.5}, {"sex": SEX, "age": DRAWN, "income": MIDDLE, "born": BORN}
        ),
        "retention-parquet-numbers": case(
            "retention",
            {"retention": 0.5},
            {"age": DRAWN, "income": MIDDLE, "born": {**BORN, "publish": "draw"}},
            "people.parquet",
            output={"format": "parquet"},
        ),
        "retention-from-data": case(
            "retention", {"epsilon": 4.0}, {"job": {**QUASI, "domain": "from-data"}, "sex": SEX}
        ),
        "retention-hierarchy-level": case(
            "retention", {"epsilon": 4.0}, {"age": {**FINE["age"], "level": 1}, "sex": SEX}
        ),
        "retention-missing-never": case(
            "retention",
            {"epsilon": 4.0},
            {"sex": {**SEX, "missing": "never"}, "town": {**TOWN, "missing": "category"}},
        ),
        "ordered-distribution": case("retention", {"epsilon": 4.0}, {"age": ordered, "sex": SEX}),
        "ordered-mean": case("retention", {"k": 2}, {"age": {**ordered, "error_of": "mean"}, "sex": SEX}),
        "ordered-table": case(
            "retention", {"epsilon": 4.0}, {"age": {**ordered, "error_of": "table"}, "sex": SEX}
        ),
        "ordered-smooth": case(
            "retention", {"epsilon": 4.0}, {"income": {**INCOME, "channel": "ordered", "error_of": "smooth"}}
        ),
        "ordered-smooth-falling": case(
            "retention",
            {"epsilon": 4.0},
            {"income": {**INCOME, "channel": "ordered", "error_of": "smooth", "shape": "falling"}},
        ),
        "ordered-smooth-rising": case(
            "retention",
            {"epsilon": 4.0},
            {"income": {**INCOME, "channel": "ordered", "error_of": "smooth", "shape": "rising"}},
        ),
        "ordered-grades": case(
            "retention",
            {"epsilon": 4.0},
            {"town": {**TOWN, "kind": "ordered", "missing": "category", "channel": "ordered"}},
        ),
        "retention-person": case(
            "retention", {"epsilon": 6.0}, panel, "panel.parquet", unit={"person": "pid", "rows": 3}
        ),
        "retention-person-unbounded": case("retention", {"k": 2}, panel, "panel.parquet", unit={"person": "pid"}),
        "retention-household": case(
            "retention",
            {"epsilon": 12.0},
            home,
            "panel.parquet",
            unit={"person": "pid", "household": "hid", "rows": 2, "persons": 3},
        ),
        "retention-every-row": case(
            "retention", {"epsilon": 6.0}, {"pid": NAMES, "work": PANEL_WORK}, "panel.parquet", unit={"row": True}
        ),
        "matrix": case("matrix", {}, {"sex": {**SEX, "matrix": MATRIX}, "job": RAW}),
        "matrix-file": case(
            "matrix",
            {},
            {"town": {**TOWN, "matrix": "town_matrix.csv"}, "sex": {**SEX, "matrix": MATRIX}},
            "panel_towns.csv",
        ),
        "matrix-person": case(
            "matrix",
            {},
            {"pid": NAMES, "sex": {**PANEL_SEX, "matrix": MATRIX}},
            "panel.parquet",
            unit={"person": "pid", "rows": 3},
        ),
    }


def _exchanged() -> dict[str, dict[str, Any]]:
    two = {"job": JOB, "town": TOWN, "sex": RAW}
    levels = {"sex": RAW, "illness": ILLNESS, "job": {**JOB, **SECRET}}
    return {
        "invariant": case("invariant", {"xi": 0.4}, two),
        "invariant-published": case("invariant", {"xi": 0.4, "matrix": "published"}, two),
        "invariant-paper": case("invariant", {"xi": 0.5, "rule": "paper"}, {"job": JOB}),
        "invariant-auto": case("invariant", {"xi": 0.5, "rule": "auto"}, {"job": JOB}),
        "invariant-together": case(
            "invariant",
            {"xi": 0.5, "together": [["sex", "illness"]]},
            {"sex": SEX, "illness": {**QUASI, "domain": ILLNESSES}, "job": RAW},
        ),
        "invariant-strata": case("invariant", {"xi": 0.3, "strata": ["sex"], "unreached": "publish"}, two),
        "invariant-ordered": case("invariant", {"xi": 0.5}, {"age": {**AGE, "ordered": True}}),
        "invariant-forbidden": case("invariant", {"xi": 0.6}, {"job": {**JOB, "forbidden": [["job 0", "job 1"]]}}),
        "invariant-two-stage": case("invariant", {"kind": "two-stage"}, {"job": JOB}),
        "invariant-two-stage-stated": case(
            "invariant", {"kind": "two-stage", "diagonal": 0.6, "alpha": 0.3, "matrix": "published"}, {"job": JOB}
        ),
        "invariant-sinkhorn": case("invariant", {"kind": "sinkhorn", "retention": 0.5}, {"town": TOWN}),
        "invariant-sinkhorn-k": case(
            "invariant", {"kind": "sinkhorn", "k": 3, "matrix": "published"}, {"town": TOWN}
        ),
        "levels": case("levels", {"retention": 0.4}, levels),
        "levels-epsilon": case("levels", {"epsilon": 2.0}, levels),
        "levels-together": case("levels", {"retention": 0.4, "together": True}, levels),
        "levels-distribution": case(
            "levels",
            {"retention": 0.4},
            {"sex": RAW, "illness": {**ILLNESS, "distribution": [0.4, 0.3, 0.2, 0.1]}},
        ),
        "swap-rank": case(
            "swap",
            {"rate": 0.5, "range": 0.1},
            {"age": QUASI | SWAP, "income": RAW | SWAP, "town": RAW, "illness": SECRET},
        ),
        "swap-rank-defaults": case("swap", {"rate": 0.5}, {"age": QUASI | SWAP, "illness": SECRET}, output={}),
        "swap-record": case(
            "swap",
            {"kind": "record", "rate": 0.1, "similar": ["sex"], "below": 3},
            {"town": QUASI | SWAP, "job": RAW | SWAP, "sex": QUASI, "illness": SECRET},
        ),
        "swap-record-plain": case(
            "swap", {"kind": "record", "rate": 0.3, "shuffle": False}, {"town": QUASI | SWAP, "job": RAW}
        ),
        "noise": case(
            "noise",
            {"amount": 0.2},
            {
                "age": QUASI | NOISE,
                "income": {**RAW, "spread": 500, "decimals": -1},
                "town": RAW,
                "illness": SECRET,
            },
        ),
        "noise-decimals": case(
            "noise",
            {"amount": 0.5, "decimals": 2},
            {"height": QUASI | NOISE, "age": {**QUASI, "noise": True, "decimals": 0}},
        ),
        "noise-correlated": case(
            "noise",
            {"kind": "correlated", "amount": 0.5},
            {"age": QUASI | NOISE, "income": RAW | NOISE, "sex": QUASI},
        ),
        "noise-parquet": case(
            "noise",
            {"amount": 0.2},
            {"height": QUASI | NOISE, "born": RAW},
            "people.parquet",
            output={"format": "parquet"},
        ),
    }


def _general(
    setting: Mapping[str, Any], columns: Mapping[str, Any] = GENERAL, source: str = "people.csv", **sections: Any
) -> dict[str, Any]:
    return case("generalize", {"k": 3, **setting}, columns, source, **sections)


def _classes() -> dict[str, dict[str, Any]]:
    labels = {"cells": "hierarchy"}
    searched = {"choose": "searched", "delta": [0.01, 0.9]}
    everyone = {"public": "everyone.csv"}
    panel = {"pid": NAMES, "sex": FINE["sex"], "work": {**QUASI, "hierarchy": "work.csv"}, "illness": SECRET}
    models = {
        "k": 2,
        "subset": "here",
        "k_map": 2,
        "delta": [0.01, 0.95],
        "suppression": 0.3,
        "average_risk": 0.9,
        "population_uniques": 0.9,
        "population_size": 10_000,
        "b_likeness": 9.0,
        "profit": {"benefit": 100.0, "loss": 300.0, "gain": 300.0, "cost": 4.0},
        **labels,
    }

    def micro(setting: Mapping[str, Any], columns: Mapping[str, Any] = SPREAD, **sections: Any) -> dict[str, Any]:
        return case("microaggregate", {"k": 3, **setting}, columns, **sections)

    def listed(setting: Mapping[str, Any], source: str = "present.csv", **sections: Any) -> dict[str, Any]:
        return case("presence", {**everyone, **setting}, LISTED, source, **sections)

    measures = ("entropy", "precision", "discernibility", "class-size", "kl")
    return {
        "generalize-defaults": _general({}, output={}),
        "generalize-csv": _general({}),
        "generalize-parquet": _general({}, source="people.parquet", output={"format": "parquet"}),
        "generalize-labels": _general({**labels, "suppression": 0.1, "l": 2}),
        "generalize-labels-parquet": _general(
            {**labels, "suppression": 0.1}, source="people.parquet", output={"format": "parquet"}
        ),
        "generalize-set-t": _general({"cells": "set", "t": 0.6, "suppression": 0.2}),
        "generalize-interval": _general({"cells": "interval"}),
        "generalize-intermediate": _general({"intermediate": [1, 3]}),
        "generalize-mondrian": _general({"algorithm": "mondrian"}),
        "generalize-mondrian-sets": _general(
            {"algorithm": "mondrian", "cells": "set"}, source="people.parquet", output={"format": "parquet"}
        ),
        "generalize-mondrian-relaxed": _general({"algorithm": "mondrian-relaxed", "cells": "interval"}),
        "generalize-local": _general({"algorithm": "local", **labels}),
        "generalize-kl": _general({"algorithm": "kl", "cells": "interval"}),
        "generalize-kl-pdf": _general({"algorithm": "kl"}),
        **{f"generalize-by-{m}": _general({"measure": m, **labels}) for m in measures},
        "generalize-by-classification": _general({"measure": "classification", "target": "illness", **labels}),
        "generalize-weights": _general(
            {"weights": {"age": 5.0}, **labels}, {**GENERAL, "sex": {**FINE["sex"], "weight": 2.0}}
        ),
        "generalize-cells": _general({"suppress": "cells", "suppression": 0.2, **labels}),
        "generalize-factors": _general(
            {"gs_factor": 0.2, "suppression": 0.2, **labels}, {**GENERAL, "age": {**FINE["age"], "gs_factor": 0.8}}
        ),
        "generalize-levels": _general({"levels": {"sex": 1, "age": 2, "town": 1}, "suppression": 0.1, **labels}),
        "generalize-in-order": _general({"shuffle": False, **labels}),
        "generalize-entropy-l": _general({"l": 1.5, "l_kind": "entropy", "suppression": 0.2, **labels}),
        "generalize-recursive-l": _general(
            {"l": 2, "l_kind": "recursive", "c": 4.0, "suppression": 0.2, **labels}
        ),
        "generalize-t-ordered": _general(
            {"t": 0.6, "t_distance": "ordered", **labels}, {**GENERAL, "illness": RAW, "income": SECRET}
        ),
        "generalize-t-hierarchical": _general(
            {"t": 0.6, "t_distance": "hierarchical", "suppression": 0.2, **labels},
            {**GENERAL, "illness": {**SECRET, "hierarchy": "illness.csv"}},
        ),
        "generalize-b-enhanced": _general({"b_likeness": 3.0, "b_kind": "enhanced", "suppression": 0.2, **labels}),
        "generalize-d-disclosure": _general({"d_disclosure": 4.0, "suppression": 0.2, **labels}),
        "generalize-models": _general(models, source="everyone.csv"),
        "generalize-population": _general(
            {"k_map": 4, "population": "everyone.csv", **labels}, source="present.csv"
        ),
        **{
            f"generalize-uniques-{m}": _general(
                {"population_uniques": 0.9, "population_size": 9_000, "uniques_model": m, **labels}
            )
            for m in ("pitman", "zayatz", "snb")
        },
        "generalize-bins": _general(
            {"algorithm": "mondrian", "cells": "interval"},
            {"age": AGE, "sex": SEX, "born": BORN, "illness": SECRET},
        ),
        "generalize-person": _general(
            {**labels, "k": 2, "l": 2, "suppression": 0.2},
            panel,
            "panel.parquet",
            unit={"person": "pid", "rows": 3},
        ),
        "generalize-household": _general(
            {"k": 2, "algorithm": "mondrian"},
            {**panel, "hid": NAMES},
            "panel.parquet",
            unit={"person": "pid", "household": "hid", "rows": 2, "persons": 3},
        ),
        "presence-defaults": listed({"delta": [0.01, 0.9]}),
        "presence-flag": listed({**searched, "present": "here"}, "everyone.csv"),
        "presence-spread": listed({"delta": [0.01, 0.9], "spread": 2.0, "compare": True}),
        "presence-levels": listed({"delta": [0.01, 0.9], "levels": {"sex": 1, "age": 2}}),
        "presence-spalm": listed({**searched, "algorithm": "spalm"}, output={"format": "parquet"}),
        "presence-spalm-set": listed({**searched, "algorithm": "spalm", "cells": "set"}),
        "presence-spalm-pdf": listed({**searched, "algorithm": "spalm", "cells": "pdf"}),
        "presence-wpalm-noised": listed(
            {**searched, "algorithm": "wpalm", "mode": "noised", "noise_epsilon": 2.0}
        ),
        "presence-ppalm": listed({**searched, "algorithm": "ppalm", "measure": "entropy"}),
        "presence-quantised": listed({**searched, "mode": "quantised"}),
        "presence-quantum": listed({**searched, "mode": "quantised", "quantum": 4, "measure": "precision"}),
        "presence-private": listed({**searched, "mode": "private"}),
        "microaggregate": micro({}),
        "microaggregate-parquet": micro({}, output={"format": "parquet"}, source="people.parquet"),
        "microaggregate-median": micro({"aggregate": "median", "decimals": 0}),
        "microaggregate-optimal": micro(
            {"algorithm": "optimal", "decimals": -2}, {"income": QUASI, "sex": SEX, "job": RAW}
        ),
        "microaggregate-person": micro(
            {"k": 2},
            {"pid": NAMES, "birth": QUASI, "income": QUASI, "illness": SECRET},
            source="panel.parquet",
            unit={"person": "pid", "rows": 3},
        ),
    }


def _files() -> dict[str, dict[str, Any]]:
    """What changes the bytes of a bundle besides its method."""
    two = {"sex": SEX, "age": AGE, "illness": SECRET, "note": RAW}
    many = {"files": "many", "part_rows": 1_000}
    codes = {"sex": {**QUASI, "domain": [1, 2]}, "marital": {**QUASI, "domain": [1, 2, 3, 4], "missing": ["99"]}}
    words = {
        "sex": {**QUASI, "domain": ["male", "female"]},
        "marital": {**QUASI, "domain": ["single", "married", "divorced", "widowed"], "missing": ["99"]},
    }
    rest = {
        "person": NAMES,
        "born": {**RAW, "kind": "date"},
        "income": {**QUASI, "bins": [0, 1500, 2500, 4000, 1000000], "missing": ["99"]},
        "health": {**SECRET, "missing": ["99"]},
        "weight": RAW,
    }
    about = {
        "title": "Frozen",
        "holder": "An office",
        "contact": "office@example.org",
        "recipient": "everyone",
        "purpose": "tests",
        "date": "2026-11-18",
        "release_model": "public file",
        "storage_period": "ten years",
        "region": "nowhere",
        "license": "CC0",
        "holder_kind": "government",
    }

    short = {**{n: FINE[n] for n in ("sex", "age", "town")}, "illness": SECRET}

    def plain(columns: Mapping[str, Any] = two, source: str = "people.csv", **sections: Any) -> dict[str, Any]:
        return case("retention", {"epsilon": 5.0}, columns, source, **sections)

    def office(source: str, columns: Mapping[str, Any], form: str = "parquet", **options: Any) -> dict[str, Any]:
        every = {**columns, **rest}
        return plain(every, source, unit={"row": True}, output={"format": form}, source_options=options)

    return {
        "files-escaped": plain(output={"format": "csv", "escape_formulas": True}),
        "files-about": plain(about=about),
        "files-seeded": plain(by="seed"),
        "files-seeded-classes": _general({}, by="seed"),
        "files-signed": plain(by="signed"),
        "files-signed-parts": plain(two, "long.parquet", by="signed", output={"format": "parquet", **many}),
        "files-synthetic": plain(output={"format": "csv", "synthetic": True}),
        "files-synthetic-parquet": plain(output={"format": "parquet", "synthetic": True}),
        "files-database": {"by": "key", "recipe": tomllib.loads(DATABASE)},
        **{f"files-{form}": plain(output={"format": form}) for form in ("xlsx", "dta", "arrow", "sav")},
        "files-spss-labels": office("survey.sav", words),
        "files-spss-labels-csv": office("survey.sav", words, "csv"),
        "files-spss-to-spss": office("survey.sav", words, "sav"),
        "files-spss-codes": office("survey.sav", codes, labels=False),
        "files-stata-labels": office("survey.dta", words, "dta"),
        "files-office-csv": office("survey.csv", codes, decimal=",", thousands="."),
        "files-classes-of-labels": case(
            "generalize",
            {"k": 3, "cells": "set", "algorithm": "mondrian"},
            {**words, "person": NAMES, "health": {**SECRET, "missing": ["99"]}},
            "survey.sav",
            unit={"row": True},
        ),
        "parts-retention": plain(two, "long.parquet", output={"format": "parquet", **many}),
        "parts-retention-csv": plain(
            two, "long.parquet", output={"format": "csv", "escape_formulas": True, **many}
        ),
        "parts-one-file": plain(output={"format": "csv", "files": "one"}),
        "parts-classes": _general({}, short, "long.parquet", output={"format": "parquet", **many}),
        "parts-classes-csv": _general(
            {"suppression": 0.1, "cells": "set"}, short, "long.parquet", output={"format": "csv", **many}
        ),
        "parts-mondrian": _general(
            {"algorithm": "mondrian", "k": 50}, short, "long.parquet", output={"format": "csv", **many}
        ),
        "parts-levels": case(
            "levels",
            {"retention": 0.4},
            {"sex": RAW, "illness": ILLNESS},
            "long.parquet",
            output={"format": "parquet", **many},
        ),
        "parts-invariant": case(
            "invariant",
            {"xi": 0.5},
            {"town": TOWN, "sex": RAW},
            "long.parquet",
            output={"format": "parquet", **many},
        ),
        "parts-microaggregate": case(
            "microaggregate",
            {"k": 30},
            {"age": QUASI, "sex": SEX},
            "long.parquet",
            output={"format": "csv", **many},
        ),
        "parts-swap": case(
            "swap",
            {"rate": 0.5},
            {"age": QUASI | SWAP, "sex": RAW},
            "long.parquet",
            output={"format": "csv", **many},
        ),
        "parts-noise": case(
            "noise",
            {"amount": 0.2},
            {"age": QUASI | NOISE, "sex": RAW},
            "long.parquet",
            output={"format": "csv", **many},
        ),
    }


def every_case() -> dict[str, dict[str, Any]]:
    return {**_retained(), **_exchanged(), **_classes(), **_files()}


# ---------------------------------------------------------------- bundles


def make_bundles(folder: Path) -> dict[str, dict[str, Any]]:
    index: dict[str, dict[str, Any]] = {}
    Key(bytes(range(1, 33))).write(folder / "holder.key")
    make_signing_key(folder / "signing.key")
    (folder / "bundles").mkdir()
    town = pacsv.read_csv(folder / "sources" / "people.csv").select(["town", "sex"])
    pacsv.write_csv(town.filter(pa.compute.not_equal(town["town"], "")), folder / "sources" / "panel_towns.csv")
    for name, made in every_case().items():
        recipe = Recipe.parse(made["recipe"], folder / "sources")
        by: dict[str, Any] = {"seed": 7} if made["by"] == "seed" else {"key": folder / "holder.key"}
        sign: dict[str, Any] = {"sign": folder / "signing.key"} if made["by"] == "signed" else {}
        release(recipe, folder / "bundles" / name, **by, **sign, even_if_useless=True)
        source = made["recipe"]["source"]
        index[name] = {"source": source.get("path", "database.toml"), "by": made["by"]}
    return index


def make_collected(folder: Path) -> dict[str, dict[str, Any]]:
    """Surveys that people answered on devices: bundles that nobody has a key or a source of."""
    from pramana.app.collector.application import SurveyPage
    from pramana.app.collector.closing import CollectionFolder, close_collection
    from pramana.app.collector.submission import Submission
    from pramana.app.collector.survey import Survey

    attributes = {
        "smokes": {"role": "sensitive", "randomise": True, "domain": ["yes", "no"]},
        "age": {"role": "quasi-identifying", "bins": [0, 30, 60, float("inf")]},
    }
    drawn = {**attributes, "age": {"role": "quasi-identifying", "bins": [0, 30, 60, 90], "publish": "draw"}}
    wanted = {
        "collected": ({"epsilon": 3}, attributes, {}),
        "collected-record": ({"epsilon": 2, "coin": "record"}, attributes, {}),
        "collected-drawn": ({"epsilon": 3}, drawn, {}),
        "collected-fewer": ({"k": 40, "records": 5_000}, attributes, {"fewer": True}),
    }
    for name, (setting, columns, section) in wanted.items():
        survey = Survey.read(Recipe.parse({"release": setting, "attributes": columns, "survey": section}))
        place = CollectionFolder(folder / "bundles" / name)
        page = SurveyPage(survey).digest
        store = place.open(page, len(survey.columns))
        random = np.random.default_rng(5)
        store.add(
            [Submission(random.bytes(16), (int(random.integers(3)), int(random.integers(4)))) for _ in range(120)]
        )
        close_collection(survey, store, page, place.out)
        shutil.rmtree(place.path)
    return {name: {"source": None, "by": "devices"} for name in wanted}


# ---------------------------------------------------------------- ledgers

LEVELS = """
[source]
path = "{source}"
[release]
method = "levels"
people = "{people}"
total_epsilon = 9.0
allowances = {{ ministry = 0.6, university = 0.3, "*" = 0.1 }}
{more}
[output]
format = "csv"
[attributes.sex]
role = "insensitive"
[attributes.illness]
role = "sensitive"
domain = ["none", "flu", "cold", "gout"]
[attributes.job]
role = "sensitive"
domain = ["job 0", "job 1", "job 2", "job 3", "job 4", "job 5", "job 6", "job 7"]
"""
BOOKED = """
[source]
path = "people.csv"
[release]
{release}
[output]
format = "csv"
[attributes.sex]
role = "quasi-identifying"
{sex}
[attributes.age]
role = "quasi-identifying"
{age}
[ledger]
path = "town.ledger"
people = "{people}"
recipient = "{name}"
again = true
"""


def make_ledgers(folder: Path) -> None:
    """In a folder of their own, entered with paths relative to it: tests copy it and work there.

    A ledger is entered under the absolute paths of its recipe and key. `Path.absolute` does nothing here, so that
    what is stored can be used in any folder.
    """
    folder.mkdir()
    for name in ("people.csv", "present.csv", "age.csv", "sex.csv"):
        shutil.copy(folder.parent / "sources" / name, folder)
    os.chdir(folder)
    Path.absolute = lambda self: self  # type: ignore[method-assign]
    asked = [("ministry", "0.5"), ("university", "0.3"), ("company", "0.1"), ("ministry", "0.2")]
    for kind, more in (("keyed", ""), ("history", "history = true"), ("together", "together = true")):
        Path(f"{kind}.toml").write_text(LEVELS.format(source="people.csv", people=kind, more=more))
        create_levels(f"{kind}.ledger", f"{kind}.toml", name=kind, who="holder")
        for recipient, level in asked:
            issue(
                f"{kind}.ledger",
                recipient,
                level,
                f"{kind}-{recipient}-{level}",
                who="holder",
                even_if_useless=True,
            )
    _book_releases()


def _book_releases() -> None:
    known = Ledger.create("town.ledger")
    domain, bins = 'domain = ["F", "M"]', "bins = [0, 20, 40, 60, 120]"
    fine = 'hierarchy = "sex.csv"', 'hierarchy = "age.csv"'
    wanted = {
        "university": ("epsilon = 3.0", domain, bins),
        "record": ('epsilon = 2.0\ncoin = "record"', domain, bins),
        "press": ('method = "generalize"\nk = 5\ncells = "hierarchy"', *fine),
        "school": ('method = "invariant"\nxi = 0.9', domain, bins),
    }
    for name, (setting, sex, age) in wanted.items():
        people = "residents" if setting.startswith("epsilon") else "patients"
        text = BOOKED.format(release=setting, sex=sex, age=age, name=name, people=people)
        Path(f"{name}.toml").write_text(text)
        release(f"{name}.toml", f"booked-{name}", even_if_useless=True)
    known.limit("residents", Fraction(8), "holder", 1e-6)


def describe_ledgers(folder: Path) -> dict[str, Any]:
    """What every ledger says of itself, by its own word."""
    found = {}
    for path in sorted(folder.glob("*.ledger")):
        ledger = Ledger.open(path)
        people = ledger.state().everyone()
        found[path.name] = {
            "releases": [r.to_json() for r in ledger.releases()],
            "totals": {p: {str(d): ledger.total(p, d).to_json() for d in (1e-6, 1e-3)} for p in people},
            "words": {p: str(ledger.total(p).words()) for p in people},
            "lines": list(ledger.lines()),
        }
        ledger.close()
    return found


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    (folder / "sources").mkdir(parents=True)
    make_sources(folder / "sources")
    os.chdir(folder / "sources")
    index = {**make_bundles(folder), **make_collected(folder)}
    (folder / "index.json").write_text(json.dumps(index, indent=1, sort_keys=True) + "\n")
    make_ledgers(folder / "ledgers")
    (folder / "ledgers.json").write_text(json.dumps(describe_ledgers(folder / "ledgers"), indent=1) + "\n")


if __name__ == "__main__":
    main()
