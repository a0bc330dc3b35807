"""What `verify` counts again in the published data of a microaggregated table, piece by piece."""

from __future__ import annotations

from collections.abc import Sequence

from pramana.bundle import Bundle, Check
from pramana.errors import PramanaError
from pramana.methods.cell_table import ShownCells
from pramana.methods.microaggregate.classes import AggregateMeasures
from pramana.methods.protocol import Examination


def examine_aggregates(
    bundle: Bundle, columns: Sequence[str], quasi: Sequence[str], stated: AggregateMeasures
) -> Examination:
    """k: how many records at least agree in all quasi-identifiers. The losses need the source."""
    shown = ShownCells(quasi, bundle.certificate.output)
    try:
        bundle.check_columns(dict.fromkeys(columns))
        for piece in bundle.batches():
            shown.take(piece)
        content, k = shown.content(), int(shown.sizes.min())
    except PramanaError as error:
        return Examination((Check("data", False, str(error)),))
    except (KeyError, ValueError, TypeError, AttributeError):
        return Examination((Check("data", False, "the columns are not those of a microaggregated table"),))
    same = content == bundle.certificate.content
    return Examination(
        (
            Check("content", same, "as certified" if same else "other content"),
            Check("records", shown.records == stated.records, f"{shown.records} found"),
            Check("classes counted again", len(shown.sizes) == stated.classes, f"{len(shown.sizes)} differ"),
            Check("k counted again", k == stated.k, f"{k} records in the smallest class"),
            Check("information loss", True, "stated, not checked: it needs the source", derived=False),
        )
    )
