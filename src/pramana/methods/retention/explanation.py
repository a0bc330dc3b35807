"""What a report says of a law that published values are drawn from."""

from __future__ import annotations

from collections.abc import Sequence

from pramana.calibration import tables_that_matter
from pramana.mechanisms import Product, RecordRetention, Retention
from pramana.methods.protocol import Explanation, Law
from pramana.methods.retention.curves import choice_picture
from pramana.pages import Drawn, Section
from pramana.schema import Attribute

_USE = (
    "The published values are not the true ones: chance changed some of them. Counts taken directly are biased; "
    "`pramana crosstab BUNDLE --by ATTRIBUTES` gives estimates of the true counts with intervals."
)
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
    notes = [_KEPT]
    if isinstance(law, RecordRetention):
        kept = f"{float(law.retention):.6g}"
        notes.insert(0, f"One coin per record: the whole record is kept with probability {kept}.")
    treatments = {a.name: _treatment(law, a) for a in attributes}
    return Explanation(treatments, notes, _choice(law, records, tables, shuffled), _USE)


def _treatment(law: Law | None, attribute: Attribute) -> dict[str, object]:
    if attribute.raw:
        return {"treatment": "released unchanged", "values": None, "kept": 1.0, "published as it is": 1.0}
    kept, size = _kept(law, attribute), attribute.coded.size
    diagonal = None if kept is None else kept + (1 - kept) / size
    return {"treatment": "randomised", "values": size, "kept": kept, "published as it is": diagonal}


def _kept(law: Law | None, attribute: Attribute) -> float | None:
    if isinstance(law, RecordRetention):
        return float(law.retention)
    channel = law.channels.get(attribute.name) if isinstance(law, Product) else None
    return float(channel.retention) if isinstance(channel, Retention) else None


def _choice(law: Law | None, records: int, tables: Sequence[Sequence[str]], with_k: bool) -> list[Section]:
    """Privacy and usefulness of laws like this one."""
    if not isinstance(law, Product | RecordRetention):
        return []
    picture = choice_picture(law, records, tables_that_matter(tables, law.sizes), with_k)
    return [] if picture is None else [Section("Privacy and usefulness", [Drawn(picture, _CHOICE)])]
