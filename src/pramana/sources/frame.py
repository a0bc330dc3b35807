"""Data frames of any library that narwhals knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from pramana.errors import SourceError
from pramana.sources.columns import checked, select


def from_frame(frame: Any, wanted: Sequence[str] | None) -> pa.Table:
    import narwhals as nw

    try:
        native = nw.from_native(frame)
    except TypeError:
        raise SourceError(
            "A table must be a path or a data frame (pandas, polars, pyarrow)", type(frame).__name__
        ) from None
    except (nw.exceptions.NarwhalsError, ValueError):
        raise SourceError("The columns of the data frame must have distinct names") from None
    try:
        if isinstance(native, nw.LazyFrame):
            native = native.collect()
        names = select(native.columns, wanted, "the data frame")
        return checked(native.select(names).to_arrow(), names)
    except SourceError:
        raise
    except Exception as error:  # whatever the frame's library raises may quote its rows
        raise SourceError(
            "Every column of the data frame must hold values of one kind", type(error).__name__
        ) from None
