"""Who received what, and what it adds up to: append-only, in a SQLite file or in PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.doors import on_first_use
from pramana.ledger.whoami import whoami

if TYPE_CHECKING:
    from pramana.ledger.cost import Cost
    from pramana.ledger.entry import Entry
    from pramana.ledger.ledger import Ledger
    from pramana.ledger.rules import Booking, Request
    from pramana.ledger.state import Dataset, Release, ReleasedTable, State
    from pramana.ledger.store import is_ledger_file
    from pramana.ledger.totals import Total
    from pramana.ledger.turns import WritersInTurn, postgresql_in_turn, sqlite_in_turn

_MODULE_OF = {  # a command loads what it uses
    "Booking": "rules",
    "Cost": "cost",
    "Dataset": "state",
    "Entry": "entry",
    "Ledger": "ledger",
    "Release": "state",
    "ReleasedTable": "state",
    "Request": "rules",
    "State": "state",
    "Total": "totals",
    "WritersInTurn": "turns",
    "is_ledger_file": "store",
    "postgresql_in_turn": "turns",
    "sqlite_in_turn": "turns",
}

if not TYPE_CHECKING:
    __getattr__ = on_first_use(__name__, _MODULE_OF)

__all__ = [
    "Booking",
    "Cost",
    "Dataset",
    "Entry",
    "Ledger",
    "Release",
    "ReleasedTable",
    "Request",
    "State",
    "Total",
    "WritersInTurn",
    "is_ledger_file",
    "postgresql_in_turn",
    "sqlite_in_turn",
    "whoami",
]
