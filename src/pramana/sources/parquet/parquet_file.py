"""Parquet files and folders of them. Text columns arrive as dictionaries."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pramana.errors import SourceError
from pramana.randomness import available_cores
from pramana.sources.columns import checked, select
from pramana.sources.files import files_of
from pramana.stores import AnyPath, StorePath, arrow_input


@contextlib.contextmanager
def parquet_faults(path: object) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, ValueError):
        from pramana.sources.file_kinds import kind_of

        kind = kind_of(path) if isinstance(path, Path | StorePath) else None
        if kind is None or kind.name == "a Parquet file":
            raise SourceError(
                f"The source {path} must be a Parquet file", "something else or damaged data"
            ) from None
        raise SourceError(f"The source {path} must be a Parquet file", kind.name, kind.hint) from None


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


def read_parquet(path: AnyPath, wanted: Sequence[str] | None) -> pa.Table:
    with parquet_faults(path):
        if path.is_file():  # the reader of single files; that of folders takes longer to load than to read
            names, text = parquet_columns(path, pq.read_schema(arrow_input(path)), wanted)
            table = _by_row_groups(path, names, text)
        else:
            whole, names = parquet_folder(path, wanted)
            table = whole.to_table(columns=names)
    return checked(table, names)
