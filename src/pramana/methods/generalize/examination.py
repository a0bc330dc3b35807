"""What `verify` counts again in published cells, piece by piece: the file need not fit in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pramana.bundle import Bundle, Check
from pramana.errors import PramanaError
from pramana.methods.cell_table import ShownCells
from pramana.methods.generalize.measured import Measured
from pramana.methods.generalize.sensitive import Sensitive
from pramana.methods.quasi import Quasi
from pramana.sources import Numbering


def examine_classes(
    bundle: Bundle, quasi: Sequence[Quasi], sensitive: Sequence[Sensitive], stated: Measured
) -> list[Check]:
    """k and l counted again from the published file, and its content compared with the certificate."""
    counted = [s.name for s in sensitive if s.name in stated.l and stated.l[s.name].kind == "distinct"]
    values = {name: Numbering() for name in counted}
    pairs = dict.fromkeys(counted, np.zeros(0, np.int64))  # of class and value
    shown = ShownCells([q.name for q in quasi], bundle.certificate.output)
    try:
        for piece in bundle.batches():
            class_of = shown.take(piece)
            for name in counted:
                codes = values[name].number(piece.column(name)).astype(np.int64)
                pairs[name] = np.union1d(pairs[name], class_of << 32 | codes)
        content, k = shown.content(), int(shown.sizes.min())
    except PramanaError as error:
        return [Check("data", False, str(error))]
    except (KeyError, ValueError, TypeError, AttributeError):
        return [Check("data", False, "the columns are not those of a generalised table")]
    same = content == bundle.certificate.content
    checks = [
        Check("content", same, "as certified" if same else "other content"),
        Check("records", shown.records == stated.records, f"{shown.records} found"),
        Check("k counted again", k == stated.k, f"{k} records in the smallest class"),
    ]
    for name in counted:
        least = int(np.bincount(pairs[name] >> 32).min())
        checks.append(Check(f"l of {name} counted again", least == stated.l[name].l, f"{least} values"))
    return checks
