"""What microaggregated columns are worth, by the losses their certificate states."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pramana.calibration import TableWorth, Usefulness, blind_error, tables_asked
from pramana.methods.microaggregate.classes import AggregateMeasures
from pramana.schema import Attribute


def worth_of_aggregates(
    quasi: Sequence[Attribute], measured: AggregateMeasures, named: Sequence[Sequence[str]]
) -> Usefulness:
    """A number by its distance from the published one, in standard deviations of its column; a category by the
    share of records that show another one; several columns by the worst of them.

    A guess that ignores who is who, the mean for everyone, is off by one standard deviation.
    """
    alone = {a.name: _of_column(a, measured) for a in quasi}
    asked, is_named = tables_asked(named, list(alone))
    worth = []
    for names in asked:
        worst = max((alone[name] for name in names), key=lambda one: one.ratio)
        worth.append(TableWorth(names, worst.cells, worst.error, worst.guess, worst.of))
    return Usefulness(tuple(worth), is_named)


def _of_column(attribute: Attribute, measured: AggregateMeasures) -> TableWorth:
    names = (attribute.name,)
    if attribute.raw:
        return TableWorth(names, None, math.sqrt(measured.lost[attribute.name]), 1.0, "value")
    cells = attribute.coded.size
    changed = measured.changed[
        attribute.name
    ]  # no share is off by more than that; half of it is one of two errors
    one_for_all = measured.classes == 1 and changed > 0
    return TableWorth(names, cells, blind_error(cells) if one_for_all else changed / 2, blind_error(cells))
