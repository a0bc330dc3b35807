"""Randomising codes: ours, under the keyed stream and through the engine, beside what a user would run instead."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from benchmarks.harness import Case, Comparison, Goal, Sample
from benchmarks.peers import Worker
from pramana.mechanisms.channel import Channel, Dense, Retention
from pramana.mechanisms.table import Product
from pramana.randomness.key import Key
from pramana.randomness.samplers import ONE, code_dtype
from pramana.rows.engines import LocalEngine

DOMAINS = (2, 18, 100, 1000)
RHO = 0.3
# (name, environment, way, values a second to expect, at domain 2 and at 1000): decides how many are drawn
SLOW = (
    ("multi-freq-ldpy GRR, loop", "multi-freq-ldpy", "loop", (1e6, 5e5)),
    ("multi-freq-ldpy GRR, loop compiled by numba", "multi-freq-ldpy", "compiled", (5e6, 1e6)),
    ("pure-ldp direct encoding", "pure-ldp", "client", (2e6, 2e6)),
    ("diffprivlib", "diffprivlib", "mechanism", (1e5, 1.5e3)),
    ("pandas, np.random.choice per row", "pandas", "choice", (3e4, 3e4)),
)
PLAIN = "plain NumPy (not cryptographic)"


@contextmanager
def comparisons(rows: int) -> Iterator[tuple[list[Comparison], dict[str, str]]]:
    """One comparison a domain, and the peers' versions; the peers' processes end with the block."""
    names = ("numpy", *dict.fromkeys(environment for _, environment, _, _ in SLOW))
    workers = {name: Worker.start(name) for name in names}
    try:
        versions = {name: worker.version for name, worker in workers.items() if worker.version}
        yield [_comparison(size, rows, workers) for size in DOMAINS], versions
    finally:
        for worker in workers.values():
            worker.stop()


def _comparison(size: int, rows: int, workers: dict[str, Worker]) -> Comparison:
    codes = np.random.default_rng(2).integers(0, size, rows).astype(code_dtype(size))
    cases = [_peer(PLAIN, workers["numpy"], "plain", size, rows)]
    ours: dict[str, Channel] = {"retention": Retention.at(RHO, size), "dense matrix": a_matrix(size)}
    for kind, channel in ours.items():
        for threads in (1, 2):
            name = f"Pramana {kind}, {threads} thread{'s' * (threads > 1)}"
            cases.append(_engine(name, channel, threads, codes))
    for name, environment, way, (at_2, at_1000) in SLOW:
        rate = at_2 * (at_1000 / at_2) ** ((size - 2) / 998)
        cases.append(_peer(name, workers[environment], way, size, max(100, min(rows, int(rate * 0.2)))))
    single = [f"Pramana {kind}, 1 thread" for kind in ours]
    goals = [Goal(name, PLAIN, 1.5) for name in single]
    goals += [Goal(name, peer, 20) for name in single for peer in (SLOW[0][0], SLOW[1][0], SLOW[2][0])]
    goals += [Goal(name, "diffprivlib", 100) for name in single]
    return Comparison(f"Randomise codes, domain {size}", "values", PLAIN, tuple(cases), tuple(goals))


def a_matrix(size: int) -> Dense:
    """A matrix with no two entries alike."""
    weights = (np.random.default_rng(3).dirichlet(np.ones(size), size) * 2.0**61).astype(np.int64)
    np.fill_diagonal(weights, weights.diagonal() + ONE - weights.sum(axis=1))
    return Dense(weights)


def _engine(name: str, channel: Channel, threads: int, codes: np.ndarray) -> Case:
    engine, mechanism, key = LocalEngine(threads), Product({"column": channel}), Key.from_seed(1)

    def run() -> Sample:
        start = time.perf_counter()
        engine.publish(mechanism, key, "benchmark", {"column": codes})
        return Sample(time.perf_counter() - start)

    return Case(name, len(codes), run)


def _peer(name: str, worker: Worker, way: str, size: int, values: int) -> Case:
    return Case(name, values, lambda: worker.ask(way=way, size=size, values=values), worker.absent)
