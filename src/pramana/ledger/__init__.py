"""Who received what, at which level: append-only, in a SQLite file or in PostgreSQL."""

from pramana.ledger.entry import Entry
from pramana.ledger.ledger import Ledger, Request, whoami
from pramana.ledger.state import Dataset, Release, State
from pramana.ledger.store import is_ledger_file

__all__ = ["Dataset", "Entry", "Ledger", "Release", "Request", "State", "is_ledger_file", "whoami"]
