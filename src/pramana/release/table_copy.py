"""The published rows, also as a new table of a database: in one transaction, and only together with the bundle.

The rows are read back from the bundle's data file, batch by batch, so that memory stays flat and the table is what
the certificate's digest is of. The transaction is committed when nothing but the bundle's rename is left to do;
should that fail, the table is dropped again. The bundle says nothing of the table: recipients have no use for
the name of a place in the holder's house.
"""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from pramana.errors import SourceError
from pramana.schema import Recipe
from pramana.sources import Database, TableName, open_database, storable, stored

_ROWS = 1 << 16
_BLOCK = 1 << 22  # bytes of a CSV file at a time


def check_target(recipe: Recipe) -> None:
    """Refuse before any work is done: the table is made, without rows, and taken back."""
    if recipe.output:
        with contextlib.closing(open_database(recipe.output["url"], "output", writing=True)) as database:
            database.create(_name(recipe), pa.schema([pa.field("rehearsal", pa.int64())]), iter(()))


class TableCopy:
    """The table of a recipe's [output]; where it asks for none, nothing happens."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._database: Database | None = None
        self._committed = False

    def fill(self, data: Path) -> None:
        """Write the rows of the bundle's data file; nobody sees them before `commit`."""
        if not self._recipe.output:
            return
        self._database = open_database(self._recipe.output["url"], "output", writing=True)
        with _batches(data) as (schema, batches):
            made = storable(schema)
            self._database.create(_name(self._recipe), made, stored(batches, made))

    def commit(self) -> None:
        if self._database is None:
            return
        try:
            self._database.commit()
        except SourceError as error:  # a connection that is lost now does not tell what became of the table
            hint = "No bundle was made; look whether the table is there, and drop it."
            raise SourceError(error.must, error.got, hint) from None
        self._committed = True

    def undo(self) -> None:
        """Drop what was committed; what was not was never there."""
        self.close()
        if not self._committed:
            return
        try:
            with contextlib.closing(open_database(self._recipe.output["url"], "output", writing=True)) as again:
                again.drop(_name(self._recipe))
        except SourceError as error:
            hint = f"No bundle was made, and the table {_name(self._recipe).name!r} is left over: drop it."
            raise SourceError(error.must, error.got, hint) from None

    def close(self) -> None:
        if self._database is not None:
            self._database.close()


@contextlib.contextmanager
def table_copy(recipe: Recipe) -> Iterator[TableCopy]:
    """A table that is kept if the block ends well, and is not there if it does not."""
    copy = TableCopy(recipe)
    try:
        yield copy
    except BaseException:
        copy.undo()
        raise
    copy.close()


def _name(recipe: Recipe) -> TableName:
    return TableName(recipe.output["table"], recipe.output.get("schema"))


@contextlib.contextmanager
def _batches(data: Path) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    """The rows of a bundle's data file. CSV tells no types: its columns are text, and empty is missing."""
    if data.suffix == ".parquet":
        with pq.ParquetFile(data) as file:
            yield file.schema_arrow, file.iter_batches(_ROWS)
        return
    with data.open(encoding="utf-8", newline="") as file:
        names = next(csv.reader(file))
    with pacsv.open_csv(
        data,
        read_options=pacsv.ReadOptions(column_names=names, skip_rows_after_names=1, block_size=_BLOCK),
        parse_options=pacsv.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(names) > 1),
        convert_options=pacsv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    ) as reader:
        yield reader.schema, iter(reader)
