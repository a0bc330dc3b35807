"""DDI Codebook 2.5: the study, the file, and every variable with its categories.

The order of elements is that of the published schema (codebook.xsd of 2012-01-17).
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, indent, tostring

import pyarrow as pa

from pramana.errors import printable
from pramana.pipeline.files.descriptions.subject import DescribedRelease
from pramana.schema import Attribute, Kind, label_of

NAMESPACE = "ddi:codebook:2_5"
_FILE = "F1"
_NATURE = {Kind.NOMINAL: "nominal", Kind.ORDERED: "ordinal", Kind.NUMBER: "interval", Kind.DATE: "interval"}


def ddi_codebook(release: DescribedRelease) -> bytes:
    root = Element("codeBook", {"xmlns": NAMESPACE, "version": "2.5"})
    _study(SubElement(root, "stdyDscr"), release)
    _file(SubElement(root, "fileDscr", {"ID": _FILE}), release)
    data = SubElement(root, "dataDscr")
    for number, name in enumerate(release.columns, 1):
        _variable(data, release, release.certificate.attribute(name), number)
    indent(root)
    text = str(tostring(root, encoding="unicode"))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


def _add(parent: Element, tag: str, words: str, **attributes: str) -> None:
    SubElement(parent, tag, attributes).text = printable(words)


def _study(study: Element, release: DescribedRelease) -> None:
    certificate = release.certificate
    citation = SubElement(study, "citation")
    _add(SubElement(citation, "titlStmt"), "titl", release.title)
    _add(SubElement(citation, "rspStmt"), "AuthEnty", release.said("holder"))
    production = SubElement(citation, "prodStmt")
    _add(production, "producer", release.said("holder"))
    _add(production, "software", "Pramana", version=certificate.pramana)
    distribution = SubElement(citation, "distStmt")
    _add(distribution, "contact", release.said("contact"))
    if release.day is not None:
        _add(distribution, "distDate", release.day, date=release.day)
    scope = SubElement(study, "stdyInfo")
    _add(scope, "abstract", f"Purpose: {release.said('purpose')}. {release.summary}")
    summary = SubElement(scope, "sumDscr")
    _add(summary, "geogCover", release.said("region"))
    _add(summary, "anlyUnit", _unit(release))
    _add(summary, "dataKind", "person-level records, changed before publication")
    method = SubElement(study, "method")
    for words in release.promises:
        _add(method, "notes", words, type="privacy guarantee")
    for warning in certificate.warnings:
        _add(method, "notes", warning, type="known limit")
    _add(method, "dataProcessing", f"Method {certificate.method} of Pramana {certificate.pramana}.")
    use = SubElement(SubElement(study, "dataAccs"), "useStmt")
    _add(use, "restrctn", f"Recipients: {release.said('recipient')}. Release: {release.said('release_model')}.")
    _add(use, "contact", release.said("contact"))
    _add(use, "conditions", f"{release.said('license')}. Kept: {release.said('storage_period')}.")


def _unit(release: DescribedRelease) -> str:
    unit = release.certificate.unit
    return "record, counted as one person" if unit is None or unit.kind == "row" else unit.kind


def _file(file: Element, release: DescribedRelease) -> None:
    certificate = release.certificate
    text = SubElement(file, "fileTxt")
    _add(text, "fileName", release.name)
    size = SubElement(text, "dimensns")
    _add(size, "caseQnty", str(certificate.records))
    _add(size, "varQnty", str(len(release.columns)))
    kind = {"csv": "text/csv", "parquet": "application/x-parquet"}[certificate.output]
    _add(text, "fileType", kind, **({"charset": "UTF-8"} if certificate.output == "csv" else {}))
    words, digest = release.digest
    _add(file, "notes", digest, type="SHA-256" if certificate.parts is None else words)


def _variable(data: Element, release: DescribedRelease, attribute: Attribute, number: int) -> None:
    column = release.columns[attribute.name]
    numeric = pa.types.is_integer(column) or pa.types.is_floating(column) or pa.types.is_decimal(column)
    stated = {
        "ID": f"V{number}",
        "name": printable(attribute.name),
        "files": _FILE,
        "intrvl": "contin" if numeric else "discrete",
        **({"nature": _NATURE[attribute.kind]} if attribute.kind in _NATURE else {}),
    }
    variable = SubElement(data, "var", stated)
    told = release.variables.get(attribute.name)
    _add(variable, "labl", told.label if told is not None and told.label else attribute.name)
    treated = "released unchanged" if attribute.raw else "changed before publication"
    _add(variable, "txt", f"{attribute.role.value}; {treated}")
    for value, label in _categories(release, attribute):
        category = SubElement(variable, "catgry")
        _add(category, "catValu", value)
        _add(category, "labl", label)
    date = {"category": "date"} if attribute.kind is Kind.DATE else {}
    SubElement(variable, "varFormat", {"type": "numeric" if numeric else "character", **date})


def _categories(release: DescribedRelease, attribute: Attribute) -> list[tuple[str, str]]:
    """The values that may be published, with the labels that the source had for them."""
    told = release.variables.get(attribute.name)
    texts = {} if told is None else told.texts
    domain = attribute.domain
    if domain is None or attribute.kind is Kind.CELL:
        return list(texts.items())
    if domain.numbers is not None:
        return []  # numbers or days are published, and no labels
    return [(label_of(label), texts.get(label, label)) for label in domain.as_published().labels]
