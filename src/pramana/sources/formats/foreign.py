"""The formats that other libraries read, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from pramana.errors import SourceError
from pramana.sources.file_kinds import kind_of

if TYPE_CHECKING:
    from pramana.sources.table import Source

_ROWS = 1 << 16  # of a batch, where nobody says


def foreign_batches(source: Source, wanted: Sequence[str] | None, rows: int = _ROWS) -> Iterator[pa.RecordBatch]:
    """The wanted columns in order; none of the libraries is loaded before."""
    path = source.path
    assert path is not None
    told = kind_of(path)
    if told is None or told.format != source.kind:
        got = "something else or damaged data" if told is None else told.name
        raise SourceError(
            f"The source {path} must be {_NAMES[source.kind]}", got, None if told is None else told.hint
        )
    if source.kind == "arrow":
        from pramana.sources.formats.arrow_file import arrow_batches

        yield from arrow_batches(path, wanted, rows)
    elif source.kind == "xlsx":
        from pramana.sources.formats.workbook import workbook_batches

        yield from workbook_batches(source, wanted, rows)
    else:
        from pramana.sources.formats.survey import survey_batches

        yield from survey_batches(source, wanted, rows)


_NAMES = {
    "arrow": "an Arrow file",
    "xlsx": "a workbook",
    "sav": "an SPSS file",
    "dta": "a Stata file",
    "sas7bdat": "a SAS file",
    "xpt": "a SAS transport file",
}
