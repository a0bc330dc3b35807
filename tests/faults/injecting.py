"""A scenario under a fault: the calls of a run without one are counted, then it is run once for every point."""

from __future__ import annotations

import os
import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.desk import Desk
from tests.faults.processes import Ended, done_in_child, fork, load_what_it_loads
from tests.faults.scenarios import Scenario
from tests.faults.scenarios.scenario import AFTER, BEFORE, NEXT
from tests.faults.shim import Call, Mode, Shim
from tests.servers import Server

REFUSED = 2  # the exit code of a command that says no


@dataclass
class Tally:
    """What became of every point of one fault in one scenario."""

    scenario: str
    about: str
    fault: str
    points: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, object]:
        return {**vars(self), "outcomes": dict(self.outcomes)}


@dataclass
class Bench:
    """One scenario on its desk, with the calls that it makes when nothing happens to it."""

    scenario: Scenario
    desk: Desk
    shim: Shim
    calls: list[Call] = field(default_factory=list)

    @classmethod
    def set_up(cls, scenario: Scenario, shim: Shim, folder: Path, server: Server | None) -> Bench:
        desk = Desk(folder / scenario.name, server if scenario.postgresql else None)
        desk.make()
        bench = cls(scenario, desk, shim)
        bench.enter()
        if desk.server is not None:
            desk.database = f"{scenario.name}"
            desk.server.execute(f'CREATE DATABASE "{desk.database}"')
        scenario.prepare(desk)
        desk.keep(BEFORE)
        load_what_it_loads(lambda: scenario.run(desk), desk.said)
        for name, attempt in ((NEXT, 2), (AFTER, 1)):
            desk.put_back(BEFORE)
            ended = bench.run(Mode.COUNT, attempt=attempt)
            assert ended.code == 0, f"{scenario.name} without a fault: {ended.told}"
            shutil.copytree(desk.folder, desk.base / name, symlinks=True)
        bench.calls = shim.calls()
        if trouble := done_in_child(lambda: _looked(scenario, desk), desk.said):
            raise AssertionError(f"{scenario.name} without a fault: {trouble}")
        return bench

    def enter(self) -> None:
        """Temporary files go to the desk, where they are looked for."""
        os.environ["TMPDIR"] = os.environ["SQLITE_TMPDIR"] = str(self.desk.temporary)
        tempfile.tempdir = None

    def put_back(self) -> None:
        self.desk.put_back(BEFORE)

    def run(self, mode: Mode, at: int = 0, attempt: int = 1) -> Ended:
        ended = fork(lambda: self._act(mode, at, attempt), self.desk.said).wait(120)
        assert ended is not None, "it did not end"
        return ended

    def _act(self, mode: Mode, at: int, attempt: int) -> int:
        self.shim.arm(mode, at)
        try:
            return self.scenario.run(self.desk, attempt)
        finally:
            self.shim.disarm()

    # ------------------------------------------------------------ faults

    def points(self, mode: Mode) -> list[int]:
        """Where a fault of this kind can happen."""
        if mode is Mode.TEAR:
            return [i for i, call in enumerate(self.calls, 1) if call.can_be_torn]
        if mode is Mode.READ_ONLY:
            return [1]
        return list(range(1, len(self.calls) + 1))

    def inject(self, mode: Mode, points: Sequence[int]) -> Tally:
        tally = Tally(self.scenario.name, self.scenario.about, mode.name.lower())
        self.enter()
        for point in points:
            tally.points += 1
            try:
                tally.outcomes[self._one(mode, point)] += 1
            except AssertionError as error:
                call = self.calls[point - 1].name if point <= len(self.calls) else "past the end"
                tally.failures.append(f"{mode.name.lower()} at {point} ({call}): {error}")
            except Exception:
                tally.failures.append(f"{mode.name.lower()} at {point}: {traceback.format_exc()}")
        return tally

    def _one(self, mode: Mode, point: int) -> str:
        self.put_back()
        ended = self.run(mode, point)
        if mode in (Mode.KILL, Mode.TEAR):
            if not ended.killed:
                assert ended.code == 0, f"exit {ended.code}: {ended.told}"
                return "ended before the point"
        else:
            _check_words(ended)
        found = self.desk.base / "found"
        trouble = done_in_child(lambda: self._look(ended, found), self.desk.said)
        assert not trouble, trouble
        return found.read_text()

    def _look(self, ended: Ended, found: Path) -> None:
        word = self.scenario.look(self.desk, ended.told)
        if not ended.killed and ended.code == REFUSED:
            word = f"refused, {word}"
        found.write_text(word)
        self.scenario.go_on(self.desk)


def _looked(scenario: Scenario, desk: Desk) -> None:
    scenario.look(desk, desk.said.read_text())


def _check_words(ended: Ended) -> None:
    """A fault that is not a kill is told in a line, or made no difference."""
    assert ended.code in (0, REFUSED), f"exit {ended.code}: {ended.told}"
    assert "Traceback" not in ended.told, ended.told
    if ended.code == REFUSED:
        lines = [line for line in ended.told.splitlines() if line.startswith("pramana: ")]
        assert len(lines) == 1, ended.told


