"""Who received what, and what it adds up to: append-only, in a SQLite file or in PostgreSQL."""

from pramana.ledger.cost import Cost
from pramana.ledger.entry import Entry
from pramana.ledger.ledger import Ledger
from pramana.ledger.rules import Booking, Request
from pramana.ledger.state import Dataset, Release, ReleasedTable, State
from pramana.ledger.store import is_ledger_file
from pramana.ledger.totals import Total
from pramana.ledger.turns import WritersInTurn, postgresql_in_turn, sqlite_in_turn
from pramana.ledger.whoami import whoami

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
