"""How many processor cores this process may use."""

from __future__ import annotations

import os
import sys


def available_cores() -> int:
    """Those the process is bound to, where the system says so, as Linux does; else all there are."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
