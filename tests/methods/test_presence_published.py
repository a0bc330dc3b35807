"""Presence of what was written: every algorithm in every mode, from the files alone, by code of its own.

Nothing of the package reads, groups or computes here. The intruder has the published files, the public table, the
hierarchies, and from the certificate the levels; likelihoods and Eq. 4 are worked out anew.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import pramana

release = partial(pramana.release, even_if_useless=True)  # of a few people nothing can be learned


AGE = "20;young;*\n30;young;*\n40;old;*\n50;old;*\n"
SEX = "F;*\nM;*\n"
REGION = "n;up;*\ne;up;*\ns;low;*\nw;low;*\n"
NAMES = ("age", "sex", "region")
LOW, HIGH = 0.12, 0.6


def world(folder: Path) -> None:
    rng = np.random.default_rng(11)
    for name, text in zip(NAMES, (AGE, SEX, REGION), strict=True):
        (folder / f"{name}.csv").write_text(text)
    with (folder / "everyone.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow([*NAMES, "ill"])
        for _ in range(260):
            age, sex, region = int(rng.choice(4, p=[0.3, 0.28, 0.22, 0.2])), int(rng.integers(2)), rng.integers(4)
            ill = rng.random() < 0.15 + 0.08 * age + 0.1 * sex
            out.writerow([(20, 30, 40, 50)[age], "FM"[sex], "nesw"[region], int(ill)])


def recipe(folder: Path, lines: str, output: str) -> Path:
    place = folder / "recipe.toml"
    parts = [f'[attributes.{n}]\nrole = "quasi-identifying"\nhierarchy = "{n}.csv"\n' for n in NAMES]
    place.write_text(
        '[source]\npath = "everyone.csv"\n[release]\nmethod = "presence"\npresent = "ill"\n'
        f'delta = [{LOW}, {HIGH}]\n{lines}\n{"".join(parts)}[output]\nformat = "{output}"\n'
    )
    return place


def levels_of(folder: Path, name: str) -> list[dict[str, str]]:
    """For each level what stands for a value, from the hierarchy file."""
    lines = [line.split(";") for line in (folder / f"{name}.csv").read_text().split()]
    return [{line[0]: line[level] for line in lines} for level in range(len(lines[0]))]


def published(folder: Path, out: Path) -> list[dict[str, dict[str, int]]]:
    """For each published record the weights of each column."""
    if (out / "data.parquet").exists():
        rows: list[dict[str, Any]] = pq.read_table(out / "data.parquet").to_pylist()
    else:
        with (out / "data.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        if (out / "cells.csv").exists():
            with (out / "cells.csv").open(newline="") as file:
                cells = list(csv.DictReader(file))
            rows = [
                {n: [c for c in cells if (c["class"], c["attribute"]) == (r["class"], n)] for n in NAMES}
                for r in rows
            ]
    found = []
    for row in rows:
        one = {}
        for name in NAMES:
            cell = row[name]
            if isinstance(cell, str):  # a label: every leaf under it
                under = {
                    leaf for level in levels_of(folder, name) for leaf, label in level.items() if label == cell
                }
                one[name] = dict.fromkeys(under, 1)
            else:
                one[name] = {str(entry["value"]): int(entry["weight"]) for entry in cell}
        found.append(one)
    return found


def existence(w: list[float], n: int) -> dict[float, float]:
    """Eq. 4 for each distinct likelihood, by sums over subsets built person by person."""

    def subsets(some: list[float], size: int) -> float:
        e = np.zeros(size + 1)
        e[0] = 1.0
        for x in some:
            e[1:] += x * e[:-1]
        return float(e[size])

    top = max(w)
    scaled = [x / top for x in w]
    whole = subsets(scaled, n)
    found = {}
    for k, x in enumerate(scaled):
        if w[k] not in found:
            found[w[k]] = x * subsets(scaled[:k] + scaled[k + 1 :], n - 1) / whole
    return found


def reached(folder: Path, out: Path) -> tuple[float, float]:
    with (folder / "everyone.csv").open(newline="") as file:
        people = [{n: row[n] for n in NAMES} for row in csv.DictReader(file)]
    mechanism = json.loads((out / "certificate.json").read_text())["mechanism"]
    order = [q["name"] for q in mechanism["quasi"]]
    labels = {n: levels_of(folder, n)[level] for n, level in zip(order, mechanism["levels"], strict=True)}
    records = published(folder, out)
    classes = Counter(tuple(labels[n][next(iter(record[n]))] for n in NAMES) for record in records)
    cells = {tuple(labels[n][next(iter(record[n]))] for n in NAMES): record for record in records}
    low, high, seen = 1.0, 0.0, 0
    for key, n in classes.items():
        here = [p for p in people if tuple(labels[a][p[a]] for a in NAMES) == key]
        seen += len(here)
        f = {a: {v: w / sum(cells[key][a].values()) for v, w in cells[key][a].items()} for a in NAMES}
        w = [float(np.prod([f[a].get(p[a], 0.0) for a in NAMES])) for p in here]
        each = existence(w, n)
        assert sum(each[x] for x in w) == pytest.approx(n)  # as many people are present as records published
        low, high = min(low, *each.values()), max(high, *each.values())
    return (low if seen == len(people) else 0.0), high


MODES = {
    "public": "",
    "private": '\nmode = "private"',
    "quantised": '\nmode = "quantised"\nquantum = 6',
    "noised": '\nmode = "noised"\nnoise_epsilon = 1.5',
}
CASES = [(a, m, "hierarchy") for a in ("spalm", "wpalm", "ppalm", "optimal") for m in MODES]
CASES += [("spalm", m, "pdf") for m in ("public", "private", "quantised")]
CASES += [("spalm", "public", "set"), ("wpalm", "private", "set"), ("optimal", "noised", "set")]


@pytest.mark.parametrize(("algorithm", "mode", "cells"), CASES)
def test_every_published_table_passes(tmp_path: Path, algorithm: str, mode: str, cells: str) -> None:
    world(tmp_path)
    lines = f'algorithm = "{algorithm}"\ncells = "{cells}"{MODES[mode]}'
    found = []
    for output in ("parquet", "csv"):
        done = release(recipe(tmp_path, lines, output), tmp_path / output, seed=4)
        low, high = reached(tmp_path, tmp_path / output)
        assert LOW <= low <= high <= HIGH
        value = done.guarantees[0]["value"]
        assert (value["lowest"], value["highest"]) == pytest.approx((low, high), abs=2e-9)
        assert (value["mode"], value["dmin"], value["dmax"]) == (mode, LOW, HIGH)
        found.append((low, high))
    assert found[0] == pytest.approx(found[1])
    if mode == "public":
        assert value["reversal"] == "withstood"


def test_the_check_itself_finds_what_does_not_hold(tmp_path: Path) -> None:
    """The same code on a table whose cells were sharpened by hand leaves the range."""
    world(tmp_path)
    release(recipe(tmp_path, 'algorithm = "spalm"\ncells = "set"', "csv"), tmp_path / "out", seed=4)
    assert reached(tmp_path, tmp_path / "out")[1] <= HIGH
    place = tmp_path / "out" / "cells.csv"
    lines = place.read_text().splitlines()
    sharp = next(i for i, line in enumerate(lines) if '"age","20"' in line)
    lines[sharp] = lines[sharp].rsplit(",", 1)[0] + ",1000"
    place.write_text("\n".join(lines) + "\n")
    low, high = reached(tmp_path, tmp_path / "out")
    assert high > HIGH or low < LOW
