"""What a report shows, prepared from what may be published: certificate, published counts, public law.

Only the holder's private report is also given true counts; they come in as an argument and mark the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pramana.calibrate import tables_that_matter
from pramana.errors import InputError
from pramana.mechanisms import AtLevel, Exchange, Product, RecordRetention, Retention
from pramana.release.certificate import Certificate
from pramana.release.curves import choice_picture
from pramana.report import Bar, Bars, Block, Drawn, Grid, Page, Panel, Picture, Promise, Section, Series, Text
from pramana.schema import Attribute
from pramana.theory import explanation_of

if TYPE_CHECKING:  # estimation loads when a report has something to estimate
    from pramana.estimate import Axis, Crosstab

Counts = NDArray[np.int64]
MOST_BARS = 30  # of an attribute in a picture
MOST_VALUES = 60  # of an attribute in a report; the rest are counted together


@dataclass(frozen=True)
class Materials:
    """What the page is made from."""

    certificate: Certificate
    mechanism: Any  # the law, or None where values are generalised instead of randomised
    marginals: Mapping[str, Counts]
    tables: Sequence[Sequence[str]] = ()
    crosstabs: Sequence[Crosstab] = ()
    true: Mapping[str, Counts] = field(default_factory=dict)
    pictures: bool = False  # draw the attributes and tables as pictures too
    choice: Sequence[Section] | None = None  # the section on privacy and usefulness, if it is made already


def law_of_plan(plan: Any) -> Product | RecordRetention | Exchange | None:
    """The law by which a plan randomises, as estimation knows it; None where it does something else."""
    law = getattr(plan, "mechanism", None)
    if isinstance(law, AtLevel):
        law = law.as_single()
    return law if isinstance(law, Product | RecordRetention | Exchange) else None


def page_of(materials: Materials) -> Page:
    certificate = materials.certificate
    sections = [
        Section("Parameters", _parameters(materials)),
        *(choice_of(materials) if materials.choice is None else materials.choice),
        *_presence(certificate),
        *_attributes(materials),
        *_crosstabs(materials),
        Section("How to use this release", [Text(words) for words in _use(materials)]),
    ]
    return Page(
        title=f"Release of {certificate.records:,} records",
        about=[
            f"Method: {certificate.method}. Made with Pramana {certificate.pramana}. "
            f"Published {'in random order' if certificate.shuffled else 'in the order of the source'}."
        ],
        warnings=certificate.warnings,
        promises=[_promise(g) for g in certificate.guarantees],
        sections=sections,
        private=bool(materials.true),
    )


def _use(materials: Materials) -> tuple[str, ...]:
    if materials.certificate.method == "invariant":
        return (_COUNTED_AS_IS, *_USE[1:])
    return (_COARSER, *_USE[1:]) if materials.mechanism is None else _USE


_COARSER = (
    "The published values are true but coarser than the source's: intervals, groups or distributions stand for "
    "the values of several people. Labels can be counted as they are; of cells that stand for several values "
    "`PublishedCells.open(BUNDLE).expected(NAMES)` of `pramana.release` gives expected counts."
)


_COUNTED_AS_IS = (
    "Some published values are not the true ones: chance exchanged them. The matrices keep every frequency in "
    "expectation, so counts are taken directly from the file: count them as they are. The certificate states "
    "their expected squared error."
)
_USE = (
    "The published values are not the true ones: chance changed some of them. Counts taken directly are biased; "
    "`pramana crosstab BUNDLE --by ATTRIBUTES` gives estimates of the true counts with intervals.",
    "`pramana verify BUNDLE` checks that the files are those that were certified and derives every promise again.",
    "The promises are about this release alone. Another release about the same people adds to what is known of "
    "them, and the holder has to count both.",
)


def _promise(guarantee: Mapping[str, Any]) -> Promise:
    explanation = explanation_of(str(guarantee["notion"]))
    return Promise(
        title=explanation.title,
        words=str(guarantee["words"]),
        meaning=explanation.meaning,
        scope=str(guarantee["scope"]),
        statement=str(guarantee["statement"]),
        assumptions=[str(a) for a in guarantee["assumptions"]],
    )


# ---------------------------------------------------------------- parameters and the choice that was made


def _parameters(materials: Materials) -> list[Block]:
    certificate, law = materials.certificate, materials.mechanism
    rows = [
        {
            "column": a.name,
            "role": a.role.value,
            "treatment": "released unchanged" if a.raw else _treatment(law),
            "values": None if a.raw else a.coded.size,
            **({} if law is None else {"kept": _kept(law, a), "published as it is": _diagonal(law, a)}),
        }
        for a in certificate.attributes
    ]
    blocks: list[Block] = [Grid(rows)]
    if isinstance(law, RecordRetention):
        blocks.append(
            Text(f"One coin per record: the whole record is kept with probability {float(law.retention):.6g}.")
        )
    if law is not None:
        blocks.append(
            Text(
                '"Kept" is the probability that a value is kept before any redraw; a redrawn value can be the '
                'true one again, so it is "published as it is" somewhat more often.',
                quiet=True,
            )
        )
    if certificate.dropped:
        blocks.append(Text(f"Left out before anything else: {', '.join(certificate.dropped)}."))
    return blocks


def _treatment(law: Any) -> str:
    return "generalised" if law is None else "randomised"


def _kept(law: Any, attribute: Attribute) -> float | None:
    if attribute.raw:
        return 1.0
    if isinstance(law, RecordRetention):
        return float(law.retention)
    channel = law.channels.get(attribute.name) if isinstance(law, Product) else None
    return float(channel.retention) if isinstance(channel, Retention) else None


def _diagonal(law: Any, attribute: Attribute) -> float | None:
    kept = _kept(law, attribute)
    if attribute.raw or kept is None:
        return kept
    return kept + (1 - kept) / attribute.coded.size


def choice_of(materials: Materials) -> list[Section]:
    """Privacy and usefulness of laws like this one: all that can be drawn before the data is published."""
    law = materials.mechanism
    if not isinstance(law, Product | RecordRetention):
        return []
    tables = tables_that_matter(materials.tables, law.sizes)
    claimed = {guarantee["notion"] for guarantee in materials.certificate.guarantees}
    picture = choice_picture(law, materials.certificate.records, tables, "pk-anonymity" in claimed)
    if picture is None:
        return []
    words = (
        "More retention means better tables and weaker promises. The dotted line is where this release sits. The "
        "error is the expected sum of absolute errors of a table's shares under unbiased estimation; maximum "
        "likelihood does better."
    )
    return [Section("Privacy and usefulness", [Drawn(picture, words)])]


def _presence(certificate: Certificate) -> list[Section]:
    """How a presence release was made, whether it was undone, and what its distributions are worth."""
    if certificate.method != "presence":
        return []
    made = certificate.mechanism
    setting, reached = made["setting"], made["reached"]
    levels = ", ".join(f"{q['name']} {level}" for q, level in zip(made["quasi"], made["levels"], strict=True))
    how = "given in the recipe" if made["levels_given"] else "the best that hold"
    reversal = reached["reversal"]
    rows = [
        {
            "algorithm": name + (" (published)" if name == setting["algorithm"] else ""),
            "KL cost saved": "unbounded loss" if gain is None else f"{100 * gain:.1f}%",
        }
        for name, gain in reached["expected_gains"].items()
    ]
    return [
        Section(
            "Classes and distributions",
            [
                Text(
                    f"Classes: {reached['classes']:,}, at levels {levels}, {how}. "
                    f"Algorithm {setting['algorithm']}, cells {setting['start']}, mode {setting['mode']}. "
                    f"Reversal: {reversal['verdict']}; {reversal['reason']}."
                ),
                Grid(rows),
                Text(
                    "Savings are expected shares of what uniform cells cost (spalm), if the people present in a "
                    "class were any of it. Other algorithms' are shown where they tell nothing private.",
                    quiet=True,
                ),
            ],
        )
    ]


# ---------------------------------------------------------------- the columns


def _attributes(materials: Materials) -> list[Section]:
    coded = [a for a in materials.certificate.attributes if not a.raw and a.name in materials.marginals]
    if not coded:
        return []
    words = "Grey bars: published counts. Blue dots with whiskers: estimates of the true counts, 95% intervals."
    if materials.true:
        words += " Orange diamonds: the true counts, not for release."
    sections = [Section("The columns", [Text(words, quiet=True)])]
    for attribute in coded:
        bars = _bars(attribute, materials)
        blocks: list[Block] = [Drawn(_bar_picture(attribute.name, bars))] if materials.pictures else []
        sections.append(Section(attribute.name, [*blocks, Bars(bars)], part=True))
    return sections


def _bars(attribute: Attribute, materials: Materials) -> list[Bar]:
    from pramana.estimate import Axis

    axis = Axis.of_domain(attribute.name, attribute.coded)
    counts = np.asarray(materials.marginals[attribute.name])
    true = materials.true.get(attribute.name)
    found = _estimate(axis, counts, materials.mechanism)
    order = range(axis.size) if axis.size <= MOST_VALUES else np.argsort(-counts, kind="stable")[: MOST_VALUES - 1]
    bars = [
        Bar(
            axis.labels[i],
            float(counts[i]),
            None if found is None else float(found[0][i]),
            None if found is None else float(found[1][i]),
            None if found is None else float(found[2][i]),
            None if true is None else float(true[i]),
        )
        for i in map(int, order)
    ]
    if axis.size > MOST_VALUES:
        rest = np.setdiff1d(np.arange(axis.size), order)
        bars.append(
            Bar(
                f"{len(rest)} other values",
                float(counts[rest].sum()),
                true=None if true is None else float(true[rest].sum()),
            )
        )
    return bars


def _estimate(axis: Axis, counts: Counts, law: Any) -> tuple[Any, Any, Any] | None:
    """The unbiased estimate of a column's true counts; None where the law of one column does not give it."""
    if not isinstance(law, Product | RecordRetention | Exchange):
        return None
    from pramana.estimate import PublishedTable, invert

    try:
        found = invert(PublishedTable.of_counts([axis], counts, law))
    except InputError:
        return None
    return found.values, found.low, found.high  # not cut at 0: an unbiased estimate lies inside its interval


def _bar_picture(name: str, bars: Sequence[Bar]) -> Picture:
    """The most frequent values as bars side by side; what is counted together is left to the lines below."""
    shown = [bar for bar in bars if bar.estimate is not None] or list(bars)
    shown = sorted(shown, key=lambda bar: -bar.published)[:MOST_BARS] if len(shown) > MOST_BARS else shown
    labels = [bar.label for bar in shown]
    series = [Series("published", labels, [bar.published for bar in shown], kind="bars")]
    if shown[0].estimate is not None:
        middle, low, high = ([getattr(bar, part) for bar in shown] for part in ("estimate", "low", "high"))
        series.append(Series("estimated true count", labels, middle, low, high, kind="bars"))
    if shown[0].true is not None:
        series.append(Series("true (not for release)", labels, [bar.true or 0.0 for bar in shown], kind="bars"))
    return Picture([Panel(series, y_label="records", x_label=name)], columns=1)


def _crosstabs(materials: Materials) -> list[Section]:
    if not materials.crosstabs:
        return []
    sections = [
        Section(
            "Reconstructed tables",
            [
                Text(
                    "Estimates of the private table's counts by maximum likelihood, with 95% intervals.",
                    quiet=True,
                )
            ],
        )
    ]
    for table in materials.crosstabs:
        names = [axis.name for axis in table.axes]
        rows = [
            {n: "(missing)" if cell[n] is None else cell[n] for n in names}
            | {key: round(cell[key]) for key in ("estimate", "low", "high")}
            for cell in table.cells()
        ]
        blocks: list[Block] = [Drawn(picture)] if (picture := _crosstab_picture(table)) is not None else []
        sections.append(Section(" by ".join(names), [*blocks, Grid(rows)], part=True))
    return sections


def _crosstab_picture(table: Crosstab) -> Picture | None:
    """Points with whiskers along the longest axis, one series for each value of a short second one."""
    if not 1 <= len(table.axes) <= 2:
        return None
    order = sorted(range(len(table.axes)), key=lambda i: -table.axes[i].size)
    parts = [np.transpose(part, order) for part in (table.estimate, table.low, table.high)]
    along = table.axes[order[0]]
    if along.size > 30 or (len(order) == 2 and table.axes[order[1]].size > 5):
        return None
    names = list(table.axes[order[1]].labels) if len(order) == 2 else ["estimate"]
    columns = [[part.reshape(along.size, -1)[:, i].tolist() for part in parts] for i in range(len(names))]
    series = [
        Series(name, list(along.labels), middle, low, high, kind="bars")
        for name, (middle, low, high) in zip(names, columns, strict=True)
    ]
    return Picture([Panel(series, y_label="records", x_label=along.name)], columns=1, height=3.0)
