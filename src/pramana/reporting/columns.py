"""The published columns in a report: their counts, and what can be learned of the true ones.

The estimates are those of `pramana crosstab`: maximum likelihood, never negative, and summing to the records.
Where only some of a column's values can be shown, their intervals are simultaneous over all of its values: those
with the highest counts are the luckiest ones, and an interval that covers a value chosen beforehand 95 times of
100 covers hardly any of these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pramana.errors import InputError
from pramana.mechanisms.channel import Retention
from pramana.mechanisms.table import CoinGroups, Product, RecordRetention
from pramana.methods.protocol import Counts, Law
from pramana.pages.content import Bar, Bars, Block, Legend, Section, Text
from pramana.schema.domain import Attribute

if TYPE_CHECKING:
    from pramana.recipient.answers import Crosstab
    from pramana.schema.domain import Axis


MOST_VALUES = 60  # of a column in a report; of more, the most frequent are shown and the rest counted together
MOST_COLUMNS = 100  # in detail
_NEVER = 1e-9  # a retention of 0 is rounded to what integers out of 2^62 can state

_PICKED = (
    "The column has {size:,} values, of which the {shown} most frequent in the file are shown. Those are also the "
    "luckiest, so these intervals are simultaneous: with 95% chance all {size:,} hold at once, shown or not. "
    "`pramana crosstab --simultaneous` gives every one."
)
_WIDER = (
    "Nothing can be learned of this column's true counts: the intervals are wider than the table has records. "
    "What is shown is as published, and mostly chance."
)
_CHANCE = "Nothing can be learned of this column: its published values were drawn by chance alone."
_FROM_ZERO = (
    "Little can be learned here: {above} of the {size} intervals begin above 0, so hardly a value can be shown to "
    "occur at all."
)


@dataclass(frozen=True)
class _Learned:
    """What a release tells of a column: estimates, or in words why there are none, or what they are worth."""

    estimates: Crosstab | None = None
    words: str = ""
    nothing: bool = False


def column_sections(
    attributes: Sequence[Attribute],
    marginals: Mapping[str, Counts],
    law: Law | None,
    records: int,
    true: Mapping[str, Counts],
    repeated: Mapping[str, int],
) -> tuple[list[Section], list[str]]:
    """A section for each column with a public domain, and the columns of which nothing can be learned.

    `repeated`: the columns of which several rows share a draw.
    """
    coded = [a for a in attributes if not a.raw and a.name in marginals]
    if not coded:
        return [], []
    parts, untold, estimated = [], [], False
    for attribute in coded[:MOST_COLUMNS]:
        counts = np.asarray(marginals[attribute.name])
        learned = _learned(attribute, counts, law, records, repeated)
        bars = _bars(attribute, counts, learned.estimates, true.get(attribute.name))
        words = [Text(learned.words, note=learned.nothing, quiet=not learned.nothing)] if learned.words else []
        parts.append(Section(attribute.name, [*words, Bars(bars)], part=True))
        estimated = estimated or learned.estimates is not None
        if learned.nothing:
            untold.append(attribute.name)
    lead: list[Block] = [Legend(published=True, estimated=estimated, true=bool(true))]
    if estimated:
        lead.append(
            Text("The estimates of a column sum to the records, as those of `pramana crosstab` do.", quiet=True)
        )
    if len(coded) > MOST_COLUMNS:
        lead.append(Text(f"Of {len(coded):,} columns the first {MOST_COLUMNS} are shown."))
    return [Section("What the data say", lead, anchor="data"), *parts], untold


def untold_columns(names: Sequence[str]) -> list[str]:
    """A limit of its own where the release tells nothing."""
    if not names:
        return []
    listed = ", ".join(names)
    return [f"Nothing can be learned of these columns: {listed}. Their published values are mostly chance."]


def _learned(
    attribute: Attribute, counts: Counts, law: Law | None, records: int, repeated: Mapping[str, int]
) -> _Learned:
    size = attribute.coded.size
    if law is None:
        return _Learned()
    if _is_chance(law, attribute.name):
        return _Learned(words=_CHANCE, nothing=True)
    try:
        estimates, unbiased = (
            _estimated(attribute, counts, law, method, repeated) for method in ("em", "inverse")
        )
    except InputError as error:
        return _Learned(words=f"Not estimated by itself. {error}")
    if _median(unbiased.high - unbiased.low) >= records:
        return _Learned(words=_WIDER, nothing=True)
    picked = _PICKED.format(size=size, shown=MOST_VALUES - 1) if size > MOST_VALUES else ""
    above = int((estimates.low > 0).sum())  # one in 40 is so by chance where a value does not occur
    little = "" if picked or above > size // 10 else _FROM_ZERO.format(above=above or "none", size=size)
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

    axis = _axis(attribute)
    axes, records = {axis.name: axis}, int(counts.sum())
    study = Study(axes, law, lambda _: {}, records, counted=lambda _: counts, repeated=repeated)
    return study.crosstab([axis.name], method=method, simultaneous=axis.size > MOST_VALUES)


def load_estimation(law: Law | None) -> None:
    """Ready what a report estimates with, if it will, while others write data."""
    if law is not None:
        from pramana.recipient.study import Study  # noqa: F401


def _axis(attribute: Attribute) -> Axis:
    from pramana.schema.domain import Axis

    return Axis.of_domain(attribute.name, attribute.coded)


def _bars(attribute: Attribute, counts: Counts, estimates: Crosstab | None, true: Counts | None) -> list[Bar]:
    labels = _axis(attribute).labels
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
