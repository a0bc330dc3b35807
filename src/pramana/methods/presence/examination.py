"""What `verify` counts again in the published data of a presence release."""

from __future__ import annotations

from collections.abc import Sequence

from pramana.bundle import Bundle, Check
from pramana.errors import PramanaError
from pramana.methods.cell_table import ShownCells
from pramana.methods.presence.words import Reached
from pramana.methods.quasi import Quasi


def examine_presence(bundle: Bundle, quasi: Sequence[Quasi], records: int, reached: Reached) -> list[Check]:
    """The content is the certified one and shows no more classes than certified.

    Existence probabilities need the public table: they are computed again with the source and key.
    """
    shown = ShownCells([q.name for q in quasi], bundle.certificate.output)
    try:
        for piece in bundle.batches():
            shown.take(piece)
        content, classes = shown.content(), len(shown.sizes)
    except PramanaError as error:
        return [Check("data", False, str(error))]
    except (KeyError, ValueError, TypeError, AttributeError):
        return [Check("data", False, "the columns are not those of a presence table")]
    same = content == bundle.certificate.content
    return [
        Check("content", same, "as certified" if same else "other content"),
        Check("records", shown.records == records, f"{shown.records} found"),
        Check("classes counted again", 1 <= classes <= reached.classes, f"{classes} that look different"),
    ]
