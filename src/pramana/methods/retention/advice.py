"""What would make a useless release by retention useful: tried on the law, which no row decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from pramana.calibration import TableWorth, Wanted, calibrate, worth_of_law
from pramana.errors import UnreachableError
from pramana.mechanisms import Mechanism, Product, RecordRetention, Retention
from pramana.methods.trials import Change

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
    advice = [
        _said(f'With coin = "{other}" {{}}.', tried(sizes, wanted, other)),
        *_fewer_columns(sizes, lambda own: tried(own, wanted, coin)),
        _coarser(sizes, lambda own: tried(own, wanted, coin)),
        *_weaker(wanted, lambda promise: tried(sizes, promise, coin)),
        _GENERALIZE,
    ]
    return tuple(words for words in advice if words)


def _said(words: str, reached: TableWorth | None) -> str:
    return "" if reached is None else words.format(reached.words)


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
    around = wanted.circumstances
    if wanted.k is not None:
        for k in (k for k in _FEWER if k < wanted.k):
            if reached := tried(Wanted(around, k, wanted.epsilon, wanted.central)):
                return [f"With k = {k} {reached.words}."]
        if wanted.epsilon is None:
            return ["No k down to 2 leaves anything to learn."]
    if wanted.epsilon is not None:
        for epsilon in (e for e in _MORE if e > wanted.epsilon):
            if reached := tried(Wanted(around, wanted.k, epsilon, wanted.central)):
                return [f"With epsilon = {epsilon:g} {reached.words}."]
    return []


def weaker_promises(k: float | None, epsilon: float | None) -> Iterator[list[Change]]:
    """The same as keys of [release], from the strongest on, for what must be tried on the rows."""
    if k is not None:
        yield [(f"With k = {fewer}", {"k": fewer}) for fewer in _FEWER if fewer < k]
    if epsilon is not None:
        yield [(f"With epsilon = {more:g}", {"epsilon": more}) for more in _MORE if more > epsilon]


def advice_for_retention(
    law: Product | RecordRetention | None, columns: Sequence[str], records: int, tables: Sequence[Sequence[str]]
) -> tuple[str, ...]:
    """The least of some usual retentions at which something is learnt, for a law whose retention was stated."""
    if law is None:
        return ()
    best = best_of(records, tables)
    for retention in _RETENTIONS:
        if isinstance(law, RecordRetention):
            higher: Product | RecordRetention = RecordRetention.at(retention, law.sizes)
        else:
            higher = Product({name: Retention.at(retention, size) for name, size in law.sizes.items()})
        reached = best(higher, columns)
        if reached is not None:
            return (f"At a retention of {float(retention):g} {reached.words}.",)
    return ()
