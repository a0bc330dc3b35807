"""All scenarios under all faults, in the process that has the shim."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.faults.injecting import Bench, Tally
from tests.faults.scenarios import SCENARIOS, named
from tests.faults.shim import Mode, Shim
from tests.servers import Server, binaries, running_server

FAULTS = {
    "kill": Mode.KILL,
    "tear": Mode.TEAR,
    "full": Mode.FULL,
    "read_only": Mode.READ_ONLY,
    "stop": Mode.STOP,  # two at once
    "clock": Mode.OFF,
    "small_disk": Mode.OFF,
}
_DISK = 24 << 20  # bytes of a small disk
_ROOMS = (0, 4 << 10, 16 << 10, 64 << 10, 256 << 10)  # bytes that are left on it


def run_all(
    folder: Path, only: Sequence[str], faults: Sequence[str], points: int, postgresql: bool
) -> Iterator[Tally]:
    """What became of every point; of `points` of each fault, if that is not 0."""
    shim = Shim()
    scenarios = [named(name) for name in only] or list(SCENARIOS.values())
    with contextlib.ExitStack() as stack:
        server: Server | None = None
        if postgresql and any(s.postgresql for s in scenarios) and binaries() is not None:
            server = stack.enter_context(running_server())
        for scenario in scenarios:
            if scenario.postgresql and server is None:
                sys.stderr.write(f"{scenario.name}: left out, no PostgreSQL server\n")
                continue
            wanted = [name for name in faults or FAULTS if name != "small_disk"]
            if wanted:
                bench = Bench.set_up(scenario, shim, folder, server)
                for name in wanted:
                    yield _under(bench, name, points)
            if "small_disk" in (faults or FAULTS) and not scenario.postgresql:
                with small_disk(folder / f"{scenario.name}-disk") as disk:
                    if disk is not None:
                        yield Bench.set_up(scenario, shim, disk, None).fill_disk(_ROOMS)


def _under(bench: Bench, fault: str, points: int) -> Tally:
    if fault == "clock":
        return bench.turn_back_clock()
    mode = FAULTS[fault]
    found = bench.inject(
        mode, spread(bench.points(mode), min(filter(None, (points, bench.scenario.most)), default=0))
    )
    found.fault = fault
    return found


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path | None]:
    """A file system of few bytes; None where none can be mounted."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={_DISK},mode=0700", "tmpfs", str(folder)]
    if os.getuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        sys.stderr.write("a small file system cannot be mounted here: full disks are those of the shim\n")
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def spread(points: Sequence[int], wanted: int) -> list[int]:
    """So many of the points, evenly spread, the first and the last among them; all, for 0."""
    if not wanted or len(points) <= wanted:
        return list(points)
    return [points[round(i * (len(points) - 1) / max(1, wanted - 1))] for i in range(wanted)]
