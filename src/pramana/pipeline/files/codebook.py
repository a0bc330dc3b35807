"""What a source says of its variables, as far as a release may: labels of what is published, of nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from pramana.bundle import Bundle, Check, JsonObject, published_batches
from pramana.errors import SourceError
from pramana.schema import Attribute, label_of
from pramana.sources import Variable


class Described(Protocol):
    """What tells of its variables; a source of rows, or of answers."""

    def variables(self, names: Sequence[str]) -> Mapping[str, Variable]: ...


def codebook_of(
    source: Described, attributes: Sequence[Attribute], data: Path, escaped: bool
) -> dict[str, JsonObject]:
    """The codebook of a certificate; of a column released unchanged, by the values that its file holds."""
    told: dict[str, JsonObject] = {}
    for name, variable in source.variables([a.name for a in attributes]).items():
        attribute = next(a for a in attributes if a.name == name)
        published = variable.of_published(_published(attribute, variable, data, escaped))
        if published.label or published.codes:
            told[name] = published.to_json()
    return told


def _published(attribute: Attribute, variable: Variable, data: Path, escaped: bool) -> set[str]:
    if attribute.domain is not None:
        return set(attribute.domain.labels)
    if not variable.codes:
        return set()
    batches = published_batches(data, [attribute.name], escaped)
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
            attribute = certificate.attribute(name)
            labels = _published(attribute, variable, bundle.data_path, certificate.escaped)
            if variable.of_published(labels) != variable:
                return [Check("codebook", False, f"labels of {name} that are not published")]
    except (KeyError, SourceError):
        return [Check("codebook", False, "of something else than the published columns")]
    return [Check("codebook", True, "labels of what is published, and of nothing else")]
