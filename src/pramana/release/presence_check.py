"""What `verify` counts again in the published data of a presence release."""

from __future__ import annotations

from collections.abc import Sequence

from pramana.errors import PramanaError
from pramana.release.bundle import Bundle
from pramana.release.generalized_columns import Quasi
from pramana.release.generalized_examined import ShownCells
from pramana.release.presence_words import Reached


def examined_presence(
    bundle: Bundle, quasi: Sequence[Quasi], records: int, reached: Reached
) -> list[tuple[str, bool, str]]:
    """The content is the certified one and shows no more classes than certified.

    Existence probabilities need the public table: they are computed again with the source and key.
    """
    shown = ShownCells([q.name for q in quasi], bundle.certificate.output)
    try:
        for piece in bundle.arrow_pieces():
            shown.take(piece)
        content, classes = shown.content(), len(shown.sizes)
    except PramanaError as error:
        return [("data", False, str(error))]
    except (KeyError, ValueError, TypeError, AttributeError):
        return [("data", False, "the columns are not those of a presence table")]
    same = content == bundle.certificate.content
    return [
        ("content", same, "as certified" if same else "other content"),
        ("records", shown.records == records, f"{shown.records} found"),
        ("classes counted again", 1 <= classes <= reached.classes, f"{classes} that look different"),
    ]
