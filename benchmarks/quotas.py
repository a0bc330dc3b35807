"""A share of a core for some processes and all that they start, by Linux's control groups."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_PERIOD = 20_000  # microseconds: short, so that a process is slow rather than stopped for long


class NoQuotasError(Exception):
    """Why no process can be slowed here."""


@contextlib.contextmanager
def share_of_core(pids: Sequence[int], share: float) -> Iterator[None]:
    """Together they get so much of one core, for as long as the block lasts."""
    first = _ROOT / "cpu" if (_ROOT / "cpu" / "cgroup.procs").exists() else _ROOT
    group = first / f"pramana-{os.getpid()}-{pids[0]}"
    try:
        if first == _ROOT:
            (_ROOT / "cgroup.subtree_control").write_text("+cpu")
        group.mkdir()
    except OSError as why:
        raise NoQuotasError(f"control groups cannot be made ({why.strerror})") from None
    try:
        if first == _ROOT:
            (group / "cpu.max").write_text(f"{round(share * _PERIOD)} {_PERIOD}")
        else:
            (group / "cpu.cfs_period_us").write_text(str(_PERIOD))
            (group / "cpu.cfs_quota_us").write_text(str(round(share * _PERIOD)))
        _move(pids, group)
        yield
    finally:
        _move(map(int, (group / "cgroup.procs").read_text().split()), first)
        group.rmdir()


def _move(pids: Sequence[int] | Iterator[int], group: Path) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # it has ended
            (group / "cgroup.procs").write_text(str(pid))
