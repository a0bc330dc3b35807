"""CSV, Parquet, databases and data frames to small unsigned integer codes, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pramana.doors import on_first_use

if TYPE_CHECKING:
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

_MODULE_OF = {  # a command loads what it uses
    "Cut": "pieces",
    "Database": "databases.database",
    "EXPORTS": "formats.written",
    "Encoder": "codes",
    "EvenCut": "pieces",
    "FILE_NAMES": "write",
    "Numbering": "codes",
    "Piece": "pieces",
    "ROW_GROUP": "write",
    "ReadingNotes": "formats.values",
    "Source": "table",
    "Table": "table",
    "TableName": "databases.database",
    "TableWriter": "write",
    "TaperedCut": "pieces",
    "ValueForm": "formats.values",
    "Variable": "formats.labels",
    "check_export": "formats.written",
    "check_parquet": "parquet.parquet_check",
    "check_parquet_bounds": "parquet.parquet_check",
    "decode": "codes",
    "digest_of_written": "write",
    "domain_from_data": "codes",
    "encode": "codes",
    "expected_records": "batches",
    "flags_of": "arrays",
    "formula_columns": "formulas",
    "has_missing": "codes",
    "in_order_of_values": "codes",
    "is_bytes": "columns",
    "is_text": "columns",
    "kind_by_name": "files",
    "names_of": "names",
    "numbers": "arrays",
    "open_database": "databases.database",
    "ordered_columns": "pieces",
    "pieces_of": "pieces",
    "raw_column": "write",
    "side_by_side": "pieces",
    "size_in_memory": "batches",
    "storable": "databases.types",
    "stored": "databases.types",
    "texts": "arrays",
    "unescaped": "formulas",
    "values_of": "arrays",
    "write_export": "formats.written",
    "write_table": "write",
}

if not TYPE_CHECKING:
    __getattr__ = on_first_use(__name__, _MODULE_OF)

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
