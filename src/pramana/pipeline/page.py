"""What a report shows, prepared from what may be published: certificate, published counts, public law.

Only the holder's private report is also given true counts; they come in as an argument and mark the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pramana.bundle import Certificate, JsonObject
from pramana.errors import InputError
from pramana.methods import Counts, Law, Plan
from pramana.pages import Bar, Bars, Block, Drawn, Grid, Page, Panel, Picture, Promise, Section, Series, Text
from pramana.schema import Attribute
from pramana.theory import explanation_of

if TYPE_CHECKING:  # estimation loads when a report has something to estimate
    from pramana.estimate import Axis, Crosstab

Floats = NDArray[np.float64]
MOST_BARS = 30  # of an attribute in a picture
MOST_VALUES = 60  # of an attribute in a report; the rest are counted together


@dataclass(frozen=True)
class PageMaterial:
    """What the page is made from."""

    certificate: Certificate
    plan: Plan
    marginals: Mapping[str, Counts]
    crosstabs: Sequence[Crosstab] = ()
    true: Mapping[str, Counts] = field(default_factory=dict)
    pictures: bool = False  # draw the attributes and tables as pictures too
    sections: Sequence[Section] | None = None  # the method's own, if they are drawn already


def page_of(material: PageMaterial) -> Page:
    certificate, explanation = material.certificate, material.plan.explain()
    rows = [
        {"column": a.name, "role": a.role.value, **explanation.treatments[a.name]} for a in certificate.attributes
    ]
    parameters: list[Block] = [Grid(rows), *(Text(note, quiet=True) for note in explanation.notes)]
    if certificate.dropped:
        parameters.append(Text(f"Left out before anything else: {', '.join(certificate.dropped)}."))
    sections = [
        Section("Parameters", parameters),
        *(explanation.sections if material.sections is None else material.sections),
        *_attributes(material),
        *_crosstabs(material),
        Section("How to use this release", [Text(words) for words in (explanation.use, *_USE)]),
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
        private=bool(material.true),
    )


_USE = (
    "`pramana verify BUNDLE` checks that the files are those that were certified and derives every promise again.",
    "The promises are about this release alone. Another release about the same people adds to what is known of "
    "them, and the holder has to count both.",
)


def _promise(guarantee: JsonObject) -> Promise:
    explanation = explanation_of(str(guarantee["notion"]))
    return Promise(
        title=explanation.title,
        words=str(guarantee["words"]),
        meaning=explanation.meaning,
        scope=str(guarantee["scope"]),
        statement=str(guarantee["statement"]),
        assumptions=[str(a) for a in guarantee["assumptions"]],
    )


# ---------------------------------------------------------------- the columns


def _attributes(material: PageMaterial) -> list[Section]:
    coded = [a for a in material.certificate.attributes if not a.raw and a.name in material.marginals]
    if not coded:
        return []
    words = "Grey bars: published counts. Blue dots with whiskers: estimates of the true counts, 95% intervals."
    if material.true:
        words += " Orange diamonds: the true counts, not for release."
    sections = [Section("The columns", [Text(words, quiet=True)])]
    for attribute in coded:
        bars = _bars(attribute, material)
        blocks: list[Block] = [Drawn(_bar_picture(attribute.name, bars))] if material.pictures else []
        sections.append(Section(attribute.name, [*blocks, Bars(bars)], part=True))
    return sections


def _bars(attribute: Attribute, material: PageMaterial) -> list[Bar]:
    from pramana.estimate import Axis

    axis = Axis.of_domain(attribute.name, attribute.coded)
    counts = np.asarray(material.marginals[attribute.name])
    true = material.true.get(attribute.name)
    estimate = _estimate(axis, counts, material.plan.law)
    order = range(axis.size) if axis.size <= MOST_VALUES else np.argsort(-counts, kind="stable")[: MOST_VALUES - 1]
    bars = [
        Bar(
            axis.labels[i],
            float(counts[i]),
            None if estimate is None else float(estimate[0][i]),
            None if estimate is None else float(estimate[1][i]),
            None if estimate is None else float(estimate[2][i]),
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


def _estimate(axis: Axis, counts: Counts, law: Law | None) -> tuple[Floats, Floats, Floats] | None:
    """The unbiased estimate of a column's true counts; None where the law of one column does not give it."""
    if law is None:
        return None
    from pramana.estimate import PublishedTable, invert

    try:
        estimate = invert(PublishedTable.of_counts([axis], counts, law))
    except InputError:
        return None
    # Not cut at 0: an unbiased estimate lies inside its interval.
    return estimate.values, estimate.low, estimate.high


def _bar_picture(name: str, bars: Sequence[Bar]) -> Picture:
    """The most frequent values as bars side by side; what is counted together is left to the lines below."""
    shown = [bar for bar in bars if bar.estimate is not None] or list(bars)
    shown = sorted(shown, key=lambda bar: -bar.published)[:MOST_BARS] if len(shown) > MOST_BARS else shown
    labels = [bar.label for bar in shown]
    series = [Series("published", labels, [bar.published for bar in shown], kind="bars")]
    if shown[0].estimate is not None:
        middle, low, high = zip(*((bar.estimate, bar.low, bar.high) for bar in shown), strict=True)
        series.append(Series("estimated true count", labels, middle, low, high, kind="bars"))
    if shown[0].true is not None:
        series.append(Series("true (not for release)", labels, [bar.true or 0.0 for bar in shown], kind="bars"))
    return Picture([Panel(series, y_label="records", x_label=name)], columns=1)


def _crosstabs(material: PageMaterial) -> list[Section]:
    if not material.crosstabs:
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
    for table in material.crosstabs:
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
