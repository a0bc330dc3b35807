"""Singling out, linkability and inference: for each what is promised, assumed, measured and left uncovered.

Every promise is shown in the words of its certificate, under the risks that its notion names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pramana.bundle.certificate import Certificate, JsonObject
from pramana.notions.guarantee import BOUND, INFERENCE, LINKABILITY, SINGLING_OUT
from pramana.notions.registry import NOTIONS, explanation_of, kind_of_number
from pramana.pages.content import Block, Cell, Grid, Points, Section, Text
from pramana.reporting.attacks import SMALLER_TABLES, AttackLine, AuditResult, LeftOut

TriedBy = Callable[[str], bool]
_NO_AUDIT = "Not measured: no results of `pramana audit` were given to this dossier."
_NO_ATTACK = "Not measured: none of the attacks that were run is about this."
_EXACT = (
    "Source and key were used to count right answers. Intervals are exact (Clopper and Pearson) and miss with a "
    "chance of one in a million at each end. A claim counts as broken where the whole interval lies beyond it: "
    "attacks can break a claim, and cannot prove one."
)
_LAST = "Nothing is known of what these would have found."


@dataclass(frozen=True)
class Risk:
    """One of the three questions: the attacks that try it, and what no notion covers."""

    title: str
    anchor: str
    question: str
    attacks: tuple[str, ...]  # words in the names of attacks
    uncovered: tuple[str, ...]

    @property
    def notions(self) -> dict[str, str]:
        """The notions that are about this risk, and what each of them says of it."""
        return {name: notion.risks[self.anchor] for name, notion in NOTIONS.items() if self.anchor in notion.risks}

    def is_tried_by(self, attack: str) -> bool:
        return any(word in attack for word in self.attacks)


RISKS = (
    Risk(
        "Singling out",
        SINGLING_OUT,
        "Can one record of the release be told to be that of one person?",
        ("linkage", "identification", "suppressed rows"),
        (
            "whoever has the source or the key",
            "whoever knows more of a person than the assumptions allow",
        ),
    ),
    Risk(
        "Linkability",
        LINKABILITY,
        "Can a record of the release be joined with another record about the same person: here, in another "
        "release, or in another file?",
        ("linkage", "identification", "presence, ", "collusion", "classes", "side by side", "repeated requests"),
        (
            "another release about the same people: the promises speak of this one alone",
            "groups: that a record is someone's of a small group may be plain where no single one can be told",
        ),
    ),
    Risk(
        "Inference",
        INFERENCE,
        "Can something be concluded about a person from the release, with some certainty?",
        ("epsilon", "attribute inference", "presence, ", "l and t", "averaging"),
        (
            "conclusions from statistics of many people, which hold of a person who is not in the table, too",
            "what goes with a column that is released unchanged, for whoever knows a person's value there",
        ),
    ),
)


def risk_sections(certificate: Certificate, audit: AuditResult | None) -> list[Section]:
    numbered = list(enumerate(certificate.guarantees, 1))
    sections: list[Section] = []
    for risk in RISKS:
        own = [(number, g) for number, g in numbered if g["notion"] in risk.notions]
        sections += [
            Section(risk.title, [Text(risk.question)], anchor=risk.anchor),
            Section("What is promised", _promised(risk, own), part=True),
            Section("What the promise assumes", _assumed(own), part=True),
            Section("What attacks measured", measured(risk.is_tried_by, audit), part=True),
            Section("What is not covered", [Points(_uncovered(risk, own))], part=True),
        ]
    return sections


def other_promises(certificate: Certificate) -> list[Section]:
    """Notions that stand under none of the risks, such as those of a later version."""
    known = {notion for risk in RISKS for notion in risk.notions}
    others = [str(g["words"]) for g in certificate.guarantees if g["notion"] not in known]
    return [Section("Promises that are about none of the three", [Points(others)])] if others else []


def attack_details(audit: AuditResult | None) -> list[Section]:
    """What every attack did, once."""
    if audit is None:
        return []
    done = [f"{attack.name}: {attack.detail}" for attack in audit.attacks]
    return [Section("What the attacks did", [Text(_EXACT), Points(done)], anchor="done")]


def other_attacks(audit: AuditResult | None, shown: Sequence[str]) -> list[Section]:
    """Attacks that stand nowhere else on the page."""
    if audit is None:
        return []
    others = [a for a in audit.attacks if a.name not in shown]
    left = [a for a in audit.not_run if a.name not in shown]
    blocks = _lines(others, left)
    return [Section("Other attacks", blocks, anchor="other-attacks")] if blocks else []


# ---------------------------------------------------------------- promises


def _promised(risk: Risk, own: Sequence[tuple[int, JsonObject]]) -> list[Block]:
    if not own:
        told = "Nothing: no promise of the certificate is about this."
        return [Text(told, note=True)]
    rows: list[dict[str, Cell]] = [
        {
            "promise": f"{number}. {explanation_of(str(g['notion'])).title}",
            "value": in_numbers(g["value"]),
            "is": kind_of_number(g),
            "holds for": str(g["scope"]),
            "unit": str(g["unit"]),
        }
        for number, g in own
    ]
    words = [f"{number}. {g['words']} (It says {risk.notions[str(g['notion'])]}.)" for number, g in own]
    blocks: list[Block] = [Grid(rows), Points(words, "In the certificate's words:")]
    if not any(kind_of_number(g) == BOUND for _, g in own):
        blocks.append(Text("None of these bounds what can be done.", note=True))
    return blocks


def in_numbers(value: object) -> str:
    """A guarantee's value with every digit that the certificate has: none is rounded away here."""
    if value is None:
        return "none"
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        ordered = sorted(value.items(), key=lambda item: item[0] != "epsilon")  # which comes first in every text
        return ", ".join(f"{key} {in_numbers(part)}" for key, part in ordered)
    if isinstance(value, Sequence):
        return "; ".join(in_numbers(part) for part in value)
    return json.dumps(value)


def _assumed(own: Sequence[tuple[int, JsonObject]]) -> list[Block]:
    if not own:
        return [Text("Nothing is promised, and so nothing assumed.")]
    of: dict[str, list[str]] = {}
    for number, guarantee in own:
        for assumption in map(str, guarantee["assumptions"]):
            of.setdefault(assumption, []).append(str(number))
    if not of:
        return [Text("Nothing beyond what it says.")]
    return [Points([f"{words} (promise {', '.join(numbers)})" for words, numbers in of.items()])]


def _uncovered(risk: Risk, own: Sequence[tuple[int, JsonObject]]) -> list[str]:
    columns = list(dict.fromkeys(str(name) for _, g in own for name in g["uncovered"]))
    told = [f"the columns released unchanged: {', '.join(columns)}"] if columns else []
    statements = ["everything else, since nothing is promised"] if not own else []
    return [*statements, *told, *risk.uncovered]


# ---------------------------------------------------------------- attacks


def measured(is_about: TriedBy, audit: AuditResult | None) -> list[Block]:
    """The attacks that try something, or plainly that nothing was measured."""
    if audit is None:
        return [Text(_NO_AUDIT, note=True)]
    run = [a for a in audit.attacks if is_about(a.name)]
    left = [a for a in audit.not_run if is_about(a.name)]
    blocks = _lines(run, left)
    return blocks if run else [Text(_NO_ATTACK, note=True), *blocks]


def _lines(run: Sequence[AttackLine], left: Sequence[LeftOut]) -> list[Block]:
    blocks: list[Block] = [Grid([_row(attack) for attack in run])] if run else []
    if any(attack.records for attack in run):
        blocks.append(Text(SMALLER_TABLES, quiet=True))
    if left:
        blocks.append(Points([f"{a.name}: {a.reason}" for a in left], f"Not run. {_LAST}"))
    return blocks


def _row(attack: AttackLine) -> dict[str, Cell]:
    return {
        "attack": attack.name,
        "the claim": "stands" if attack.ok else "IS BROKEN",  # early: a telephone hides the last column
        "claimed": attack.claim,
        "measured": f"{attack.measured:.4g}",
        "interval": _interval(attack),
    }


def _interval(attack: AttackLine) -> str:
    if attack.interval is not None:
        return f"{attack.interval[0]:.4g} to {attack.interval[1]:.4g}"
    return "this or more" if attack.lower_bound else "none: counted in full"
