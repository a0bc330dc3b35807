"""CSV, Parquet, databases and data frames to small unsigned integer codes, and back."""

from pramana.sources.arrays import flags_of, numbers, texts, values_of
from pramana.sources.batches import expected_records, size_in_memory
from pramana.sources.codes import (
    Encoder,
    Numbering,
    decode,
    domain_from_data,
    encode,
    has_missing,
    in_order_of_values,
)
from pramana.sources.columns import is_bytes, is_text
from pramana.sources.databases.database import Database, TableName, open_database
from pramana.sources.databases.types import storable, stored
from pramana.sources.files import kind_by_name
from pramana.sources.formats.labels import Variable
from pramana.sources.formats.values import ReadingNotes, ValueForm
from pramana.sources.formats.written import EXPORTS, check_export, write_export
from pramana.sources.formulas import formula_columns, unescaped
from pramana.sources.names import names_of
from pramana.sources.parquet.parquet_check import check_parquet, check_parquet_bounds
from pramana.sources.pieces import Cut, EvenCut, Piece, TaperedCut, ordered_columns, pieces_of, side_by_side
from pramana.sources.table import Source, Table
from pramana.sources.write import (
    FILE_NAMES,
    ROW_GROUP,
    TableWriter,
    digest_of_written,
    raw_column,
    write_table,
)

__all__ = [
    "EXPORTS",
    "FILE_NAMES",
    "ROW_GROUP",
    "Cut",
    "Database",
    "Encoder",
    "EvenCut",
    "Numbering",
    "Piece",
    "ReadingNotes",
    "Source",
    "Table",
    "TableName",
    "TableWriter",
    "TaperedCut",
    "ValueForm",
    "Variable",
    "check_export",
    "check_parquet",
    "check_parquet_bounds",
    "decode",
    "digest_of_written",
    "domain_from_data",
    "encode",
    "expected_records",
    "flags_of",
    "formula_columns",
    "has_missing",
    "in_order_of_values",
    "is_bytes",
    "is_text",
    "kind_by_name",
    "names_of",
    "numbers",
    "open_database",
    "ordered_columns",
    "pieces_of",
    "raw_column",
    "side_by_side",
    "size_in_memory",
    "storable",
    "stored",
    "texts",
    "unescaped",
    "values_of",
    "write_export",
    "write_table",
]
