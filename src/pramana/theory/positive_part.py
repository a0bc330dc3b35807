"""E[(X_1 + ... + X_n)+] of independent copies of a law on few values, from above, to any smallness.

For every c > 0 and T > 0, with h = 2 pi/T and M the moment generating function of the sum,

    (1/T) sum over all integers k of M(c + ikh)/(c + ikh)^2  =  sum over all integers j of E[e^(-cjT) (S + jT)+],

by Poisson's summation formula for e^(-cs) s+. Every term on the right is positive and the one of j = 0 is what is
sought: the trapezoid rule on a vertical line is an upper bound whatever c and T are. They are chosen so that the
bound is close. A normal variable added to the sum raises the expectation (Jensen) and ends the series. Proof and
the account of rounding: shuffling.md.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pramana.theory import _grid

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]
_UNIT = 2.0**-52  # twice the largest relative error of one float operation
MOST_VALUES = 400  # values of the law that are carried; more are split between neighbours
_WORK = 1 << 19  # values times points on the line
_FEWEST, _MOST = 1 << 11, 1 << 12  # points on the line
_ROW = 64  # points are taken in rows of this many: e^(ikh) is a product of two of far fewer,
_FEW_TURNS = 8  # and these again
_CLOSE = 20.0  # what the choice of T neglects is about e^-20 of the result
_ENDED = 8.5  # the added normal variable has shrunk the series by e^(-8.5^2/2) where it is cut


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
    points = _points(len(values))
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


def _points(values: int) -> int:
    return min(_MOST, max(_FEWEST, _WORK // values)) // _ROW * _ROW


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


def split_between(nodes: Floats, values: Floats, mass: Floats) -> Floats:
    """The mass on each of the rising nodes when every value is split with its mean unchanged."""
    left, share = shares_between(nodes, values)
    return np.asarray(
        np.bincount(left, mass * (1 - share), len(nodes)) + np.bincount(left + 1, mass * share, len(nodes)),
        np.float64,
    )


def shares_between(nodes: Floats, values: Floats) -> tuple[NDArray[np.intp], Floats]:
    """The node to the left of each value, and the share that goes to the one on the right."""
    left = np.clip(nodes.searchsorted(values, "right") - 1, 0, len(nodes) - 2)
    share = (values - nodes[left]) / (nodes[left + 1] - nodes[left])
    return left, np.clip(share, 0.0, 1.0)
