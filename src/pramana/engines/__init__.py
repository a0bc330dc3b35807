"""Where data meets a mechanism, under a key."""

from pramana.engines.digest import Commitment, ContentDigest, commitment_to, digest_of_columns
from pramana.engines.local import LocalEngine, Progress, no_progress

__all__ = [
    "Commitment",
    "ContentDigest",
    "LocalEngine",
    "Progress",
    "commitment_to",
    "digest_of_columns",
    "no_progress",
]
