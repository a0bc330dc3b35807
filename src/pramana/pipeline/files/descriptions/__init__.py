"""A release described in the words of other people's catalogues: a registry, Croissant, DDI Codebook."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pramana.pipeline.files.descriptions.croissant import croissant
from pramana.pipeline.files.descriptions.ddi import ddi_codebook
from pramana.pipeline.files.descriptions.registry import registry_record
from pramana.pipeline.files.descriptions.subject import DescribedRelease

__all__ = ["DESCRIPTIONS", "DescribedRelease", "DescriptionForm"]


@dataclass(frozen=True)
class DescriptionForm:
    """How a description is made, and how the names of its files end."""

    make: Callable[[DescribedRelease], bytes]
    endings: tuple[str, ...]


DESCRIPTIONS = {
    "opendp-registry": DescriptionForm(registry_record, (".yaml", ".yml")),
    "croissant": DescriptionForm(croissant, (".json", ".jsonld")),
    "ddi": DescriptionForm(ddi_codebook, (".xml",)),
}
