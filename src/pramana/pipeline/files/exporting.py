"""A release as a file of another program: what the bundle holds, with the labels that its certificate states."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from pramana.bundle import Bundle, scratch_beside, sweep
from pramana.errors import BundleError, InputError
from pramana.pipeline.analysis import require_valid
from pramana.pipeline.files.codebook import read_codebook
from pramana.randomness import flush, give_name
from pramana.schema import Kind, decimal_number, label_of
from pramana.sources import EXPORTS, Source, decode, write_export


def export(bundle: str | Path, out: str | Path, *, unverified: bool = False) -> Path:
    """Write the data of a bundle as SPSS (.sav, .zsav), Stata (.dta), Excel (.xlsx) or Arrow (.arrow, .feather).

    Value labels and variable labels that the source had come along for what is published. The bundle is verified
    first, and the file is read back before it takes its name.

    >>> pramana.export("published", "published.sav")  # doctest: +SKIP
    PosixPath('published.sav')
    """
    out = Path(out)
    form = EXPORTS.get(out.suffix.lower())
    if form is None:
        raise InputError(f"The file must end with one of {', '.join(EXPORTS)}", repr(out.suffix))
    sweep(out)
    if out.exists() or out.is_symlink():
        raise InputError(f"The file {out} must not exist yet", "an existing one", "Choose another name.")
    if not unverified:
        require_valid(bundle)
    opened = Bundle.open(bundle)
    table, kinds = _published(opened)
    try:
        with scratch_beside(out) as scratch:  # the libraries that write have temporary files of their own
            part = scratch / out.name
            write_export(part, form, table, kinds, read_codebook(opened.certificate.codebook))
            _check(part, form, table)
            flush(part)
            give_name(part, out)
    except FileExistsError:
        raise InputError(f"The file {out} must not exist yet", "an existing one") from None
    except OSError as error:
        raise InputError(f"{out} must be a place to write to", error.strerror or type(error).__name__) from None
    return out


def _published(bundle: Bundle) -> tuple[pa.Table, dict[str, Kind]]:
    """The published table; columns with a domain as dictionaries of it, in its order."""
    certificate = bundle.certificate
    table = pa.Table.from_batches(bundle.batches())
    kinds = {a.name: a.kind for a in certificate.attributes}
    if set(table.column_names) != set(kinds) or any(pa.types.is_nested(column.type) for column in table.columns):
        raise BundleError(
            "A release that is exported must have one value in each cell",
            f"cells of method {certificate.method!r}",
            "Its data file can be read as it is.",
        )
    columns = {}
    for attribute in certificate.attributes:
        column = table.column(attribute.name)
        domain = attribute.domain
        if domain is None or attribute.kind is Kind.CELL:
            columns[attribute.name] = column
            continue
        published = domain.as_published()
        texts = column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
        if set(texts.unique().to_pylist()) <= {None, *published.labels}:
            column = pa.chunked_array([decode(bundle.codes([attribute.name])[attribute.name], published)])
        columns[attribute.name] = column
    return pa.table(columns), kinds


def _check(path: Path, form: str, table: pa.Table) -> None:
    """Read the file back as anyone would, and compare every value."""
    again = Source(path=path, format=form, trim=form != "xlsx").read()
    for name in table.column_names:
        if _labels(table.column(name)) != _labels(again.column(name)):
            raise InputError(f"The column {name!r} must be the same when the file is read back", "another")


def _labels(column: pa.ChunkedArray) -> list[object]:
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    values: list[object] = []
    for chunk in coded.chunks:
        entries = [_comparable(value) for value in chunk.dictionary.to_pylist()]
        values += [None if place is None else entries[place] for place in chunk.indices.to_pylist()]
    return values


def _comparable(value: object) -> object:
    text = label_of(value).strip()
    text = {"true": "1", "false": "0"}.get(text, text.removesuffix(" 00:00:00"))
    number = decimal_number(text)
    return float(number) if number is not None else text or None
