"""A survey as offices write it: numbers, households, codes, dates, weights, missing values. All of it is drawn."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

COLUMNS = (
    "pid",
    "hid",
    "sex",
    "age",
    "birth",
    "plz",
    "region",
    "district",
    "education",
    "income",
    "weight",
    "note",
)


def rows(number: int, seed: int = 1) -> list[dict[str, str]]:
    rng = np.random.default_rng(seed)
    drawn = []
    for i in range(number):
        age = int(rng.integers(18, 60))
        region = int(rng.integers(0, 4))
        drawn.append(
            {
                "pid": str(100_000 + i),
                "hid": str(5_000 + i // 3),
                "sex": "FM"[int(rng.integers(2))],
                "age": str(age),
                "birth": f"{2020 - age}-{int(rng.integers(1, 13)):02}-{int(rng.integers(1, 29)):02}",
                "plz": f"{int(rng.integers(1000, 1400)):05}",
                "region": ("north", "east", "south", "west")[region],
                "district": f"d{region}{int(rng.integers(6))}",
                "education": ("low", "middle", "high")[int(rng.integers(3))],
                "income": f"{float(rng.lognormal(8, 0.7)):.2f}",
                "weight": f"{float(rng.uniform(50, 300)):.4f}",
                "note": " ".join(f"word{int(rng.integers(10_000))}" for _ in range(6)),
            }
        )
    return drawn


def write(path: Path, table: list[dict[str, str]], delimiter: str = ",") -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, list(table[0]), delimiter=delimiter)
        out.writeheader()
        out.writerows(table)
    return path
