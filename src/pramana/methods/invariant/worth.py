"""What the tables of an invariant release are worth, by the errors its certificate bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pramana.calibration import Usefulness, tables_asked, worth_of_total
from pramana.methods.invariant.design import InvariantDesign
from pramana.schema import Attribute


def worth_of_exchange(
    attributes: Sequence[Attribute],
    design: InvariantDesign,
    summaries: Mapping[str, Mapping[str, Any]],
    records: int,
    named: Sequence[Sequence[str]],
) -> Usefulness:
    """Of tables within one group of columns, whose counts are kept in expectation.

    Nothing is said of tables across groups: how columns go together is blurred there by as much as the matrices
    move, and withheld matrices do not tell how much that is. A record adds at most 1 to the summed variances of a
    table's counts, so these are at most the number of records whatever the matrices are.
    """
    sizes = {a.name: a.coded.size for a in attributes if not a.raw}
    asked, is_named = tables_asked(named, list(sizes))
    worth = []
    for names in asked:
        group = next((g for g in design.groups if set(names) <= set(g)), None)
        if group is None:
            continue
        others = math.prod(sizes[name] for name in group if name not in names)
        squares = float(records)
        if not design.strata:  # the sum over `others` of errors, squared, is at most so many times their squares
            error = float(summaries[" and ".join(group)]["total_expected_squared_error"])
            squares = min(squares, error * min(others, records))
        worth.append(worth_of_total(names, math.prod(sizes[name] for name in names), max(records, 1), squares))
    return Usefulness(tuple(worth), is_named)
