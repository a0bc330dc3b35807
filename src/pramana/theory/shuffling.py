"""What a keyed random order adds: central (epsilon, delta) from the local law. Proof: shuffling.md.

Every person's published record is, with probability at least `weight`, drawn from one law that no true record
influences: the blanket. Let the intruder even see which of the others' records are not; what is left is the
target's record hidden among N-1 draws from the blanket, and the divergence of that is exactly

    delta_N(eps) = E[ (L_1 + ... + L_N)+ ] / N,   L = P_u(W)/blanket(W) - e^eps P_v(W)/blanket(W),  W ~ blanket

(Balle, Bell, Gascón and Nissim 2019, "The privacy blanket of the shuffle model"). It falls as N grows, and N-1
is binomial, so delta <= P(N < N0) + delta_N0. The expectation is evaluated from above: a value between two grid
points is split between them so that its mean stays, which can only raise the expectation of a convex function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from pramana.theory.rounding import float_up, log_up

Floats = NDArray[np.float64]
_CELLS = 1 << 13  # grid points that carry the law of a sum
_MOST_CLASSES = 12  # attributes whose 3^m outcomes are enumerated
_FEW = 64  # records up to which delta is averaged over the number of blanket records
_CUT = 1e-2  # share of delta given to the chance of a thin blanket
_BITS = 7  # the number of blanket records is rounded down to this many binary digits
_SPILL = 128 / _CELLS  # splitting moves mass up to one cell outwards, once for each of some forty additions
_MOST_RATIO = 1e15  # beyond it the blanket is too thin to hide anyone in any table there is
_ROOM = 1 + 1e-9  # relative room for float rounding
_LOST = 1e-13  # absolute room, per unit of the largest likelihood ratio: Fourier rounding and cut tails


@dataclass(frozen=True)
class Blanket:
    """The part of the law that all records share, and how the two neighbours' laws lie over it.

    `first` and `second` are P_u/blanket and P_v/blanket on classes of published records with probability `mass`
    under the blanket; (u, v) is the pair of true records that is easiest to tell apart.
    """

    weight: float
    first: Floats
    second: Floats
    mass: Floats
    statement: str

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= 1:
            raise ValueError(f"weight must lie between 0 and 1, got {self.weight}")


def blanket_of_retentions(retentions: Sequence[float], sizes: Sequence[int]) -> Blanket | None:
    """Independent attributes: blanket weight prod(1-rho), uniform on the product domain.

    The worst pair differs in every attribute: agreeing in one replaces the two outcomes x*d - y*q and x*q - y*d
    of L by (x-y)*d and (x-y)*q, of the same mean and smaller spread. None beyond twelve attributes.
    """
    live = [(rho, size) for rho, size in zip(retentions, sizes, strict=True) if size > 1]
    if len(live) > _MOST_CLASSES:
        return None
    first, second, mass = np.ones(1), np.ones(1), np.ones(1)
    for rho, size in live:
        other = 1 - rho  # q times the size of the domain
        own = other + rho * size
        first = np.concatenate([first * own, first * other, first * other])
        second = np.concatenate([second * other, second * own, second * other])
        mass = np.concatenate([mass / size, mass / size, mass * ((size - 2) / size)])
        first, second, mass = _merged(first, second, mass)
    weight = math.prod(1 - rho for rho, _ in live)
    return Blanket(weight, first, second, mass, "privacy blanket (Balle et al. 2019)")


def blanket_of_ratio(ratio: float) -> Blanket:
    """Any law of likelihood ratio p: everyone's law contains the mean of the neighbours' two, with weight 1/p.

    (Feldman, McMillan and Talwar 2021, "Hiding among the clones", Theorem 3.1.) Worst case: disjoint laws.
    """
    return Blanket(
        1 / ratio,
        np.array([2.0, 0.0]),
        np.array([0.0, 2.0]),
        np.array([0.5, 0.5]),
        "hiding among the clones (Feldman et al. 2021, Theorem 3.1)",
    )


def shuffled_delta(records: int, blanket: Blanket, epsilon: float, thin: float = 1e-8) -> float:
    """An upper bound on delta at `epsilon`.

    `thin` is the probability given away to a thin blanket; small tables are summed over its thickness instead.
    """
    if epsilon < 0:
        raise ValueError(f"epsilon must not be negative, got {epsilon}")
    values = blanket.first - math.exp(epsilon) * blanket.second
    if values.max() <= 0:
        return 0.0
    if records <= _FEW:
        delta = _mean_over_blanket(values, blanket, records) * _ROOM
    else:
        others, missed = _blanket_records(records, blanket.weight, thin)
        hidden = _rounded_down(others + 1)
        delta = _positive_part_of_sum(values, blanket.mass, hidden) / hidden * _ROOM + missed
    return min(1.0, delta + _LOST * float(blanket.first.max()))


def shuffled_epsilon(records: int, ratio: Fraction | float, blanket: Blanket, delta: float) -> float:
    """The smallest epsilon of four digits at which the release is (epsilon, delta)-private; never above local."""
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, got {delta}")
    p = float_up(Fraction(ratio))
    if p <= 1:
        return 0.0
    local = log_up(Fraction(ratio))
    if p > _MOST_RATIO:
        return local
    thin = delta * _CUT

    @cache
    def excess(epsilon: float) -> float:
        return math.log(max(shuffled_delta(records, blanket, epsilon, thin), 1e-300) / delta)

    low, high = _bracket(excess, _guess(records, blanket), local)
    if high is None:
        return local
    near = _crossing(excess, low, high) if high > low else high
    return min(local, _four_digits(near, excess))


def _crossing(excess: Callable[[float], float], low: float, high: float) -> float:
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


def _four_digits(near: float, excess: Callable[[float], float]) -> float:
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


def _guess(records: int, blanket: Blanket) -> float:
    """Where a normal law would put epsilon: some five standard deviations of the mean."""
    difference = blanket.first - blanket.second
    return 5 * math.sqrt(float(difference**2 @ blanket.mass) / (1 + records * blanket.weight))


def _bracket(excess: Callable[[float], float], guess: float, local: float) -> tuple[float, float | None]:
    """Two epsilons around the one sought; (0, 0) where even 0 will do, and no upper one where only local will."""
    if excess(0.0) <= 0:
        return 0.0, 0.0
    low, high = 0.0, min(guess, local * (1 - 1e-9))
    while excess(high) > 0:
        if high >= local * (1 - 1e-9):
            return low, None
        low, high = high, min(2 * high, local * (1 - 1e-9))
    return low, high


# ---------------------------------------------------------------- the number of blanket records


def _blanket_records(records: int, weight: float, thin: float) -> tuple[int, float]:
    """m0 and a bound on P(Binomial(records-1, weight) < m0) that is at most `thin`."""
    others = records - 1
    if thin <= 0 or others == 0 or weight <= 0:
        return 0, 0.0
    low, high = 0, others  # P(X < low) <= thin < P(X < high + 1), where X < 0 is impossible
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fewer_than(middle, others, weight) <= thin else (low, middle - 1)
    return low, fewer_than(low, others, weight)


def fewer_than(count: int, trials: int, chance: float) -> float:
    """An upper bound on P(Binomial(trials, chance) < count), a few per cent above it where it is small.

    The largest term by Stirling's formula with Robbins' error bounds, times a geometric series: going down, each
    term is a smaller part of the one before. Differences from the mean are formed first, so that nothing cancels.
    """
    last = count - 1
    if last < 0:
        return 0.0
    if last >= trials or chance <= 0:
        return 1.0
    if chance >= 1:
        return 0.0
    if last == 0:
        return _up(math.exp(trials * math.log1p(-chance)))
    fall = last * (1 - chance) / ((trials - last + 1) * chance)
    if fall >= 1:
        return 1.0
    rest = trials - last
    beyond = last - trials * chance
    exponent = -last * math.log1p(beyond / (trials * chance)) - rest * math.log1p(
        -beyond / (trials * (1 - chance))
    )
    exponent += 1 / (12 * trials) - 1 / (12 * last + 1) - 1 / (12 * rest + 1)
    top = math.exp(exponent) / math.sqrt(2 * math.pi * last * (rest / trials))
    return _up(top / (1 - fall))


def _up(chance: float) -> float:
    """Room for float rounding, and for what is too small for a float."""
    return min(1.0, max(chance * _ROOM, 1e-300))


def _mean_over_blanket(values: Floats, blanket: Blanket, records: int) -> float:
    """E over m ~ Binomial(records-1, weight) of delta_(m+1)."""
    mean = float(values @ blanket.mass)
    centred = values - mean
    spread, reach = float(centred**2 @ blanket.mass), float(np.abs(centred).max())
    single = total = _on_grid(centred, blanket.mass, *_window(spread, reach, 1))
    delta = 0.0
    for hidden in range(1, records + 1):
        if hidden > 1:
            total = _added(total, single, _window(spread, reach, hidden))
        few = math.comb(records - 1, hidden - 1) * blanket.weight ** (hidden - 1)
        chance = few * (1 - blanket.weight) ** (records - hidden)
        delta += chance * total.positive_part(hidden * mean) / hidden
    return delta


def _rounded_down(count: int) -> int:
    """The leading binary digits of a count: fewer records hide less, so this is the safe side."""
    shift = max(0, count.bit_length() - _BITS)
    return (count >> shift) << shift


# ---------------------------------------------------------------- the law of a sum, bounded from above


@dataclass(frozen=True)
class _GridLaw:
    """Probabilities on an even grid: value i has start + i*step."""

    start: float
    step: float
    mass: Floats

    @property
    def values(self) -> Floats:
        return np.asarray(self.start + self.step * np.arange(len(self.mass)), np.float64)

    def positive_part(self, shift: float) -> float:
        """E[(X + shift)+]."""
        return float(np.maximum(self.values + shift, 0) @ self.mass)


def _positive_part_of_sum(values: Floats, mass: Floats, count: int) -> float:
    """E[(L_1 + ... + L_count)+] from above, by doubling."""
    mean = float(values @ mass)
    spread = float(((values - mean) ** 2) @ mass)
    reach = float(np.abs(values - mean).max())
    single = _on_grid(values - mean, mass, *_window(spread, reach, 1))
    total: _GridLaw | None = None
    taken = 0
    power, size = single, 1
    while True:
        if count & size:
            taken += size
            total = power if total is None else _added(total, power, _window(spread, reach, taken))
        if size * 2 > count:
            break
        size *= 2
        power = _added(power, power, _window(spread, reach, size))
    assert total is not None
    return total.positive_part(count * mean)


def _window(spread: float, reach: float, count: int) -> tuple[float, float]:
    """Outside this the centred sum has probability below 1e-18 on each side (Bernstein), or none at all."""
    likely = math.sqrt(2 * 42 * count * spread) + 42 * 2 / 3 * reach
    edge = min(likely, count * reach * (1 + _SPILL))
    return -edge, edge


def _on_grid(values: Floats, mass: Floats, low: float, high: float) -> _GridLaw:
    """Split every value between its two neighbours on the grid, keeping its mean."""
    step = (high - low) / (_CELLS - 2)
    if step == 0:
        return _GridLaw(0.0, 1.0, np.ones(1))
    place = np.clip((values - low) / step, 0, _CELLS - 2)
    left = np.floor(place).astype(np.int64)
    share = place - left
    return _GridLaw(low, step, _split(left, mass, share, _CELLS))


def _added(a: _GridLaw, b: _GridLaw, window: tuple[float, float]) -> _GridLaw:
    if b.step != a.step:  # the coarser grid of the two carries the sum
        coarse = max(a.step, b.step)
        a, b = _regridded(a, coarse), _regridded(b, coarse)
    length = len(a.mass) + len(b.mass) - 1
    size = 1 << (length - 1).bit_length()
    mass = np.fft.irfft(np.fft.rfft(a.mass, size) * np.fft.rfft(b.mass, size), size)[:length]
    wide = _GridLaw(a.start + b.start, a.step, np.maximum(mass, 0.0))
    return _on_grid(wide.values, wide.mass, *window)


def _regridded(law: _GridLaw, step: float) -> _GridLaw:
    if law.step == step:
        return law
    cells = math.ceil((len(law.mass) - 1) * law.step / step) + 1
    place = np.arange(len(law.mass)) * (law.step / step)
    left = np.minimum(np.floor(place).astype(np.int64), cells - 1)
    return _GridLaw(law.start, step, _split(left, law.mass, place - left, cells + 1))


def _split(left: NDArray[np.int64], mass: Floats, share: Floats, cells: int) -> Floats:
    grid: Floats = np.zeros(cells)
    grid += np.bincount(left, mass * (1 - share), cells)
    grid += np.bincount(left + 1, mass * share, cells)
    return grid


def _merged(first: Floats, second: Floats, mass: Floats) -> tuple[Floats, Floats, Floats]:
    """Classes of equal ratios as one; the classes of an attribute of two values have an empty third."""
    both, place = np.unique(np.round(np.stack([first, second]), 13), axis=1, return_inverse=True)
    total: Floats = np.bincount(place.reshape(-1), mass, both.shape[1]).astype(np.float64)
    # Rounding to 13 digits moved values by less than the room that is left for float rounding.
    keep = total > 0
    return both[0][keep], both[1][keep], total[keep]
