"""Paper 4, section V: how likely each person of a public class is in the private table. Symbols: presence.md.

A class holds N people of the public table, n of whom are in the private one. A published distribution gives every
person a likelihood w; `counts` people share each of the likelihoods given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pramana.theory import identification

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_NEGLIGIBLE = 1e-34  # of the largest term: what a window of a law leaves out
_STEPS = 60  # halvings of a bracket; it is rigorous at any width, so these only make it narrow


# ------------------------------------------------------------------ exact


def existence(likelihoods: ArrayLike, present: int, counts: ArrayLike | None = None) -> Floats:
    """Eq. 4 without its sums: ex_k = w_k e_{n-1}(without k)/e_n, one for each likelihood given.

    A conditional Bernoulli law: tilt the likelihoods until n are expected, then ex_k = 1/(1 + r_k/w_k) with
    r_k = P(X = n)/P(X = n-1) of the number X of others present. Products from the left and from the right give
    every X without dividing, so only positive terms are added.
    """
    w, m = _class_of(likelihoods, counts)
    sure = _certain(w, m, present)
    if sure is not None:
        return sure
    values, place = np.unique(w, return_inverse=True)
    together = np.bincount(place, weights=m).astype(np.int64)
    live = (values > 0) & (together > 0)
    odds, people = values[live] / values.max(), together[live]
    tilt = identification.tilt_to(odds, people, present - 0.5)
    tilted = odds * tilt
    left = [_PoissonBinomial(0, np.ones(1))]
    for odd, count in zip(tilted[:-1], people[:-1], strict=True):
        left.append(left[-1].with_trials(int(count), float(odd)))
    found, right = np.zeros(len(odds)), _PoissonBinomial(0, np.ones(1))
    for g in range(len(odds) - 1, -1, -1):
        others = left[g].with_trials(int(people[g]) - 1, float(tilted[g]))
        below, at = others.term_with(right, present - 1), others.term_with(right, present)
        found[g] = tilted[g] * below / (tilted[g] * below + at)
        right = right.with_trials(int(people[g]), float(tilted[g]))
    result = np.zeros(len(values))
    result[live] = found
    return np.asarray(result[place])


def extremes(likelihoods: ArrayLike, present: int, counts: ArrayLike | None = None) -> tuple[float, float]:
    """The smallest and the largest existence probability: those of the least and the most likely (Theorem 4)."""
    w, m = _class_of(likelihoods, counts)
    sure = _certain(w, m, present)
    if sure is not None:
        here = sure[m > 0]
        return float(here.min()), float(here.max())
    values, place = np.unique(w[m > 0], return_inverse=True)
    people = np.bincount(place, weights=m[m > 0]).astype(np.int64)
    odds = values / values[-1]
    if len(odds) == 1:
        share = present / int(people[0])
        return share, share
    low = 0.0 if odds[0] == 0 else _one(odds, people, present, 0)
    return low, _one(odds, people, present, len(odds) - 1)


def _one(odds: Floats, people: Integers, present: int, which: int) -> float:
    others = people.copy()
    others[which] -= 1
    live = (odds > 0) & (others > 0)
    total = int(others[live].sum())
    if present > total:
        return 1.0
    # as `existence`, by the bracket of the bounds: any tilt near it gives the same chance, up to rounding
    one, nobody = np.array([0, int(live.sum())]), np.zeros(int(live.sum()), np.int64)
    bracket = _bracket(np.log(odds[live]), others[live].astype(np.float64), one, nobody, np.array([present - 0.5]))
    tilt = math.exp(float(bracket[0][0] + bracket[1][0]) / 2)
    law = _law_of(odds[live] * tilt, others[live])
    below, at = law.at(present - 1), law.at(present)
    own = float(odds[which]) * tilt
    return own * below / (own * below + at)


class _PoissonBinomial:
    """A Poisson-binomial law up to a factor: first value, and terms scaled to a largest of 1."""

    def __init__(self, first: int, terms: Floats) -> None:
        self.first, self.terms = first, terms

    def with_trials(self, trials: int, odds: float) -> _PoissonBinomial:
        if trials == 0:
            return self
        return self.plus(_PoissonBinomial(*identification.binomial_terms(trials, odds)))

    def plus(self, other: _PoissonBinomial) -> _PoissonBinomial:
        """The law of the sum of both."""
        terms = np.convolve(self.terms, other.terms)
        terms /= terms.max()
        kept = np.flatnonzero(terms > _NEGLIGIBLE)
        return _PoissonBinomial(self.first + other.first + int(kept[0]), terms[kept[0] : kept[-1] + 1])

    def at(self, value: int) -> float:
        place = value - self.first
        return float(self.terms[place]) if 0 <= place < len(self.terms) else 0.0

    def term_with(self, other: _PoissonBinomial, value: int) -> float:
        """The term of the sum of both at a value: mine at i meets other's at value - i."""
        low = max(self.first, value - other.first - len(other.terms) + 1)
        high = min(self.first + len(self.terms) - 1, value - other.first)
        if low > high:
            return 0.0
        mine = self.terms[low - self.first : high - self.first + 1]
        theirs = other.terms[value - high - other.first : value - low - other.first + 1][::-1]
        return float(mine @ theirs)


def _law_of(odds: Floats, people: Integers) -> _PoissonBinomial:
    """All groups together, two and two: most convolutions are then of short laws."""
    laws = [
        _PoissonBinomial(0, np.array([1.0, odd]) / max(odd, 1.0))
        if count == 1
        else _PoissonBinomial(*identification.binomial_terms(int(count), float(odd)))
        for odd, count in zip(odds.tolist(), people.tolist(), strict=True)
    ]
    while len(laws) > 1:
        pairs = [a.plus(b) for a, b in zip(laws[::2], laws[1::2], strict=False)]
        laws = pairs + laws[len(laws) - len(laws) % 2 :]
    return laws[0]


def exact_existence(likelihoods: Sequence[Fraction | int], present: int) -> list[Fraction]:
    """Eq. 4 in rationals, by elementary symmetric polynomials: for small classes, where a tie must be decided."""
    w = [Fraction(x) for x in likelihoods]
    _class_of([float(x) for x in w], None)
    if not 0 <= present <= sum(1 for x in w if x):
        raise ValueError(f"present must be from 0 to the {sum(1 for x in w if x)} who may be, got {present}")
    whole = _symmetric(w, present)
    if present == 0:
        return [Fraction(0)] * len(w)
    known: dict[Fraction, Fraction] = {}
    for k, x in enumerate(w):
        if x not in known:
            known[x] = x * _symmetric(w[:k] + w[k + 1 :], present - 1) / whole
    return [known[x] for x in w]


def exact_extremes(likelihoods: Sequence[Fraction], present: int) -> tuple[Fraction, Fraction]:
    """The smallest and the largest existence probability in rationals (Theorem 4)."""
    scale = math.lcm(*(x.denominator for x in likelihoods))
    w = sorted(Fraction(x.numerator * (scale // x.denominator)) for x in likelihoods)
    _class_of([1.0] * len(w), None)
    if present == 0:
        return Fraction(0), Fraction(0)
    whole = _symmetric(w, present)
    if not whole:
        raise ValueError(f"present must be at most the {sum(1 for x in w if x)} who may be, got {present}")
    return (
        w[0] * _symmetric(w[1:], present - 1) / whole,
        w[-1] * _symmetric(w[:-1], present - 1) / whole,
    )


def _symmetric(w: Sequence[Fraction], degree: int) -> Fraction:
    e = [Fraction(1)] + [Fraction(0)] * degree
    for x in w:
        for d in range(degree, 0, -1):
            e[d] += x * e[d - 1]
    return e[degree]


# ------------------------------------------------------------------ bounds


def bounds(people: int, present: int, least: Fraction, most: Fraction) -> tuple[Fraction, Fraction]:
    """Theorem 5: n w_min/(n w_min + (N-n) w_max) and the same with the two swapped, in closed form."""
    if present == 0 or most == 0:
        return Fraction(0), Fraction(0)
    if present == people:
        return Fraction(1), Fraction(1)
    absent = people - present
    return (
        present * least / (present * least + absent * most),
        present * most / (present * most + absent * least),
    )


def ratio_bound(people: int, present: int, lowest: Fraction, highest: Fraction) -> Fraction | None:
    """R*: likelihoods of a ratio up to this keep the bounds within (lowest, highest); None: any ratio does.

    min{dmax (N-n)/((1-dmax) n), (1-dmin) n/(dmin (N-n))}. Below 1 no distribution does, not even a uniform one.
    """
    if present == 0:
        return None if lowest <= 0 else Fraction(0)
    if present == people:
        return None if highest >= 1 else Fraction(0)
    absent = people - present
    found = []
    if highest < 1:
        found.append(highest * absent / ((1 - highest) * present))
    if lowest > 0:
        found.append((1 - lowest) * present / (lowest * absent))
    return min(found) if found else None


def mode_bounds(
    logs: Floats, people: Floats, first: Integers, present: Floats, which: Integers
) -> tuple[Floats, Floats]:
    """Rigorous and narrow bounds of one person's existence probability in many classes at once, without a law.

    Ours (presence.md): by Darroch the mode of X is its mean where that is whole. So with the others tilted by c
    until at most n - 1 are expected P(X=n) <= P(X=n-1), hence r <= 1/c, and until at least n are, r >= 1/c. Class
    i holds the entries first[i]:first[i+1] of `logs` (ln w) and `people`; `which[i]` is the entry asked about.
    """
    class_of = np.repeat(np.arange(len(present)), np.diff(first))
    others = people.copy()
    np.subtract.at(others, which, 1.0)
    total = np.add.reduceat(others, first[:-1])
    own = logs[which]
    low_r = _bracket(logs, others, first, class_of, np.minimum(present, total))[1]
    high_r = _bracket(logs, others, first, class_of, present - 1.0)[0]
    # ex = w c/(w c + 1): at c = exp(low bracket of mean n-1) from below, at exp(high bracket of mean n) from above
    with np.errstate(over="ignore"):
        lower = np.where(present > 1, 1 / (1 + np.exp(-(own + high_r))), 0.0)
        upper = np.where(present < total, 1 / (1 + np.exp(-(own + low_r))), 1.0)
    everyone = present > total
    return np.where(everyone, 1.0, lower), np.where(everyone, 1.0, upper)


def expected_at(logs: Floats, people: Floats, first: Integers, own: Floats, chance: float) -> Floats:
    """How many others are expected in each class once all are tilted until one with ln w = `own` has this chance.

    The person's existence probability is at most `chance` if this is at least n, and at least `chance` if this is
    at most n - 1: the bounds from the mode, asked about one value, need no search.
    """
    tilt = math.log(chance / (1 - chance)) - own
    with np.errstate(over="ignore"):
        each = people / (1 + np.exp(-(logs + np.repeat(tilt, np.diff(first)))))
    return np.asarray(np.add.reduceat(each, first[:-1]) - chance)


def _bracket(
    logs: Floats, others: Floats, first: Integers, class_of: Integers, aim: Floats
) -> tuple[Floats, Floats]:
    """For each class ln c on both sides of sum m c w/(1 + c w) = aim."""
    total = np.add.reduceat(others, first[:-1])
    inside = np.where(others > 0, logs, np.nan)
    centre = np.log(np.clip(aim, 0.25, None)) - np.log(np.clip(total - aim, 0.25, None))
    low = centre - np.fmax.reduceat(inside, first[:-1]) - 1
    high = centre - np.fmin.reduceat(inside, first[:-1]) + 1
    for _ in range(_STEPS):
        middle = (low + high) / 2
        mean = np.add.reduceat(others / (1 + np.exp(-(logs + middle[class_of]))), first[:-1])
        below = mean <= aim
        low, high = np.where(below, middle, low), np.where(below, high, middle)
        if float(np.max(high - low, initial=0.0)) < 1e-6:
            break
    return low, high


# ------------------------------------------------------------------ the best distribution under a ratio


def best_product(counts: Sequence[Floats], ratio: float) -> list[Floats]:
    """The same for a product of attributes whose ratios may multiply to at most `ratio`.

    In ln f the problem is convex. Its multiplier is the mass t cut off above, which equals the mass filled in
    below and is the same for every attribute (presence.md), so that one number is searched.
    """
    if not ratio >= 1:
        raise ValueError(f"the ratio must be at least 1, got {ratio}")
    shares = [c / c.sum() for c in counts]
    curves = [_Curve(p) for p in shares]
    wanted = math.log(ratio) if math.isfinite(ratio) else math.inf
    if sum(curve.width(0.0) for curve in curves) <= wanted:
        return shares
    low, high = 0.0, max(curve.most for curve in curves)
    for _ in range(100):
        middle = (low + high) / 2
        if sum(curve.width(middle) for curve in curves) > wanted:
            low = middle
        else:
            high = middle
        if high - low < 1e-15:
            break
    return [curve.cut(high) for curve in curves]


class _Curve:
    """One attribute: the levels H and L at which mass t is cut off above and filled in below."""

    def __init__(self, shares: Floats) -> None:
        self.shares = shares
        order = np.sort(shares)
        number = np.arange(1, len(order) + 1)
        # filling up to order[i] takes sum of (order[i] - p) over smaller p; cutting likewise from the top
        self.fill = order * number - np.cumsum(order)
        self.fill_level = order
        top = order[::-1]
        self.off = np.cumsum(top) - top * number
        self.off_level = top
        self.most = float(np.clip(shares - 1 / len(shares), 0, None).sum())

    def levels(self, mass: float) -> tuple[float, float]:
        if mass >= self.most:
            return 1 / len(self.shares), 1 / len(self.shares)
        low = float(np.interp(mass, self.fill, self.fill_level))
        high = float(np.interp(mass, self.off, self.off_level))
        return low, max(high, low)

    def width(self, mass: float) -> float:
        low, high = self.levels(mass)
        return math.inf if low <= 0 else math.log(high / low)

    def cut(self, mass: float) -> Floats:
        found = np.clip(self.shares, *self.levels(mass))
        return np.asarray(found / found.sum())


# ------------------------------------------------------------------ pieces


def _class_of(likelihoods: ArrayLike, counts: ArrayLike | None) -> tuple[Floats, Integers]:
    w = np.asarray(likelihoods, np.float64)
    m = np.ones(len(w), np.int64) if counts is None else np.asarray(counts, np.int64)
    if w.ndim != 1 or w.shape != m.shape or not len(w):
        raise ValueError("likelihoods and counts must be lists of one length")
    if not np.isfinite(w).all() or (w < 0).any() or (m < 0).any() or not m.any():
        raise ValueError("likelihoods and counts must be numbers of at least 0")
    return w, m


def _certain(w: Floats, m: Integers, present: int) -> Floats | None:
    """The existence probabilities where they need no law."""
    possible = int(m[w > 0].sum())
    if not 0 <= present <= possible:
        raise ValueError(f"present must be from 0 to the {possible} who may be, got {present}")
    if present in (0, possible):
        return np.where((w > 0) & (present > 0), 1.0, 0.0)
    return None


# The best distributions of a class under a ratio of its people's likelihoods. Symbols and proof: presence.md.
#
# `best_product` bounds the likelihoods of every combination of values; the people of a class have only some of
# them. Here the rows that people have are bounded, and nothing else: the convex problem itself, by Newton steps
# on its conditions of Karush, Kuhn and Tucker (a primal-dual interior point method).


_ENOUGH = 1e-10  # gap and residual, relative to the number of records
_NEAR = 1e-8
_EARLY = 0.05  # the gap of a place that is still far enough from all bounds to begin another search there
_MOST_STEPS = 100
_AHEAD = 10.0  # how far each step aims to reduce the gap


class RowsProblem:
    """One class, asked about several ratios: each search begins where an earlier one was on its way.

    `rows[a][k]` is the place in `counts[a]` of row k's value; every place must occur.

    minimise sum_a n_a ln sum_v e^(g_a v) - c g over 0 <= s_k <= width, s_k the sum of row k's g.

    Scaling an attribute's e^g changes nothing but the position of all s, so the position is fixed: all but the
    first attribute have g = 0 at their last value. Everything is divided by the number of records.
    """

    def __init__(self, counts: Sequence[Floats], rows: Sequence[Integers]) -> None:
        sizes = np.array([len(c) for c in counts])
        total = float(sum(c.sum() for c in counts))
        self.edges = np.concatenate([[0], np.cumsum(sizes)])
        self.size = int(self.edges[-1])
        attribute = np.repeat(np.arange(len(sizes)), sizes)
        self.attribute = attribute
        self.same = attribute[:, None] == attribute
        self.counts = np.concatenate(counts) / total
        self.mass = np.array([c.sum() for c in counts])[attribute] / total
        self.places = np.stack([np.asarray(r) + start for r, start in zip(rows, self.edges[:-1], strict=True)])
        self.free = np.ones(self.size, np.bool_)
        self.free[self.edges[2:] - 1] = False
        self.inner = np.ix_(self.free, self.free)
        self.values = _SumsByPlace(self.places.ravel(), self.places.shape[1])
        # where in the matrix of curvature a row's weight goes: one place for each two attributes
        upper = np.triu_indices(len(sizes), 1)
        both = (self.places[:, None, :] * self.size + self.places)[upper].ravel()
        self.pairs = _SumsByPlace(both, self.places.shape[1])
        self.mirrored = self.pairs.places % self.size * self.size + self.pairs.places // self.size
        self.early: _State | None = None

    def best(self, log_ratio: float) -> list[Floats] | None:
        """The f_a of least -sum c ln f with w_max <= e^log_ratio w_min, w_k = prod_a f_a(rows[a][k]).

        None where the steps do not converge, or where the ratio leaves no room.
        """
        if not log_ratio > 1e-7:
            return None
        with np.errstate(
            divide="ignore", over="ignore", invalid="ignore"
        ):  # steps that leave the floats are refused
            found = None
            if self.early is not None:
                found = _solved(self, self.early.widened(self, log_ratio))
            if found is None:
                found = _solved(self, _middle(self, log_ratio))
        return None if found is None else np.split(self.shares(found), self.edges[1:-1])

    def shares(self, g: Floats) -> Floats:
        top = np.maximum.reduceat(g, self.edges[:-1])[self.attribute]
        e = np.exp(g - top)
        return np.asarray(e / np.add.reduceat(e, self.edges[:-1])[self.attribute])

    def sums(self, g: Floats) -> Floats:
        return np.asarray(g[self.places].sum(axis=0))

    def back(self, weights: Floats) -> Floats:
        """For every value the weights of its rows."""
        return self.values.sums(weights)  # every place occurs

    def curvature(self, shares: Floats, weights: Floats) -> Floats:
        """The second derivatives, with those of the bounds on rows weighted as given."""
        spread = self.mass * shares
        found = np.where(self.same, -spread[:, None] * shares, 0.0)
        flat = found.reshape(-1)  # the pairs are of two attributes each, so none of them is in `same`
        flat[self.pairs.places] = flat[self.mirrored] = self.pairs.sums(weights)
        flat[:: self.size + 1] += spread + self.back(weights)
        return found


class _SumsByPlace:
    """Sums of rows' weights by place, for places that are known once and weights that come often."""

    def __init__(self, places: Integers, rows: int) -> None:
        order = np.argsort(places, kind="stable")
        self.rows = order % rows
        self.places, self.first = np.unique(places[order], return_index=True)

    def sums(self, weights: Floats) -> Floats:
        return np.asarray(np.add.reduceat(weights[self.rows], self.first), np.float64)


class _State:
    """g with its multipliers, and how far they are from the conditions: all that is known of one place."""

    def __init__(self, problem: RowsProblem, width: float, g: Floats, low: Floats, high: Floats) -> None:
        self.width, self.g, self.low, self.high = width, g, low, high
        self.shares = problem.shares(g)
        self.s = problem.sums(g)
        self.room = width - self.s
        self.gradient = problem.mass * self.shares - problem.counts
        self.residual = (self.gradient - problem.back(low - high))[problem.free]
        self.gap = float(low @ self.s + high @ self.room)

    def widened(self, problem: RowsProblem, width: float) -> _State:
        """The same place in a range of another width: as far from both of its ends, and as well centred."""
        by = width / self.width
        return _State(problem, width, self.g * by, self.low / by, self.high / by)

    @property
    def error(self) -> float:
        return max(self.gap, float(np.abs(self.residual).max(initial=0.0)))

    def distance(self, aim: float) -> float:
        """From the conditions with multiplier times slack = aim for every bound."""
        below, above = self.low * self.s - aim, self.high * self.room - aim
        return float(np.sqrt(self.residual @ self.residual + below @ below + above @ above))


def _middle(problem: RowsProblem, width: float) -> _State:
    g = np.zeros(problem.size)
    g[: problem.edges[1]] = width / 2  # everyone in the middle of the range
    rows = problem.places.shape[1]
    return _State(problem, width, g, np.full(rows, 1.0 / rows), np.full(rows, 1.0 / rows))


def _solved(problem: RowsProblem, state: _State) -> Floats | None:
    for _ in range(_MOST_STEPS):
        if state.error < _ENOUGH:
            return state.g
        if problem.early is None and state.gap < _EARLY:
            problem.early = state
        after = _step(problem, state, aim=state.gap / (2 * len(state.s) * _AHEAD))
        if after is None:  # no step is better: floats end here, or something is wrong
            return state.g if state.error < _NEAR else None
        state = after
    return None


def _step(problem: RowsProblem, at: _State, aim: float) -> _State | None:
    """One Newton step towards multiplier times slack = aim for every bound, shortened to stay inside."""
    pull_low, pull_high = at.low / at.s, at.high / at.room
    matrix = problem.curvature(at.shares, pull_low + pull_high)[problem.inner]
    wanted = -(at.gradient + problem.back(aim / at.room - aim / at.s))[problem.free]
    d = np.zeros(problem.size)
    try:
        d[problem.free] = np.linalg.solve(matrix, wanted)
    except np.linalg.LinAlgError:
        return None
    ds = problem.sums(d)
    d_low = -at.low + aim / at.s - pull_low * ds
    d_high = -at.high + aim / at.room + pull_high * ds
    inside, along = np.concatenate([at.low, at.high, at.s, at.room]), np.concatenate([d_low, d_high, ds, -ds])
    length = min(1.0, 0.99 * _reach(inside, along))
    before = at.distance(aim)
    for _ in range(40):
        low, high = at.low + length * d_low, at.high + length * d_high
        after = _State(problem, at.width, at.g + length * d, low, high)
        if after.distance(aim) <= (1 - 0.01 * length) * before:
            return after
        length /= 2
    return None


def _reach(x: Floats, dx: Floats) -> float:
    """How far x, which is positive, may go along dx before an entry is 0."""
    steepest = float((dx / x).min())
    return -1 / steepest if steepest < 0 else np.inf
