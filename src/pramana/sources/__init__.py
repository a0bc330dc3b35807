"""CSV, Parquet and data frames to small unsigned integer codes, and back."""

from pramana.sources.codes import decode, domain_from_data, encode, has_missing
from pramana.sources.table import Source, Table
from pramana.sources.write import FILE_NAMES, raw_column, read_published, write_table

__all__ = [
    "FILE_NAMES",
    "Source",
    "Table",
    "decode",
    "domain_from_data",
    "encode",
    "has_missing",
    "raw_column",
    "read_published",
    "write_table",
]
