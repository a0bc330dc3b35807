"""Synthetic records that the holder puts into the bundle: written with it, covered by its certificate, checked."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from pramana.bundle.bundle import Bundle, published_batches
from pramana.bundle.form import Check
from pramana.errors import BundleError, PramanaError
from pramana.files.regular import own_file
from pramana.io.parquet import check_parquet
from pramana.schema.domain import MISSING


def synthetic_name(bundle: Bundle) -> str:
    """What the file is called, where there is one."""
    return f"synthetic.{bundle.certificate.output}"


def write_companion(bundle: Bundle) -> Path:
    """As many records as the bundle has, by coins that everyone with the bundle can throw again."""
    from pramana.recipient.synthesis import records_of, write_records

    place = bundle.path / synthetic_name(bundle)
    certificate = bundle.certificate
    write_records(bundle, records_of(bundle), place, certificate.output, None, certificate.records)
    return place


def check_companion(bundle: Bundle) -> list[Check]:
    """Its digest was taken with those of the other files; its rows are as many as the bundle's, in their domains.

    It is not drawn again: a model is fitted in floating point, which another machine may round otherwise.
    """
    name = synthetic_name(bundle)
    if name not in bundle.certificate.files:
        return []
    attributes, records = bundle.certificate.attributes, 0
    domains = {a.name: {*a.coded.labels, *([MISSING] if a.coded.missing else [])} for a in attributes if not a.raw}
    strange: dict[str, None] = {}
    try:
        _check_file(bundle, bundle.path / name)
        for batch in published_batches(
            bundle.path / name, [a.name for a in attributes], bundle.certificate.escaped
        ):
            records += batch.num_rows
            for column, labels in domains.items():
                if not {*_texts(batch.column(column))} <= labels | {None}:
                    strange[column] = None
    except PramanaError as error:
        return [Check("synthetic records", False, str(error))]
    if records != bundle.certificate.records:
        return [Check("synthetic records", False, f"{bundle.certificate.records} expected, {records} found")]
    told = f"outside of their domains: {', '.join(strange)}" if strange else f"{records}, all in their domains"
    return [Check("synthetic records", not strange, told)]


def _check_file(bundle: Bundle, path: Path) -> None:
    """Refuse, before a row is read, a file that is not the certified number of rows of the bundle's columns."""
    if bundle.certificate.output != "parquet":
        return
    own_file(path)
    try:
        columns = {a.name: None if a.raw else pa.string() for a in bundle.certificate.attributes}
        check_parquet(path, bundle.certificate.records, columns)
    except OSError:  # Arrow's word for a footer that it cannot decode
        raise BundleError(f"{path.name} must be a readable parquet file", "damaged data") from None


def _texts(column: pa.Array) -> list[str | None]:
    """The values that occur."""
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    return [None if v is None else str(v) for v in plain.unique().to_pylist()]
