"""Levels chosen without a look at who is present: from the public table, the number present and delta alone.

The choice then tells nothing. It aims at levels at which the private table is likely to hold. Were the people
present drawn from everyone, each with a chance within a factor `spread` of the overall share, then by Chernoff's
bound, which covers drawing without replacement (Hoeffding 1963), a class of N people has a share outside of
[dmin, dmax] with a chance of at most e^(-N KL(dmax, high)) + e^(-N KL(dmin, low)); and there are at most people/N
classes. The smallest N for which some class falls outside with a chance of at most RISK is asked of every class: a
search for k-anonymity with k = N.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from pramana.counting.classes import Classes, ClassFinder, Layout, Levels, grouped
from pramana.errors import SourceError, UnreachableError
from pramana.methods.cell_table import MARK, derive_marks
from pramana.methods.columns import Quasi
from pramana.methods.generalize.conditions import KAnonymous
from pramana.methods.generalize.lattice import search
from pramana.methods.generalize.measures import separable
from pramana.methods.presence.search import Pair, check_share, matched_lines
from pramana.methods.presence.shaping import Presence
from pramana.rows.digest import ContentDigest
from pramana.rows.protocol import Columns, Rows

RISK = 0.05
SPREAD = 2.0


def levels_from_public(
    pair: Pair,
    wanted: Presence,
    measure: str = "loss",
    weights: Mapping[str, float] | None = None,
    spread: float = SPREAD,
) -> Levels:
    """The cheapest levels, for everyone, whose classes are large enough. Only the number present is private."""
    check_share(pair, wanted)
    base = pair.base
    public = Classes(base.layout, base.levels, base.keys, np.ascontiguousarray(base.counts[:, :1]))
    least = smallest_class(pair.people, pair.people_present, wanted, spread)
    try:
        return search(public, KAnonymous(least), separable(measure, public, weights)).levels
    except UnreachableError:
        raise UnreachableError(
            f"Some generalisation must have classes of at least {least:,} people of the public table",
            "none",
            "Let the hierarchies end in one label, widen delta, lower `spread`, or give the levels.",
        ) from None


def smallest_class(people: int, present: int, wanted: Presence, spread: float = SPREAD) -> int:
    """How many people a class must have to hold in nearly every table that may be; at most all of them."""
    share = present / people
    lowest, highest = float(wanted.lowest), float(wanted.highest)
    # Half of the room between the share and each end, by factors, is left to chance.
    above = min(spread, math.sqrt(highest / share))
    below = min(spread, math.sqrt(share / lowest)) if lowest > 0 else spread
    high = _divergence(highest, min(share * above, 1.0)) if highest < 1 else math.inf
    low = _divergence(lowest, share / below) if lowest > 0 else math.inf

    def fails(size: int) -> bool:
        chance = math.exp(-size * high) + math.exp(-size * low)
        return people / size * chance > RISK

    if fails(people):
        return people
    least, most = 0, people
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if fails(middle) else (least, middle)
    return most


def _divergence(share: float, chance: float) -> float:
    """Kullback and Leibler's, between two coins, in nats."""
    if share <= 0 or share >= 1 or not 0 < chance < 1:
        return 0.0 if share == chance else math.inf
    return share * math.log(share / chance) + (1 - share) * math.log((1 - share) / (1 - chance))


# The two tables of a presence release: counts of combinations, and who of the public one is private.


def pair_of(quasi: Sequence[Quasi], rows: Rows, public: Rows | None, flag: str | None) -> Pair:
    """Both tables: the combinations that people have, how many have each, and how many of them are private."""
    layout = Layout(tuple(q.ladder for q in quasi))
    sizes = {q.name: q.attribute.coded.size for q in quasi}
    if flag is not None:
        derive_marks(rows, flag)
        [lines] = rows.combinations([{**sizes, MARK: 2}])
        *codes, marks = lines.columns
        return Pair(layout, tuple(codes), np.where(marks == 1, lines.times, 0).astype(np.uint32), lines.times)
    [private], [everyone] = rows.combinations([sizes]), _at_hand(public).combinations([sizes])
    present = matched_lines(layout, (everyone.columns, everyone.times), (private.columns, private.times))
    return Pair(layout, everyone.columns, present, everyone.times)


def digest_of_pair(quasi: Sequence[Quasi], pair: Pair, rows: Rows, public: Rows | None, flag: str | None) -> str:
    """Of the public table person by person, in its order, with who of them is present."""
    digest, names = ContentDigest(), [q.name for q in quasi]
    pieces = rows.in_order([*names, MARK]) if flag is not None else _with_marks(pair, _at_hand(public), names)
    for columns in pieces:
        people = {str(i): columns[name] for i, name in enumerate(names)}
        digest.update({**people, "present": columns[MARK]})
    return digest.hexdigest()


def _with_marks(pair: Pair, public: Rows, names: Sequence[str]) -> Iterator[Columns]:
    """People who agree on every attribute cannot be told apart by anyone; the first of them are present."""
    base, index = grouped(pair.layout, pair.columns)
    left = np.bincount(index, pair.present, len(base)).astype(np.int64)
    finder = ClassFinder(pair.layout, pair.layout.bottom, base.keys)
    for columns in public.in_order(names):
        number = finder.find([columns[name] for name in names]).astype(np.int64)
        order = np.argsort(number, kind="stable")
        counts = np.bincount(number, minlength=len(base))
        rank = np.empty(len(number), np.int64)
        rank[order] = np.arange(len(number)) - np.repeat(np.cumsum(counts) - counts, counts)
        yield {**columns, MARK: (rank < left[number]).astype(np.uint8)}
        left = np.maximum(left - counts, 0)


def _at_hand(public: Rows | None) -> Rows:
    if public is None:
        raise SourceError("The public table must be at hand", "none")
    return public
