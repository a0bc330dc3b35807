"""Privacy and usefulness against retention: what a holder chooses from, and where a release sits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pramana.calibration import expected_error
from pramana.mechanisms import Circumstances, Product, RecordRetention, Retention, k_of
from pramana.pages import Panel, Picture, Series
from pramana.theory import rounding

GRID = (*(i / 100 for i in range(2, 10, 2)), *(i / 20 for i in range(2, 20)), 0.97, 0.99)
MOST_TABLES = 4


def choice_picture(
    law: Product | RecordRetention, records: int, tables: Sequence[Sequence[str]], with_k: bool = True
) -> Picture | None:
    """k (where it is claimed), epsilon and expected errors against a common retention; None for other laws."""
    retentions = set(law.retentions())
    if isinstance(law, Product) and not all(isinstance(c, Retention) for c in law.channels.values()):
        return None
    mark = (retentions.pop(), "this release") if len(retentions) == 1 else None
    laws = [like(law, rho) for rho in GRID]
    around = Circumstances(records)
    shown = list(tables)[:MOST_TABLES]
    errors = [
        Series(" x ".join(table), GRID, [expected_error(one, table, records) for one in laws]) for table in shown
    ]
    axis = "retention"
    k = Series("k", GRID, [float(k_of(one, around)) for one in laws])
    epsilon = Series("epsilon", GRID, [epsilon_of(one) for one in laws])
    panels = [
        *([Panel([k], "k", axis, log_y=True, mark=mark)] if with_k else []),
        Panel([epsilon], "local epsilon", axis, mark=mark, from_zero=True),
        Panel(errors, "expected L1 error", axis, log_y=True, mark=mark),
    ]
    return Picture(panels, columns=3)


def like(law: Product | RecordRetention, retention: float) -> Product | RecordRetention:
    """The same kind of law on the same domains at another retention."""
    sizes: Mapping[str, int] = law.sizes
    if isinstance(law, RecordRetention):
        return RecordRetention.at(retention, sizes)
    return Product({name: Retention.at(retention, size) for name, size in sizes.items()})


def epsilon_of(law: Product | RecordRetention) -> float:
    ratio = law.likelihood_ratio
    return float("inf") if ratio is None else rounding.log_up(ratio)
