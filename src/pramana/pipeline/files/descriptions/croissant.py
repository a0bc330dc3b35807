"""Croissant 1.0 (MLCommons): JSON-LD that names the data file, its digest and its columns."""

from __future__ import annotations

import json

import pyarrow as pa

from pramana.errors import printable
from pramana.pipeline.files.descriptions.subject import DescribedRelease

_OWN = (  # properties of Croissant itself
    "citeAs", "column", "equivalentProperty", "extract", "field", "fileObject", "fileProperty", "fileSet",
    "format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet",
    "references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField", "transform",
)  # fmt: skip
_CONTEXT: dict[str, object] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{name: f"cr:{name}" for name in _OWN},
}
_FORMATS = {"csv": "text/csv", "parquet": "application/x-parquet"}


def croissant(release: DescribedRelease) -> bytes:
    certificate = release.certificate
    stated: dict[str, object] = {
        "@context": _CONTEXT,
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
    form = _FORMATS[release.certificate.output]
    files: list[dict[str, object]] = [
        {
            "@type": "cr:FileObject",
            "@id": place,
            "name": place,
            "contentUrl": place,
            "contentSize": f"{file.size} B",
            "encodingFormat": form,
            "sha256": file.sha256,
        }
        for place, file in release.files.items()
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
