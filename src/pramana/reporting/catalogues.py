"""What every description is made from: the certificate, what is said of the release, the columns of its file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import msgspec
import pyarrow as pa

from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import Certificate
from pramana.errors import BundleError, RecipeError, printable
from pramana.files.parts import WrittenFile
from pramana.io.formats import FORMATS
from pramana.io.survey import Variable
from pramana.run.codebook import read_codebook
from pramana.schema.domain import Attribute
from pramana.schema.kind import Kind, label_of
from pramana.schema.sections import AboutSection
from pramana.schema.typed import check_keys, keys_of, read_section

NOT_STATED = "not stated"


@dataclass(frozen=True)
class DescribedRelease:
    """A release with its columns as the data file has them; `about` is [about], and what was said besides."""

    certificate: Certificate
    about: Mapping[str, str]
    name: str  # of the data file, or of the folder of a set
    columns: Mapping[str, pa.DataType]

    @classmethod
    def of(cls, bundle: Bundle, said: Mapping[str, str]) -> DescribedRelease:
        certificate = bundle.certificate
        schema = next(iter(bundle.batches())).schema
        names = {a.name for a in certificate.attributes}
        if set(schema.names) != names or any(pa.types.is_nested(field.type) for field in schema):
            raise BundleError(
                "A release that is described must have one value in each cell",
                f"cells of method {certificate.method!r}",
                "Its certificate describes it.",
            )
        columns = {field.name: field.type for field in schema}
        return cls(certificate, _about(certificate, said), bundle.data_path.name, columns)

    @property
    def files(self) -> dict[str, WrittenFile]:
        """The files of the data by their paths in the bundle, in the order of their rows."""
        parts = self.certificate.parts
        if parts is None:
            entry = self.certificate.files[self.name]
            return {self.name: WrittenFile(int(entry["bytes"]), str(entry["sha256"]))}
        return {f"{self.name}/{part.name}": WrittenFile(part.size, part.sha256) for part in parts.files}

    @property
    def digest(self) -> tuple[str, str]:
        """What stands for the data, in words, and the digest itself."""
        parts = self.certificate.parts
        if parts is None:
            return f"SHA-256 of {self.name}", self.files[self.name].sha256
        return f"Root of the Merkle tree (RFC 6962, SHA-256) over the files in {self.name}", parts.root

    @property
    def title(self) -> str:
        """As it is said, or the dataset's name, or what is known of it."""
        certificate = self.certificate
        named = self.about.get("title") or certificate.dataset
        return printable(named or f"Release of {certificate.records} records")

    def said(self, key: str) -> str:
        return printable(self.about.get(key, NOT_STATED))

    @property
    def day(self) -> str | None:
        """The date, where it is written as a day."""
        stated = self.about.get("date", "")
        try:
            return date.fromisoformat(stated).isoformat() if len(stated) == 10 else None
        except ValueError:
            return None

    @property
    def promises(self) -> list[str]:
        """In the words of the certificate."""
        return [printable(str(g["words"])) for g in self.certificate.guarantees]

    @property
    def summary(self) -> str:
        """What is published, and what is promised of it."""
        certificate = self.certificate
        first = (
            f"{certificate.records} records of {len(certificate.attributes)} columns, released by method "
            f"{certificate.method} with Pramana {certificate.pramana}."
        )
        limits = [f"Limit: {printable(warning)}" for warning in certificate.warnings]
        return " ".join([first, *(f"Promised: {words}" for words in self.promises), *limits])

    @property
    def variables(self) -> dict[str, Variable]:
        return read_codebook(self.certificate.codebook)


def _about(certificate: Certificate, said: Mapping[str, str]) -> dict[str, str]:
    """What the certificate has, and what it has not; nothing else than it has."""
    check_keys(said, keys_of(AboutSection), "a key of [about]")
    read = msgspec.to_builtins(read_section(AboutSection, dict(said), "[about]", prefix="about."))
    for key, words in read.items():
        if certificate.about.get(key, words) != words:
            raise RecipeError(f"about.{key} must be as the certificate has it", repr(words)[:80])
    return {**certificate.about, **read}


# Croissant 1.0 (MLCommons): JSON-LD that names the data file, its digest and its columns.


_CONTEXT = Path(__file__).with_name("croissant.json")  # what its words stand for


def croissant(release: DescribedRelease) -> bytes:
    certificate = release.certificate
    stated: dict[str, object] = {
        "@context": json.loads(_CONTEXT.read_bytes()),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": release.title,
        "description": release.summary,
        "license": release.said("license"),
        "creator": {"@type": "sc:Organization", "name": release.said("holder")},
        **({"datePublished": release.day} if release.day is not None else {}),
        "citeAs": f"{release.said('holder')}: {release.title}",
        "rai:dataUseCases": release.said("purpose"),
        "rai:dataManipulationProtocol": f"Method {certificate.method} of Pramana {certificate.pramana}. "
        + " ".join(release.promises),
        "rai:dataLimitations": [printable(warning) for warning in certificate.warnings],
        "rai:personalSensitiveInformation": "Person-level records. "
        + "; ".join(f"{a.name}: {a.role.value}" for a in certificate.attributes),
        "distribution": _distribution(release),
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "records",
                "name": "records",
                "description": f"{certificate.records} published records.",
                "field": [_field(release, name, number) for number, name in enumerate(release.columns, 1)],
            }
        ],
    }
    return (json.dumps(stated, indent=1, ensure_ascii=False) + "\n").encode()


def _distribution(release: DescribedRelease) -> list[dict[str, object]]:
    """The data file; or every part of a set, and what they are together."""
    form = FORMATS[release.certificate.output].media_type
    files: list[dict[str, object]] = [
        {
            "@type": "cr:FileObject",
            "@id": path,
            "name": path,
            "contentUrl": path,
            "contentSize": f"{file.size} B",
            "encodingFormat": form,
            "sha256": file.sha256,
        }
        for path, file in release.files.items()
    ]
    if release.certificate.parts is None:
        return files
    together: dict[str, object] = {
        "@type": "cr:FileSet",
        "@id": release.name,
        "name": release.name,
        "encodingFormat": form,
        "includes": f"{release.name}/*.{release.certificate.output}",
    }
    return [*files, together]


def _field(release: DescribedRelease, name: str, number: int) -> dict[str, object]:
    label = release.variables[name].label if name in release.variables else ""
    source = "fileObject" if release.certificate.parts is None else "fileSet"
    return {
        "@type": "cr:Field",
        "@id": f"records/{number}",  # a column's name may have any characters
        "name": printable(name),
        "description": printable(label or f"{release.certificate.attribute(name).kind.value} values"),
        "dataType": _type(release.columns[name]),
        "source": {source: {"@id": release.name}, "extract": {"column": name}},
    }


def _type(column: pa.DataType) -> str:
    if pa.types.is_boolean(column):
        return "sc:Boolean"
    if pa.types.is_integer(column):
        return "sc:Integer"
    if pa.types.is_floating(column) or pa.types.is_decimal(column):
        return "sc:Float"
    return "sc:Date" if pa.types.is_date(column) else "sc:Text"


# DDI Codebook 2.5: the study, the file, and every variable with its categories.
#
# The order of elements is that of the published schema (codebook.xsd of 2012-01-17).


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
    kind = FORMATS[certificate.output].media_type
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
    described = release.variables.get(attribute.name)
    _add(variable, "labl", described.label if described is not None and described.label else attribute.name)
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
    described = release.variables.get(attribute.name)
    texts = {} if described is None else described.texts
    domain = attribute.domain
    if domain is None or attribute.kind is Kind.CELL:
        return list(texts.items())
    if domain.numbers is not None:
        return []  # numbers or days are published, and no labels
    return [(label_of(label), texts.get(label, label)) for label in domain.as_published().labels]
