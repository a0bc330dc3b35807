"""What a source says of its variables, as far as a release may: labels of what is published, of nothing else."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pyarrow as pa

from pramana.bundle.bundle import Bundle, published_batches
from pramana.bundle.certificate import JsonObject
from pramana.bundle.form import Check
from pramana.errors import BundleError, InputError, MissingExtraError, PramanaError, SourceError
from pramana.io.codes import decode
from pramana.io.formats import COPIES
from pramana.io.source import Source
from pramana.io.survey import Variable
from pramana.schema.kind import Kind, decimal_number, label_of


def codebook_of(bundle: Bundle, variables: Mapping[str, Variable]) -> dict[str, JsonObject]:
    """The codebook of a certificate; of a column released unchanged, by the values that its file has."""
    codebook: dict[str, JsonObject] = {}
    for name, variable in variables.items():
        published = variable.of_published(_published_values(bundle, name, variable))
        if published.label or published.codes:
            codebook[name] = published.to_json()
    return codebook


def _published_values(bundle: Bundle, name: str, variable: Variable) -> set[str]:
    domain = bundle.certificate.attribute(name).domain
    if domain is not None:
        return set(domain.labels)
    if not variable.codes:
        return set()
    batches = published_batches(bundle.data_path, [name], bundle.certificate.escaped)
    return {label_of(value) for batch in batches for value in batch.column(0).unique().to_pylist()}


def read_codebook(codebook: Mapping[str, JsonObject]) -> dict[str, Variable]:
    return {name: Variable.from_json(statement) for name, statement in codebook.items()}


def check_codebook(bundle: Bundle) -> list[Check]:
    """Whether the codebook speaks of published columns and published values only."""
    certificate = bundle.certificate
    if not certificate.codebook:
        return []
    try:
        variables = read_codebook(certificate.codebook)
        for name, variable in variables.items():
            if variable.of_published(_published_values(bundle, name, variable)) != variable:
                return [Check("codebook", False, f"labels of {name} that are not published")]
    except (KeyError, SourceError):
        return [Check("codebook", False, "of something else than the published columns")]
    return [Check("codebook", True, "labels of what is published, and of nothing else")]


# Copies of the data that a bundle holds for other programs: made from its data file, and held against it.


def write_copy(bundle: Bundle, form: str) -> None:
    """The data of a bundle once more, for another program, as a file of the bundle."""
    path = bundle.path / f"data.{form}"
    check_written(path, form, _export(bundle, path, form))


def _export(bundle: Bundle, path: Path, form: str) -> pa.Table:
    """Write the published table as a file for another program, and return it."""
    from pramana.io.exports import write_export  # few releases have a copy

    table, kinds = published_table(bundle)
    write_export(path, form, table, kinds, read_codebook(bundle.certificate.codebook))
    return table


def check_copies(bundle: Bundle) -> list[Check]:
    """Copies say what the data says, and nothing else: made again from it they are the same, byte for byte.

    Where another version of a library wrote them, they are read and compared value by value, no more.
    """
    return [_compared(bundle, name, COPIES[name]) for name in bundle.certificate.files if name in COPIES]


def _compared(bundle: Bundle, name: str, form: str) -> Check:
    check = partial(Check, f"copy {name}")
    try:
        with tempfile.TemporaryDirectory() as folder:
            again = Path(folder) / name
            table = _export(bundle, again, form)
            if again.read_bytes() == (bundle.path / name).read_bytes():
                return check(True, "made again from the data, byte for byte")
        check_written(bundle.path / name, form, table)
    except MissingExtraError as error:
        return check(True, f"its digest alone was checked: {error}", derived=False)
    except PramanaError as error:
        return check(False, str(error))
    detail = "the same values; labels were not compared, since another version of a library wrote it"
    return check(True, detail, derived=False)


def published_table(bundle: Bundle) -> tuple[pa.Table, dict[str, Kind]]:
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


def check_written(path: Path, form: str, table: pa.Table) -> None:
    """Read the file back as anyone would, and compare every value."""
    again = Source(path=path, format=form, trim=form != "xlsx").read()
    if list(again.columns) != table.column_names or again.records != table.num_rows:
        raise InputError(
            "The columns and rows must be the same when the file is read back",
            f"{len(again.columns)} columns and {again.records:,} rows",
        )
    for name in table.column_names:
        if _labels(table.column(name)) != _labels(again.column(name)):
            raise InputError(f"The column {name!r} must be the same when the file is read back", "other values")


def _labels(column: pa.ChunkedArray) -> list[object]:
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    values: list[object] = []
    for chunk in coded.chunks:
        entries = [_comparable(value) for value in chunk.dictionary.to_pylist()]
        values += [None if code is None else entries[code] for code in chunk.indices.to_pylist()]
    return values


def _comparable(value: object) -> object:
    text = label_of(value).strip()
    text = {"true": "1", "false": "0"}.get(text, text.removesuffix(" 00:00:00"))
    number = decimal_number(text)
    return float(number) if number is not None else text or None
