"""What a report says of a law that published values are drawn from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pramana.calibration import tables_that_matter
from pramana.mechanisms import Product, RecordRetention, Retention
from pramana.methods.protocol import Explanation, Law
from pramana.methods.retention.curves import choice_picture
from pramana.pages import Cell, Drawn, Grid, Meter, Section, Text
from pramana.randomness import ONE
from pramana.schema import Attribute

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
    "More retention means better tables and weaker promises. The dotted line is where this release sits. The "
    "error is the expected sum of absolute errors of a table's shares under unbiased estimation; maximum "
    "likelihood does better."
)


def explanation_of_law(
    law: Law | None,
    attributes: Sequence[Attribute],
    records: int,
    tables: Sequence[Sequence[str]],
    shuffled: bool,
) -> Explanation:
    rows = {a.name: _treatment(law, a) for a in attributes}
    kept = any("kept" in row for row in rows.values())
    columns = ("treatment", "values", *(("kept",) if kept else ()), "published as it is")
    treatments = {name: {column: row.get(column) for column in columns} for name, row in rows.items()}
    notes = [_KEPT] if kept else []
    if isinstance(law, RecordRetention):
        share = f"{100 * float(law.retention):.4g}%"
        notes.insert(0, f"One coin per record: the whole record is kept with a probability of {share}.")
    sections = [*_choice(law, records, tables, shuffled), *_matrices(law, attributes)]
    return Explanation(treatments, notes, sections, _USE, _VERIFIED)


def _treatment(law: Law | None, attribute: Attribute) -> dict[str, Cell]:
    if attribute.raw:
        return {"treatment": "released unchanged", "values": None, "published as it is": Meter("always", 1.0)}
    size, kept = attribute.coded.size, _kept(law, attribute)
    if kept is not None:
        same = kept + (1 - kept) / size
        meter = Meter(f"{100 * same:.4g}%", same)
        return {
            "treatment": "randomised",
            "values": size,
            "kept": f"{100 * kept:.4g}%",
            "published as it is": meter,
        }
    return {"treatment": "randomised", "values": size, "published as it is": _by_matrix(law, attribute)}


def _kept(law: Law | None, attribute: Attribute) -> float | None:
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
    return Meter(f"{100 * least:.4g}% to {100 * most:.4g}%" if least < most else f"{100 * least:.4g}%", least)


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
            for label, row in zip(labels, channel.weights, strict=True)
        ]
        parts.append(Section(a.name, [Grid(rows)], part=True))
    if not parts:
        return []
    words = Text("How often a true value, on the left, is published as each value.", quiet=True)
    return [Section("The matrices", [words], anchor="matrices"), *parts[:MOST_MATRICES]]


def _choice(law: Law | None, records: int, tables: Sequence[Sequence[str]], with_k: bool) -> list[Section]:
    """Privacy and usefulness of laws like this one."""
    if not isinstance(law, Product | RecordRetention):
        return []
    picture = choice_picture(law, records, tables_that_matter(tables, law.sizes), with_k)
    if picture is None:
        return []
    return [Section("Privacy and usefulness", [Drawn(picture, _CHOICE)], anchor="choice")]
