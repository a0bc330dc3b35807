"""A wanted identification bound xi -> an invariant channel for the table with these frequencies.

Every plan is judged by the exact risk of the integers that will be sampled. Rules: `best`, the smallest
expected error of the published frequencies under exact risk <= xi; `paper`, theta* and the ceiling block size.
`auto` takes the paper's where it reaches xi and the best otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from pramana.errors import InputError, SchemaError, UnreachableError
from pramana.mechanisms.invariant import Block, BlockInvariant, exchanged, inverse_frequency, largest_risk, redrawn
from pramana.randomness.samplers import ONE
from pramana.theory import identification, rounding

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Places = NDArray[np.intp]
Distance = Callable[[int, Places], Floats]  # from one category to others; infinite where exchange is forbidden

# Which frequent category each rare one exchanges records with.
#
# A rare category r and a partner h of at least 1/xi records exchange theta records on average (theory:
# `theta_for_pair`); that alone holds r's risk at xi. A partner may serve several rare categories, each with its
# own theta, as long as its own odds stay the largest of its column, so that Theorem 3.1 holds for it too.


MOST_SHARED = 31  # rare categories at one partner
_MATRIX = 1 << 21  # rare times frequent categories up to which the best assignment is sought


@dataclass(frozen=True)
class PartnerExchange:
    """`rare` and `partner` exchange `theta` records on average in each direction."""

    rare: int
    partner: int
    theta: float


def exchanges(counts: Integers, xi: Fraction, distance: Distance) -> tuple[list[PartnerExchange], list[int]]:
    """Partners for the categories below 1/xi at the least expected error, and the categories left without.

    First no partner is shared (a block of two tells nothing more to whoever sees every count), then the
    categories that are left share.
    """
    least = -(-xi.denominator // xi.numerator)  # T >= 1/xi in integers
    rare, partners = np.flatnonzero((counts > 0) & (counts < least)), np.flatnonzero(counts >= least)
    if len(rare) == 0 or len(partners) == 0:
        return [], rare.tolist()
    hubs = _Hubs(counts, partners, xi, distance)
    left = hubs.assign(rare) if len(rare) * len(partners) <= _MATRIX else rare
    hardest = left[np.argsort(counts[left], kind="stable")]
    return hubs.found, [r for r in hardest.tolist() if not hubs.share(r)]


class _Hubs:
    """Frequent categories, and what they already exchange."""

    def __init__(self, counts: Integers, partners: Places, xi: Fraction, distance: Distance) -> None:
        self.counts, self.partners, self.xi, self.distance = counts, partners, xi, distance
        self.given = np.zeros(len(partners))
        self.odds = np.zeros(len(partners))  # the largest odds of a rare category landing here
        self.served = np.zeros(len(partners), np.int64)
        self.found: list[PartnerExchange] = []

    def costs(self, rare: int) -> tuple[Floats, Floats]:
        """theta and expected squared error (times distance) of exchanging with each partner."""
        t1, t2 = float(self.counts[rare]), self.counts[self.partners].astype(np.float64)
        theta = identification.theta_for_pair(t1, t2, self.xi)
        error = 2 * theta * (2 - theta / t1 - theta / t2)
        return theta, error * self.distance(rare, self.partners)

    def assign(self, rare: Places) -> Places:
        """Distinct partners by the assignment of least total cost; returns the rare that got none."""
        rows = [self.costs(int(r)) for r in rare]
        cost = np.array([row[1] for row in rows])
        finite = np.isfinite(cost)
        if not finite.any():
            return rare
        forbidden = (float(cost[finite].max()) + 1) * (len(rare) + 1)
        chosen, places = scipy.optimize.linear_sum_assignment(np.where(finite, cost, forbidden))
        served = np.zeros(len(rare), bool)
        for i, place in zip(chosen.tolist(), places.tolist(), strict=True):
            theta = float(rows[i][0][place])
            if finite[i, place] and self._room(int(rare[i]), rows[i][0])[place]:
                self._take(int(rare[i]), place, theta)
                served[i] = True
        return rare[~served]

    def share(self, rare: int) -> bool:
        theta, cost = self.costs(rare)
        # Large partners first, and spread out: whoever sees every count learns least from those.
        load = (self.given + theta) * (1 + self.odds) / self.counts[self.partners]
        cost = np.where(self._room(rare, theta), cost * (1 + 10 * load), np.inf)
        place = int(cost.argmin())
        if not np.isfinite(cost[place]):
            return False
        self._take(rare, place, float(theta[place]))
        return True

    def _room(self, rare: int, theta: Floats) -> NDArray[np.bool_]:
        """Whether the partner's own odds stay the largest of its column: beta_h >= beta_r for all it serves.

        The first always fits (identification.md); a share of room keeps later rounding from deciding.
        """
        given = self.given + theta
        odds = np.maximum(self.odds, theta / np.maximum(float(self.counts[rare]) - theta, 1e-300))
        fits: NDArray[np.bool_] = self.counts[self.partners] - given >= given * odds * (1 + 1e-9)
        room: NDArray[np.bool_] = (self.served == 0) | (fits & (self.served < MOST_SHARED))
        return room

    def _take(self, rare: int, place: int, theta: float) -> None:
        self.given[place] += theta
        self.odds[place] = max(self.odds[place], theta / (float(self.counts[rare]) - theta))
        self.served[place] += 1
        self.found.append(PartnerExchange(rare, int(self.partners[place]), theta))


# Rare categories that find no partner hide among each other.
#
# In a pool of N records a share c of every category is redrawn from the pool's own frequencies: p_ij = c
# T_j/N off the diagonal. Own odds are always the largest of a column, so Theorem 3.1 applies; c = 1 gives
# every member the risk 1/N. A pool of at least 1/xi records therefore always reaches xi, and c is the least
# that does.


_COMFORTABLE_POOL = 32  # a pool of so many categories takes no more of them than it needs
_LARGEST_POOL = 1 << 10


@dataclass(frozen=True)
class Pool:
    members: tuple[int, ...]
    share: float  # the paper has no name for it: c above

    def flows(self, counts: Integers, slack: float) -> Floats:
        t = counts[list(self.members)].astype(np.float64)
        share = self.share + slack * (1 - self.share)
        flows: Floats = share * np.outer(t, t) / t.sum()
        return flows


def pools(
    counts: Integers, left: list[int], served: list[PartnerExchange], xi: Fraction, distance: Distance
) -> tuple[list[Pool], list[PartnerExchange]] | None:
    """Pools for the categories in `left`, and the exchanges that stay; None when records do not suffice.

    A pool takes other rare categories first, then idle frequent ones, then a partner away from those it serves,
    which then need a pool themselves.
    """
    wanted = 1 / xi
    hubs: dict[int, list[PartnerExchange]] = {}
    for one in served:
        hubs.setdefault(one.partner, []).append(one)
    busy = {one.rare for one in served} | set(hubs) | set(left)
    idle = [int(c) for c in np.argsort(counts, kind="stable") if counts[c] > 0 and int(c) not in busy]
    todo = sorted(left, key=lambda c: (int(counts[c]), c))
    found: list[list[int]] = []
    while todo:
        members = [todo[0]]
        # more than 1/xi records among the rare themselves: c then stays well below 1
        _fill(members, todo, counts, wanted * 5 / 4, distance)
        if len(members) < _COMFORTABLE_POOL:
            _fill(members, todo, counts, 2 * wanted, distance)
        for source in (idle, sorted(hubs, key=lambda h: int(counts[h]))):
            _fill(members, source, counts, wanted, distance)
        if int(counts[members].sum()) < wanted and not _joined(members, found, distance):
            return None
        for hub in [m for m in members if m in hubs]:
            todo += [one.rare for one in hubs.pop(hub) if one.rare not in members]
        todo = [c for c in todo if c not in members]
        idle = [c for c in idle if c not in members]
        if int(counts[members].sum()) >= wanted:
            found.append(members)
    kept = [one for spokes in hubs.values() for one in spokes]
    return [Pool(tuple(m), _least_share(counts[m], wanted)) for m in found], kept


def _fill(
    members: list[int], source: Iterable[int], counts: Integers, wanted: Fraction, distance: Distance
) -> None:
    """Add from `source` while records are short, only what may exchange with every member."""
    for candidate in source:
        if int(counts[members].sum()) >= wanted or len(members) >= _LARGEST_POOL:
            return
        if candidate not in members and _allowed(candidate, members, distance):
            members.append(candidate)


def _joined(members: list[int], found: list[list[int]], distance: Distance) -> bool:
    """Too few records for a pool of their own: join one that is there."""
    for other in found:
        if all(_allowed(member, other, distance) for member in members):
            other += members
            return True
    return False


def _allowed(candidate: int, members: list[int], distance: Distance) -> bool:
    return bool(np.isfinite(distance(candidate, np.array(members, np.intp))).all())


def _least_share(t: Integers, wanted: Fraction) -> float:
    """The least c at which no member's R1(1,t) = [T_i + (N-T_i) beta/beta_i]^-1 is above xi."""
    total, goal = float(t.sum()), float(wanted)
    own = t[t < goal].astype(np.float64)

    def short(c: float) -> bool:
        away = c * (1 - own / total)  # the chance to leave i
        into = c * own / total  # the chance that another's record lands on i
        return bool((own + (total - own) * (into / (1 - into)) * (away / (1 - away)) < goal).any())

    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if short(middle) else (low, middle)
    return high


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
    ordered: Sequence[bool] = (),
    forbidden: Sequence[Forbidden] = (),
) -> BlockPlan:
    """Blocks for one attribute, or for combinations of several.

    `counts` has an axis for each attribute, codes are in C order. A combination moves to one that differs in as
    few attributes as can be (`ordered` ones: by as little as can be); `forbidden` has, by attribute, pairs of
    values (from, to) of which the second is never published for the first. Only combinations that occur are ever
    published.
    When xi cannot be reached the plan is the best found on the ladder 1/(n-1), 1/(n-2), ...: see `holds`.
    """
    table = np.asarray(counts)
    flat = checked_counts(table.reshape(-1))
    shape = table.shape
    kinds = [*ordered, *[False] * (len(shape) - len(ordered))]
    barred = [_barred(pairs, size) for pairs, size in zip(forbidden, shape, strict=False)]
    widths = [max(1, size - 1) for size in shape] if len(shape) > 1 else [1]

    def distance(rare: int, others: Places) -> Floats:
        far = np.zeros(len(others))
        here, there = np.unravel_index(rare, shape), np.unravel_index(others, shape)
        for axis, (a, b) in enumerate(zip(here, there, strict=True)):
            step = np.abs(b - a)
            far += step / widths[axis] if kinds[axis] else step > 0
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
    plans = [plan_blocks(row, xi, rule=rule, ordered=ordered, forbidden=forbidden) for row in table]
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
        blocks = _stars(counts, pooled[1], slack)
        blocks += [exchanged(counts, pool.members, pool.flows(counts, slack)) for pool in pooled[0]]
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
