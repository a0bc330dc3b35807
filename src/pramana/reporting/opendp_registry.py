"""A record for the OpenDP deployments registry, as its schema of 2026 has it (opendp/deployments-registry-data).

Releases with differential privacy alone go there. Numbers are those of the certificate, texts its own or those of
`[about]`; what nobody stated says so. The record is a draft: its authors are to read it before they hand it in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from pramana.bundle.certificate import JsonObject
from pramana.errors import BundleError, InputError
from pramana.notions.randomised import CollusionBound, LocalPrivacy
from pramana.reporting.catalogues import NOT_STATED, DescribedRelease
from pramana.reporting.dossier import neighbours_of, trust_in, unit_of

Entry = str | int | float | Mapping[str, "Entry"] | Sequence["Entry"]
_NEEDED = ("holder", "holder_kind", "date")
_MECHANISM = "Each value is kept or replaced by chance, by a law that the certificate states (randomised response)"
_COINS = "Coins are integers from AES-256 in counter mode; no floating-point number decides one."


def registry_record(release: DescribedRelease) -> bytes:
    """The YAML text; refused where the certificate has no epsilon, or what the registry asks for is missing."""
    guarantee = _local(release)
    missing = [key for key in _NEEDED if key not in release.about]
    if missing:
        given = " ".join(f"--about {key}=..." for key in missing)
        raise InputError(
            "The registry asks for what [about] must say", f"no {', '.join(missing)}", f"Add {given}."
        )
    if release.day is None:
        raise InputError(
            "about.date must be a day for the registry, such as 2026-03-31", repr(release.about["date"])[:40]
        )
    record: dict[str, Entry] = {
        "url_slug": _slug(f"{release.title} {release.said('holder')} {release.day[:4]}"),
        "deployment": {
            "basic": _basic(release),
            "dp_variant": _variant(release, guarantee),
            "privacy_loss": _loss(release, guarantee),
            "deployment_model": _model(release),
            "implementation": _implementation(release),
            "administrative": {
                "status": "Draft",
                "registry_authors": [release.said("holder")],
                "tier": 2,
            },
        },
    }
    return "".join(yaml_lines(record)).encode()


def _local(release: DescribedRelease) -> JsonObject:
    """The promise of differential privacy; nothing else may stand for one."""
    certificate = release.certificate
    must = "The registry takes releases with differential privacy, of a finite epsilon and under a secret key"
    local = [g for g in certificate.guarantees if g["notion"] == LocalPrivacy.notion]
    if not local:
        notions = ", ".join(dict.fromkeys(str(g["notion"]) for g in certificate.guarantees)) or "nothing"
        raise BundleError(must, f"method {certificate.method!r}, which promises {notions}")
    if local[0]["value"] is None:
        raise BundleError(must, "no finite epsilon")
    if certificate.key is not None and certificate.key.get("seeded") is not False:
        raise BundleError(must, "a key made from a seed, which is not private")
    return local[0]


def _basic(release: DescribedRelease) -> dict[str, Entry]:
    return {
        "name": release.title,
        "data_curators": [
            {
                "data_curator_name": release.said("holder"),
                "data_curator_type": release.about["holder_kind"].capitalize(),
            }
        ],
        "description": release.summary,
        "intended_use": release.said("purpose"),
        "data_product_type": "Dataset",
        "data_product_region": release.said("region"),
        "publication_date": str(release.day),
    }


def _variant(release: DescribedRelease, guarantee: JsonObject) -> dict[str, Entry]:
    certificate = release.certificate
    unchanged = ", ".join(map(str, guarantee["uncovered"]))
    return {
        "variant_name": "Pure DP",
        "data_domain": f"Tables of {certificate.records} records with the columns "
        f"{', '.join(a.name for a in certificate.attributes)}; the number of records is public.",
        "unprotected_quantities": f"Columns released unchanged: {unchanged}." if unchanged else "None.",
    }


def _loss(release: DescribedRelease, guarantee: JsonObject) -> dict[str, Entry]:
    certificate = release.certificate
    unit = certificate.unit
    several = unit is not None and unit.kind != "row"
    count = certificate.records
    if unit is not None and several:
        count = (unit.households if guarantee["unit"] == "household" else unit.people) or count
    return {
        "privacy_unit": str(guarantee["unit"]).capitalize(),
        "privacy_unit_details": f"{unit_of(certificate)} {neighbours_of(certificate)}",
        "number_of_privacy_units": count,
        "privacy_parameters": {"epsilon": guarantee["value"]},
        "privacy_parameters_details": f"{' '.join(release.promises)} The epsilon assumes: "
        f"{'; '.join(map(str, guarantee['assumptions']))}.",
    }


def _model(release: DescribedRelease) -> dict[str, Entry]:
    certificate = release.certificate
    many = any(g["notion"] == CollusionBound.notion for g in certificate.guarantees)
    return {
        "model_name": "Local" if certificate.on_devices else "Central",
        "model_name_details": "Each record is randomised by itself, "
        + ("on its respondent's device." if certificate.on_devices else "by the holder, who has the true table."),
        "trust_assumptions": trust_in(certificate),
        "release_type": "Many releases" if many else "One release",
        "release_type_details": (
            "Versions of one table at levels; versions up to a level tell together what the highest tells alone."
            if many
            else "The promises take this for the only release about these people."
        ),
        "data_source_type": "Static",
        "access_type": "Non-interactive",
    }


def _implementation(release: DescribedRelease) -> dict[str, Entry]:
    certificate = release.certificate
    left = f"Columns left out: {', '.join(certificate.dropped)}. " if certificate.dropped else ""
    return {
        "preprocessing_and_hyperparameter_tuning": f"{left}What else was done before: {NOT_STATED}.",
        "mechanisms": f"{_MECHANISM}. {_COINS} Method {certificate.method} of Pramana {certificate.pramana}.",
        "composition": "The epsilon is that of all columns of a record together.",
        "post_processing": "The order of the records is drawn at random." if certificate.shuffled else "None.",
        "justification": NOT_STATED,
        "additional_information": ": ".join(release.digest),
    }


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:100] or "release"


def yaml_lines(entry: Mapping[str, Entry], indent: str = "") -> Iterator[str]:
    """Block mappings with every text in double quotes, which JSON writes as YAML reads them."""
    for key, value in entry.items():
        if isinstance(value, Mapping):
            yield f"{indent}{key}:\n"
            yield from yaml_lines(value, indent + "  ")
        elif isinstance(value, Sequence) and not isinstance(value, str):
            yield f"{indent}{key}:\n"
            for item in value:
                if isinstance(item, Mapping):
                    first, *rest = yaml_lines(item, indent + "    ")
                    yield f"{indent}  - {first.lstrip()}"
                    yield from rest
                else:
                    yield f"{indent}  - {_scalar(item)}\n"
        else:
            yield f"{indent}{key}: {_scalar(value)}\n"


def _scalar(value: object) -> str:
    """A text in double quotes, or a number with a point, which YAML 1.1 wants before an exponent."""
    if isinstance(value, float):
        written = repr(value)
        return written if "." in written or "e" not in written else written.replace("e", ".0e")
    return json.dumps(value, ensure_ascii=False)
