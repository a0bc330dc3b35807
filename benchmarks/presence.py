"""delta-presence: the search, the exact check of one large class, and the four algorithms on the experiment.

    python benchmarks/presence.py [--adult FILE] [--hierarchies FOLDER]

Best of five in one run on one core. ARX's warm search for (.05, .15)-presence on the same table takes 77 ms on the
machine its figure was taken on; it is not run here.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pramana.counting.classes import Ladder, Layout
from pramana.experiments.adult_trees import read_adult
from pramana.experiments.pdf import patients
from pramana.methods.presence.algorithms import PresenceDesign
from pramana.methods.presence.search import Pair, presented, spalm
from pramana.methods.presence.shaping import Presence
from pramana.schema.hierarchy import Hierarchy
from pramana.theory import presence

QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
DELTAS = (("0.001", "0.8"), ("0.01", "0.8"), ("0.001", "0.5"))


def best(work: Callable[[], Any], times: int = 5) -> tuple[float, Any]:
    found, result = float("inf"), None
    for _ in range(times):
        start = time.perf_counter()
        result = work()
        found = min(found, time.perf_counter() - start)
    return found, result


def say(what: str, seconds: float, note: str = "") -> None:
    print(f"{what:<66} {seconds * 1e3:>9.1f} ms  {note}", flush=True)


def search(adult: Path, folder: Path) -> None:
    """Adult's complete training rows, every tenth private by a seed."""
    with adult.open(newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["split"] == "train" and not {"?", ""} & set(r.values())]
    ladders, columns = [], []
    for name in QUASI:
        hierarchy = Hierarchy.read(folder / f"{name}.csv")
        code = {leaf: i for i, leaf in enumerate(hierarchy.leaves)}
        ladders.append(Ladder.of(name, hierarchy))
        columns.append(np.array([code[r[name]] for r in rows], np.uint8))
    present = np.zeros(len(rows), bool)
    present[np.random.default_rng(1).choice(len(rows), len(rows) // 10, replace=False)] = True
    layout = Layout(tuple(ladders))
    seconds, found = best(lambda: spalm(Pair(layout, tuple(columns), present), Presence.of("0.05", "0.15")))
    note = f"levels {found.levels}, {found.classes} classes"
    say("optimal (.05, .15)-presence, a tenth private, grouping included", seconds, note)


def one_class() -> None:
    likelihoods, people = np.geomspace(1, 50, 200), np.full(200, 500)
    seconds, found = best(lambda: presence.extremes(likelihoods, 50_000, people), 3)
    say(
        "exact check of 100,000 people, 50,000 present, 200 likelihoods", seconds, f"{found[0]:.6f} {found[1]:.6f}"
    )


def algorithms(adult: Path) -> None:
    table = read_adult(adult)
    present = patients(table)
    for low, high in DELTAS:
        wanted = Presence.of(low, high)

        def whole(algorithm: str, wanted: Presence = wanted) -> Any:
            classes = spalm(Pair(Layout(table.ladders), table.columns, present), wanted)
            return presented(classes, PresenceDesign(algorithm, "private"))

        alone = 0.0
        for algorithm in ("spalm", "ppalm", "wpalm", "optimal"):
            seconds, made = best(lambda name=algorithm: whole(name))
            alone = alone or seconds
            note = f"{seconds / alone:.2f} x SPALM, KL cost {made.cost:.0f}, {made.classes.classes} classes"
            say(f"({low}, {high}) {algorithm}, whole run", seconds, note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adult", type=Path, default=Path("../shared/data/adult.csv"))
    parser.add_argument("--hierarchies", type=Path, default=Path("../shared/data/hierarchies"))
    options = parser.parse_args()
    one_class()
    search(options.adult, options.hierarchies)
    algorithms(options.adult)


if __name__ == "__main__":
    main()
