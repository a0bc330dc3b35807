"""The releases whose published cells are kept as digests: one small table, every method, seeds for keys.

`python -m tests.golden.cells` prints the digests anew; `test_published_cells.py` compares them with the stored.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from pramana import Recipe, release

STORED = Path(__file__).with_name("cells.json")
ROWS = 3_000
JOBS = [f"job {i:02d}" for i in range(30)]
TOWNS = [f"t{i}" for i in range(12)]


def make_tables(folder: Path) -> None:
    """People as Parquet and CSV, a public table of twice as many, and hierarchies."""
    draw = np.random.default_rng(11)
    weights = np.geomspace(1, 0.001, len(JOBS))
    columns = {
        "sex": draw.choice(["F", "M"], ROWS),
        "age": draw.integers(0, 100, ROWS),
        "job": draw.choice(JOBS, ROWS, p=weights / weights.sum()),
        "town": draw.choice(TOWNS, ROWS),
        "illness": draw.choice(["none", "flu", "cold", "gout"], ROWS, p=[0.5, 0.3, 0.15, 0.05]),
        "income": draw.integers(0, 90_000, ROWS),
    }
    people = pa.table(
        {
            n: pa.array(c.tolist(), mask=(draw.random(ROWS) < 0.02) if n == "town" else None)
            for n, c in columns.items()
        }
    )
    pq.write_table(people, folder / "people.parquet")
    pacsv.write_csv(people, folder / "people.csv")
    there = draw.random(ROWS) < 0.3
    pacsv.write_csv(people.append_column("here", pa.array(there.astype(int))), folder / "everyone.csv")
    pacsv.write_csv(people.filter(pa.array(there)), folder / "present.csv")
    ages = [f"{a};{a // 10 * 10}-{a // 10 * 10 + 9};{'young' if a < 40 else 'old'};*" for a in range(100)]
    (folder / "age.csv").write_text("\n".join(ages) + "\n")
    (folder / "sex.csv").write_text("F;*\nM;*\n")
    (folder / "town.csv").write_text(
        "".join(f"{t};{'north' if i < 6 else 'south'};*\n" for i, t in enumerate(TOWNS))
    )


QUASI = {"role": "quasi-identifying"}
SEX = {**QUASI, "domain": ["F", "M"]}
AGE = {**QUASI, "bins": list(range(0, 101, 10))}
JOB = {**QUASI, "domain": JOBS}
TOWN = {**QUASI, "domain": TOWNS}
ILLNESS = {"role": "sensitive", "domain": ["none", "flu", "cold", "gout"]}
DRAWN = {**QUASI, "bins": {"width": 10, "from": 0}, "top": 80, "publish": "draw"}
MIDDLE = {**QUASI, "round": 15_000, "bottom": 0, "top": 90_000, "publish": "midpoint"}
FINE_AGE, FINE_SEX, FINE_TOWN = ({**QUASI, "hierarchy": f"{n}.csv"} for n in ("age", "sex", "town"))
RAW, SECRET = {"role": "insensitive"}, {"role": "sensitive"}
SWAP = {"swap": True}
NOISE = {"noise": True}
MATRIX = [[0.8, 0.2], [0.3, 0.7]]


def document(release: Mapping[str, Any], attributes: Mapping[str, Any], path: str, output: str) -> dict[str, Any]:
    return {
        "source": {"path": path, "dataset": "golden"},
        "release": dict(release),
        "attributes": dict(attributes),
        "output": {"format": output},
    }


RANDOMISED = {"sex": SEX, "age": AGE, "job": JOB, "town": TOWN, "income": RAW}
GENERAL = {"sex": FINE_SEX, "age": FINE_AGE, "town": FINE_TOWN, "illness": SECRET, "income": RAW}
LISTED = {"here": {"sex": FINE_SEX, "age": FINE_AGE, "illness": SECRET}}
SEARCHED = {"method": "presence", "choose": "searched"}
SETTINGS: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "retention k": ({"method": "retention", "k": 5}, {"sex": SEX, "age": AGE}),
    "retention epsilon": ({"method": "retention", "epsilon": 6.0}, RANDOMISED),
    "retention record": ({"method": "retention", "epsilon": 6.0, "coin": "record"}, RANDOMISED),
    "retention stated": ({"method": "retention", "retention": 0.4, "shuffle": False}, RANDOMISED),
    "retention numbers": ({"method": "retention", "retention": 0.5}, {"sex": SEX, "age": DRAWN, "income": MIDDLE}),
    "matrix": ({"method": "matrix"}, {"sex": {**SEX, "matrix": MATRIX}, "town": RAW}),
    "invariant": ({"method": "invariant", "xi": 0.2}, {"job": JOB, "town": TOWN, "sex": RAW}),
    "invariant strata": (
        {"method": "invariant", "xi": 0.3, "strata": ["sex"], "unreached": "publish"},
        {"job": JOB, "town": TOWN, "sex": RAW},
    ),
    "invariant two-stage": ({"method": "invariant", "kind": "two-stage", "matrix": "published"}, {"job": JOB}),
    "invariant sinkhorn": ({"method": "invariant", "kind": "sinkhorn", "retention": 0.5}, {"town": TOWN}),
    "levels": ({"method": "levels", "retention": 0.4}, {"sex": RAW, "illness": ILLNESS, "job": JOB | SECRET}),
    "levels together": (
        {"method": "levels", "retention": 0.4, "together": True},
        {"sex": RAW, "illness": ILLNESS, "job": JOB | SECRET},
    ),
    "generalize pdf": ({"method": "generalize", "k": 5}, GENERAL),
    "generalize labels": (
        {"method": "generalize", "k": 5, "cells": "hierarchy", "suppression": 0.05, "l": 2},
        GENERAL,
    ),
    "generalize set t": ({"method": "generalize", "k": 10, "cells": "set", "t": 0.4, "suppression": 0.1}, GENERAL),
    "generalize mondrian": ({"method": "generalize", "k": 5, "algorithm": "mondrian"}, GENERAL),
    "generalize kl": ({"method": "generalize", "k": 5, "algorithm": "kl", "cells": "interval"}, GENERAL),
    "generalize models": (
        {"method": "generalize", "k": 2, "subset": "here", "k_map": 5, "delta": [0.01, 0.9], "cells": "hierarchy",
         "suppression": 0.05, "average_risk": 0.2, "population_uniques": 0.001, "population_size": 100_000,
         "d_disclosure": 4.0, "b_likeness": 4.0, "b_kind": "basic",
         "profit": {"benefit": 100.0, "loss": 300.0, "gain": 300.0, "cost": 4.0}},
        GENERAL,
    ),
    "presence flag": (
        {**SEARCHED, "delta": [0.01, 0.8], "present": "here", "public": "everyone.csv"},
        LISTED["here"],
    ),
    "presence labels": (
        {**SEARCHED, "delta": [0.01, 0.8], "algorithm": "spalm", "public": "everyone.csv"},
        LISTED["here"],
    ),
    "presence noised": (
        {**SEARCHED, "delta": [0.01, 0.9], "algorithm": "wpalm", "mode": "noised", "noise_epsilon": 2.0,
         "public": "everyone.csv"},
        LISTED["here"],
    ),
    "microaggregate": (
        {"method": "microaggregate", "k": 5},
        {"age": QUASI, "income": QUASI, "town": TOWN, "illness": SECRET},
    ),
    "microaggregate optimal": (
        {"method": "microaggregate", "k": 3, "algorithm": "optimal", "aggregate": "median", "decimals": -2},
        {"income": QUASI, "sex": SEX, "job": RAW},
    ),
    "swap rank": (
        {"method": "swap", "rate": 0.5, "range": 0.1},
        {"age": QUASI | SWAP, "income": RAW | SWAP, "town": RAW, "illness": SECRET},
    ),
    "swap record": (
        {"method": "swap", "kind": "record", "rate": 0.1, "similar": ["sex"], "below": 3},
        {"town": QUASI | SWAP, "job": RAW | SWAP, "sex": QUASI, "illness": SECRET},
    ),
    "noise": (
        {"method": "noise", "amount": 0.2},
        {"age": QUASI | NOISE, "income": {**RAW, "spread": 500, "decimals": -1}, "town": RAW, "illness": SECRET},
    ),
    "noise correlated": (
        {"method": "noise", "kind": "correlated", "amount": 0.5, "decimals": 2},
        {"age": QUASI | NOISE, "income": RAW | NOISE, "sex": QUASI},
    ),
}  # fmt: skip


def path_of(name: str, kind: str) -> str:
    if name.startswith("presence"):
        return "everyone.csv" if "flag" in name else "present.csv"
    return "everyone.csv" if name == "generalize models" else f"people.{kind}"


def digests(bundle: Path, output: str) -> dict[str, str]:
    """Of the published rows: in their order, and in any order."""
    if output == "parquet":
        rows = [json.dumps(row, ensure_ascii=True) for row in pq.read_table(bundle / "data.parquet").to_pylist()]
    else:
        rows = (bundle / "data.csv").read_text().splitlines()
        rows += [p.read_text() for p in sorted(bundle.glob("*.csv")) if p.name != "data.csv"]
    found = {}
    for name, lines in (("ordered", rows), ("any order", sorted(rows))):
        found[name] = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:24]
    return found


def released(name: str, folder: Path, kind: str, output: str, **options: Any) -> dict[str, str]:
    recipe = Recipe.parse(document(*SETTINGS[name], path_of(name, kind), output), folder)
    out = folder / hashlib.sha256(f"{name}{kind}{output}{options}".encode()).hexdigest()[:12]
    return digests(release(recipe, out, seed=7, **options).bundle, output)


def cases() -> list[tuple[str, str, str]]:
    return [
        (name, kind, "parquet" if kind == "parquet" else "csv") for name in SETTINGS for kind in ("parquet", "csv")
    ]


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        make_tables(Path(place))
        found = {
            f"{name} from {kind}": released(name, Path(place), kind, output) for name, kind, output in cases()
        }
    sys.stdout.write(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
