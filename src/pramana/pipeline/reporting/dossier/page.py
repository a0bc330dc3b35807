"""The dossier as a page: all of it from the certificate and, where they were given, from results of attacks."""

from __future__ import annotations

from pramana.bundle import Bundle, Certificate
from pramana.pages import Page, Points, Section, Text
from pramana.pipeline.reporting.attacks import AuditResult
from pramana.pipeline.reporting.dossier.evaluation import (
    evaluation_sections,
    is_of_composition,
    is_of_side_channels,
)
from pramana.pipeline.reporting.dossier.risks import (
    RISKS,
    attack_details,
    other_attacks,
    other_promises,
    risk_sections,
)
from pramana.pipeline.reporting.dossier.techniques import technique_section

NOT_STATED = "not stated"
ASKED = {  # of [about], as data protection officers ask for it
    "holder": "Controller",
    "holder_kind": "Kind of controller",
    "contact": "Contact",
    "purpose": "Purpose",
    "recipient": "Recipients",
    "release_model": "Release model",
    "date": "Date",
    "storage_period": "Retention",
    "region": "Region",
    "license": "Terms of use",
}
_WHOSE = (
    "These are the holder's own words, from `[about]` of the recipe. A signature alone shows whose words they are."
)
_JUDGEMENT = (
    "This dossier states what was proved, assumed and measured. Whether the data are anonymous in the sense of a "
    "law, and whether they may be published, the controller judges: means that others have, other data and the "
    "harm that a mistake would do are not known here."
)
_SOURCES = (
    "Article 29 Working Party, Opinion 05/2014 on Anonymisation Techniques (WP216): singling out, linkability and "
    "inference are its words. Public summaries that quote them were read (such as mgsi.lu, WP29 anonymisation "
    "techniques), and not the opinion itself: the questions are put in the words of the makers of Pramana.",
    "ISO/IEC 20889:2018: not read. The names of techniques are those of a public summary (itwiki.kr, ISO/IEC "
    "20889).",
    "NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees: its abstract and announcement "
    "were read (csrc.nist.gov), and not the publication itself.",
    "Pramana's certificate of this release (certificate.json): promises, assumptions and warnings are in its "
    "words, and pramana verify derives them again.",
)


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
            Section("What was read, and what was not", [Points(_SOURCES)], anchor="sources"),
        ],
        private=audit is not None,
    )


def _is_shown(attack: str) -> bool:
    """Whether it stands under one of the risks, or in the evaluation."""
    tried = any(risk.is_tried_by(attack) for risk in RISKS)
    return tried or is_of_side_channels(attack) or is_of_composition(attack)


def _who(certificate: Certificate) -> Section:
    said = [f"{name}: {certificate.about.get(key, NOT_STATED)}" for key, name in ASKED.items()]
    return Section("Who answers for it", [Points(said), Text(_WHOSE, quiet=True)], anchor="who")


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
    return Section("Known limits, and what this is not", [stated, Text(_JUDGEMENT, note=True)], anchor="limits")
