"""Parquet files and folders of them: read with texts as dictionaries, and checked before they are.

Whether a file is one that we could have written is told from its footer before any page is read. A file of some
kilobytes can stand for gigabytes: compressed pages, a run of one value that is as long as one likes, chunks that
share their bytes. What is published needs none of it.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
import pyarrow.parquet as pq

from pramana.errors import SourceError
from pramana.files.locations import arrow_input
from pramana.files.store_path import AnyPath, StorePath
from pramana.io.columns import check_type, checked, plain_type, select
from pramana.io.columns import compute as pc
from pramana.io.formats import files_of, not_of_format
from pramana.randomness.samplers import available_cores

if TYPE_CHECKING:
    from pramana.io.source import Source


ROW_GROUP = 1 << 17  # rows of a group in published files
_ENCODINGS = frozenset({"PLAIN", "RLE", "RLE_DICTIONARY"})
_OWN_METADATA = frozenset({b"ARROW:schema"})
_FIELD_METADATA = frozenset({b"PARQUET:field_id"})  # what Arrow makes of a number in Parquet's own schema
_BYTES_A_VALUE = 64  # of a number, date or truth value: the value, its place in a dictionary and a page's header
_VALUES_A_BYTE = 64  # of lists: neighbours in a cell are distinct, so that each takes a bit at least
MOST_TEXT = 1 << 30  # bytes of a column's texts in a row group, were each row's written out
_SLACK = 4096  # bytes of headers of pages, however few the values
_READ_AHEAD = 1 << 20  # bytes of a column's pages that are read at a time


@contextlib.contextmanager
def parquet_faults(path: object) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, ValueError):
        raise not_of_format(path, "parquet") from None


def parquet_columns(path: AnyPath, schema: pa.Schema, wanted: Sequence[str] | None) -> tuple[list[str], list[str]]:
    """The columns to read, and those of them whose texts are read as a dictionary."""
    names = select(schema.names, wanted, str(path))
    return names, [name for name in names if pa.types.is_string(schema.field(name).type)]


def parquet_folder(path: AnyPath, wanted: Sequence[str] | None) -> tuple[Any, list[str]]:
    """A folder of Parquet as a dataset, and the columns to read. Each file must have all of them.

    Where the reader meets a file without a column it takes its values for missing ones, which would be published.
    """
    import pyarrow.dataset as ds

    files = files_of(path, "parquet")
    for file in files:
        with parquet_faults(file):
            pq.read_schema(arrow_input(file))
    where: Any = path
    more: dict[str, Any] = {}
    if isinstance(path, StorePath):  # by their names: not every store tells Arrow of a prefix that it is a folder
        where = sorted(file.in_store for file in files if isinstance(file, StorePath))
        more = {"filesystem": path.file_system, "partition_base_dir": path.in_store}
    folders = ds.HivePartitioning.discover(infer_dictionary=True)
    names, text = parquet_columns(
        path, ds.dataset(where, format="parquet", partitioning=folders, **more).schema, wanted
    )
    form = ds.ParquetFileFormat(dictionary_columns=set(text), pre_buffer=False)
    whole = ds.dataset(where, format=form, partitioning="hive", **more)
    for fragment in whole.get_fragments():
        with parquet_faults(fragment.path if more else Path(fragment.path)):
            present = list(fragment.physical_schema.names)
        in_its_name = ds.get_partition_keys(fragment.partition_expression)  # folders called column=value
        select([*present, *(name for name in in_its_name if name not in present)], names, fragment.path)
    return whole, names


def _by_row_groups(path: AnyPath, names: list[str], text: list[str]) -> pa.Table:
    """The whole file, a row group at a time on every core.

    The library decodes a column into wide numbers before it narrows them. Of a group that is a few megabytes,
    which the next one uses again; of all groups at once it is several times the table.
    """
    metadata = pq.read_metadata(arrow_input(path))
    if metadata.num_row_groups < 2 or isinstance(path, StorePath):  # a store is asked once
        return pq.ParquetFile(arrow_input(path), read_dictionary=text).read(names)

    def group(number: int) -> pa.Table:
        with pq.ParquetFile(path, metadata=metadata, read_dictionary=text, pre_buffer=False) as file:
            return file.read_row_group(number, names, use_threads=False)

    with ThreadPoolExecutor(available_cores()) as pool:
        return pa.concat_tables(pool.map(group, range(metadata.num_row_groups)))


def read(source: Source, wanted: Sequence[str] | None) -> pa.Table:
    """The wanted columns (all, if None) of a file or a folder."""
    path = source.file
    with parquet_faults(path):
        if path.is_file():  # the reader of single files; that of folders takes longer to load than to read
            names, text = parquet_columns(path, pq.read_schema(arrow_input(path)), wanted)
            table = _by_row_groups(path, names, text)
        else:
            whole, names = parquet_folder(path, wanted)
            table = whole.to_table(columns=names)
    return checked(table, names)


def batches(source: Source, wanted: Sequence[str] | None, rows: int) -> Iterator[pa.RecordBatch]:
    path = source.file
    with parquet_faults(path):
        if path.is_file():
            names, text = parquet_columns(path, pq.read_schema(arrow_input(path)), wanted)
            file = pq.ParquetFile(
                arrow_input(path), read_dictionary=text, pre_buffer=False, buffer_size=_READ_AHEAD
            )
            pieces = file.iter_batches(rows, columns=names)
        else:
            whole, names = parquet_folder(path, wanted)
            pieces = whole.to_batches(columns=names, batch_size=rows, batch_readahead=2, fragment_readahead=1)
        for batch in pieces:
            if batch.num_rows:
                yield from checked(pa.Table.from_batches([batch]), names).to_batches()


# ---------------------------------------------------------------- checks of published files


def check_parquet(path: Path, records: int, columns: Mapping[str, pa.DataType | None]) -> None:
    """Refuse a file that is not `records` rows of just these columns, as `write_table` writes them.

    The type of a column is None where it is not known; it must hold single values then. Dictionaries are taken
    for what they hold. The bounds: row groups of 1 to ROW_GROUP rows; no compression, and chunks that together
    are no larger than the file; at most 64 bytes a value where it is no text; at most 64 entries of lists for a
    byte. What is read is then in proportion to the file or to `records`, if texts are read as dictionaries.
    """
    with parquet_faults(path), pq.ParquetFile(path) as file:
        metadata, schema = file.metadata, file.schema_arrow
    if metadata.num_rows != records:
        _refuse(path, f"have {records} rows", f"{metadata.num_rows}")
    _check_schema(path, schema, columns)
    if set(metadata.metadata or ()) - _OWN_METADATA or schema.metadata or any(map(_foreign, schema)):
        _refuse(path, "hold a table and nothing besides", "foreign metadata")
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    _check_groups(path, [int(group.num_rows) for group in groups], records)
    _check_chunks(path, groups, schema, _size_of)


def check_parquet_bounds(path: Path, most_rows: int) -> None:
    """Refuse a file that could stand for more than it holds, whatever it says and whoever wrote it.

    At most so many rows, without compression, chunks that share no bytes, and texts that add up to no more than
    MOST_TEXT once every row has its own. Statistics, metadata and other encodings are let pass.
    """
    with parquet_faults(path), pq.ParquetFile(path) as file:
        metadata, schema = file.metadata, file.schema_arrow
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    if metadata.num_rows > most_rows or not all(0 <= group.num_rows <= most_rows for group in groups):
        _refuse(path, f"have at most {most_rows} rows", f"{metadata.num_rows} rows in {len(groups)} groups")
    _check_chunks(path, groups, schema, _plain_size)
    with parquet_faults(path):
        _check_texts(path, groups)


def _check_chunks(path: Path, groups: list[Any], schema: pa.Schema, size_of: Callable[[Path, Any], int]) -> None:
    size = 0
    for group in groups:
        chunks = [group.column(number) for number in range(group.num_columns)]
        size += sum(size_of(path, chunk) for chunk in chunks)
        _check_values(path, chunks, int(group.num_rows), schema)
    if size > path.stat().st_size:
        _refuse(path, "have columns that share no bytes", "more bytes in its columns than in the file")


def _check_texts(path: Path, groups: list[Any]) -> None:
    """A long text in a dictionary costs its length once in the file, and in every row that is read."""
    for number, group in enumerate(groups):
        for position in range(group.num_columns):
            chunk = group.column(position)
            most = chunk.total_compressed_size * chunk.num_values
            if chunk.physical_type != "BYTE_ARRAY" or most <= MOST_TEXT:
                continue
            with pq.ParquetFile(path, read_dictionary=[chunk.path_in_schema]) as file:
                read = file.read_row_group(number, columns=[chunk.path_in_schema])
            if (size := sum(map(_text_bytes, read.column(0).chunks))) > MOST_TEXT:
                must = f"hold at most {MOST_TEXT >> 20} MiB of text in a row group's column"
                _refuse(path, must, f"{size >> 20} MiB")


def _text_bytes(array: pa.Array) -> int:
    """The bytes of all texts in an array, without writing any of them out."""
    while pa.types.is_nested(array.type):
        if pa.types.is_struct(array.type):
            return sum(map(_text_bytes, array.flatten()))
        array = array.flatten()
    if pa.types.is_dictionary(array.type):
        lengths = pc.fill_null(pc.binary_length(array.dictionary), 0)
        return int(pc.sum(pc.take(lengths, array.indices.drop_null())).as_py() or 0)
    return int(array.nbytes)


def _refuse(path: Path, must: str, got: str) -> NoReturn:
    raise SourceError(f"The file {path} must {must}", got, "It is not as it was published.")


def _check_schema(path: Path, schema: pa.Schema, columns: Mapping[str, pa.DataType | None]) -> None:
    if schema.names != list(columns):
        _refuse(
            path,
            f"have its {len(columns)} columns in their order",
            f"{len(schema.names)} with other names or in another order",
        )
    for field, kind in zip(schema, columns.values(), strict=True):
        if kind is None:
            check_type(field.name, field.type)
        elif plain_type(field.type) != plain_type(kind):
            _refuse(
                path, f"have values of the type {plain_type(kind)} in the column {field.name!r}", str(field.type)
            )


def _inner(kind: pa.DataType) -> list[pa.Field]:
    return [kind.field(number) for number in range(kind.num_fields)] if pa.types.is_nested(kind) else []


def _foreign(field: pa.Field) -> bool:
    return bool(set(field.metadata or ()) - _FIELD_METADATA) or any(map(_foreign, _inner(field.type)))


def _check_groups(path: Path, rows: list[int], records: int) -> None:
    if sum(rows) != records or not all(1 <= count <= ROW_GROUP for count in rows):
        _refuse(path, f"have row groups of 1 to {ROW_GROUP} rows", f"{len(rows)} groups of other sizes")


def _size_of(path: Path, chunk: Any) -> int:
    """The bytes of a column in a row group as `write_table` writes it."""
    if others := sorted(set(chunk.encodings) - _ENCODINGS):
        _refuse(path, "hold plain or dictionary pages without compression", f"pages in {others[0]}")
    if chunk.is_stats_set or chunk.has_column_index or chunk.has_offset_index:
        _refuse(path, "hold no statistics and no indexes", "statistics or an index")
    return _plain_size(path, chunk)


def _plain_size(path: Path, chunk: Any) -> int:
    """The bytes of a column in a row group, which must be as they are."""
    if chunk.compression != "UNCOMPRESSED":
        _refuse(path, "hold plain or dictionary pages without compression", str(chunk.compression))
    size = int(chunk.total_compressed_size)
    if size < 0 or chunk.total_uncompressed_size != size or chunk.num_values < 0:
        _refuse(path, "state sizes that can be", "negative sizes, or two for one column")
    return size


def _check_values(path: Path, chunks: list[Any], rows: int, schema: pa.Schema) -> None:
    values, sizes = defaultdict[str, int](int), defaultdict[str, int](int)
    names = [field.name for field in schema for _ in range(_leaves(field))]
    if len(names) != len(chunks):
        _refuse(path, "have the columns that its schema states", f"{len(chunks)} instead of {len(names)}")
    for name, chunk in zip(names, chunks, strict=True):
        values[name] = max(values[name], int(chunk.num_values))
        sizes[name] += int(chunk.total_compressed_size)
        most = _BYTES_A_VALUE * chunk.num_values + _SLACK
        if chunk.physical_type != "BYTE_ARRAY" and chunk.total_compressed_size > most:
            _refuse(
                path,
                f"have at most {_BYTES_A_VALUE} bytes for a value of {name!r}",
                f"{chunk.total_compressed_size:,} bytes",
            )
    for name, count in values.items():
        single = not _has_lists(schema.field(name).type)
        if single and count != rows:
            _refuse(path, f"have one value of {name!r} in every row", f"{count} in {rows} rows")
        if count > rows + _VALUES_A_BYTE * sizes[name]:
            _refuse(path, f"have at most {_VALUES_A_BYTE} entries of {name!r} for every byte", f"{count:,} in all")


def _leaves(field: pa.Field) -> int:
    """How many columns of Parquet a column is: one for each kind of value inside."""
    return sum(map(_leaves, _inner(field.type))) or 1


def _has_lists(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return any(_has_lists(field.type) for field in _inner(kind))
    return bool(pa.types.is_nested(kind))
