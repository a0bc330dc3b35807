"""Small panels of people and households, drawn at random, and what is true of them by plain counting."""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.notions.word_checks import overclaims_in, problems_of

from pramana import Recipe, release
from pramana.run.release import Released

ILLNESSES = ["none", "flu", "cold", "gout"]


def panel(seed: int, people: int = 60, most: int = 4, homes: int = 25, steady: bool = False) -> pa.Table:
    """Rows in random order. sex and birth are a person's own, region a household's; the others vary by row.

    `steady`: the illness is a person's own, too.
    """
    draw = np.random.default_rng(seed)
    home = np.concatenate([np.arange(homes), draw.integers(0, homes, people - homes)])
    sex, birth, region = draw.integers(0, 2, people), draw.integers(0, 8, people), draw.integers(0, 3, homes)
    own = draw.integers(0, len(ILLNESSES), people)
    pid = draw.permutation(np.repeat(np.arange(people), draw.integers(1, most + 1, people)))
    illness = own[pid] if steady else draw.integers(0, len(ILLNESSES), len(pid))
    return pa.table(
        {
            "pid": pa.array([f"p{p}" for p in pid]),
            "hid": pa.array(home[pid]),
            "sex": pa.array(np.array(["F", "M"])[sex[pid]]),
            "birth": pa.array(birth[pid]),
            "region": pa.array(np.array(["a", "b", "c"])[region[home[pid]]]),
            "job": pa.array(np.array(["x", "y", "z"])[draw.integers(0, 3, len(pid))]),
            "illness": pa.array(np.array(ILLNESSES)[illness]),
        }
    )


def write_hierarchies(folder: Path) -> None:
    (folder / "sex.csv").write_text("F;*\nM;*\n")
    (folder / "birth.csv").write_text("".join(f"{b};two {b // 2};four {b // 4};*\n" for b in range(8)))
    (folder / "job.csv").write_text("x;xy;*\ny;xy;*\nz;z;*\n")


def generalised(
    table: pa.Table, folder: Path, unit: dict[str, Any], release_: dict[str, Any], columns: Sequence[str]
) -> Released:
    """A release in source order, so that the file's rows are the table's."""
    folder.mkdir(exist_ok=True)
    write_hierarchies(folder)
    quasi = {name: {"role": "quasi-identifying", "hierarchy": f"{name}.csv"} for name in columns}
    content = {
        "unit": unit,
        "release": {"method": "generalize", "cells": "hierarchy", "shuffle": False, **release_},
        "attributes": {**quasi, "illness": {"role": "sensitive"}},
    }
    return release(Recipe.parse(content, folder), folder / "out", data=table, seed=3)


def classes_of(bundle: Path, columns: Sequence[str]) -> dict[Hashable, list[int]]:
    """The numbers of the rows that look alike."""
    data = pq.read_table(bundle / "data.parquet").to_pylist()
    rows: dict[Hashable, list[int]] = defaultdict(list)
    for number, row in enumerate(data):
        rows[tuple(str(row[name]) for name in columns)].append(number)
    return rows


def k_of_units(classes: dict[Hashable, list[int]], owner: list[Hashable]) -> int:
    return min(len({owner[row] for row in rows}) for rows in classes.values())


def l_of_units(classes: dict[Hashable, list[int]], owner: list[Hashable], value: list[Hashable]) -> int:
    """One more than what is left to those who lack a value, for the worst class and value."""
    least = len(value)
    for rows in classes.values():
        for one in {value[row] for row in rows}:
            with_it = {owner[row] for row in rows if value[row] == one}
            others = {value[row] for row in rows if owner[row] not in with_it}
            least = min(least, 1 + len(others))
    return least


def wrong_words(released: Released) -> list[str]:
    """What certificate and report say that they may not, or leave unsaid."""
    page = html.unescape((released.bundle / "report.html").read_text())
    wrong = [problem for g in released.guarantees for problem in problems_of(g)]
    wrong += [str(g["words"]) for g in released.guarantees if g["words"] not in page]
    return wrong + [phrase for w in released.certificate.warnings for phrase in overclaims_in(w)]


def guaranteed(released: Released, notion: str, unit: str) -> Any:
    (value,) = (g["value"] for g in released.guarantees if g["notion"] == notion and g["unit"] == unit)
    return value
