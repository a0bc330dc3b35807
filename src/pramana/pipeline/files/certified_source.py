"""The source of a release once more, read as its certificate says it was read."""

from __future__ import annotations

import os
from pathlib import Path

from pramana.bundle import Certificate, JsonObject
from pramana.methods import Recipe
from pramana.pipeline.opening import source_of
from pramana.schema import Attribute, Kind
from pramana.sources import Source, ValueForm, kind_by_name
from pramana.stores import located

_READING = ("delimiter", "encoding", "decimal", "thousands", "trim", "sheet")


def certified_source(source: object, certificate: Certificate) -> Source:
    """The source as the certificate says it was read, but where it lies now; of a recipe, the one it names."""
    options = certificate.source
    forms = {a.name: _form(a, options.get("columns", {}).get(a.name, {})) for a in certificate.attributes}
    if not isinstance(source, str | os.PathLike):
        return Source(frame=source, forms=forms)
    path = located(source)
    if isinstance(path, Path) and path.suffix == ".toml":
        return source_of(Recipe.read(path))
    kind = kind_by_name(path) or options.get("format")
    written = kind == options.get("format")  # a table may have been kept in another form since
    known = {key: options[key] for key in _READING if written and options.get(key) is not None}
    if known.get("encoding") == "utf-8":  # also said of files in several encodings
        del known["encoding"]
    format_ = None if kind in (None, "frame", "database") else kind
    return Source(path=path, format=format_, missing=tuple(options.get("missing", ("",))), forms=forms, **known)


def _form(attribute: Attribute, stated: JsonObject) -> ValueForm:
    declared = attribute.domain is not None and attribute.domain.origin == "declared"
    return ValueForm(
        tuple(stated.get("missing", ())),
        stated.get("dates"),
        attribute.kind if attribute.kind is Kind.DATE else None,
        frozenset(attribute.coded.labels) if declared else frozenset(),
        stated.get("codes", False),
        stated.get("as_written", False),
    )
