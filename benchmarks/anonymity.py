"""Generalising tables and measuring them, beside the peers that do it in Python. Slow peers get fewer rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import seeded
from benchmarks.harness import Case, Comparison, Goal, Sample
from benchmarks.peers import Worker
from pramana.counting.classes import Layout, class_numbers, grouped
from pramana.counting.value_counts import ValueCounts
from pramana.methods.generalize.conditions import KAnonymous
from pramana.methods.generalize.lattice import search
from pramana.methods.generalize.measures import measure_of
from pramana.methods.generalize.recoding import partition

K = 10
ROWS = 200_000
QUASI = 5
PEERS = ("pycanon", "anonypy", "anjana")
FEWER = {"k": 100_000, "l": 10_000, "t": 4_000, "mondrian": 2_000, "full-domain": 10_000}  # rows of a round


@contextmanager
def comparisons(folder: Path) -> Iterator[tuple[list[Comparison], dict[str, str]]]:
    """The comparisons, and the peers' versions; the peers' processes end with the block."""
    layout, columns = seeded.table(seeded.SURVEY_1200K[: QUASI + 1], ROWS)
    quasi, secret = Layout(layout.ladders[:QUASI]), columns[QUASI]
    coded = [c.astype(np.uint16) for c in columns[:QUASI]]
    place = folder / "table.npz"
    arrays: dict[str, NDArray[Any]] = {f"q{a}": c for a, c in enumerate(coded)} | {"secret": secret}
    arrays |= {f"q{a}/{i}": table for a, ladder in enumerate(quasi.ladders) for i, table in enumerate(ladder.maps)}
    np.savez(place, allow_pickle=False, **arrays)
    workers = {name: Worker.start(name, "table_worker.py") for name in PEERS}

    def peer(name: str, environment: str, way: str) -> Case:
        worker, rows = workers[environment], FEWER[way]
        return Case(name, rows, lambda: worker.ask(way=way, place=str(place), rows=rows), worker.absent)

    try:
        versions = {name: worker.version for name, worker in workers.items() if worker.version}
        yield [*_measuring(coded, secret, peer), *_generalising(quasi, coded, peer)], versions
    finally:
        for worker in workers.values():
            worker.stop()


def _timed(name: str, work: Callable[[], Any]) -> Case:
    def run() -> Sample:
        start = time.perf_counter()
        work()
        return Sample(time.perf_counter() - start)

    return Case(name, ROWS, run)


def _measuring(columns: list[Any], secret: Any, peer: Callable[[str, str, str], Case]) -> list[Comparison]:
    ours: dict[str, Callable[[], Any]] = {
        "k": lambda: int(np.bincount(class_numbers(columns)).min()),
        "l": lambda: ValueCounts.of(class_numbers(columns), secret).distinct_l,
        "t": lambda: ValueCounts.of(class_numbers(columns), secret).t(),
    }
    return [
        Comparison(
            f"Measure {measure} of a table, {QUASI} quasi-identifiers",
            "rows",
            "pycanon",
            (peer("pycanon", "pycanon", measure), _timed("Pramana", work)),
            (Goal("Pramana", "pycanon", 10),),
        )
        for measure, work in ours.items()
    ]


def _generalising(layout: Layout, columns: list[Any], peer: Callable[[str, str, str], Case]) -> list[Comparison]:
    def full_domain() -> None:
        base, _ = grouped(layout, columns)
        search(base, KAnonymous(K), measure_of("loss", base), 0)

    return [
        Comparison(
            f"Mondrian, k = {K}, {QUASI} quasi-identifiers",
            "rows",
            "anonypy",
            (
                peer("anonypy", "anonypy", "mondrian"),
                _timed("Pramana", lambda: partition(layout.ladders, columns, K)),
            ),
            (Goal("Pramana", "anonypy", 100),),
        ),
        Comparison(
            f"Full-domain generalisation, k = {K}, {QUASI} quasi-identifiers",
            "rows",
            "anjana, greedy",
            (peer("anjana, greedy", "anjana", "full-domain"), _timed("Pramana, optimal by loss", full_domain)),
            (Goal("Pramana, optimal by loss", "anjana, greedy", 10),),
        ),
    ]
