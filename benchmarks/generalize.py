"""Generalisation: searches, partitions, measurements and rules, beside peers where they are installed.

    python -m benchmarks.generalize [--adult FILE] [--hierarchies FOLDER] [--peers PYTHON] [--mlxtend PYTHON]
    python -m benchmarks.generalize --large
    python -m benchmarks.generalize --values

`--peers` is the Python of an environment with pycanon and anonypy, `--mlxtend` that of one with mlxtend 0.25 or
later (older ones are some hundred times slower, and pycanon's pins lead to one): all run in one run on one table.
Best of three for what is ours, one run for peers.
"""

from __future__ import annotations

import argparse
import csv
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import seeded
from pramana.counting.classes import Ladder, Layout, class_numbers, grouped
from pramana.counting.value_counts import ValueCounts
from pramana.methods.generalize.conditions import All, Close, Condition, EntropyDiverse, KAnonymous
from pramana.methods.generalize.lattice import search
from pramana.methods.generalize.lines import grouped_for
from pramana.methods.generalize.measures import measure_of
from pramana.methods.generalize.recoding import local_recoding, partition
from pramana.recipient.rules import association_rules
from pramana.schema.hierarchy import Hierarchy

QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")


def best(work: Callable[[], Any], times: int = 3) -> tuple[float, Any]:
    found, result = float("inf"), None
    for _ in range(times):
        start = time.perf_counter()
        result = work()
        found = min(found, time.perf_counter() - start)
    return found, result


def say(what: str, seconds: float, note: str = "") -> None:
    print(f"{what:<72} {seconds * 1e3:>10.1f} ms  {note}", flush=True)


def complete(row: dict[str, str]) -> bool:
    """A training row without missing values."""
    return row.get("split", "train") == "train" and not {"?", ""} & set(row.values())


def adult(path: Path, folder: Path) -> tuple[Layout, list[np.ndarray], np.ndarray]:
    with path.open(newline="") as file:
        rows = [r for r in csv.DictReader(file) if complete(r)]
    ladders, columns = [], []
    for name in QUASI:
        hierarchy = Hierarchy.read(folder / f"{name}.csv")
        code = {leaf: i for i, leaf in enumerate(hierarchy.leaves)}
        ladders.append(Ladder.of(name, hierarchy))
        columns.append(np.array([code[r[name]] for r in rows], np.uint8))
    return Layout(tuple(ladders)), columns, np.array([r["salary-class"] == ">50K" for r in rows], np.uint8)


def solve(layout: Layout, columns: list[np.ndarray], k: int, share: float) -> Any:
    base, _ = grouped(layout, columns)
    return search(base, KAnonymous(k), measure_of("loss", base), int(share * len(columns[0])))


def searches(name: str, layout: Layout, columns: list[np.ndarray], ks: tuple[int, ...], times: int) -> None:
    for share in (0.0, 0.02):
        for k in ks:
            seconds, found = best(partial(solve, layout, columns, k, share), times)
            note = f"levels {','.join(map(str, found.levels))}, {found.checked} of {found.nodes} checked"
            say(f"{name}: optimal {k}-anonymity, suppression {share:.0%}, grouping included", seconds, note)


def partitions(name: str, layout: Layout, columns: list[np.ndarray], k: int, times: int) -> float:
    first = 0.0
    for mode in ("mondrian", "mondrian-relaxed", "kl"):
        if mode == "kl" and len(columns[0]) > 2_000_000:
            continue
        seconds, found = best(partial(partition, layout.ladders, columns, k, mode), times)
        first = first or seconds
        say(f"{name}: partition {mode}, k = {k}", seconds, f"{found.classes} classes")
    return first


def labels(layout: Layout, columns: list[np.ndarray]) -> None:
    """Local recoding: the mean share of further leaves in a cell. ARX reaches .062, .083 and .151 on Adult."""
    for k in (5, 10, 50):
        seconds, loss, classes = local_loss(layout, columns, k)
        say(f"Adult: local recoding, labels, k = {k}, CPU", seconds, f"loss {loss:.4f}, {classes} classes")


def local_loss(layout: Layout, columns: list[np.ndarray], k: int) -> tuple[float, float, int]:
    """CPU seconds, the mean share of further leaves in a cell, and the number of classes."""
    start = time.process_time()
    counted = grouped_for(layout, columns)
    found = local_recoding(counted, KAnonymous(k))
    seconds = time.process_time() - start
    shares = [
        ((cells.sizes - 1) / max(ladder.leaves - 1, 1))[found.class_of].mean()
        for ladder, cells in zip(layout.ladders, found.cells("hierarchy"), strict=True)
    ]
    return seconds, float(np.mean(shares)), found.classes


def measurements(
    name: str, columns: list[np.ndarray], secret: np.ndarray, peers: str | None, distance: str = "equal"
) -> None:
    mine = {
        "k": best(lambda: int(np.bincount(class_numbers(columns)).min())),
        "l": best(lambda: ValueCounts.of(class_numbers(columns), secret).distinct_l),
        "t": best(lambda: ValueCounts.of(class_numbers(columns), secret).t(distance)),
    }
    theirs = peer(peers, PYCANON, columns, secret) if peers else {}
    for key, (seconds, value) in mine.items():
        note = f"value {value:.6g}"
        if key in theirs:
            other, their_value = theirs[key]
            note += f"; pycanon {other * 1e3:.0f} ms (value {their_value:.6g}): {other / seconds:.0f} times"
        say(f"{name}: {key} of the table", seconds, note)


PYCANON = """
from pycanon import anonymity
q = [c for c in frame.columns if c != "s"]
for key, work in (
    ("k", lambda: anonymity.k_anonymity(frame, q)),
    ("l", lambda: anonymity.l_diversity(frame, q, ["s"])),
    ("t", lambda: anonymity.t_closeness(frame, q, ["s"])),
):
    start = time.perf_counter()
    value = work()
    print(key, time.perf_counter() - start, value)
"""
ANONYPY = """
import anonypy
for c in frame.columns:
    frame[c] = frame[c].astype("category") if frame[c].nunique() < 60 else frame[c]
q = [c for c in frame.columns if c != "s"]
start = time.perf_counter()
rows = anonypy.Preserver(frame, q, "s").anonymize_k_anonymity(k=10)
print("mondrian", time.perf_counter() - start, len(rows))
"""
MLXTEND = """
import warnings; warnings.simplefilter("ignore")
from mlxtend.frequent_patterns import association_rules, fpgrowth
start = time.perf_counter()
hot = pd.get_dummies(frame.astype(str)).astype(bool)
items = fpgrowth(hot, min_support=0.01)
rules = association_rules(items, metric="confidence", min_threshold=0.8)
print("rules", time.perf_counter() - start, len(rules))
"""


def peer(
    python: str, script: str, columns: list[np.ndarray], secret: np.ndarray
) -> dict[str, tuple[float, float]]:
    """Run a peer on the same codes; every line it prints is a name, seconds and a value."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "table.npz"
        np.savez(place, *columns, secret)
        head = (
            "import sys, time\nimport numpy as np, pandas as pd\n"
            f"f = np.load({str(place)!r})\n"
            "frame = pd.DataFrame({f'q{i}': f[n].astype(int) for i, n in enumerate(f.files)})\n"
            "frame = frame.rename(columns={frame.columns[-1]: 's'})\n"
        )
        done = subprocess.run([python, "-c", head + script], capture_output=True, text=True)
    if done.returncode:
        print(f"the peer failed: {done.stderr.splitlines()[-1] if done.stderr else ''}", file=sys.stderr)
        return {}
    lines = [line.split() for line in done.stdout.splitlines()]
    return {line[0]: (float(line[1]), float(line[2])) for line in lines if len(line) == 3}


def rules(columns: list[np.ndarray], sizes: list[int], peers: str | None) -> None:
    seconds, found = best(lambda: association_rules(columns, sizes, 0.01))
    note = f"{len(found)} rules"
    theirs = peer(peers, MLXTEND, columns[:-1], columns[-1]) if peers else {}
    if "rules" in theirs:
        other, count = theirs["rules"]
        note += f"; mlxtend fpgrowth {other * 1e3:.0f} ms ({count:.0f} rules): {other / seconds:.0f} times"
    say("Adult: association rules, support 1%, confidence 80%, five attributes", seconds, note)


VALUE_CASES: tuple[tuple[str, Callable[[np.ndarray, tuple[np.ndarray, ...]], Condition], float], ...] = (
    ("t = 0.2, hierarchical", lambda totals, parents: Close(0.2, totals, parents), 0.0),
    ("t = 0.2, hierarchical", lambda totals, parents: Close(0.2, totals, parents), 0.04),
    ("t = 0.2, equal", lambda totals, _: Close(0.2, totals), 0.04),
    ("entropy l = 5", lambda *_: EntropyDiverse(5), 0.04),
    ("entropy l = 100", lambda *_: EntropyDiverse(100), 0.04),
)


def one_of_many_values(place: int) -> None:
    """l or t of a sensitive column with 814 values in a tree of 5,676; the last word is the CPU seconds."""
    layout, columns = seeded.table(seeded.DONORS, seeded.DONOR_ROWS)
    secret, parents = seeded.gifts()
    name, stated, share = VALUE_CASES[place]
    condition = stated(np.bincount(secret, minlength=seeded.GIFTS[0]), parents)
    start = time.process_time()
    base = grouped_for(layout, columns, [(secret, seeded.GIFTS[0])]).base
    both = All((KAnonymous(5), condition))
    found = search(base, both, measure_of("loss", base.bare), int(share * len(secret)))
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    note = f"levels {','.join(map(str, found.levels))}, {found.checked} of {found.nodes} checked, {peak:.0f} MiB"
    say(f"seeded {len(secret):,} x 8, 814 values: k = 5, {name}, {share:.0%}, CPU", seconds, note)
    print(seconds)


def many_values() -> None:
    for place in range(len(VALUE_CASES)):
        one_of_many_values(place)


def large(rows: int) -> None:
    layout, columns = seeded.table(seeded.SURVEY_1200K[:8], rows)
    seconds, found = best(lambda: partition(layout.ladders, columns, 10), 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    say(f"seeded {rows:,} x 8: Mondrian k = 10", seconds, f"{found.classes} classes, peak memory {peak:.2f} GiB")
    seconds, best_node = best(lambda: solve(layout, columns, 10, 0.0), 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    note = f"levels {','.join(map(str, best_node.levels))}, peak memory {peak:.2f} GiB"
    say(f"seeded {rows:,} x 8: optimal 10-anonymity", seconds, note)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--adult", type=Path)
    options.add_argument("--hierarchies", type=Path)
    options.add_argument("--peers")
    options.add_argument("--mlxtend")
    options.add_argument("--values", action="store_true", help="l and t with many sensitive values alone.")
    options.add_argument("--large", action="store_true", help="Ten million rows, in this process.")
    given = options.parse_args()
    if given.values:
        many_values()
        return
    if given.large:
        large(10_000_000)
        return
    if given.adult:
        layout, columns, salary = adult(given.adult, given.hierarchies or given.adult.parent / "hierarchies")
        searches("Adult", layout, columns, (2, 5, 10, 50), 3)
        labels(layout, columns)
        seconds = partitions("Adult", layout, columns, 10, 3)
        measurements("Adult", columns, salary, given.peers)
        kept = [a for a, name in enumerate(QUASI) if name not in ("workclass", "race", "native-country")]
        rules([columns[a] for a in kept], [layout.ladders[a].leaves for a in kept], given.mlxtend)
        if given.peers:
            theirs = peer(given.peers, ANONYPY, columns, salary)
            if "mondrian" in theirs:
                other = theirs["mondrian"][0]
                say("Adult: anonypy Mondrian, k = 10", other, f"{other / seconds:.0f} times ours")
    for name, shape, rows in (
        ("seeded 540k x 9", seeded.SURVEY_540K, 539_253),
        ("seeded 1.2M x 9", seeded.SURVEY_1200K, 1_193_504),
    ):
        layout, columns = seeded.table(shape, rows)
        searches(name, layout, columns, (5,), 1)
    layout, columns = seeded.table(seeded.SURVEY_1200K[:8], 1_000_000)
    partitions("seeded 1M x 8", layout, columns, 10, 1)
    small = [layout.ladders[a].maps[min(1, layout.heights[a] - 1)][columns[a]].astype(np.uint8) for a in range(6)]
    measurements("seeded 1M x 6", small, columns[7], given.peers, "ordered")


if __name__ == "__main__":
    main()
