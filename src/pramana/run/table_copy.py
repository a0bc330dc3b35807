"""The published rows, also as a new table of a database: in one transaction, and only together with the bundle.

The rows are read back from the bundle's data file, batch by batch, so that memory stays flat and the table is what
the certificate's digest is of. The transaction is committed when nothing but the bundle's rename is left to do;
should that fail, the table is dropped again. The bundle says nothing of the table: recipients have no use for
the name of a place in the holder's house.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from pramana.bundle.bundle import published_batches
from pramana.errors import SourceError
from pramana.schema.sections import OutputSection

if TYPE_CHECKING:
    from pramana.io.database import Database, TableName


def check_target(output: OutputSection) -> None:
    """Refuse before any work is done: the table is made, without rows, and taken back."""
    from pramana.io.database import open_database

    with contextlib.closing(open_database(output.url or "", "output", writing=True)) as database:
        database.create(_name(output), pa.schema([pa.field("rehearsal", pa.int64())]), iter(()))


class TableCopy:
    """The table that a recipe's [output] names."""

    def __init__(self, output: OutputSection) -> None:
        self._output = output
        self._database: Database | None = None
        self._committed = False

    def fill(self, data: Path) -> None:
        """Write the rows of the bundle's data file; nobody sees them before `commit`."""
        from pramana.io.database import open_database, storable, stored

        self._database = open_database(self._output.url or "", "output", writing=True)
        batches = published_batches(data, escaped=self._output.escape_formulas)
        first = next(batches)
        schema = storable(first.schema)
        self._database.create(_name(self._output), schema, stored(chain([first], batches), schema))

    def commit(self) -> None:
        if self._database is None:
            return
        try:
            self._database.commit()
        except SourceError as error:  # a connection that is lost now does not tell what became of the table
            hint = "No bundle was made; look whether the table is there, and drop it."
            raise SourceError(error.what, error.got, hint) from None
        self._committed = True

    def undo(self) -> None:
        """Drop what was committed; what was not was never there."""
        self.close()
        if not self._committed:
            return
        try:
            from pramana.io.database import open_database

            with contextlib.closing(open_database(self._output.url or "", "output", writing=True)) as again:
                again.drop(_name(self._output))
        except SourceError as error:
            hint = f"No bundle was made, and the table {_name(self._output).name!r} is left over: drop it."
            raise SourceError(error.what, error.got, hint) from None

    def close(self) -> None:
        if self._database is not None:
            self._database.close()


@contextlib.contextmanager
def table_copy(output: OutputSection) -> Iterator[TableCopy]:
    """A table that is kept if the block ends well, and is not there if it does not."""
    copy = TableCopy(output)
    try:
        yield copy
    except BaseException:
        copy.undo()
        raise
    copy.close()


def _name(output: OutputSection) -> TableName:
    from pramana.io.database import TableName

    return TableName(output.table or "", output.schema)
