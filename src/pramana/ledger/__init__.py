"""Who received what, and what it adds up to: append-only, in a SQLite file or in PostgreSQL."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

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


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'pramana.ledger' has no attribute {name!r}")
    return vars(importlib.import_module(f"pramana.ledger.{_MODULE_OF[name]}"))[name]


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
