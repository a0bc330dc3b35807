"""Data frames that are nothing but Parquet files: read as files are, which spares the way through Spark's rows.

Spark's plan of such a frame names the pieces of the files in the order of its rows. Where the plan says anything
else, of a filter, a computed column, folders that tell values, another format or another kind of disk, the frame
is read by Spark; so it is where a file has other columns than the frame, or its row groups are not told once each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pyarrow as pa
import pyarrow.parquet as pq

from pramana.sources import Piece, Source

_SCAN = "org.apache.spark.sql.execution.FileSourceScanExec"
_SELECTION = "org.apache.spark.sql.execution.ProjectExec"
_COLUMN = "org.apache.spark.sql.catalyst.expressions.AttributeReference"
_PARQUET = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
# What both read alike. Times, decimals and the like hang on settings of the session.
_KINDS = {
    "string": pa.string(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
}
Stretch = tuple[Path, int, int]  # a file, and from which byte to which


def pieces_of_scan(source: Source, columns: Sequence[str]) -> tuple[Piece, ...] | None:
    """The pieces of files that a frame's rows are, in their order; None where Spark must make the rows."""
    kinds = {field.name: _KINDS.get(field.dataType.typeName()) for field in source.frame.schema.fields}
    if any(kinds[name] is None for name in columns):
        return None
    try:
        stretches = _stretches(source.frame)
        return None if stretches is None else _pieces(source, stretches, {name: kinds[name] for name in columns})
    except Exception:  # another Spark has other plans, and a file that is gone is told by who reads the frame
        return None


def _stretches(frame: Any) -> list[Stretch] | None:
    plan = frame._jdf.queryExecution().sparkPlan()
    while _class(plan) == _SELECTION and all(_class(one) == _COLUMN for one in _listed(plan.projectList())):
        plan = plan.child()
    if _class(plan) != _SCAN:
        return None
    relation = plan.relation()
    plain = (
        _class(relation.fileFormat()) == _PARQUET
        and relation.partitionSchema().length() == 0
        and relation.bucketSpec().isEmpty()
        and plan.dataFilters().isEmpty()
        and plan.partitionFilters().isEmpty()
    )
    return list(_in_order(plan.inputRDD().filePartitions())) if plain else None


def _in_order(partitions: Any) -> Iterator[Stretch]:
    for partition in _listed(partitions):
        for file in partition.files():
            address = urlsplit(file.urlEncodedPath())
            if address.scheme != "file" or address.netloc:
                raise ValueError("stores are asked with Spark's own credentials")
            yield Path(url2pathname(address.path)), file.start(), file.start() + file.length()


def _pieces(source: Source, stretches: Sequence[Stretch], kinds: dict[str, Any]) -> tuple[Piece, ...] | None:
    footers = {path: pq.read_metadata(path) for path, _, _ in stretches}
    told: dict[Path, list[int]] = {path: [] for path in footers}
    pieces = []
    for path, start, stop in stretches:
        groups = [g for g, middle in enumerate(_middles(footers[path])) if start <= middle < stop]
        told[path] += groups
        if groups:
            own = replace(source, path=path, frame=None, table=None, options={}, format="parquet")
            rows = sum(footers[path].row_group(g).num_rows for g in groups)
            pieces.append(Piece(own, rows, tuple(groups)))
    for path, footer in footers.items():
        if sorted(told[path]) != list(range(footer.num_row_groups)) or not _fits(footer, kinds):
            return None
    return tuple(pieces) or None


def _middles(footer: pq.FileMetaData) -> Iterator[int]:
    """A row group is read with the stretch that has its middle (parquet-java, ParquetMetadataConverter)."""
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        chunks = [group.column(c) for c in range(group.num_columns)]
        first = min(chunks[0].data_page_offset, chunks[0].dictionary_page_offset or math.inf)
        yield int(first) + sum(chunk.total_compressed_size for chunk in chunks) // 2


def _fits(footer: pq.FileMetaData, kinds: dict[str, Any]) -> bool:
    """Whether a file has the frame's columns, by the same names and as the same kinds."""
    schema = footer.schema.to_arrow_schema()
    return all(
        schema.get_field_index(name) >= 0 and _plain(schema.field(name).type) == kinds[name] for name in kinds
    )


def _plain(kind: pa.DataType) -> pa.DataType:
    coded = pa.types.is_dictionary(kind) and not kind.ordered
    return kind.value_type if coded else kind


def _class(java: Any) -> str:
    return str(java.getClass().getName())


def _listed(of_scala: Any) -> Iterator[Any]:
    return (of_scala.apply(place) for place in range(of_scala.length()))
