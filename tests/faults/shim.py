"""The shim that is preloaded into a process under test, built with the machine's compiler."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from pathlib import Path

SOURCE = Path(__file__).with_name("shim.c")


class Mode(IntEnum):
    """What happens at the n-th call that changes something; as in shim.c."""

    OFF = 0
    COUNT = 1
    KILL = 2  # before it
    TEAR = 3  # when half of its bytes are written
    STOP = 4  # until someone lets it go on
    FULL = 5  # it and all after it find the disk full
    READ_ONLY = 6  # it and all after it find the disk read-only


class CallKind(IntFlag):
    DATA = 1
    MAKES = 2
    CHANGES = 4
    SENDS = 8
    FLUSHES = 16


@dataclass(frozen=True)
class Call:
    """One call that changed something."""

    name: str
    kind: CallKind
    size: int

    @property
    def can_be_torn(self) -> bool:
        return bool(self.kind & (CallKind.DATA | CallKind.SENDS)) and self.size > 1


def why_not() -> str | None:
    """Why nothing can be preloaded here; None where it can."""
    if not sys.platform.startswith("linux"):
        return "calls are counted by a preloaded library on Linux alone"
    if shutil.which("cc") is None:
        return "no C compiler (cc) to build the shim with"
    return None


def build(folder: Path) -> Path:
    """The compiled shim, in a folder of the caller's."""
    library = folder / "faults-shim.so"
    command = ["cc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return library


class Shim:
    """The shim in this process, which must have been preloaded. Children of a fork share its counter."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self._library.faults_count.restype = ctypes.c_int64
        self._library.faults_name.restype = ctypes.c_char_p
        for name in ("faults_size", "faults_kind"):
            vars_of = self._library[name]
            vars_of.restype = ctypes.c_int64
        if self._library.faults_setup() != 0:
            raise OSError("no shared memory for the shim")
        os.environ.pop("LD_PRELOAD", None)  # loaded: programs that are started from here need it no more

    def arm(self, mode: Mode, at: int = 0) -> None:
        self._library.faults_arm(int(mode), ctypes.c_int64(at))

    def disarm(self) -> None:
        self._library.faults_disarm()

    def turn_back_clock(self, seconds: int) -> None:
        """From now on the wall clock goes back by so much whenever it is read; 0 ends it."""
        self._library.faults_clock(ctypes.c_int64(seconds))

    @property
    def count(self) -> int:
        return int(self._library.faults_count())

    def calls(self) -> list[Call]:
        """The calls since it was armed."""
        library = self._library
        return [
            Call(library.faults_name(i).decode(), CallKind(library.faults_kind(i)), library.faults_size(i))
            for i in map(ctypes.c_int64, range(self.count))
        ]
