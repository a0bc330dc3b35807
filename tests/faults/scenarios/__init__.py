"""What is interrupted: each scenario prepares a desk, does one thing on it, and says what must then be true."""

from tests.faults.scenarios.careless import CARELESS
from tests.faults.scenarios.collecting import COLLECTING
from tests.faults.scenarios.files import FILES
from tests.faults.scenarios.ledgers import LEDGERS
from tests.faults.scenarios.releases import RELEASES
from tests.faults.scenarios.scenario import Scenario

SCENARIOS: dict[str, Scenario] = {s.name: s for s in (*RELEASES, *LEDGERS, *COLLECTING, *FILES)}


def named(name: str) -> Scenario:
    """A scenario, the one that must fail among them."""
    return CARELESS if name == CARELESS.name else SCENARIOS[name]


__all__ = ["SCENARIOS", "Scenario", "named"]
