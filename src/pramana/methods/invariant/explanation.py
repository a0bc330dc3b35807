"""What a report says of columns whose values were exchanged."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from pramana.bundle.published_numbers import notes_on_numbers
from pramana.methods.columns import sizes_of
from pramana.methods.invariant.design import InvariantDesignForm
from pramana.methods.protocol import Explanation
from pramana.pages.content import Cell, Grid, Meter, Section, Text
from pramana.schema.domain import Attribute
from pramana.theory import rounding

_USE = (
    "Some published values are not the true ones: chance exchanged them. The matrices keep every frequency in "
    "expectation, so counts are taken directly from the file: count them as they are. The certificate bounds "
    "the sum of their expected squared errors."
)
_UNTOUCHED = (
    "Some published columns are as in the source: no value of them is rare enough to need a change. Count them as "
    "they are."
)
_PUBLISHED = "It derives every promise again from the matrices that the certificate states."
_WITHHELD = (
    "The matrices are withheld, so it compares the promises with the risks that the certificate states; deriving "
    "them again takes the source and the key, and only the holder has these."
)
_RISKS = (
    "Purple bars are chances of a correct match, from 0 to 1: of anyone who knows a person's true value and picks "
    "one of the records that show it, and of anyone who also uses every other published count."
)
_ERROR = (
    '"Typical error of a count" is the square root of the mean expected squared error: how far the published '
    "count of a value is from the true one."
)


def explanation_of_exchange(
    attributes: Sequence[Attribute],
    design: InvariantDesignForm,
    summaries: Mapping[str, Mapping[str, Any]],
    published: bool,
) -> Explanation:
    """`published`: whether the matrices are in the certificate."""
    group_of = {name: " and ".join(group) for group in design.groups for name in group}
    treatments = {a.name: _treatment(a, group_of, summaries, design) for a in attributes}
    touched = any(is_touched(summary) for summary in summaries.values())
    return Explanation(
        treatments,
        notes_on_numbers(attributes),
        sections=[_risks(attributes, design, summaries)],
        use=_USE if touched else _UNTOUCHED,
        verified=_PUBLISHED if published else _WITHHELD,
    )


def is_touched(summary: Mapping[str, Any]) -> bool:
    """Whether any value of a group of columns may have been exchanged."""
    return float(summary["total_expected_squared_error"]) > 0


def _treatment(
    attribute: Attribute,
    group_of: Mapping[str, str],
    summaries: Mapping[str, Mapping[str, Any]],
    design: InvariantDesignForm,
) -> dict[str, Cell]:
    if attribute.raw:
        words = "released unchanged"
        if attribute.name in design.strata:
            words += "; the others were exchanged within its values"
        return {"treatment": words, "chance of a correct match": None, "values": None}
    summary = summaries.get(group_of.get(attribute.name, ""))
    if summary is None:  # a stranger's certificate may leave a column out of every group
        return {"treatment": "not told", "chance of a correct match": None, "values": attribute.coded.size}
    xi = float(summary["xi"])
    if not is_touched(summary):
        words = "as in the source: no value is rare"
    else:
        words = "exchanged within blocks" if design.kind == "blocks" else "exchanged"
    meter = Meter(f"at most {rounding.shown_up(100 * xi, 4)}%", xi, risk=True)
    return {"treatment": words, "chance of a correct match": meter, "values": attribute.coded.size}


def _risks(
    attributes: Sequence[Attribute], design: InvariantDesignForm, summaries: Mapping[str, Mapping[str, Any]]
) -> Section:
    sizes = sizes_of(attributes)
    rows: list[dict[str, Cell]] = []
    for group in design.groups:
        summary = summaries[" and ".join(group)]
        one, every = float(summary["xi"]), float(summary["xi_all_counts"])
        values = math.prod(sizes.get(name, 1) for name in group)
        error = math.sqrt(float(summary["total_expected_squared_error"]) / values)
        rows.append(
            {
                "columns": " and ".join(group),
                "asked for": None if design.xi is None else f"{100 * float(Fraction(design.xi)):.4g}%",
                "knowing one count": Meter(f"{rounding.shown_up(100 * one, 4)}%", one, risk=True),
                "knowing every count": Meter(f"{rounding.shown_up(100 * every, 4)}%", every, risk=True),
                "typical error of a count": f"{error:.3g}",
            }
        )
    if design.xi is None:
        rows = [{name: cell for name, cell in row.items() if name != "asked for"} for row in rows]
    notes = (Text(words, quiet=True) for words in (_RISKS, _ERROR))
    return Section("Risks and errors", [Grid(rows), *notes], anchor="risks")
