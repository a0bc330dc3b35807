"""Data frames that are nothing but Parquet files: read as files are, which spares the way through Spark's rows.

Spark's plan of such a frame names the pieces of the files in the order of its rows. Where the plan says anything
else, of a filter, a computed column, folders that tell values, another format or another kind of disk, the frame
is no plain one; nor is it where a file has other columns than the frame, or its row groups are not told once each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pyarrow as pa
import pyarrow.parquet as pq

from pramana.sources import Cut, EvenCut, Piece, Source, side_by_side

_SCAN = "org.apache.spark.sql.execution.FileSourceScanExec"
_ADAPTED = "org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec"
_RESULT = "org.apache.spark.sql.execution.adaptive.ResultQueryStageExec"
_KEPT = "org.apache.spark.sql.execution.columnar.InMemoryTableScanExec"
_SELECTION = "org.apache.spark.sql.execution.ProjectExec"
_COLUMN = "org.apache.spark.sql.catalyst.expressions.AttributeReference"
_PARQUET = "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat"
_FIELD_ID = "parquet.field.id"
# What both read alike. Dates of old files, times, decimals and the like hang on settings of the session.
_KINDS = {
    "string": pa.string(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
}
Stretch = tuple[Path, int, int]  # a file, and from which byte to which
Pieces = tuple[Piece, ...]


def pieces_of_scan(source: Source, columns: Sequence[str], cut: Cut | None = None) -> Pieces | None:
    """The pieces of files that a frame's rows are, in their order; None where the frame is anything else."""
    try:
        plan = source.frame._jdf.queryExecution().sparkPlan()
        while class_of(plan) == _SELECTION and all(is_column(one) for one in listed(plan.projectList())):
            plan = plan.child()
        found = scanned(plan, source, source.frame, columns, cut)
        return None if found is None else tuple(piece for pieces in found for piece in pieces) or None
    except Exception:  # another Spark has other plans, and a file that is gone is told by who reads the frame
        return None


def scanned_by(source: Source, frame: Any, columns: Sequence[str], computing: Any) -> tuple[Pieces, ...] | None:
    """What each partition of `computing` reads, which computes on every row of the files that are `frame`."""
    plan = computing._jdf.queryExecution().sparkPlan()
    while class_of(plan) == _SELECTION:
        plan = plan.child()
    return scanned(plan, source, frame, columns)


def read_alike(frame: Any) -> dict[str, pa.DataType]:
    """The columns whose values are the same, whoever reads the files: by names, and not by numbers of fields."""
    fields = [field for field in frame.schema.fields if _FIELD_ID not in (field.metadata or {})]
    kinds = {field.name: _KINDS.get(field.dataType.typeName()) for field in fields}
    return {name: kind for name, kind in kinds.items() if kind is not None}


def scanned(
    plan: Any, source: Source, frame: Any, columns: Sequence[str], cut: Cut | None = None
) -> tuple[Pieces, ...] | None:
    """What each partition of a scan reads of the files that are `frame`."""
    kinds = read_alike(frame)
    if class_of(plan) != _SCAN or not kinds.keys() >= set(columns):
        return None
    stretches = _stretches(plan)
    return None if stretches is None else _pieces(source, stretches, {name: kinds[name] for name in columns}, cut)


def ran_as_planned(
    made: Any, source: Source, files: Any, columns: Sequence[str], pieces: tuple[Pieces, ...]
) -> bool:
    """Whether each partition of a frame that Spark has made, and keeps, had the pieces of files that were planned.

    Spark plans anew what it runs: more executors, or other settings, and it would have cut the files elsewhere.
    """
    try:
        [scan] = _scans(made._jdf.queryExecution().executedPlan())
        return scanned(scan, source, files, columns) == pieces
    except Exception:  # another Spark has other plans, and files may be gone
        return False


def _scans(plan: Any) -> Iterator[Any]:
    """The scans of a plan that ran, but those of tables that all executors got."""
    kind = class_of(plan)
    if kind == _SCAN:
        yield plan
    elif kind == _ADAPTED:
        yield from _scans(plan.executedPlan())
    elif kind == _KEPT:
        yield from _scans(plan.relation().cacheBuilder().cachedPlan())
    elif kind == _RESULT:
        yield from _scans(plan.plan())
    else:
        for child in listed(plan.children()):
            yield from _scans(child)


def _stretches(plan: Any) -> list[list[Stretch]] | None:
    """What each partition of a scan reads, in the order of its rows; None where it is no scan of whole files."""
    relation = plan.relation()
    plain = (
        class_of(relation.fileFormat()) == _PARQUET
        and relation.partitionSchema().length() == 0
        and relation.bucketSpec().isEmpty()
        and plan.dataFilters().isEmpty()
        and plan.partitionFilters().isEmpty()
    )
    return [list(_in_order(one)) for one in listed(plan.inputRDD().filePartitions())] if plain else None


def _in_order(partition: Any) -> Iterator[Stretch]:
    for file in partition.files():
        address = urlsplit(file.urlEncodedPath())
        if address.scheme != "file" or address.netloc:
            raise ValueError("stores are asked with Spark's own credentials")
        yield Path(url2pathname(address.path)), file.start(), file.start() + file.length()


def _pieces(
    source: Source, partitions: Sequence[Sequence[Stretch]], kinds: dict[str, Any], cut: Cut | None
) -> tuple[Pieces, ...] | None:
    """What each partition reads: a piece of each of its files, or several where they are to be cut."""
    footers = {path: pq.read_metadata(path) for stretches in partitions for path, _, _ in stretches}
    told: dict[Path, list[int]] = {path: [] for path in footers}
    total = left = sum(footer.num_rows for footer in footers.values())
    most = partial((cut or EvenCut()).rows, total)

    def piece(path: Path, start: int, stop: int) -> Iterator[Piece]:
        nonlocal left
        groups = [g for g, middle in enumerate(_middles(footers[path])) if start <= middle < stop]
        told[path] += groups
        rows = [footers[path].row_group(g).num_rows for g in groups]
        own = replace(source, path=path, frame=None, table=None, options={}, format="parquet")
        for part in side_by_side(rows, most, left):
            yield Piece(own, sum(rows[place] for place in part), tuple(groups[place] for place in part))
        left -= sum(rows)

    pieces = tuple(tuple(one for stretch in stretches for one in piece(*stretch)) for stretches in partitions)
    for path, footer in footers.items():
        if sorted(told[path]) != list(range(footer.num_row_groups)) or not _fits(footer, kinds):
            return None
    return pieces


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


def class_of(java: Any) -> str:
    return str(java.getClass().getName())


def is_column(expression: Any) -> bool:
    return class_of(expression) == _COLUMN


def listed(of_scala: Any) -> Iterator[Any]:
    return (of_scala.apply(place) for place in range(of_scala.length()))


def new_name(word: str, columns: Sequence[str]) -> str:
    """A name that none of the columns has."""
    while word.casefold() in {column.casefold() for column in columns}:
        word += "_"
    return word
