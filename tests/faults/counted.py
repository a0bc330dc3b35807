"""`python -m tests.faults.counted`: one release under the shim, and how often it made each call; for a test."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path

from tests.faults.desk import Desk, in_folder
from tests.faults.scenarios.releases import RELEASE, RETENTION, with_people
from tests.faults.scenarios.scenario import command
from tests.faults.shim import Mode, Shim


def main() -> None:
    base = Path(os.environ["FAULTS_FOLDER"])
    desk, shim = Desk(base / "counted", base / "said"), Shim()
    desk.make()
    with_people(desk, RETENTION)
    sys.stdout = sys.stderr  # what the command says
    with in_folder(desk.folder):
        _mark("counting-begins")
        shim.arm(Mode.COUNT)
        code = command(*RELEASE)
        shim.disarm()
        _mark("counting-ends")
    assert code == 0
    names = Counter(call.name.removesuffix("64").removesuffix("at") for call in shim.calls())
    os.write(1, json.dumps(names).encode())


def _mark(word: str) -> None:
    """A call that changes nothing, and that a trace shows."""
    os.write(2, word.encode())


if __name__ == "__main__":
    main()
