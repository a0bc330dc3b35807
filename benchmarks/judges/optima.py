"""The levels that ARX 3.9.2 chooses on Adult, against our full-domain search; given once, by its own run.

Adult's 30,162 complete training rows, eight quasi-identifiers with ARX's own hierarchies, 6,480 nodes, loss, no
suppression. Two other measures stand beside it: a search by another measure must not agree by chance.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pramana.counting.classes import Ladder, Layout, grouped
from pramana.methods.generalize.conditions import KAnonymous
from pramana.methods.generalize.lattice import search
from pramana.methods.generalize.measures import measure_of
from pramana.schema.hierarchy import Hierarchy

QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
ARX = {5: (0, 4, 0, 2, 3, 2, 2, 1), 10: (0, 4, 0, 2, 3, 2, 2, 1), 50: (0, 4, 1, 1, 3, 2, 2, 1)}
VERSION = "3.9.2"


def judged(adult: Path, hierarchies: Path) -> dict[str, Any]:
    with adult.open(newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["split"] == "train" and not {"?", ""} & set(r.values())]
    ladders, columns = [], []
    for name in QUASI:
        hierarchy = Hierarchy.read(hierarchies / f"{name}.csv")
        code = {leaf: i for i, leaf in enumerate(hierarchy.leaves)}
        ladders.append(Ladder.of(name, hierarchy))
        columns.append(np.array([code[r[name]] for r in rows], np.uint8))
    base, _ = grouped(Layout(tuple(ladders)), columns)
    found = []
    for k, levels in ARX.items():
        best = {measure: search(base, KAnonymous(k), measure_of(measure, base), 0) for measure in
                ("loss", "discernibility", "entropy")}  # fmt: skip
        found.append({"k": k, "nodes": best["loss"].nodes, "checked": best["loss"].checked,
                      "true k": int(best["loss"].classes.sizes.min()), "ARX": levels,
                      **{measure: tuple(map(int, one.levels)) for measure, one in best.items()}})  # fmt: skip
    return {"records": len(rows), "quasi": QUASI, "versions": {"ARX": VERSION}, "rows": found}


def lines_of(found: Mapping[str, Any]) -> list[str]:
    lines = [
        f"Adult, {found['records']:,} rows; levels of {', '.join(found['quasi'])}. ARX was run once, with "
        "the same rows "
        "and hierarchies, loss, no suppression; here stands what it chose. By `discernibility` and "
        "`entropy` other "
        "levels are best for k = 5 and 10, so agreement is not the only thing that could happen.",
        "",
        "| k | ARX, loss | Pramana, loss | agrees | true k | checked of nodes | discernibility | entropy |",
        "|---:|---|---|---|---:|---:|---|---|",
    ]
    for row in found["rows"]:
        chosen = {name: ",".join(map(str, row[name])) for name in ("ARX", "loss", "discernibility", "entropy")}
        lines.append(
            f"| {row['k']} | {chosen['ARX']} | {chosen['loss']} | "
            f"{'yes' if chosen['ARX'] == chosen['loss'] else 'NO'} | "
            f"{row['true k']} | {row['checked']} of {row['nodes']:,} | {chosen['discernibility']} | "
            f"{chosen['entropy']} |"
        )
    return lines
