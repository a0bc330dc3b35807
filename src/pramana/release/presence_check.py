"""What `verify` counts again in the published data of a presence release."""

from __future__ import annotations

from collections.abc import Sequence

from pramana.engines import digest_of_columns
from pramana.errors import PramanaError
from pramana.generalize import CLASS, cell_codes
from pramana.release.bundle import Bundle
from pramana.release.generalized_columns import Quasi
from pramana.release.generalized_measured import content_of, joined_column
from pramana.release.presence_words import Reached


def examined_presence(
    bundle: Bundle, quasi: Sequence[Quasi], records: int, reached: Reached
) -> list[tuple[str, bool, str]]:
    """The content is the certified one and shows no more classes than certified.

    Existence probabilities need the public table: they are computed again with the source and key.
    """
    try:
        names = [q.name for q in quasi]
        table = bundle.arrow(text=names)
        shown = [n for n in (CLASS, *names) if n in table.column_names]
        codes = [cell_codes(joined_column(table.column(n)))[0].tolist() for n in shown]
        classes = len(set(zip(*codes, strict=True)))
        content = content_of(table, names, bundle.certificate.output)
        digest = digest_of_columns({name: content[name] for name in sorted(content)})
    except PramanaError as error:
        return [("data", False, str(error))]
    except (KeyError, ValueError, TypeError, AttributeError):
        return [("data", False, "the columns are not those of a presence table")]
    same = digest == bundle.certificate.content
    return [
        ("content", same, "as certified" if same else "other content"),
        ("records", table.num_rows == records, f"{table.num_rows} found"),
        ("classes counted again", 1 <= classes <= reached.classes, f"{classes} that look different"),
    ]
