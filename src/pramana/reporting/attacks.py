"""What `pramana audit` measured, read from its JSON file for the holder's report, and the risks it is about.

The file may have been anywhere since: its form, lengths and numbers are checked, and it must name the very files
of the bundle that the report is about.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import Certificate, JsonObject
from pramana.bundle.parts import PartSet
from pramana.errors import InputError
from pramana.files.atomic import PARTS, open_regular
from pramana.files.locations import local_path
from pramana.notions.guarantee import BOUND
from pramana.notions.registry import NOTIONS, explanation_of, kind_of_number
from pramana.pages.content import Block, Cell, Grid, Points, Section, Text

_MOST_BYTES = 1 << 22
WORDS = tomllib.loads(Path(__file__).with_name("dossier.toml").read_text("utf-8"))
_UNKNOWN = "Nothing is known of what these would have found."
AttackName = Annotated[str, Meta(max_length=400)]
Words = Annotated[str, Meta(max_length=4000)]
FileDigest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class AttackLine(msgspec.Struct, frozen=True, kw_only=True):
    """One attack of an audit; what else its line has is not for a page."""

    name: AttackName
    claimed: float | None
    measured: float
    ok: bool
    detail: Words
    interval: tuple[float, float] | None = None
    lower_bound: bool = False  # what was measured is the lower end, by a test of its own
    records: Annotated[int, Meta(ge=1)] | None = None  # a table's, where the claim depends on it

    @property
    def claim(self) -> str:
        """What it is held to. Among fewer records less is promised, so how many there were stands beside it."""
        if self.claimed is None:
            return "nothing"
        return f"{self.claimed:.4g}" + (f" ({self.records:,} records)" if self.records else "")

    @property
    def interval_words(self) -> str:
        return "" if self.interval is None else f"{self.interval[0]:.4g} to {self.interval[1]:.4g}"


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """An attack that was not run."""

    name: AttackName
    reason: Words


class AuditResult(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON object of `pramana audit --json`, as far as it is shown; `bundle` are the digests of its files."""

    attacks: Annotated[list[AttackLine], Meta(min_length=1, max_length=500)]
    not_run: Annotated[list[LeftOut], Meta(max_length=500)]
    bundle: Annotated[dict[AttackName, FileDigest], Meta(max_length=10)]

    @property
    def names(self) -> list[str]:
        """Of the attacks that were run, and of those that were not."""
        return [*(a.name for a in self.attacks), *(a.name for a in self.not_run)]

    @property
    def lost(self) -> int:
        return sum(not attack.ok for attack in self.attacks)

    @property
    def verdict(self) -> str:
        if self.lost:
            return f"{self.lost} of {len(self.attacks)} claims are broken"
        return "No attack broke a claim"


def audited_files(bundle: Bundle) -> dict[str, str]:
    """What was attacked: digests of the certificate and of the data, as they lie there."""
    digests = {}
    parts = bundle.certificate.parts
    for path in (bundle.path / "certificate.json", *bundle.data_files):
        with open_regular(path, follow=False) as file:
            digests[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    if parts is None:
        return digests
    lying = tuple(msgspec.structs.replace(part, sha256=digests[part.name]) for part in parts.files)
    return {"certificate.json": digests["certificate.json"], PARTS: PartSet(parts.rows, lying).root}


def read_audit(audit: str | Path | JsonObject, bundle: Bundle) -> AuditResult:
    """The results in a file, or its content; refused where they are of other files than this bundle's."""
    must = f"{'The audit' if isinstance(audit, Mapping) else audit} must be the JSON file of an audit"
    try:
        if isinstance(audit, Mapping):
            result = msgspec.convert(audit, AuditResult)
        else:
            result = msgspec.json.decode(_content(audit, must), type=AuditResult)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        hint = "Write it with `pramana audit BUNDLE ... --json > FILE`."
        raise InputError(must, f"a {type(error).__name__} in reading it", hint) from None
    files = audited_files(bundle)
    if result.bundle != files:
        differing = [name for name in {**files, **result.bundle} if files.get(name) != result.bundle.get(name)]
        must = "The audit must be of this bundle, as its files are now"
        raise InputError(must, f"that of another {', '.join(differing)}", "Audit it again.")
    return result


def _content(path: str | Path, must: str) -> bytes:
    try:
        with open_regular(local_path(path, "The audit", InputError)) as file:
            content = file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InputError(must, type(error).__name__) from None
    if len(content) > _MOST_BYTES:
        raise InputError(must, f"more than {_MOST_BYTES >> 20} MiB")
    return content


def attack_sections(audit: AuditResult) -> list[Section]:
    """The verdicts, what was done, and what was left out."""
    verdict = Text(f"{audit.verdict}.", note=bool(audit.lost))
    run = [verdict, Text(WORDS["attacks_lead"]), *_results(audit.attacks, of_risk=False)]
    done = Points([f"{attack.name}: {attack.detail}" for attack in audit.attacks])
    sections = [
        Section("Attacks that were run", run, anchor="attacks"),
        Section("What the attacks did", [done], anchor="done"),
    ]
    if audit.not_run:
        rows: list[dict[str, Cell]] = [
            {"attack": left.name, "not run because": left.reason} for left in audit.not_run
        ]
        sections.append(Section("Attacks that were not run", [Text(_UNKNOWN), Grid(rows)], anchor="not-run"))
    return sections


def _results(run: Sequence[AttackLine], of_risk: bool) -> list[Block]:
    """What attacks measured, in a table; under a risk it says, too, why a number has no interval."""
    verdict, broken = ("the claim", "IS BROKEN") if of_risk else ("verdict", "BROKEN")
    rows: list[dict[str, Cell]] = []
    for attack in run:
        without = "this or more" if attack.lower_bound else "none: counted in full"
        row: dict[str, Cell] = {
            "attack": attack.name,
            verdict: "stands" if attack.ok else broken,  # early: a telephone hides the last column
            "claimed": attack.claim,
            "measured": f"{attack.measured:.4g}",
            "interval": attack.interval_words or (without if of_risk else ""),
        }
        rows.append(row)
    smaller = [Text(WORDS["smaller_tables"], quiet=True)] if any(attack.records for attack in run) else []
    return [Grid(rows), *smaller] if rows else []


# Singling out, linkability and inference: for each what is promised, assumed, measured and left uncovered. Every
# promise is shown in the words of its certificate, under the risks that its notion names.


TriedBy = Callable[[str], bool]
_NO_AUDIT = "Not measured: no results of `pramana audit` were given to this dossier."
_NO_ATTACK = "Not measured: none of the attacks that were run is about this."


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


RISKS = tuple(msgspec.convert(risk, Risk) for risk in WORDS["risks"])


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
    return [Section("What the attacks did", [Text(WORDS["exact"]), Points(done)], anchor="done")]


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
        return [Text("Nothing: no promise of the certificate is about this.", note=True)]
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
    unchanged = [f"the columns released unchanged: {', '.join(columns)}"] if columns else []
    statements = ["everything else, since nothing is promised"] if not own else []
    return [*statements, *unchanged, *risk.uncovered]


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
    blocks = _results(run, of_risk=True)
    if left:
        blocks.append(Points([f"{a.name}: {a.reason}" for a in left], f"Not run. {_UNKNOWN}"))
    return blocks
