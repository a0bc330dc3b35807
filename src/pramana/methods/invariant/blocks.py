"""A wanted identification bound xi -> an invariant channel for the table with these frequencies.

Every plan is judged by the exact risk of the integers that will be sampled. Rules: `best`, the smallest
expected error of the published frequencies under exact risk <= xi; `paper`, theta* and the ceiling block size.
`auto` takes the paper's where it reaches xi and the best otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pramana.errors import InputError, SchemaError, UnreachableError
from pramana.mechanisms.invariant import Block, BlockInvariant, exchanged, inverse_frequency, redrawn
from pramana.mechanisms.matching import largest_risk
from pramana.methods.invariant.partners import Distance, PartnerExchange, Places, Pool, anywhere, exchanges, pools
from pramana.randomness.samplers import ONE
from pramana.theory import identification, rounding

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Forbidden = Collection[tuple[int, int]]

RULES = ("best", "paper", "auto")
_LARGEST_DOMAIN = 1 << 22
_LARGEST_COUNT = 1 << 40
# theta comes from floats: by these shares of what is left it is lifted until the integers hold xi
_LIFTS = (0.0, *(1e-14 * 16**i for i in range(11)))


@dataclass(frozen=True)
class BlockPlan:
    """An invariant channel, and the largest risk it leaves on the table it was made for."""

    channel: BlockInvariant
    counts: tuple[int, ...]
    wanted: Fraction
    reached: Fraction  # the largest exact risk of any category

    @property
    def holds(self) -> bool:
        return self.reached <= self.wanted

    @property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        return tuple(block.members for block in self.channel.blocks)

    @property
    def thetas(self) -> tuple[float, ...]:
        """Records that each block's first category, its rarest, gives away on average."""
        return tuple(
            float(self.counts[b.members[0]] * Fraction(ONE - int(b.weights[0, 0]), ONE))
            for b in self.channel.blocks
        )

    @property
    def xi_reached(self) -> float:
        return rounding.float_up(self.reached)


def plan_blocks(
    counts: ArrayLike,
    xi: float | Fraction | str,
    *,
    rule: str = "best",
    ordered: bool = False,
    forbidden: Forbidden = (),
) -> BlockPlan:
    """Blocks for one attribute. `ordered`: near categories are preferred; `forbidden`: (from, to) never published.

    When xi cannot be reached the plan is the best found on the ladder 1/(n-1), 1/(n-2), ...: see `holds`.
    """
    t = checked_counts(counts)
    barred = _barred(forbidden, len(t))

    def distance(rare: int, others: Places) -> Floats:
        far = np.abs(others - rare).astype(np.float64) if ordered else anywhere(rare, others)
        blocked = barred.get(rare)
        return far if blocked is None else np.where(np.isin(others, blocked), np.inf, far)

    return _planned(t, checked_xi(xi), rule, distance)


def plan_combinations(
    counts: ArrayLike,
    xi: float | Fraction | str,
    *,
    ordered: Sequence[bool] = (),
    forbidden: Sequence[Forbidden] = (),
    rule: str = "best",
) -> BlockPlan:
    """Blocks for combinations of attributes: `counts` has an axis per attribute, codes are in C order.

    A combination moves to one that differs in as few attributes as can be (ordered ones: by as little as can be).
    Only combinations that occur are ever published, so an impossible one cannot appear.
    """
    table = np.asarray(counts)
    flat = checked_counts(table.reshape(-1))
    shape = table.shape
    kinds = [*ordered, *[False] * (len(shape) - len(ordered))]
    barred = [_barred(pairs, size) for pairs, size in zip(forbidden, shape, strict=False)]

    def distance(rare: int, others: Places) -> Floats:
        far = np.zeros(len(others))
        here, there = np.unravel_index(rare, shape), np.unravel_index(others, shape)
        for axis, (a, b) in enumerate(zip(here, there, strict=True)):
            step = np.abs(b - a)
            far += step / max(1, shape[axis] - 1) if kinds[axis] else step > 0
            if axis < len(barred) and int(a) in barred[axis]:
                far[np.isin(b, barred[axis][int(a)])] = np.inf
        return far

    return _planned(flat, checked_xi(xi), rule, distance)


def plan_strata(
    counts: ArrayLike,
    xi: float | Fraction | str,
    *,
    rule: str = "best",
    ordered: Sequence[bool] = (),
    forbidden: Sequence[Forbidden] = (),
) -> BlockPlan:
    """A matrix for each stratum: the first axis of `counts` is the stratum. Nothing moves between strata.

    The channel's codes are those of (stratum, attributes) in C order, and the bound holds for an intruder who
    knows the stratum too.
    """
    table = np.asarray(counts)
    if table.ndim < 2:
        raise SchemaError("Counts by stratum must be a table of strata by categories")
    size = table[0].size
    if table.ndim == 2:
        alone, barred = bool(ordered and ordered[0]), forbidden[0] if forbidden else ()
        plans = [plan_blocks(row, xi, rule=rule, ordered=alone, forbidden=barred) for row in table]
    else:
        plans = [plan_combinations(row, xi, rule=rule, ordered=ordered, forbidden=forbidden) for row in table]
    blocks = tuple(
        Block(tuple(stratum * size + m for m in block.members), block.weights)
        for stratum, plan in enumerate(plans)
        for block in plan.channel.blocks
    )
    channel = BlockInvariant(table.size, blocks)
    reached = max(plan.reached for plan in plans)
    return BlockPlan(channel, tuple(table.reshape(-1).tolist()), checked_xi(xi), reached)


# ---------------------------------------------------------------- input


def checked_xi(xi: float | Fraction | str) -> Fraction:
    """xi as the decimal that was written: 0.1 is one tenth."""
    try:
        value = xi if isinstance(xi, Fraction) else Fraction(str(xi))
    except (ValueError, ZeroDivisionError):
        value = Fraction(0)
    if not 0 < value <= 1:
        raise UnreachableError("xi must lie above 0 and at most at 1", str(xi), "0.1 is usual; smaller is safer.")
    return value


def checked_counts(counts: ArrayLike) -> Integers:
    found = np.asarray(counts)
    if found.ndim != 1 or len(found) == 0 or found.dtype.kind not in "iu":
        raise InputError("Frequencies must be a list of whole numbers")
    if len(found) > _LARGEST_DOMAIN:
        raise InputError(f"There must be at most {_LARGEST_DOMAIN} categories or combinations", str(len(found)))
    if (found < 0).any() or (found > _LARGEST_COUNT).any() or not (found > 0).any():
        raise InputError("Frequencies must not be negative nor above 2^40, and one must be positive")
    return found.astype(np.int64)


def _barred(forbidden: Forbidden, size: int) -> dict[int, list[int]]:
    """An exchange publishes both ways, so a pair that is forbidden one way is barred both ways."""
    barred: dict[int, list[int]] = {}
    for one, other in forbidden:
        if not (0 <= one < size and 0 <= other < size):
            raise SchemaError("A forbidden transition must be between values of the domain")
        barred.setdefault(one, []).append(other)
        barred.setdefault(other, []).append(one)
    return barred


# ---------------------------------------------------------------- search


def _planned(counts: Integers, xi: Fraction, rule: str, distance: Distance) -> BlockPlan:
    if rule not in RULES:
        raise InputError(f"The rule for blocks must be one of {', '.join(RULES)}", repr(rule))
    attempt = _paper if rule == "paper" else _best
    # lifts=1: theta* as the paper has it, or else the best rule
    plan = (_paper(counts, xi, distance, lifts=1) if rule == "auto" else None) or attempt(counts, xi, distance)
    if plan is not None and plan.holds:
        return plan
    # The ladder of paper 2, section 2. Its lowest rung, 1/min T, is reached by doing nothing.
    low, high = int(counts[counts > 0].min()), -(-xi.denominator // xi.numerator)
    untouched = BlockPlan(BlockInvariant(len(counts), ()), tuple(counts.tolist()), xi, Fraction(1, low))
    found = [untouched] if plan is None else [untouched, plan]
    while high - low > 1:
        middle = (low + high) // 2
        plan = attempt(counts, Fraction(1, middle), distance)
        if plan is not None:
            found.append(BlockPlan(plan.channel, plan.counts, xi, plan.reached))
        low, high = (low, middle) if plan is None or plan.reached > Fraction(1, middle) else (middle, high)
    return min(found, key=lambda p: p.reached)


def _best(counts: Integers, xi: Fraction, distance: Distance) -> BlockPlan | None:
    """Partners first; categories that get none hide among each other."""
    served, left = exchanges(counts, xi, distance)
    pooled = pools(counts, left, served, xi, distance)
    if pooled is None:
        return None
    for slack in _LIFTS:
        blocks = [*_stars(counts, pooled[1], slack), *_pools(counts, pooled[0], slack)]
        plan = _judged(counts, xi, blocks)
        if plan.holds:
            return plan
    # A pool of exactly 1/xi records reaches xi only where every row is the same: no integer may stand out.
    blocks = [*_stars(counts, pooled[1], _LIFTS[-1]), *(redrawn(counts, pool.members) for pool in pooled[0])]
    return _judged(counts, xi, blocks)


def _stars(counts: Integers, served: list[PartnerExchange], slack: float) -> list[Block]:
    """Each partner with the rare categories it serves, rarest first, the partner last."""
    hubs: dict[int, list[PartnerExchange]] = {}
    for one in sorted(served, key=lambda e: (int(counts[e.rare]), e.rare)):
        hubs.setdefault(one.partner, []).append(one)
    blocks = []
    for partner, spokes in hubs.items():
        members = [spoke.rare for spoke in spokes] + [partner]
        flows = np.zeros((len(members), len(members)))
        given = [s.theta + slack * (float(counts[s.rare]) - s.theta) for s in spokes]
        flows[:-1, -1] = flows[-1, :-1] = given
        blocks.append(exchanged(counts, members, flows))
    return blocks


def _pools(counts: Integers, found: list[Pool], slack: float) -> list[Block]:
    return [exchanged(counts, pool.members, pool.flows(counts, slack)) for pool in found]


def _paper(counts: Integers, xi: Fraction, distance: Distance, lifts: int | None = None) -> BlockPlan | None:
    """One rare category per block, theta* and the ceiling size; smaller where partners run out, by the exact
    condition, which a partner of at least 1/xi records always satisfies."""
    chosen = _papers_blocks(counts, xi, distance)
    if chosen is None:
        return None
    for slack in _LIFTS[:lifts]:
        blocks = []
        for members, theta in chosen:
            lifted = theta + slack * (float(counts[members[0]]) - theta)
            blocks.append(inverse_frequency(counts, members, lifted))
        plan = _judged(counts, xi, blocks)
        if plan.holds:
            return plan
    return None


def _papers_blocks(counts: Integers, xi: Fraction, distance: Distance) -> list[tuple[list[int], float]] | None:
    """The members of every block, its rare category first, and the theta of each."""
    wanted = 1 / xi
    order = np.argsort(counts, kind="stable").tolist()
    rare = [c for c in order if 0 < int(counts[c]) < wanted]
    free = [c for c in order if int(counts[c]) >= wanted]
    chosen: list[tuple[list[int], float]] = []
    for done, category in enumerate(rare):
        frequency = int(counts[category])
        most = min(identification.block_size(frequency, xi) - 1, len(free) - (len(rare) - done - 1))
        near = _nearest(category, free, most, distance)
        if not near:
            return None
        free = [c for c in free if c not in near]
        chosen.append(([category, *near], identification.theta_for_xi(frequency, xi)))
    return chosen


def _nearest(category: int, free: list[int], most: int, distance: Distance) -> list[int]:
    """Up to `most` partners, near ones first and then rare ones first, that may all exchange with each other."""
    far = distance(category, np.array(free, np.intp))
    near: list[int] = []
    for i in np.argsort(far, kind="stable").tolist():
        if len(near) >= most or not np.isfinite(far[i]):
            break
        if not near or np.isfinite(distance(free[i], np.array(near, np.intp))).all():
            near.append(free[i])
    return near


def _judged(counts: Integers, xi: Fraction, blocks: list[Block]) -> BlockPlan:
    channel = BlockInvariant(len(counts), tuple(blocks))
    return BlockPlan(channel, tuple(counts.tolist()), xi, largest_risk(channel, counts))
