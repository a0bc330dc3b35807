"""k, l and t of generalised releases by pycanon, in every variant it has, beside ours and a plain count.

The plain count goes over the published rows with exact fractions; it decides where pycanon and we disagree.
"""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import prepare, python_of
from pramana import Key, datasets, release
from pramana.counting.classes import class_numbers
from pramana.counting.value_counts import ValueCounts
from pramana.holder.audit.anonymity import anonymity_of_table
from pramana.schema.hierarchy import Hierarchy

RECORDS = 2_000
QUASI, SECRET = ("sex", "age", "education"), "worked_last_year"
KEY = Key(bytes(range(32)))
SETTINGS = {
    "k = 5": 'k = 5\ncells = "hierarchy"\nsuppression = 0.05',
    "k = 5, distinct l = 2": 'k = 5\ncells = "hierarchy"\nsuppression = 0.2\nl = 2',
    "k = 5, entropy l = 1.3": 'k = 5\ncells = "hierarchy"\nsuppression = 0.2\nl = 1.3\nl_kind = "entropy"',
    "k = 5, recursive (4, 2)": 'k = 5\ncells = "hierarchy"\nsuppression = 0.2\nl = 2\nl_kind = "recursive"\nc = 4',
    "k = 5, t = 0.4": 'k = 5\ncells = "hierarchy"\nsuppression = 0.2\nt = 0.4',
    "k = 10, Mondrian": 'k = 10\ncells = "hierarchy"\nalgorithm = "mondrian"',
    "k = 10, least KL cost": 'k = 10\ncells = "hierarchy"\nalgorithm = "kl"',
    "k = 10, local recoding": 'k = 10\ncells = "hierarchy"\nalgorithm = "local"',
}
BROKEN = "k = 5, suppressed rows left in"
MEASURES = ("k", "alpha", "l", "entropy l", "recursive c", "t", "beta", "enhanced beta", "delta disclosure")
SCRIPT = """
import json, sys
from importlib.metadata import version
import pandas as pd
from pycanon import anonymity as a
order = json.load(sys.stdin)
data, q, s = pd.read_csv(order["path"], dtype=str, keep_default_na=False), order["quasi"], [order["secret"]]
c, l = a.recursive_c_l_diversity(data, q, s)
print(json.dumps({"version": version("pycanon"), "found": {
    "k": a.k_anonymity(data, q), "alpha": a.alpha_k_anonymity(data, q, s)[0], "l": a.l_diversity(data, q, s),
    "entropy l": a.entropy_l_diversity(data, q, s), "recursive c": None if c != c else float(c),
    "t": a.t_closeness(data, q, s), "beta": a.basic_beta_likeness(data, q, s),
    "enhanced beta": a.enhanced_beta_likeness(data, q, s), "delta disclosure": a.delta_disclosure(data, q, s)}},
    default=float))
"""


def write_table(folder: Path) -> None:
    people = datasets.census(RECORDS, seed=1).select([*QUASI, SECRET])
    people.write_csv(folder / "people.csv")
    for name in QUASI:
        leaves = people.domain(name)
        levels = [tuple(leaves)]
        for width in (3, 6) if len(leaves) > 2 else ():
            groups = [leaves[i // width * width : i // width * width + width] for i in range(len(leaves))]
            levels.append(tuple(f"{group[0]} .. {group[-1]}" for group in groups))
        Hierarchy((*levels, ("*",) * len(leaves))).write(folder / f"{name}.csv")


def publish(folder: Path, name: str, lines: str) -> Path:
    recipe = folder / f"{name}.toml"
    attributes = "".join(f'[attributes.{q}]\nrole = "quasi-identifying"\nhierarchy = "{q}.csv"\n' for q in QUASI)
    recipe.write_text(
        f'[source]\npath = "people.csv"\n[release]\nmethod = "generalize"\n{lines}\n{attributes}'
        f'[attributes.{SECRET}]\nrole = "sensitive"\n[output]\nformat = "csv"\n'
    )
    release(recipe, folder / name, key=KEY, even_if_useless=True)
    return folder / name


# ---------------------------------------------------------------- three counts of one file


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def ours(path: Path) -> dict[str, float]:
    found = anonymity_of_table(path, list(QUASI), SECRET)
    rows = _rows(path)
    coded = [
        np.unique([row[name] for row in rows], return_inverse=True)[1].astype(np.uint32)
        for name in (*QUASI, SECRET)
    ]
    counts = ValueCounts.of(class_numbers(coded[:-1]), coded[-1])
    assert found.l is not None and found.entropy_l is not None and found.t is not None
    return {"k": found.k, "alpha": counts.largest_share, "l": found.l, "entropy l": found.entropy_l,
            "recursive c": counts.recursive_c(int(found.l)), "t": found.t}  # fmt: skip


def by_hand(path: Path) -> dict[str, float]:
    rows = _rows(path)
    classes: dict[tuple[str, ...], Counter[str]] = {}
    for row in rows:
        classes.setdefault(tuple(row[q] for q in QUASI), Counter())[row[SECRET]] += 1
    whole = Counter(row[SECRET] for row in rows)
    p = {v: Fraction(n, len(rows)) for v, n in whole.items()}
    q = [{v: Fraction(c[v], c.total()) for v in whole} for c in classes.values()]
    least = min(len(c) for c in classes.values())
    ranked = [sorted(c.values(), reverse=True) for c in classes.values()]
    beta = max((one[v] - p[v]) / p[v] for one in q for v in whole)
    return {
        "k": min(c.total() for c in classes.values()),
        "alpha": float(max(max(one.values()) for one in q)),
        "l": least,
        "entropy l": min(math.exp(-sum(float(x) * math.log(x) for x in one.values() if x)) for one in q),
        "recursive c": max(r[0] / sum(r[least - 1 :]) for r in ranked),
        "t": float(max(sum(abs(one[v] - p[v]) for v in whole) / 2 for one in q)),
        "beta": float(beta),
        "enhanced beta": max(min(float(beta), -math.log(p[v])) for v in whole),
        "delta disclosure": max(abs(math.log(one[v] / p[v])) for one in q for v in whole if one[v]),
    }


def pycanon(path: Path) -> dict[str, Any]:
    order = json.dumps({"path": str(path), "quasi": list(QUASI), "secret": SECRET})
    command = [str(python_of("pycanon")), "-W", "ignore", "-c", SCRIPT]
    done = subprocess.run(command, input=order, capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def judged() -> dict[str, Any]:
    prepare(("pycanon",))
    rows, version = {}, ""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write_table(folder)
        files = {name: publish(folder, name, lines) / "data.csv" for name, lines in SETTINGS.items()}
        files["original"] = folder / "people.csv"
        left_in = folder / "left in.csv"
        left_in.write_text(files["k = 5"].read_text() + "male,85+,doctorate,worked\n")
        files[BROKEN] = left_in
        for name, path in files.items():
            print(f"pycanon on {name}", file=sys.stderr, flush=True)
            answer = pycanon(path)
            version = answer["version"]
            rows[name] = {"pycanon": answer["found"], "Pramana": ours(path), "by hand": by_hand(path)}
    return {"versions": {"pycanon": version}, "records": RECORDS, "quasi": QUASI, "secret": SECRET, "rows": rows}


# ---------------------------------------------------------------- the page


def disagreements(found: Mapping[str, Any]) -> dict[str, list[str]]:
    """By measure, the releases of which two of the three counts differ."""
    differ: dict[str, list[str]] = {}
    for name, counts in found["rows"].items():
        for measure in MEASURES:
            told = [c[measure] for c in counts.values() if measure in c and c[measure] is not None]
            if max(told) - min(told) > 1e-9 * max(1.0, abs(max(told))):
                differ.setdefault(measure, []).append(name)
    return differ


def lines_of(found: Mapping[str, Any]) -> list[str]:
    lines = [
        f"{found['records']:,} generated people, generalised in {', '.join(found['quasi'])}; sensitive is "
        f"{found['secret']}. Each cell: pycanon / Pramana / a plain count of the published rows with exact "
        "fractions. "
        "Pramana has no (alpha), beta-likeness or delta-disclosure of its own to promise; `alpha` is what its "
        "certificates call the largest inferred share.",
        "",
        "| release | " + " | ".join(MEASURES) + " |",
        "|---" + "|---:" * len(MEASURES) + "|",
    ]
    for name, counts in found["rows"].items():
        cells = [" / ".join(_shown(c.get(m)) for c in counts.values()) for m in MEASURES]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    told = [f"{m}: {len(names)} of {len(found['rows'])} tables" for m, names in disagreements(found).items()]
    return [*lines, "", "The counts differ in: " + ("; ".join(told) or "nothing") + "."]


def _shown(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
