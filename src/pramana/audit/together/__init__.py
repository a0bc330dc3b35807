"""Several releases about the same people: what someone has who has all of them."""

from pramana.audit.together.averaging import averaged_epsilon, averaged_inference
from pramana.audit.together.coins import reused_coins, side_by_side
from pramana.audit.together.releases import attacks_together
from pramana.audit.together.versions import colluding_files, repeated_requests

__all__ = [
    "attacks_together",
    "averaged_epsilon",
    "averaged_inference",
    "colluding_files",
    "repeated_requests",
    "reused_coins",
    "side_by_side",
]
