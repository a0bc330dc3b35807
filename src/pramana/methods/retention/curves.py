"""Privacy and usefulness against retention: what a holder chooses from, and where a release sits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pramana.calibration import expected_error
from pramana.mechanisms import (
    Circumstances,
    Mechanism,
    Product,
    RecordRetention,
    Retention,
    UnitDraws,
    composed,
    k_of,
)
from pramana.pages import Panel, Picture, Series
from pramana.theory import rounding

GRID = (*(i / 100 for i in range(2, 10, 2)), *(i / 20 for i in range(2, 20)), 0.97, 0.99)
MOST_TABLES = 4
_ALIKE = 1e-9  # retentions are rounded to what integers out of 2^62 can state
_LEAST = 0.001  # nearer to 0 or 1 the curves have no end


def choice_picture(
    law: Product | RecordRetention,
    records: int,
    tables: Sequence[Sequence[str]],
    with_k: bool = True,
    draws: UnitDraws | None = None,
) -> Picture | None:
    """k (where it is claimed), epsilon and expected errors against a common retention; None for other laws."""
    if isinstance(law, Product) and not all(isinstance(c, Retention) for c in law.channels.values()):
        return None
    here = _common_retention(law)
    mark = None if here is None else (here, "this release")
    grid = GRID if here is None else tuple(sorted({*GRID, here}))
    laws = [like(law, rho) for rho in grid]
    units = records if draws is None else draws.units(draws.largest)
    around, whole = Circumstances(units), [_whole(one, draws) for one in laws]
    shown = list(tables)[:MOST_TABLES]
    errors = [
        Series(" x ".join(table), grid, [expected_error(one, table, records) for one in laws]) for table in shown
    ]
    axis = "retention"
    k = Series("k", grid, [float(k_of(one, around)) for one in whole])
    epsilon = Series("epsilon", grid, [epsilon_of(one) for one in whole])
    panels = [
        *([Panel([k], "k", axis, log_y=True, mark=mark)] if with_k else []),
        Panel([epsilon], "local epsilon", axis, mark=mark, from_zero=True),
        Panel(errors, "expected L1 error", axis, log_y=True, mark=mark),
    ]
    return Picture(panels, columns=3)


def _whole(law: Product | RecordRetention, draws: UnitDraws | None) -> Product | RecordRetention:
    """Of all rows of a unit, where units have several."""
    if draws is None or isinstance(law, RecordRetention):
        return law
    return composed(law, draws, draws.size(draws.largest))


def _common_retention(law: Product | RecordRetention) -> float | None:
    """The retention of all columns, where they have one: each is the nearest that its domain allows."""
    retentions = [float(retention) for retention in law.retentions()]
    if not retentions or max(retentions) - min(retentions) > _ALIKE:
        return None
    return retentions[0] if _LEAST <= retentions[0] <= 1 - _LEAST else None


def like(law: Product | RecordRetention, retention: float) -> Product | RecordRetention:
    """The same kind of law on the same domains at another retention."""
    sizes: Mapping[str, int] = law.sizes
    if isinstance(law, RecordRetention):
        return RecordRetention.at(retention, sizes)
    return Product({name: Retention.at(retention, size) for name, size in sizes.items()})


def epsilon_of(law: Mechanism) -> float:
    ratio = law.likelihood_ratio
    return float("inf") if ratio is None else rounding.log_up(ratio)
