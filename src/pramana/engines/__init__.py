"""Where data meets a mechanism, under a key."""

from pramana.engines.batch import LEAST_MEMORY, BatchEngine, Spool
from pramana.engines.digest import Column, Commitment, ContentDigest, commitment_to, digest_of_columns
from pramana.engines.local import LocalEngine, Progress, no_progress
from pramana.engines.scratch import Scratch

__all__ = [
    "LEAST_MEMORY",
    "BatchEngine",
    "Column",
    "Commitment",
    "ContentDigest",
    "LocalEngine",
    "Progress",
    "Scratch",
    "Spool",
    "commitment_to",
    "digest_of_columns",
    "no_progress",
]
