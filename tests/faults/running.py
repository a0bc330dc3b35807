"""All scenarios under all faults, in the process that has the shim."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.faults.injecting import Bench, Tally
from tests.faults.scenarios import SCENARIOS
from tests.faults.shim import Mode, Shim
from tests.servers import Server, binaries, running_server

FAULTS = {"kill": Mode.KILL, "tear": Mode.TEAR, "full": Mode.FULL, "read_only": Mode.READ_ONLY}


def run_all(
    folder: Path, only: Sequence[str], faults: Sequence[str], points: int, postgresql: bool
) -> list[Tally]:
    """What became of every point; of `points` of each fault, if that is not 0."""
    shim, tallies = Shim(), []
    scenarios = [SCENARIOS[name] for name in only] or list(SCENARIOS.values())
    with contextlib.ExitStack() as stack:
        server: Server | None = None
        if postgresql and any(s.postgresql for s in scenarios) and binaries() is not None:
            server = stack.enter_context(running_server())
        for scenario in scenarios:
            if scenario.postgresql and server is None:
                sys.stderr.write(f"{scenario.name}: left out, no PostgreSQL server\n")
                continue
            bench = Bench.set_up(scenario, shim, folder, server)
            for name in faults or FAULTS:
                mode = FAULTS[name]
                tallies.append(bench.inject(mode, spread(bench.points(mode), points)))
                sys.stderr.write(f"{scenario.name} {name}: {tallies[-1].points} points\n")
    return tallies


def spread(points: Sequence[int], wanted: int) -> list[int]:
    """So many of the points, evenly spread, the first and the last among them; all, for 0."""
    if not wanted or len(points) <= wanted:
        return list(points)
    return [points[round(i * (len(points) - 1) / max(1, wanted - 1))] for i in range(wanted)]
