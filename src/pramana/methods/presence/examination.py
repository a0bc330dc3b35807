"""What `verify` counts again in the published data of a presence release."""

from __future__ import annotations

from collections.abc import Sequence

from pramana.bundle import Bundle, Check
from pramana.calibration import worth_of_cells
from pramana.errors import PramanaError
from pramana.methods.cell_table import ShownCells, ShownColumn, published_types
from pramana.methods.companion import check_companion
from pramana.methods.presence.words import Reached
from pramana.methods.protocol import Examination
from pramana.methods.quasi import Quasi

_NEEDS_PUBLIC = "stated, not checked: they need the public table (--source and --key)"


def shown_columns(quasi: Sequence[Quasi], levels: Sequence[int], kind: str) -> list[ShownColumn]:
    """What the published columns may say."""
    return [ShownColumn.of(q, kind, level, narrower=True) for q, level in zip(quasi, levels, strict=True)]


def examine_presence(
    bundle: Bundle,
    quasi: Sequence[Quasi],
    levels: Sequence[int],
    kind: str,
    records: int,
    reached: Reached,
    tables: Sequence[Sequence[str]],
    exact: bool,
) -> Examination:
    """The content is the certified one and shows no more classes than certified.

    Existence probabilities need the public table: they are computed again with the source and key.
    """
    by_class = kind == "pdf" and bundle.certificate.output == "csv"
    columns = shown_columns(quasi, levels, kind)
    shown = ShownCells(columns, bundle.certificate.output)
    try:
        bundle.check_columns(published_types(bundle.certificate.attributes, kind, by_class))
        for piece in bundle.batches():
            shown.take(piece)
        content, classes = shown.content(), len(shown.sizes)
        looks = check_companion(bundle, quasi, columns, shown) if by_class else shown.looks(quasi)
    except PramanaError as error:
        return Examination((Check("data", False, str(error)),))
    except (KeyError, ValueError, TypeError, AttributeError):
        return Examination((Check("data", False, "the columns are not those of a presence table"),))
    same = bundle.has_content(content)
    return Examination(
        (
            Check("content", same, "as certified" if same else "other content"),
            Check("records", shown.records == records, f"{shown.records} found"),
            Check("classes counted again", 1 <= classes <= reached.classes, f"{classes} that look different"),
            Check("chances of being present, and reversal", True, _NEEDS_PUBLIC, derived=False),
        ),
        usefulness=worth_of_cells(looks, shown.sizes, 0, tables, exact),
    )
