"""Tables in databases: one module for each, behind one small protocol."""

from pramana.sources.databases.database import Database, TableName, batches, open_database
from pramana.sources.databases.types import storable, stored

__all__ = ["Database", "TableName", "batches", "open_database", "storable", "stored"]
