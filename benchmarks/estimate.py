"""How long tables take: python benchmarks/estimate.py

Ten million cells over seven attributes from two million published records; the Kronecker matrix of this table
would have 10^14 entries. Then the maximum of the likelihood over five and six of them, and the table of four
attributes of paper 1 at full size, by both methods.
"""

from __future__ import annotations

import time

import numpy as np

from pramana.datasets.census import census
from pramana.mechanisms.channel import Retention
from pramana.mechanisms.guarantees import Circumstances
from pramana.mechanisms.table import Product
from pramana.methods.retention.calibration import Wanted, calibrate
from pramana.randomness.key import Key
from pramana.recipient.inversion import invert
from pramana.recipient.law import tabulate
from pramana.recipient.likelihood import fit
from pramana.schema.domain import Axis


def timed(what: str, work):  # type: ignore[no-untyped-def]
    before = time.perf_counter()
    found = work()
    print(f"{what:<58}{time.perf_counter() - before:8.2f} s")
    return found


def main() -> None:
    rng = np.random.default_rng(1)
    axes = [Axis(f"a{i}", tuple(map(str, range(10)))) for i in range(7)]
    law = Product({axis.name: Retention.at(0.6, 10) for axis in axes})
    codes = {axis.name: rng.integers(0, 10, 2_000_000).astype(np.uint8) for axis in axes}
    table = timed("10^7 cells: count 2,000,000 records", lambda: tabulate(codes, axes, law))
    timed("10^7 cells: unbiased estimates", lambda: table.law.inverse(table.counts))
    timed("10^7 cells: with variances and intervals", lambda: invert(table))

    for attributes in (5, 6):
        some = timed(
            f"10^{attributes} cells: count 2,000,000 records",
            lambda attributes=attributes: tabulate(codes, axes[:attributes], law),
        )
        found = timed(f"10^{attributes} cells: maximum likelihood", lambda some=some: fit(some))
        print(f"{found.rounds} rounds, log-likelihood within {found.gap:.2g} of its maximum")

    people = census(2_458_285)
    names = people.names[:4]
    axes = [Axis(name, people.domain(name)) for name in names]
    wanted = Wanted(Circumstances(len(people)), k=2)
    coins = calibrate({name: people.sizes[name] for name in names}, wanted)
    true = {name: people.column(name) for name in names}
    codes = {name: np.empty_like(column) for name, column in true.items()}
    key = Key.from_seed(1)
    coins.publish(lambda purpose, column: key.stream(purpose, "benchmark", column), 0, true, codes)
    table = timed("1,296 cells: count 2,458,285 records", lambda: tabulate(codes, axes, coins))
    timed("1,296 cells: unbiased estimates with intervals", lambda: invert(table))
    found = timed("1,296 cells: maximum likelihood", lambda: fit(table))
    print(f"{found.rounds} rounds, log-likelihood within {found.gap:.2g} of its maximum")


if __name__ == "__main__":
    main()
