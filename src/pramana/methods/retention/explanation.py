"""What a report says of a law that published values are drawn from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pramana.bundle.published_numbers import notes_on_numbers
from pramana.mechanisms.channel import Retention
from pramana.mechanisms.table import CoinGroups, Product, RecordRetention
from pramana.mechanisms.units import UnitDraws
from pramana.methods.protocol import Explanation, Law
from pramana.methods.retention.advice import choice_picture
from pramana.methods.usefulness import tables_that_matter
from pramana.pages.content import Cell, Drawn, Grid, Meter, Section, Text
from pramana.randomness.samplers import ONE
from pramana.schema.domain import Attribute

MOST_SHOWN = 8  # values of a matrix that is printed
MOST_MATRICES = 12
_USE = (
    "The published values are not the true ones: chance changed some of them. Counts taken directly are biased; "
    "`pramana crosstab BUNDLE --by ATTRIBUTES` gives estimates of the true counts with intervals."
)
_VERIFIED = "It derives every promise again from the law that the certificate states."
_KEPT = (
    '"Kept" is the probability that a value is kept before any redraw; a redrawn value can be the true one again, '
    'so it is "published as it is" somewhat more often.'
)
_CHOICE = (
    "More retention means better tables and weaker promises.{mark} The error is the expected sum of absolute "
    "errors of a table's shares under unbiased estimation; maximum likelihood does better."
)
_MARK = " The dotted line is where this release sits."


def explanation_of_law(
    law: Law | None,
    attributes: Sequence[Attribute],
    records: int,
    tables: Sequence[Sequence[str]],
    with_k: bool,
    draws: UnitDraws | None = None,
) -> Explanation:
    """`with_k`: whether k is promised, and so its curve drawn; `draws` where people have several rows."""
    rows = {a.name: _treatment(law, a) for a in attributes}
    kept = any("kept" in row for row in rows.values())
    columns = ("treatment", "published as it is", *(("kept",) if kept else ()), "values")
    treatments = {name: {column: row.get(column) for column in columns} for name, row in rows.items()}
    notes = [_KEPT] if kept else []
    if isinstance(law, RecordRetention):
        share = _percent(float(law.retention))
        notes.insert(0, f"One coin per record: the whole record is kept with a probability of {share}.")
    if isinstance(law, CoinGroups):
        together = "; ".join(f"{', '.join(g.sizes)} ({_percent(float(g.retention))})" for g in law.groups)
        notes.insert(0, f"One coin per group, which is kept or redrawn as a whole: {together}.")
    notes += notes_on_numbers(attributes)
    if draws is not None and draws.once:
        notes.append(f"Drawn once for a {draws.largest}'s rows, and repeated: {', '.join(draws.once)}.")
    sections = [*_choice(law, records, tables, with_k, draws), *_matrices(law, attributes)]
    return Explanation(treatments, notes, sections, _USE, _VERIFIED)


def _treatment(law: Law | None, attribute: Attribute) -> dict[str, Cell]:
    if attribute.raw:
        return {"treatment": "released unchanged", "values": None, "published as it is": Meter("always", 1.0)}
    size, kept = attribute.coded.size, _kept(law, attribute)
    if kept is not None:
        same = kept + (1 - kept) / size
        row: dict[str, Cell] = {"published as it is": Meter(_percent(same), same), "kept": _percent(kept)}
    else:
        row = {"published as it is": _by_matrix(law, attribute)}
    return {"treatment": "randomised", "values": size, **row}


def _percent(share: float) -> str:
    return f"{100 * share:.4g}%"


def _kept(law: Law | None, attribute: Attribute) -> float | None:
    if isinstance(law, CoinGroups):
        return _kept(law.part_of(attribute.name), attribute)
    if isinstance(law, RecordRetention):
        return float(law.retention)
    channel = law.channels.get(attribute.name) if isinstance(law, Product) else None
    return float(channel.retention) if isinstance(channel, Retention) else None


def _by_matrix(law: Law | None, attribute: Attribute) -> Cell:
    """Of a matrix, the least and the most of what is published as it is."""
    channel = law.channels.get(attribute.name) if isinstance(law, Product) else None
    if channel is None:
        return None
    diagonal = np.diagonal(channel.weights) / ONE
    least, most = float(diagonal.min()), float(diagonal.max())
    return Meter(f"{_percent(least)} to {_percent(most)}" if least < most else _percent(least), least)


def _matrices(law: Law | None, attributes: Sequence[Attribute]) -> list[Section]:
    """Small matrices in full: how often each true value is published as each."""
    if not isinstance(law, Product):
        return []
    parts = []
    for a in attributes:
        channel = law.channels.get(a.name)
        if channel is None or isinstance(channel, Retention) or a.raw or channel.size > MOST_SHOWN:
            continue
        labels = [*a.coded.labels, *(["(missing)"] if a.coded.missing else [])]
        rows = [
            {
                "true value": label,
                **{f"as {to}": f"{100 * int(w) / ONE:.4g}%" for to, w in zip(labels, row, strict=True)},
            }
            for label, row in zip(labels, channel.weights.tolist(), strict=True)
        ]
        parts.append(Section(a.name, [Grid(rows)], part=True))
    if not parts:
        return []
    words = Text("How often a true value, on the left, is published as each value.", quiet=True)
    return [Section("The matrices", [words], anchor="matrices"), *parts[:MOST_MATRICES]]


def _choice(
    law: Law | None, records: int, tables: Sequence[Sequence[str]], with_k: bool, draws: UnitDraws | None
) -> list[Section]:
    """Privacy and usefulness of laws like this one."""
    if not isinstance(law, Product | RecordRetention):
        return []
    picture = choice_picture(law, records, tables_that_matter(tables, law.sizes), with_k, draws)
    if picture is None:
        return []
    marked = any(panel.mark is not None for panel in picture.panels)
    caption = _CHOICE.format(mark=_MARK if marked else "")
    return [Section("Privacy and usefulness", [Drawn(picture, caption)], anchor="choice")]
