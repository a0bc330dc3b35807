"""What a keyed random order adds: central (epsilon, delta) from the local law. Proof: shuffling.md.

Every person's published record is, with probability at least `weight`, drawn from one law that no true record
influences: the blanket B. Let the intruder even see which of the others' records are not. Averaged over how many
are, the target is hidden with

    delta(eps) = E[(Z_1 + ... + Z_n)+] / (n*weight),   Z = P_u(W)/B(W) - e^eps P_v(W)/B(W) with probability weight,
                                                       W ~ B, and Z = 0 else

(Balle, Bell, Gascón and Nissim 2019, "The privacy blanket of the shuffle model"). `log_positive_part_of_sum`
bounds the expectation from above, as close as four digits show and however small delta is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from pramana.theory import _grid
from pramana.theory.blanket import LEAST_MASS, Blanket, Floats, RowsOverBlanket, envelope_of_rows, split_between
from pramana.theory.rounding import log_up

Excess = Callable[[float], float]  # ln of a bound on delta at epsilon over the delta allowed; falls with epsilon
_NUDGE = 2.0**-46  # relative room for the float errors of ratios and masses
_MOST_PAIRS = 256  # pairs of rows that are bounded one by one before the envelope has to do
_WORTHWHILE = 0.999  # nothing closer to the envelope's bound is looked for
_LINES = (0.7, 1.0, 1.4)  # Chernoff's bound is tried at these multiples of the worst pair's best exponent
Complexes = NDArray[np.complex128]
_UNIT = 2.0**-52  # twice the largest relative error of one float operation
MOST_VALUES = 400  # values of the law that are carried; more are split between neighbours
_WORK = 1 << 19  # values times points on the line
_FEWEST, _MOST = 1 << 11, 1 << 12  # points on the line
_ROW = 64  # points are taken in rows of this many: e^(ikh) is a product of two of far fewer,
_FEW_TURNS = 8  # and these again
_CLOSE = 20.0  # what the choice of T neglects is about e^-20 of the result
_ENDED = 8.5  # the added normal variable has shrunk the series by e^(-8.5^2/2) where it is cut


def shuffled_delta(records: int, blanket: Blanket, epsilon: float) -> float:
    """An upper bound on delta at `epsilon`."""
    return min(1.0, math.exp(min(0.0, log_delta(records, blanket, epsilon))))


def log_delta(records: int, blanket: Blanket, epsilon: float, values_told_apart: int = MOST_VALUES) -> float:
    """ln of an upper bound on delta at `epsilon`; minus infinity for none."""
    if epsilon < 0:
        raise ValueError(f"epsilon must not be negative, got {epsilon}")
    if records < 1:
        return -math.inf
    values = blanket.first * (1 + _NUDGE) - math.exp(epsilon) * (1 - _NUDGE) * blanket.second
    mass = np.maximum(blanket.mass * blanket.weight, LEAST_MASS)
    if blanket.weight < 1:
        values, mass = np.append(values, 0.0), np.append(mass, 1 - blanket.weight)
    total = log_positive_part_of_sum(values, mass, records, values_told_apart)
    return total - math.log(records * blanket.weight) + records * _NUDGE + 1e-14


def shuffled_epsilon(
    records: int, ratio: Fraction | float, blanket: Blanket | RowsOverBlanket, delta: float
) -> float:
    """The smallest epsilon of four digits at which the release is (epsilon, delta)-private; never above local."""
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, got {delta}")
    if ratio <= 1 or records < 1:
        return 0.0
    local = log_up(Fraction(ratio))
    if isinstance(blanket, RowsOverBlanket):
        return min(local, _Pairs(records, blanket, delta, local).epsilon())
    return _smallest(_excess(records, blanket, delta), _guess(records, blanket), local)


def digits_down(epsilon: Fraction | float) -> float:
    """The largest number of four significant digits that is at most epsilon: what a promise is checked at.

    A float is the decimal it is written as. The bound's own room covers that 0.1 is a hair above 1/10.
    """
    value = Fraction(repr(epsilon)) if isinstance(epsilon, float) else Fraction(epsilon)
    if value <= 0:
        return 0.0
    unit = Fraction(10) ** (math.floor(math.log10(float(value))) - 3)
    digits = float(f"{float(value // unit * unit):.4g}")
    return digits if Fraction(f"{digits:.4g}") <= value else float(f"{float((value // unit - 1) * unit):.4g}")


def _excess(records: int, blanket: Blanket, delta: float) -> Excess:
    allowed = math.log(delta)

    @cache
    def excess(epsilon: float) -> float:
        return max(log_delta(records, blanket, epsilon) - allowed, -1e9)

    return excess


# ---------------------------------------------------------------- the smallest epsilon


def _smallest(excess: Excess, guess: float, local: float) -> float:
    low, high = _bracket(excess, guess, local)
    if high is None:
        return local
    near = _crossing(excess, low, high) if high > low else high
    return min(local, _four_digits(near, excess))


def _guess(records: int, blanket: Blanket) -> float:
    """Where a normal law would put epsilon: some five standard deviations of the mean."""
    difference = blanket.first - blanket.second
    return 5 * math.sqrt(float(difference**2 @ blanket.mass) / (1 + records * blanket.weight))


def _bracket(excess: Excess, guess: float, local: float) -> tuple[float, float | None]:
    """Two epsilons around the one sought; (0, 0) where even 0 will do, and no upper one where only local will."""
    if excess(0.0) <= 0:
        return 0.0, 0.0
    low, high = 0.0, min(guess, local * (1 - 1e-9))
    while excess(high) > 0:
        if high >= local * (1 - 1e-9):
            return low, None
        low, high = high, min(2 * high, local * (1 - 1e-9))
    return low, high


def _crossing(excess: Excess, low: float, high: float) -> float:
    """About where `excess` turns negative, by false position with halved ends (Illinois).

    ln delta falls about as the square of epsilon, so the line is drawn over squares.
    """
    left, right = excess(low), excess(high)
    moved = ""
    while high - low > 1e-5 * high:
        square = high**2 - right * (high**2 - low**2) / (right - left)
        middle = min(max(math.sqrt(max(square, 0.0)), low), high)
        value = excess(middle)
        if abs(value) < 5e-4:  # a few hundredths of the fourth digit
            return middle
        if value > 0:
            low, left, right = middle, value, right / 2 if moved == "low" else right
            moved = "low"
        else:
            high, right, left = middle, value, left / 2 if moved == "high" else left
            moved = "high"
    return high


def _four_digits(near: float, excess: Excess) -> float:
    """The smallest number of four significant digits that will do: the same on every machine and every day."""
    if near == 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(near)) - 3)
    steps = math.ceil(near / unit)
    while excess(float(f"{steps * unit:.4g}")) > 0:
        steps += 1
    while excess(float(f"{(steps - 1) * unit:.4g}")) <= 0:
        steps -= 1
    return float(f"{steps * unit:.4g}")


# ---------------------------------------------------------------- every pair of rows of a matrix


class _Pairs:
    """The worst pair of rows decides.

    The envelope bounds all pairs together. Where the worst pair needs less than that, Chernoff's bound, for all
    pairs at once, clears most of them, and those it cannot clear are bounded one by one.
    """

    def __init__(self, records: int, rows: RowsOverBlanket, delta: float, local: float) -> None:
        self.records, self.rows, self.delta, self.local = records, rows, delta, local

    def epsilon(self) -> float:
        envelope = envelope_of_rows(self.rows)
        enough = _smallest(_excess(self.records, envelope, self.delta), _guess(self.records, envelope), self.local)
        u, v = self._most_different()
        epsilon = max(self._of_pair(u, v, 0.0), self._of_pair(v, u, 0.0))
        line_at = self._line_of(u, v)
        cleared = np.eye(len(self.rows.ratios), dtype=bool)
        cleared[u, v] = cleared[v, u] = True
        tried = 0
        while epsilon < enough * _WORTHWHILE and tried < _MOST_PAIRS:
            chernoff = self._chernoff(epsilon, line_at(epsilon))
            doubtful = np.argwhere((chernoff > 0) & ~cleared)
            if not len(doubtful):
                return epsilon
            worst_first = np.argsort(-chernoff[doubtful[:, 0], doubtful[:, 1]], kind="stable")
            before = epsilon
            for a, b in doubtful[worst_first]:
                epsilon = self._of_pair(int(a), int(b), epsilon)
                cleared[a, b] = True
                tried += 1
                if tried == _MOST_PAIRS or epsilon > before * 1.002:  # enough more to clear others at once
                    break
        return enough

    def _of_pair(self, u: int, v: int, known: float) -> float:
        """The pair's epsilon if it is above the one known to be needed."""
        blanket = self.rows.pair(u, v)
        excess = _excess(self.records, blanket, self.delta)
        if known and excess(known) <= 0:
            return known
        return _smallest(excess, known or _guess(self.records, blanket), self.local)

    def _most_different(self) -> tuple[int, int]:
        """The two rows whose ratios differ most, on average of squares."""
        products = (self.rows.ratios * self.rows.mass) @ self.rows.ratios.T
        own = np.diag(products)
        apart = own[:, None] + own[None, :] - 2 * products
        u, v = np.unravel_index(int(np.argmax(apart)), apart.shape)
        return int(u), int(v)

    def _line_of(self, u: int, v: int) -> Callable[[float], float]:
        """About the best exponent of Chernoff's bound for a pair, as a function of epsilon."""
        difference = self.rows.ratios[u] - self.rows.ratios[v]
        spread = self.records * self.rows.weight * max(float(self.rows.mass @ difference**2), 1e-300)
        highest = float(self.rows.ratios.max())

        def line_at(epsilon: float) -> float:
            mean = self.records * self.rows.weight * math.expm1(epsilon)
            return min(
                (mean + math.sqrt(mean**2 + 4 * spread)) / (2 * spread), 200 / (highest * math.exp(epsilon))
            )

        return line_at

    def _chernoff(self, epsilon: float, line: float) -> Floats:
        """ln of a bound on delta over the delta allowed, for every pair: E[S+] <= E e^(tS)/(t e)."""
        weight, ratios, mass = self.rows.weight, self.rows.ratios, self.rows.mass
        best = np.full((len(ratios), len(ratios)), np.inf)
        room = 2.0**-50 * (len(mass) + 64)
        for factor in _LINES:
            t = line * factor
            first = np.exp(t * ratios * (1 + _NUDGE)) * mass
            second = np.exp(-t * math.exp(epsilon) * (1 - _NUDGE) * ratios)
            each = np.log1p(weight * ((first @ second.T) * (1 + room) - 1)) + _NUDGE
            best = np.minimum(best, self.records * each - 1 - math.log(t))
        allowed = math.log(self.delta) + math.log(self.records * weight)
        return np.asarray(best - allowed + 1e-12, np.float64)


# ---------------------------------------------------------------- the positive part of a sum
# E[(X_1 + ... + X_n)+] of independent copies of a law on few values, from above, to any smallness.
#
# For every c > 0 and T > 0, with h = 2 pi/T and M the moment generating function of the sum,
#
#     (1/T) sum over all integers k of M(c + ikh)/(c + ikh)^2  =  sum over all integers j of E[e^(-cjT) (S + jT)+],
#
# by Poisson's summation formula for e^(-cs) s+. Every term on the right is positive and the one of j = 0 is what
# is sought: the trapezoid rule on a vertical line is an upper bound whatever c and T are. They are chosen so that
# the bound is close. A normal variable added to the sum raises the expectation (Jensen) and ends the series. Proof
# and the account of rounding: shuffling.md.


def log_positive_part_of_sum(values: Floats, mass: Floats, count: int, most: int = MOST_VALUES) -> float:
    """ln of an upper bound on E[(X_1 + ... + X_count)+], X = values[i] with probability mass[i].

    The masses may miss 1 by rounding: the bound is for the measure as given.
    """
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    if not values.max() > 0:
        return -math.inf
    if len(values) > most:
        values, mass = spread_out(values, mass, most)
    scale = float(np.abs(values).max())
    return math.log(scale) + _log_bound(values / scale, mass, count)


def _log_bound(values: Floats, mass: Floats, count: int) -> float:
    line = _line(values, mass, count)
    tilted, log_mean = _tilted(values, mass, line)
    centre = float(tilted @ values)
    off = values - centre
    spread = math.sqrt(count * float(tilted @ off**2))
    highest = max(0.0, float(off.max()))
    above = min(9 * spread + 17 * highest, count * highest)  # Bernstein: beyond it the tilted sum hardly ever is
    period = max((_CLOSE - count * log_mean) / line, _CLOSE / line, 2 * count * max(centre, 0.0) + above)
    points = min(_MOST, max(_FEWEST, _WORK // len(values))) // _ROW * _ROW
    step = 2 * math.pi / period
    end = (points - 0.5) * step
    smoothing = _ENDED / end
    at = step * np.arange(points)
    size, turn = _powers(tilted, off, step, points, count)
    weight = np.exp(-0.5 * (smoothing * at) ** 2) / (line**2 + at**2)
    weight[1:] *= 2  # k and -k are conjugate
    turn = turn + at * (count * centre + smoothing**2 * line) - 2 * np.arctan2(at, line)
    sizes = float(size @ weight)
    # Beyond the end |M| <= 1 is taken, and the sum of a convex falling function for its integral.
    rest = 2 * math.exp(-0.5 * _ENDED**2) / (end**2 * _ENDED * smoothing * step)
    # An error of r in the mean is one of count*|mean|^(count-1)*r in its power: below 2*count*|power|*r + r.
    wrong = _UNIT * (len(values) + 32 + 4 * end * float(tilted @ np.abs(off)))
    noise = (
        wrong * (2 * count * sizes + float(weight.sum())) + (_UNIT * 4 * end * count * abs(centre) + 1e-12) * sizes
    )
    total = float(size @ (weight * np.cos(turn))) + rest + noise
    doubt = _UNIT * count * (len(values) + 32 + 4 * float(np.abs(line * values).max())) + 1e-12
    return count * log_mean + 0.5 * (smoothing * line) ** 2 + math.log(total / period) + doubt


def _tilted(values: Floats, mass: Floats, line: float) -> tuple[Floats, float]:
    """The law with density e^(line*X), and ln E e^(line*X)."""
    top = float((line * values).max())
    weight = mass * np.exp(line * values - top)
    total = float(weight.sum())
    return weight / total, math.log(total) + top


def _line(values: Floats, mass: Floats, count: int) -> float:
    """The c with the smallest M(c)^count/c^2, about: any c is sound, this one is close.

    ln of it is convex in c: Newton's steps, or the middle of what is left where one leaves it.
    """
    mean = count * float(mass @ values)
    spread = max(count * float(mass @ values**2), 1e-300)
    line = (math.sqrt(mean**2 + 8 * spread) - mean) / (2 * spread)
    low, high = 0.0, math.inf
    for _ in range(100):
        tilted, _ = _tilted(values, mass, line)
        centre = float(tilted @ values)
        slope = count * centre - 2 / line
        bend = count * float(tilted @ (values - centre) ** 2) + 2 / line**2
        low, high = (low, line) if slope > 0 else (line, high)
        following = line - slope / bend
        if not low < following < min(high, 4 * line):
            following = 2 * line if high == math.inf else math.sqrt(max(low, high / 64) * high)
        if abs(following - line) < 1e-3 * line:
            return following
        line = following
    return line


def _powers(tilted: Floats, off: Floats, step: float, points: int, count: int) -> tuple[Floats, Floats]:
    """Size and angle of (E e^(i k step X))^count for k = 0, 1, ..., points-1."""
    rows, within = _turned(off, step * _ROW, points // _ROW), _turned(off, step, _ROW)
    mean = np.empty(points, np.complex128)
    # Not `@`: threads of a linear algebra library wait for each other far longer than this takes.
    _grid.sum_of_products(rows * tilted[:, None], within, len(off), mean)
    with np.errstate(divide="ignore"):
        size: Floats = np.exp(count * np.log(np.abs(mean)))
    return size, np.asarray(count * np.angle(mean), np.float64)


def _turned(off: Floats, step: float, points: int) -> Complexes:
    """e^(i k step X) for k = 0, ..., points-1: one line for each value, products of two of far fewer."""
    near = np.exp(1j * step * np.outer(off, np.arange(_FEW_TURNS)))
    far = np.exp(1j * (step * _FEW_TURNS) * np.outer(off, np.arange(-(-points // _FEW_TURNS))))
    turned = (far[:, :, None] * near[:, None, :]).reshape(len(off), -1)
    return np.ascontiguousarray(turned[:, :points])


def spread_out(values: Floats, mass: Floats, most: int) -> tuple[Floats, Floats]:
    """A law on at most `most` values that is larger in convex order.

    Every value is split between two nodes around it so that its mean stays. Nodes lie close together where the
    values are small and in constant proportion where they are large.
    """
    fine = math.sqrt(float(mass @ values**2)) / 8
    low, high = np.arcsinh(values.min() / fine), np.arcsinh(values.max() / fine)
    nodes = fine * np.sinh(np.linspace(low, high, most))
    nodes[0], nodes[-1] = min(values.min(), nodes[0]), max(values.max(), nodes[-1])
    return nodes, split_between(nodes, values, mass)
