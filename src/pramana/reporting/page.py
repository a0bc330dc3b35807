"""What a report shows, prepared from what may be published: certificate, published counts, public law.

The order is that of its readers' questions: what is promised, what happened to the columns, what the limits are,
what the promises mean and assume, what the data say. Every warning of the certificate stands among the limits, for
holder and recipients alike: nothing is set aside, because a recipient who reads less than the holder knows would
trust more than the holder does.

Only the holder's private report is also given true counts, or what attacks found; they come in as arguments and
mark the page.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pramana.bundle.certificate import Certificate, JsonObject
from pramana.errors import InputError
from pramana.mechanisms.channel import Retention
from pramana.mechanisms.table import CoinGroups, Product, RecordRetention
from pramana.methods.protocol import Counts, Explanation, Law, Plan
from pramana.methods.usefulness import Usefulness
from pramana.notions.registry import explanation_of
from pramana.pages.content import Bar, Bars, Block, Cell, Grid, Legend, Page, Points, Section, Text
from pramana.schema.domain import Attribute, Axis

if TYPE_CHECKING:
    from pramana.recipient.answers import Crosstab
    from pramana.reporting.attacks import AuditResult


WORDS: dict[str, str] = tomllib.loads(Path(__file__).with_name("page.toml").read_text("utf-8"))
MOST_PROMISES = 60  # that are explained; a stranger's certificate may state any number of them
MOST_ASSUMPTIONS = 200


@dataclass(frozen=True)
class PageMaterial:
    """What the page is made from."""

    certificate: Certificate
    plan: Plan
    marginals: Mapping[str, Counts]
    crosstabs: Sequence[Crosstab] = ()
    true: Mapping[str, Counts] = field(default_factory=dict)
    explanation: Explanation | None = None  # the plan's own, if it was asked already
    signer: str | None = None  # the public key of whoever is about to sign; else the certificate tells
    usefulness: Usefulness = field(default_factory=Usefulness)
    audit: AuditResult | None = None  # what attacks found, for the holder alone


def page_of(material: PageMaterial) -> Page:
    certificate = material.certificate
    explanation = material.plan.explain() if material.explanation is None else material.explanation
    columns, uninformative = column_sections(material)
    limits = list(certificate.warnings)
    if uninformative:
        listed = ", ".join(uninformative)
        limits.append(
            f"Nothing can be learned of these columns: {listed}. Their published values are mostly chance."
        )
    known = Points(limits) if limits else Text("None are known beyond what the promises assume.")
    return Page(
        title=_title(certificate),
        facts=_facts(material),
        promises=[str(g["words"]) for g in certificate.guarantees],
        sections=[
            _treatments(certificate, explanation),
            *_worth(material.usefulness),
            *explanation.sections,
            Section(f"Known limits ({len(limits)})", [known], anchor="limits"),
            *_meanings(certificate.guarantees[:MOST_PROMISES]),
            *columns,
            *_crosstabs(material.crosstabs),
            *_attacks(material.audit),
            _use(explanation),
        ],
        private=bool(material.true) or material.audit is not None,
    )


def _attacks(audit: AuditResult | None) -> Sequence[Section]:
    if audit is None:
        return ()
    from pramana.reporting.attacks import attack_sections

    return attack_sections(audit)


def _title(certificate: Certificate) -> str:
    records = f"{certificate.records:,} records"
    if title := certificate.about.get("title"):
        return title
    return f"{certificate.dataset}: {records}" if certificate.dataset else f"Release of {records}"


_SAID = ("holder", "contact", "recipient", "purpose", "date")  # of [about], in the order they are shown


def _facts(material: PageMaterial) -> list[tuple[str, str]]:
    """Who and what, as far as the certificate tells: what the holder says in [about], and what is known."""
    certificate = material.certificate
    said = [(key.capitalize(), certificate.about[key]) for key in _SAID if key in certificate.about]
    signer = material.signer or (certificate.signature or {}).get("public_key")
    signed = f"with the key {signer}" if signer else "by no one: nothing shows who made it"
    return [
        *said,
        *([("Dataset", certificate.dataset)] if certificate.dataset else []),
        ("Records", f"{certificate.records:,}"),
        *_counted(certificate),
        *([("Collected", WORDS["collected"])] if certificate.on_devices else []),
        *([("Page", str(certificate.source["page"]))] if certificate.on_devices else []),
        ("Method", certificate.method),
        ("Order of the records", "random" if certificate.shuffled else "as in the source"),
        ("Signed", signed),
        ("Made with", f"Pramana {certificate.pramana}"),
    ]


def _counted(certificate: Certificate) -> list[tuple[str, str]]:
    """Whose records they are, where a person may have several."""
    unit = certificate.unit
    if unit is None:
        return []
    if unit.kind == "row":
        return [("Counted", "each record as one person")]
    homes = [f"{unit.households:,} households"] if unit.households else []
    bounds = [f"at most {unit.rows} records each"] if unit.rows else []
    return [("Counted", ", ".join([f"{unit.people:,} people", *bounds, *homes]))]


def _treatments(certificate: Certificate, explanation: Explanation) -> Section:
    rows = [
        {"column": a.name, **explanation.treatments[a.name], "role": a.role.value} for a in certificate.attributes
    ]
    blocks: list[Block] = [Grid(rows), *(Text(note, quiet=True) for note in explanation.notes)]
    if certificate.dropped:
        blocks.append(Text(f"Left out before anything else: {', '.join(certificate.dropped)}."))
    return Section("What happened to the columns", blocks, anchor="columns")


def _worth(usefulness: Usefulness) -> list[Section]:
    """In a sentence and a number for each table; that nothing can be learned stands before all."""
    shown = usefulness.shown
    if not shown:
        return []
    first, *rest = usefulness.sentences()
    words = [Text(WORDS["useless"], note=True)] if usefulness.useless else [Text(first)]
    rows: list[dict[str, Cell]] = [
        {
            "table": table.title,
            "values": table.cells,
            "known to within": table.shown(table.within) if table.error else "exactly",
            "a guess that ignores the data": table.shown(table.blind),
        }
        for table in shown
    ]
    last = [Text(rest[-1])] if rest and usefulness.hopeless and not usefulness.useless else []
    more = len(usefulness.tables) - len(shown)
    others = [Text(f"{more} further tables of two columns are not shown.", quiet=True)] if more else []
    blocks: list[Block] = [*words, Grid(rows), *last, *others, Text(WORDS["within"], quiet=True)]
    return [Section("What the tables are worth", blocks, anchor="worth")]


# ---------------------------------------------------------------- what the promises mean and assume


def _meanings(guarantees: Sequence[JsonObject]) -> list[Section]:
    """Each promise by its number; every assumption once, those of all promises before those of some."""
    if not guarantees:
        return []
    parts = [_meaning(number, guarantee) for number, guarantee in enumerate(guarantees, 1)]
    return [
        Section("What the promises mean", [], anchor="meaning"),
        *parts,
        Section("What the promises assume", _assumptions(guarantees), anchor="assumptions"),
    ]


def _meaning(number: int, guarantee: JsonObject) -> Section:
    explanation = explanation_of(str(guarantee["notion"]))
    basis = f"Holds for {guarantee['scope']}; rests on {guarantee['statement']}."
    meaning = [Text(explanation.meaning)] if explanation.meaning else []
    return Section(f"{number}. {explanation.title}", [*meaning, Text(basis, quiet=True)], part=True)


def _assumptions(guarantees: Sequence[JsonObject]) -> list[Block]:
    of: dict[str, list[int]] = {}  # by assumption, the numbers of the promises that make it
    for number, guarantee in enumerate(guarantees, 1):
        for assumption in dict.fromkeys(map(str, guarantee["assumptions"])):
            if assumption in of or len(of) < MOST_ASSUMPTIONS:
                of.setdefault(assumption, []).append(number)
    together: dict[tuple[int, ...], list[str]] = {}
    for assumption, numbers in of.items():
        together.setdefault(tuple(numbers), []).append(assumption)
    if not together:
        return [Text("Nothing beyond what they say.")]
    ordered = sorted(together.items(), key=lambda item: (-len(item[0]), item[0]))
    return [Points(points, _who_assumes(numbers, len(guarantees))) for numbers, points in ordered]


def _who_assumes(numbers: tuple[int, ...], promises: int) -> str:
    if promises == 1:
        return "The promise assumes:"
    if len(numbers) == promises:
        return "Both promises assume:" if promises == 2 else "All promises assume:"
    if len(numbers) == 1:
        return f"Promise {numbers[0]} alone also assumes:"
    listed = ", ".join(map(str, numbers[:-1])) + f" and {numbers[-1]}"
    return f"Promises {listed} also assume:"


# ---------------------------------------------------------------- tables, and how to use it all


def _crosstabs(tables: Sequence[Crosstab]) -> list[Section]:
    if not tables:
        return []
    words = "Estimates of the private table's counts by maximum likelihood, as `pramana crosstab` gives them."
    first = Section("Reconstructed tables", [Text(words, quiet=True), Legend(estimated=True)], anchor="tables")
    parts = [Section(" by ".join(a.name for a in table.axes), table.blocks(), part=True) for table in tables]
    return [first, *parts]


def _use(explanation: Explanation) -> Section:
    checks = f"{WORDS['verify']} {explanation.verified}".rstrip()
    words = [explanation.use, checks, WORDS["alone"]]
    return Section("How to use this release", [Text(w) for w in words if w], anchor="use")


# The published columns in a report: their counts, and what can be learned of the true ones.
#
# The estimates are those of `pramana crosstab`: maximum likelihood, never negative, and summing to the records.
# Where only some of a column's values can be shown, their intervals are simultaneous over all of its values: those
# with the highest counts are the luckiest ones, and an interval that covers a value chosen beforehand 95 times of
# 100 covers hardly any of these.


MOST_VALUES = 60  # of a column in a report; of more, the most frequent are shown and the rest counted together
MOST_COLUMNS = 100  # in detail
_NEVER = 1e-9  # a retention of 0 is rounded to what integers out of 2^62 can state


@dataclass(frozen=True)
class _Learned:
    """What a release tells of a column: estimates, or in words why there are none, or what they are worth."""

    estimates: Crosstab | None = None
    words: str = ""
    nothing: bool = False


def column_sections(material: PageMaterial) -> tuple[list[Section], list[str]]:
    """A section for each column with a public domain, and the columns of which nothing can be learned."""
    certificate, true = material.certificate, material.true
    coded = [a for a in certificate.attributes if not a.raw and a.name in material.marginals]
    if not coded:
        return [], []
    parts, uninformative, estimated = [], [], False
    for attribute in coded[:MOST_COLUMNS]:
        counts = np.asarray(material.marginals[attribute.name])
        learned = _learned(attribute, counts, material.plan, certificate.records)
        bars = _bars(attribute, counts, learned.estimates, true.get(attribute.name))
        words = [Text(learned.words, note=learned.nothing, quiet=not learned.nothing)] if learned.words else []
        parts.append(Section(attribute.name, [*words, Bars(bars)], part=True))
        estimated = estimated or learned.estimates is not None
        if learned.nothing:
            uninformative.append(attribute.name)
    lead: list[Block] = [Legend(published=True, estimated=estimated, true=bool(true))]
    if estimated:
        lead.append(
            Text("The estimates of a column sum to the records, as those of `pramana crosstab` do.", quiet=True)
        )
    if len(coded) > MOST_COLUMNS:
        lead.append(Text(f"Of {len(coded):,} columns the first {MOST_COLUMNS} are shown."))
    return [Section("What the data say", lead, anchor="data"), *parts], uninformative


def _learned(attribute: Attribute, counts: Counts, plan: Plan, records: int) -> _Learned:
    size, law = attribute.coded.size, plan.law
    if law is None:
        return _Learned()
    if _is_chance(law, attribute.name):
        return _Learned(words=WORDS["chance"], nothing=True)
    try:
        estimates, unbiased = (
            _estimated(attribute, counts, law, method, plan.repeated) for method in ("em", "inverse")
        )
    except InputError as error:
        return _Learned(words=f"Not estimated by itself. {error}")
    if _median(unbiased.high - unbiased.low) >= records:
        return _Learned(words=WORDS["wider"], nothing=True)
    picked = WORDS["picked"].format(size=size, shown=MOST_VALUES - 1) if size > MOST_VALUES else ""
    above = int((estimates.low > 0).sum())  # one in 40 is so by chance where a value does not occur
    little = "" if picked or above > size // 10 else WORDS["from_zero"].format(above=above or "none", size=size)
    return _Learned(estimates, picked + little)


def _median(numbers: NDArray[np.float64]) -> float:
    """What np.median says, which loads all of numpy.ma to say it."""
    ordered = np.sort(numbers, axis=None)
    if np.isnan(ordered[-1]):
        return math.nan
    return float((ordered[(ordered.size - 1) // 2] + ordered[ordered.size // 2]) / 2)


def _is_chance(law: Law, name: str) -> bool:
    """Whether the published values of a column have nothing to do with the true ones."""
    if isinstance(law, CoinGroups):
        return _is_chance(law.part_of(name), name)
    if isinstance(law, RecordRetention):
        return law.retention < _NEVER
    channel = law.channels.get(name) if isinstance(law, Product) else None
    return isinstance(channel, Retention) and channel.retention < _NEVER


def _estimated(
    attribute: Attribute, counts: Counts, law: Law, method: str, repeated: Mapping[str, int]
) -> Crosstab:
    """What `pramana crosstab` would answer for this column; all values together, if only some will be shown."""
    from pramana.recipient.study import Study

    axis = Axis.of_domain(attribute.name, attribute.coded)
    axes, records = {axis.name: axis}, int(counts.sum())
    study = Study(axes, law, lambda _: {}, records, counted=lambda _: counts, repeated=repeated)
    return study.crosstab([axis.name], method=method, simultaneous=axis.size > MOST_VALUES)


def load_estimation(law: Law | None) -> None:
    """Ready what a report estimates with, if it will, while others write data."""
    if law is not None:
        from pramana.recipient.study import Study  # noqa: F401


def _bars(attribute: Attribute, counts: Counts, estimates: Crosstab | None, true: Counts | None) -> list[Bar]:
    labels = Axis.of_domain(attribute.name, attribute.coded).labels
    many = len(labels) > MOST_VALUES
    order = np.argsort(-counts, kind="stable")[: MOST_VALUES - 1] if many else np.arange(len(labels))
    shown = None if estimates is None else estimates.shown()
    bars = []
    for i in map(int, order):
        bar = Bar([labels[i]], float(counts[i]), true=None if true is None else float(true[i]))
        if shown is not None:
            bar = replace(bar, **{name: shown[i][name] for name in ("estimate", "low", "high")})
        bars.append(bar)
    if many:
        rest = np.setdiff1d(np.arange(len(labels)), order)
        truth = None if true is None else float(true[rest].sum())
        estimate = None if shown is None else sum(shown[i]["estimate"] for i in map(int, rest))
        words = [f"{len(rest):,} other values"]
        bars.append(Bar(words, float(counts[rest].sum()), estimate, true=truth, drawn=False))
    return bars
