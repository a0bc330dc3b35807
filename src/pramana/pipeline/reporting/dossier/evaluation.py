"""What an evaluation of differential privacy asks for: variant, neighbours, unit, trust, composition, leaks.

These are the fields that readers of NIST SP 800-226 look for. Of that publication the abstract and announcement
were read; the words here are ours.
"""

from __future__ import annotations

from pramana.bundle import Certificate
from pramana.pages import Section, Text
from pramana.pipeline.reporting.attacks import AuditResult
from pramana.pipeline.reporting.dossier.risks import in_numbers, measured

_LEAD = (
    "For readers of NIST SP 800-226, of which the makers of Pramana have read the abstract and the announcement. "
    "The headings and words are theirs; that a requirement of it is met is not claimed."
)
_NONE = (
    "None: no promise of this certificate is differential privacy with a finite epsilon. The fields below say "
    "what can be said of the release."
)
_COINS = " Coins are integers: no floating-point number decides one."
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
        Section("Evaluation of differential privacy", [Text(_LEAD)], anchor="evaluation"),
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
        if guarantee["notion"] == "local-differential-privacy":
            stated.append(
                f"pure differential privacy of the randomisation of each {guarantee['unit']}: epsilon {value}"
            )
        elif guarantee["notion"] == "central-differential-privacy":
            stated.append(f"approximate differential privacy of the whole shuffled release: {value}")
    if not stated:
        return _NONE
    columns = dict.fromkeys(str(name) for g in certificate.guarantees for name in g["uncovered"])
    outside = f" Outside of it are the columns released unchanged: {', '.join(columns)}." if columns else ""
    return f"{'; '.join(stated).capitalize()}.{outside}"


def neighbours_of(certificate: Certificate) -> str:
    notions = {g["notion"]: g for g in certificate.guarantees if g["value"] is not None}
    stated = []
    if local := notions.get("local-differential-privacy"):
        stated.append(f"For each {local['unit']} any two true values of the randomised columns")
    if central := notions.get("central-differential-privacy"):
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
    told = f", with {' and '.join(bounds)}" if bounds else ""
    return f"One {unit.kind} with all of its records{told}. How many records someone has is not hidden."


def trust_in(certificate: Certificate) -> str:
    if certificate.on_devices:
        return (
            "Answers were randomised on people's own devices, by a page whose SHA-256 the certificate states. The "
            "organiser is trusted to have served that page and not to watch records arrive; nobody holds the true "
            "answers."
        )
    return (
        "The holder has the true table and the key, and is trusted with both. Recipients are not trusted: they "
        "may have any other knowledge that the assumptions allow."
    )


def _composition(certificate: Certificate) -> str:
    here = (
        "Versions of this table at levels up to this one tell together what the highest tells alone. "
        if any(g["notion"] == "collusion" for g in certificate.guarantees)
        else ""
    )
    return (
        f"{here}Within the release the numbers are those of all columns together. Another release about the same "
        "people adds to what is known of them: epsilons of independent releases add up at most, and of other "
        "notions nothing is promised together. A ledger adds them up where every recipe names it."
    )


def _side_channels(certificate: Certificate) -> str:
    seeded = certificate.key is not None and certificate.key.get("seeded") is not False
    key = (
        "No key exists."
        if certificate.key is None
        else "The key was made from a seed that anyone can guess: NOT PRIVATE."
        if seeded
        else "The key is a secret of 256 bits, of which the bundle has a commitment and nothing else."
    )
    order = "drawn under the key" if certificate.key is not None else "drawn, and kept nowhere"
    return (
        f"{key}{_COINS if 'law' in certificate.mechanism else ''} The order of the records is "
        f"{order if certificate.shuffled else 'that of the source'}. Not covered: who administers the machine, "
        "what can be seen of it while it works, how long that takes, and copies that someone keeps of the source."
    )
