"""A scenario under a fault: the calls of a run without one are counted, then it is run once for every point."""

from __future__ import annotations

import os
import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.faults.desk import Desk
from tests.faults.processes import Ended, done_in_child, fork, load_what_it_loads
from tests.faults.scenarios import Scenario
from tests.faults.scenarios.scenario import AFTER, BEFORE, NEXT
from tests.faults.shim import Call, Mode, Shim
from tests.servers import Server

PATIENCE = 2.0  # seconds that a second run gets before the first goes on: it may wait for a lock
REFUSED = 2  # the exit code of a command that says no


@dataclass
class Tally:
    """What became of every point of one fault in one scenario."""

    scenario: str
    about: str
    fault: str
    points: int = 0
    of: int = 0  # points that there are
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
        said = Path(os.environ["FAULTS_FOLDER"]) / f"{scenario.name}.said"
        desk = Desk(folder / scenario.name, said, server if scenario.postgresql else None)
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
        if mode is Mode.STOP:  # once for every kind of call in a row: a run beside it sees no difference
            return [i for i, call in enumerate(self.calls, 1) if i == 1 or call.name != self.calls[i - 2].name]
        return list(range(1, len(self.calls) + 1))

    def inject(self, mode: Mode, points: Sequence[int]) -> Tally:
        tally = Tally(self.scenario.name, self.scenario.about, mode.name.lower())
        self.enter()
        tally.of = len(self.points(mode))
        one = self._two_at_once if mode is Mode.STOP else partial(self._one, mode)
        for point in points:
            tally.points += 1
            try:
                tally.outcomes[one(point)] += 1
            except KeyboardInterrupt:  # what was found by then is told
                tally.points -= 1
                break
            except AssertionError as error:
                call = self.calls[point - 1].name if point <= len(self.calls) else "past the end"
                tally.failures.append(f"{mode.name.lower()} at {point} ({call}): {error}")
            except Exception:
                tally.failures.append(f"{mode.name.lower()} at {point}: {traceback.format_exc()}")
        return tally

    def turn_back_clock(self) -> Tally:
        """A run during which the wall clock goes back by an hour whenever it is read."""
        tally = Tally(self.scenario.name, self.scenario.about, "clock", 1, 1)
        self.enter()
        self.put_back()

        def act() -> int:
            self.shim.turn_back_clock(3600)
            return self.scenario.run(self.desk)

        try:
            ended = fork(act, self.desk.said).wait(120)
            assert ended is not None and ended.code == 0, f"{ended}"
            tally.outcomes[self._checked(ended)] += 1
        except AssertionError as error:
            tally.failures.append(f"clock: {error}")
        return tally

    def fill_disk(self, rooms: Sequence[int]) -> Tally:
        """Runs on a disk that has so many bytes left; the desk lies on a small one."""
        tally = Tally(self.scenario.name, self.scenario.about, "small_disk", of=len(rooms))
        self.enter()
        ballast = self.desk.base / "ballast"
        for room in rooms:
            tally.points += 1
            self.put_back()
            free = os.statvfs(self.desk.base)
            ballast.write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - room)))
            try:
                ended = self.run(Mode.OFF)
                _check_words(ended)
                ballast.unlink()
                tally.outcomes[self._checked(ended)] += 1
            except AssertionError as error:
                tally.failures.append(f"{room} bytes left: {error}")
            finally:
                ballast.unlink(missing_ok=True)
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
        return self._checked(ended)

    def _two_at_once(self, point: int) -> str:
        """One run stands still at a point, another runs as far as it can, then the first goes on."""
        self.put_back()
        first = fork(lambda: self._act(Mode.STOP, point, 1), self.desk.said)
        if (ended := first.wait()) is not None:
            assert ended.code == 0, f"exit {ended.code}: {ended.told}"
            return "ended before the point"
        second = fork(lambda: self.scenario.run(self.desk, 2), self.desk.said.with_suffix(".second"))
        other = second.wait(PATIENCE)
        first.resume()
        ended, other = first.wait(), other or second.wait()
        assert ended is not None and other is not None, "one waits for ever"
        for one in (ended, other):
            _check_words(one)
        assert 0 in (ended.code, other.code), f"neither came through: {ended.told} {other.told}"
        told = Ended(0, ended.told + other.told)
        return f"{self._checked(told)}, by {'both' if ended.code == other.code else 'one of the two'}"

    def _checked(self, ended: Ended) -> str:
        """What is found of a run, once everything that must be true of it was seen to be."""
        found = self.desk.said.with_suffix(".found")
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
