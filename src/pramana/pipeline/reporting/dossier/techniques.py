"""What was done, beside the names that a public list of ISO/IEC 20889 has for techniques.

The standard itself was not read. `LISTED` are the names of that list which are used here; which of them fits a
release is our judgement, and what it has no name for is called by our own.
"""

from __future__ import annotations

from collections.abc import Iterator

from pramana.bundle import Certificate
from pramana.pages import Cell, Grid, Section, Text

LISTED = (
    "suppression techniques",
    "record suppression",
    "generalization techniques",
    "local generalization",
    "randomization techniques",
    "noise addition",
    "permutation",
    "microaggregation",
    "synthetic data",
    "k-anonymity model",
    "differential privacy model",
)
_OURS = "(no name in the list)"
_LEAD = (
    "The names are those of a public summary of ISO/IEC 20889; the standard itself was not read by the makers of "
    "Pramana. Which name fits is their judgement. Where the list has none, the words on the left are theirs alone."
)
_CHANCE = "randomization techniques"
_BY_NOTION = {  # what a certificate that states the notion tells of what was done
    "local-differential-privacy": (
        "values kept or replaced by chance (post-randomisation)",
        "randomization techniques",
    ),
    "identification-bound": (
        "values exchanged by chance (invariant post-randomisation)",
        "randomization techniques",
    ),
    "swapping": ("values exchanged between records", "permutation"),
    "added-noise": ("random numbers added to numbers", "noise addition"),
}
_LOCAL = ("mondrian", "kl")  # searches whose labels differ from class to class


def technique_section(certificate: Certificate) -> Section:
    rows: list[dict[str, Cell]] = [
        {"what was done": done, "name in the list": name} for done, name in techniques(certificate)
    ]
    return Section("Techniques, by name", [Text(_LEAD), Grid(rows)], anchor="techniques")


def techniques(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """What was done to the table, each with its name in the list."""
    if certificate.dropped:
        yield "columns left out", "suppression techniques"
    yield from _done(certificate)
    if certificate.shuffled:
        yield "the order of the records drawn at random", _OURS
    if any(name.startswith("synthetic") for name in certificate.files):
        yield "records drawn from what the release tells", "synthetic data"
    yield from _models(certificate)


def _done(certificate: Certificate) -> Iterator[tuple[str, str]]:
    notions = [str(guarantee["notion"]) for guarantee in certificate.guarantees]
    yield from dict.fromkeys(_BY_NOTION[notion] for notion in notions if notion in _BY_NOTION)
    setting = certificate.mechanism.get("setting") or {}
    if "quasi" in certificate.mechanism:
        local = setting.get("algorithm") in _LOCAL
        yield "values made coarser", "local generalization" if local else "generalization techniques"
    elif "k-anonymity" in notions:
        yield "numbers replaced by those of small groups", "microaggregation"
    if setting.get("suppression"):
        yield "records or values left out", "suppression techniques"


def _models(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """The notions of the certificate that the list has among its models."""
    for guarantee in certificate.guarantees:
        notion = str(guarantee["notion"])
        if notion == "k-anonymity":
            yield "k counted in the table", "k-anonymity model"
        elif notion.endswith("differential-privacy") and guarantee["value"] is not None:
            yield f"{notion.replace('-', ' ')} stated", "differential privacy model"
        else:
            yield f"{notion} stated", _OURS
