"""Arrow types that every database can store, and safe casts to them: a value that would change is an error."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pyarrow as pa

from pramana.errors import SourceError
from pramana.sources.columns import is_bytes

_DIGITS = 38  # of a decimal that Arrow and databases hold in 128 bits


def storable(schema: pa.Schema) -> pa.Schema:
    """The schema under which published columns are stored; what no table can hold is an error."""
    return pa.schema([pa.field(field.name, _storable(field.name, field.type)) for field in schema])


def _storable(name: str, kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_dictionary(kind):
        return _storable(name, kind.value_type)
    if types.is_nested(kind):
        raise SourceError(
            f"The column {name!r} must hold single values to be written to a table",
            "nested ones",
            'Write format = "csv" in [output], or cells of another kind.',
        )
    if types.is_integer(kind):
        return _whole(kind)
    if types.is_floating(kind):
        return pa.float64() if types.is_float64(kind) else pa.float32()
    if types.is_timestamp(kind):
        return pa.timestamp("us", tz=None if kind.tz is None else "UTC")
    if is_bytes(kind):
        return pa.binary()
    if types.is_decimal(kind) and kind.precision <= _DIGITS:
        return pa.decimal128(kind.precision, kind.scale)
    for is_kind, made in (
        (types.is_boolean, pa.bool_()),
        (types.is_date, pa.date32()),
        (types.is_time, pa.time64("us")),
    ):
        if is_kind(kind):
            return made
    return pa.string()


def _whole(kind: pa.DataType) -> pa.DataType:
    """The databases have signed numbers only; 64 bits without a sign need one digit more than they have."""
    if pa.types.is_unsigned_integer(kind):
        return {8: pa.int16(), 16: pa.int32(), 32: pa.int64()}.get(kind.bit_width, pa.decimal128(20, 0))
    return pa.int16() if kind.bit_width == 8 else kind


def stored(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batches under a schema that `storable` made."""
    for batch in batches:
        try:
            yield pa.record_batch(
                [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)],
                schema=schema,
            )
        except (pa.ArrowException, ValueError):
            raise SourceError("Every published value must be one that a table can hold", "others") from None


class Fallible:
    """Batches that remember why they ended: drivers pull them through C, where an exception loses its kind."""

    def __init__(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self.fault: BaseException | None = None
        self.reader = pa.RecordBatchReader.from_batches(schema, self._remembering())

    def _remembering(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._batches
        except BaseException as fault:
            self.fault = fault
            raise

    @contextlib.contextmanager
    def first(self) -> Iterator[None]:
        """What went wrong here goes before what a driver makes of it."""
        try:
            yield
        except Exception:
            if self.fault is not None:
                raise self.fault from None
            raise
