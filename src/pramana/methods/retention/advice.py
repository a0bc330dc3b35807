"""What would make a useless release by retention useful: tried on the law, which no row decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from pramana.errors import UnreachableError
from pramana.mechanisms.channel import Retention
from pramana.mechanisms.guarantees import Circumstances, k_of
from pramana.mechanisms.table import Mechanism, Product, RecordRetention
from pramana.mechanisms.units import UnitDraws, composed
from pramana.methods.protocol import Change, Plan
from pramana.methods.retention.calibration import Wanted, calibrate
from pramana.methods.usefulness import TableWorth, expected_error, worth_of_law
from pramana.pages.figures import Panel, Picture, Series
from pramana.theory import rounding

_FEWER = (100, 50, 20, 10, 5, 3, 2)  # of k, and of the values of a column
_MORE = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0)  # of epsilon
_RETENTIONS = tuple(Fraction(i, 20) for i in range(1, 20))
_MOST_LISTED = 6
_GENERALIZE = (
    'Method "generalize" keeps true values: with cells = "pdf" the share of every value of a single column is '
    "known exactly, and its k-anonymity is a weaker promise."
)
Best = Callable[[Mechanism | None, Sequence[str]], TableWorth | None]


def best_of(records: int, tables: Sequence[Sequence[str]]) -> Best:
    """The best table of a law over some columns, if anything is learnt of it."""

    def best(law: Mechanism | None, columns: Sequence[str]) -> TableWorth | None:
        kept = [table for table in tables if set(table) <= set(columns)]
        worth = worth_of_law(law, columns, records, kept)
        return None if worth.best is None or worth.best.hopeless else worth.best

    return best


def advice_for_promise(
    sizes: Mapping[str, int], wanted: Wanted, coin: str, tables: Sequence[Sequence[str]]
) -> tuple[str, ...]:
    """The other coin, fewer or coarser columns, a weaker promise, another method; each with what it reaches."""
    best = best_of(wanted.circumstances.records, tables)

    def tried(own: Mapping[str, int], promise: Wanted, by: str) -> TableWorth | None:
        try:
            return best(calibrate(own, promise, by), list(own))
        except UnreachableError:
            return None

    other = "record" if coin == "attribute" else "attribute"
    by_other = tried(sizes, wanted, other)
    advice = [
        "" if by_other is None else f'With coin = "{other}" {by_other.words}.',
        *_fewer_columns(sizes, lambda own: tried(own, wanted, coin)),
        _coarser(sizes, lambda own: tried(own, wanted, coin)),
        *_weaker(wanted, lambda promise: tried(sizes, promise, coin)),
        _GENERALIZE,
    ]
    return tuple(words for words in advice if words)


def _fewer_columns(sizes: Mapping[str, int], tried: Callable[[Mapping[str, int]], TableWorth | None]) -> list[str]:
    """As many columns as go, the smallest first: the others are dropped, or left as they are."""
    ordered = sorted(sizes, key=lambda name: sizes[name])
    for kept in range(len(ordered) - 1, 0, -1):
        own = {name: sizes[name] for name in sizes if name in ordered[:kept]}
        reached = tried(own)
        if reached is not None:
            gone = ", ".join(ordered[kept:][:_MOST_LISTED]) + (
                ", ..." if len(ordered) - kept > _MOST_LISTED else ""
            )
            return [
                f"With {len(own)} of {len(sizes)} columns randomised {reached.words}: drop {gone}, or leave them "
                "raw where nobody can know them (role insensitive; they then have no guarantee)."
            ]
    return []


def _coarser(sizes: Mapping[str, int], tried: Callable[[Mapping[str, int]], TableWorth | None]) -> str:
    for most in (m for m in _FEWER if m < max(sizes.values(), default=0)):
        reached = tried({name: min(size, most) for name, size in sizes.items()})
        if reached is not None:
            wide = ", ".join([name for name, size in sizes.items() if size > most][:_MOST_LISTED])
            return f"With at most {most} values a column (coarsen {wide}) {reached.words}."
    return ""


def _weaker(wanted: Wanted, tried: Callable[[Wanted], TableWorth | None]) -> list[str]:
    """The strongest promise of those tried that leaves something to learn."""
    for changes in weaker_promises(wanted.k, wanted.epsilon):
        for words, change in changes:
            if reached := tried(replace(wanted, **change)):
                return [f"{words} {reached.words}."]
    only_k = wanted.k is not None and wanted.epsilon is None
    return ["No k down to 2 leaves anything to learn."] if only_k else []


def weaker_promises(k: float | Fraction | None, epsilon: float | Fraction | None) -> Iterator[list[Change]]:
    """Weaker promises as keys of [release], from the strongest on."""
    if k is not None:
        yield [(f"With k = {fewer}", {"k": fewer}) for fewer in _FEWER if fewer < k]
    if epsilon is not None:
        yield [(f"With epsilon = {more:g}", {"epsilon": more}) for more in _MORE if more > epsilon]


def advice_for_retention(plan: Plan, tables: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The least of some usual retentions at which something is learnt, for a law whose retention was stated."""
    if not isinstance(plan.law, Product | RecordRetention):
        return ()
    columns = [a.name for a in plan.attributes if not a.raw]
    best = best_of(plan.records, tables)
    for retention in _RETENTIONS:
        reached = best(like(plan.law, retention), columns)
        if reached is not None:
            return (f"At a retention of {float(retention):g} {reached.words}.",)
    return ()


# Privacy and usefulness against retention: what a holder chooses from, and where a release sits.


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


def like(law: Product | RecordRetention, retention: Fraction | float) -> Product | RecordRetention:
    """The same kind of law on the same domains at another retention."""
    sizes: Mapping[str, int] = law.sizes
    if isinstance(law, RecordRetention):
        return RecordRetention.at(retention, sizes)
    return Product({name: Retention.at(retention, size) for name, size in sizes.items()})


def epsilon_of(law: Mechanism) -> float:
    ratio = law.likelihood_ratio
    return float("inf") if ratio is None else rounding.log_up(ratio)
