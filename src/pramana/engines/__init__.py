"""Where data meets a mechanism, under a key."""

from pramana.engines.local import LocalEngine, Progress, no_progress

__all__ = ["LocalEngine", "Progress", "no_progress"]
