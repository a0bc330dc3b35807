"""What a bundle's files tell beside their rows: when they were written, and what else is in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

from pramana.audit.verdict import Attack
from pramana.bundle import Bundle

_TOGETHER = 2.0  # seconds: the coarsest steps in which an archive keeps times
_OWN_METADATA = {b"ARROW:schema"}
_ENCODINGS = {"PLAIN", "RLE", "RLE_DICTIONARY"}


def file_times(bundle: Bundle) -> Attack:
    """How far apart the files were written, by their own times: it tells how long a release took.

    A release gives all of them one time. A copy has times of its own, which tell of the copying.
    """
    paths = sorted(path for path in bundle.path.rglob("*") if path.is_file() and not path.is_symlink())
    times = [path.stat().st_mtime for path in paths]
    apart = max(times) - min(times)
    what = f"the times of {len(paths)} files are {apart:.3g} s apart; within {_TOGETHER:g} s they are one time"
    return Attack("file, times", _TOGETHER, apart, apart <= _TOGETHER, what)


def beside_the_table(bundle: Bundle) -> Attack:
    """Whether the data file holds anything but its table: metadata, statistics, indexes, lines without a row."""
    parquet = bundle.certificate.output == "parquet"
    tell = _beside_pages if parquet else _beside_lines
    foreign = sorted({what for path in bundle.data_files for what in tell(bundle, path)})
    what = "the data file holds a table and nothing besides"
    if foreign:
        what = f"the data file also holds {', '.join(foreign)}"
    return Attack("file, beside the table", 0.0, float(len(foreign)), not foreign, what)


def _beside_pages(bundle: Bundle, path: Path) -> Iterator[str]:
    del bundle
    with pq.ParquetFile(path) as file:
        metadata = file.metadata
        if set(metadata.metadata or ()) - _OWN_METADATA or file.schema_arrow.metadata:
            yield "metadata"
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            for chunk in (group.column(place) for place in range(group.num_columns)):
                if chunk.is_stats_set:
                    yield "statistics"
                if chunk.has_column_index or chunk.has_offset_index:
                    yield "indexes"
                if set(chunk.encodings) - _ENCODINGS:
                    yield "other encodings"


def _beside_lines(bundle: Bundle, path: Path) -> Iterator[str]:
    content = path.read_bytes()
    if content.startswith(b"\xef\xbb\xbf"):
        yield "a mark of its encoding"
    if content.endswith((b"\n\n", b"\r\n\r\n")) and len(bundle.certificate.attributes) > 1:
        yield "lines that are no rows"
    if b"\x00" in content:
        yield "zero bytes"
