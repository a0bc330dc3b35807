"""A table of people, recipes for it, and what it means that two bundles are the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pramana.rows.spark.frames import FrameCopy

RECORDS = 40_000  # two leaves and a part of a third
RECIPE = """\
[source]
path = "people.parquet"
dataset = "people"
[release]
epsilon = 3
[attributes.sex]
role = "quasi-identifying"
domain = ["F", "M"]
[attributes.town]
role = "quasi-identifying"
domain = "from-data"
[attributes.age]
role = "quasi-identifying"
bins = [0, 20, 40, 60, 80, 120]
[attributes.job]
role = "quasi-identifying"
domain = ["clerk", "nurse", "miner", "baker"]
[attributes.note]
role = "insensitive"
[attributes.name]
role = "identifying"
"""

LEVELS = RECIPE.replace("epsilon = 3", 'method = "levels"\nretention = 0.4').replace(
    '"quasi-identifying"\nbins', '"sensitive"\nbins'
)


def people(records: int = RECORDS) -> pa.Table:
    generator = np.random.default_rng(8)
    towns = np.array([f"town {i}" for i in range(300)])
    measures = np.random.default_rng(9)
    incomes = measures.lognormal(7, 1, records).round(2)
    jobs = np.array(["clerk", "nurse", "miner", "baker"])[generator.integers(0, 4, records)]
    return pa.table(
        {
            "name": [f"Person {i}" for i in range(records)],
            "sex": np.array(["F", "M"])[generator.integers(0, 2, records)],
            "town": towns[generator.integers(0, len(towns), records)],
            "age": generator.integers(0, 120, records),
            "job": pa.array(jobs, mask=generator.random(records) < 0.01),
            "note": [None if i % 11 == 0 else f"note-{i}" for i in range(records)],
            "income": pa.array(incomes, mask=measures.random(records) < 0.02),
            "height": [f"{height:.1f}" for height in measures.normal(170, 9, records)],
        }
    )


def laid_out(folder: Path) -> Path:
    """A desk with the recipe and its table, in several row groups."""
    (folder / "recipe.toml").write_text(RECIPE)
    pq.write_table(people(), folder / "people.parquet", row_group_size=9_000)
    return folder


def same(one: Path, other: Path) -> None:
    """Two bundles, byte for byte, report and certificate included."""
    names, others = ({str(p.relative_to(folder)) for p in folder.rglob("*")} for folder in (one, other))
    assert names == others
    for name in (name for name in sorted(names) if (one / name).is_file()):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def variant(recipe: Path, *changes: tuple[str, str]) -> Path:
    text = recipe.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    recipe.write_text(text)
    return recipe


STRATA = """\
[source]
path = "people.parquet"
[release]
method = "invariant"
xi = 0.1
unreached = "publish"
matrix = "published"
strata = ["job"]
together = [["age", "sex"]]
[attributes.job]
role = "insensitive"
[attributes.age]
role = "quasi-identifying"
bins = [0, 20, 40, 60, 80, 120]
[attributes.sex]
role = "quasi-identifying"
domain = "from-data"
"""

GENERALIZE = """\
[source]
path = "people.parquet"
[release]
method = "generalize"
k = 20
suppression = 0.01
[attributes.sex]
role = "quasi-identifying"
hierarchy = "sex.csv"
[attributes.town]
role = "quasi-identifying"
hierarchy = "town.csv"
[attributes.job]
role = "sensitive"
[attributes.note]
role = "insensitive"
"""

NOISE = """\
[source]
path = "people.parquet"
[release]
method = "noise"
amount = 0.3
[attributes.age]
role = "insensitive"
noise = true
[attributes.income]
role = "insensitive"
spread = 2.4e15
decimals = -3
[attributes.height]
role = "insensitive"
spread = 4
[attributes.note]
role = "insensitive"
"""
CORRELATED = NOISE.replace("amount = 0.3", 'amount = 0.5\nkind = "correlated"').replace(
    "spread = 4", "noise = true"
)
CORRELATED = CORRELATED.replace("spread = 2.4e15\ndecimals = -3\n", "")


def trees(folder: Path) -> None:
    """The hierarchies that GENERALIZE names."""
    (folder / "sex.csv").write_text("F;*\nM;*\n")
    towns = (f"town {i};county {i // 10};country {i // 100};*\n" for i in range(300))
    (folder / "town.csv").write_text("".join(towns))


def read_again(copy: FrameCopy, names: Sequence[str]) -> dict[str, list[Any]]:
    """The columns of a data frame's copy, run after run, as tasks read them."""
    contents, read = copy.frame.toArrow(), []
    for run in range(len(copy.rows)):
        own = contents.filter(pc.equal(contents.column("slot"), run))
        read += list(copy.sealed.tables(run, own.to_batches(), names))
    return {name: [value for table in read for value in table.column(name).to_pylist()] for name in names}
