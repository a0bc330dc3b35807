"""The dossier as a page: all of it from the certificate and, where they were given, from results of attacks."""

from __future__ import annotations

from collections.abc import Iterator

from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import Certificate
from pramana.notions.classes import KAnonymity
from pramana.notions.randomised import CentralPrivacy, CollusionBound, LocalPrivacy
from pramana.notions.registry import NOTIONS
from pramana.pages.content import Cell, Grid, Page, Points, Section, Text
from pramana.reporting.attacks import (
    RISKS,
    WORDS,
    AuditResult,
    attack_details,
    in_numbers,
    measured,
    other_attacks,
    other_promises,
    risk_sections,
)

# What was done, beside the names that a public list of ISO/IEC 20889 has for techniques.
#
# The standard itself was not read. `LISTED` are the names of that list which are used here; which of them
# fits a release is our judgement, and what it has no name for is called by our own.


LISTED: list[str] = WORDS["listed"]
_OURS = "(no name in the list)"
_LOCAL = ("mondrian", "kl")  # searches whose labels differ from class to class


def technique_section(certificate: Certificate) -> Section:
    rows: list[dict[str, Cell]] = [
        {"what was done": done, "name in the list": name} for done, name in techniques(certificate)
    ]
    return Section("Techniques, by name", [Text(WORDS["techniques_lead"]), Grid(rows)], anchor="techniques")


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
    stated = [NOTIONS.get(str(guarantee["notion"])) for guarantee in certificate.guarantees]
    yield from dict.fromkeys(notion.technique for notion in stated if notion and notion.technique)
    setting = certificate.mechanism.get("setting") or {}
    if "quasi" in certificate.mechanism:
        local = setting.get("algorithm") in _LOCAL
        yield "values made coarser", "local generalization" if local else "generalization techniques"
    elif KAnonymity in stated:
        yield "numbers replaced by those of small groups", "microaggregation"
    if setting.get("suppression"):
        yield "records or values left out", "suppression techniques"


def _models(certificate: Certificate) -> Iterator[tuple[str, str]]:
    """The notions of the certificate that the list has among its models."""
    for guarantee in certificate.guarantees:
        notion = NOTIONS.get(str(guarantee["notion"]))
        if notion is not None and notion.listed_model is not None and guarantee["value"] is not None:
            yield notion.listed_model
        else:
            yield f"{guarantee['notion']} stated", _OURS


# What an evaluation of differential privacy asks for: variant, neighbours, unit, trust, composition, leaks.
#
# These are the fields that readers of NIST SP 800-226 look for. Of that publication the abstract and
# announcement were read; the words here are ours.


_SIDE = ("key", "data", "rows", "file")
_TOGETHER = ("releases", "together", "repeated requests", "collusion", "intersection")


def is_of_side_channels(attack: str) -> bool:
    return attack.startswith(_SIDE)


def is_of_composition(attack: str) -> bool:
    return any(word in attack for word in _TOGETHER)


def evaluation_sections(certificate: Certificate, audit: AuditResult | None) -> list[Section]:
    fields = [
        ("Variant and parameters", variant_of(certificate)),
        ("Neighbouring relation", neighbours_of(certificate)),
        ("Unit of privacy", unit_of(certificate)),
        ("Trust model", trust_in(certificate)),
        ("Composition", _composition(certificate)),
        ("Side channels", _side_channels(certificate)),
    ]
    sections = [
        Section("Evaluation of differential privacy", [Text(WORDS["evaluation_lead"])], anchor="evaluation"),
        *(Section(title, [Text(words)], part=True) for title, words in fields),
        Section("Measured of side channels", measured(is_of_side_channels, audit), part=True),
    ]
    if audit is not None and any(map(is_of_composition, audit.names)):
        sections.append(Section("Measured of composition", measured(is_of_composition, audit), part=True))
    return sections


def variant_of(certificate: Certificate) -> str:
    stated = []
    for guarantee in certificate.guarantees:
        value = in_numbers(guarantee["value"])
        if guarantee["value"] is None:
            continue
        if guarantee["notion"] == LocalPrivacy.notion:
            stated.append(
                f"pure differential privacy of the randomisation of each {guarantee['unit']}: epsilon {value}"
            )
        elif guarantee["notion"] == CentralPrivacy.notion:
            stated.append(f"approximate differential privacy of the whole shuffled release: {value}")
    if not stated:
        return str(WORDS["no_variant"])
    columns = dict.fromkeys(str(name) for g in certificate.guarantees for name in g["uncovered"])
    outside = f" Outside of it are the columns released unchanged: {', '.join(columns)}." if columns else ""
    return f"{'; '.join(stated).capitalize()}.{outside}"


def neighbours_of(certificate: Certificate) -> str:
    notions = {g["notion"]: g for g in certificate.guarantees if g["value"] is not None}
    stated = []
    if local := notions.get(LocalPrivacy.notion):
        stated.append(f"For each {local['unit']} any two true values of the randomised columns")
    if central := notions.get(CentralPrivacy.notion):
        stated.append(
            f"of the whole release two tables of the same size in which one {central['unit']} is replaced by "
            "another; the number of records is public"
        )
    return f"{'; '.join(stated)}." if stated else "None is needed, since no differential privacy is promised."


def unit_of(certificate: Certificate) -> str:
    unit = certificate.unit
    if unit is None:
        return "One record, counted as one person. Someone with several records is protected in each by itself."
    if unit.kind == "row":
        return "One record, which the holder states to be one person."
    bounds = [f"at most {unit.rows} records of a person"] if unit.rows else []
    bounds += [f"at most {unit.persons} people of a household"] if unit.persons else []
    limits = f", with {' and '.join(bounds)}" if bounds else ""
    return f"One {unit.kind} with all of its records{limits}. How many records someone has is not hidden."


def trust_in(certificate: Certificate) -> str:
    return str(WORDS["trust_of_devices" if certificate.on_devices else "trust_of_holder"])


def _composition(certificate: Certificate) -> str:
    levels = any(g["notion"] == CollusionBound.notion for g in certificate.guarantees)
    return (f"{WORDS['composition_of_levels']} " if levels else "") + str(WORDS["composition"])


def _side_channels(certificate: Certificate) -> str:
    seeded = certificate.key is not None and certificate.key.get("seeded") is not False
    key = WORDS["keys"]["none" if certificate.key is None else "seeded" if seeded else "secret"]
    coins = f" {WORDS['coins']}" if "law" in certificate.mechanism else ""
    order = "drawn under the key" if certificate.key is not None else "drawn, and kept nowhere"
    order = order if certificate.shuffled else "that of the source"
    return f"{key}{coins} The order of the records is {order}. {WORDS['side_channels']}"


NOT_STATED = "not stated"
ASKED: dict[str, str] = WORDS["asked"]


def dossier_page(bundle: Bundle, audit: AuditResult | None) -> Page:
    certificate = bundle.certificate
    shown = [name for name in (() if audit is None else audit.names) if _is_shown(name)]
    return Page(
        title=f"Dossier: {certificate.about.get('title') or certificate.dataset or bundle.path.resolve().name}",
        facts=_facts(certificate, audit),
        promises=[str(g["words"]) for g in certificate.guarantees],
        sections=[
            _who(certificate),
            *risk_sections(certificate, audit),
            *other_promises(certificate),
            *evaluation_sections(certificate, audit),
            technique_section(certificate),
            _limits(certificate),
            *other_attacks(audit, shown),
            *attack_details(audit),
            Section("What was read, and what was not", [Points(WORDS["sources"])], anchor="sources"),
        ],
        private=audit is not None,
    )


def _is_shown(attack: str) -> bool:
    """Whether it stands under one of the risks, or in the evaluation."""
    tried = any(risk.is_tried_by(attack) for risk in RISKS)
    return tried or is_of_side_channels(attack) or is_of_composition(attack)


def _who(certificate: Certificate) -> Section:
    said = [f"{name}: {certificate.about.get(key, NOT_STATED)}" for key, name in ASKED.items()]
    return Section("Who answers for it", [Points(said), Text(WORDS["whose_words"], quiet=True)], anchor="who")


def _facts(certificate: Certificate, audit: AuditResult | None) -> list[tuple[str, str]]:
    signer = (certificate.signature or {}).get("public_key")
    return [
        ("Records", f"{certificate.records:,}"),
        ("Method", certificate.method),
        ("Columns", ", ".join(a.name for a in certificate.attributes)),
        ("Attacks", "not measured" if audit is None else f"{len(audit.attacks)} run. {audit.verdict}."),
        ("Signed", f"with the key {signer}" if signer else "by no one: nothing shows who made it"),
        ("Made with", f"Pramana {certificate.pramana}"),
    ]


def _limits(certificate: Certificate) -> Section:
    warnings = list(certificate.warnings)
    stated = Points(warnings, "The certificate warns:") if warnings else Text("The certificate has no warnings.")
    return Section(
        "Known limits, and what this is not", [stated, Text(WORDS["judgement"], note=True)], anchor="limits"
    )
