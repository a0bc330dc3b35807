"""Where the distributions of delta-presence come from (paper 4, section V): the mode.

public      the public table's own counts: they tell nothing that is not public
noised      the private counts with two-sided geometric noise, which costs an epsilon
quantised   the private counts rounded to some levels
private     the private counts, as in the paper: they can often be reversed
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pramana.errors import RecipeError
from pramana.generalize.cells import Cells
from pramana.generalize.presence.shaping import STEPS, Ints
from pramana.randomness import ONE, Stream

StreamOf = Callable[[str, str, str, int], Stream]  # by purpose, context, column and draw
MODES = ("public", "noised", "quantised", "private")
# what SPALM publishes: uniform over a label or a set, or the target itself; the others start from uniform cells
STARTS = ("hierarchy", "set", "pdf")
QUANTUM = 8


@dataclass(frozen=True)
class PresenceDesign:
    """Algorithm, mode and their numbers."""

    algorithm: str = "optimal"
    mode: str = "public"
    start: str = "hierarchy"
    steps: int = STEPS
    quantum: int = QUANTUM
    epsilon: float | None = None  # wanted of the noise

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise RecipeError(f"The mode must be one of {', '.join(MODES)}", repr(self.mode))
        if self.start not in STARTS:
            raise RecipeError(f"The cells must be one of {', '.join(STARTS)}", repr(self.start))
        if self.start == "pdf" and (self.algorithm != "spalm" or self.mode == "noised"):
            raise RecipeError(
                'cells = "pdf" must go with algorithm = "spalm" and a mode other than noised',
                f"algorithm = {self.algorithm!r}, mode = {self.mode!r}",
                "The other algorithms shape distributions by themselves; noise would have to be drawn for every "
                "generalisation that is tried.",
            )
        if not 2 <= self.quantum <= 1 << 20:
            raise RecipeError("quantum must be from 2 to 1048576 levels", str(self.quantum))
        if (self.mode == "noised") != (self.epsilon is not None):
            raise RecipeError('noise_epsilon must go with mode = "noised"', f"mode = {self.mode!r}")
        if self.epsilon is not None and not 1e-6 <= self.epsilon <= 100:
            raise RecipeError("noise_epsilon must be from 0.000001 to 100", str(self.epsilon))

    @property
    def tells_counts(self) -> bool:
        """Whether cells tell how often each value occurs among those present: nothing is shaped or public."""
        return self.start == "pdf" and self.mode == "private"

    def coin(self, attributes: int) -> int:
        """The chance, out of ONE, that noise goes one further: ONE e^(-epsilon/(2A)), rounded up."""
        return min(ONE - 1, math.ceil(ONE * math.exp(-(self.epsilon or 0.0) / (2 * attributes))))

    def spent(self, attributes: int) -> float | None:
        """The epsilon of what the integers really do: 2A steps of ln(ONE/coin), rounded up.

        One present person in place of another of the class moves two counts of each attribute by one.
        """
        if self.mode != "noised":
            return None
        return 2 * attributes * -math.log(self.coin(attributes) / ONE) * (1 + 1e-12)


def target_cells(
    setting: PresenceDesign,
    public: Sequence[Cells],
    private: Sequence[Cells],
    names: Sequence[str],
    streams: StreamOf | None = None,
    context: str = "",
) -> tuple[Cells, ...]:
    """The distributions that classes are moved towards. Only `private` may exclude a value of a public person."""
    if setting.mode == "public":
        return tuple(public)
    if setting.mode == "private":
        return tuple(private)
    aligned = [_aligned(p, q) for p, q in zip(public, private, strict=True)]
    if setting.mode == "quantised":
        return tuple(
            _quantised(cells, counts, setting.quantum) for cells, counts in zip(public, aligned, strict=True)
        )
    if streams is None:
        raise RecipeError("Noise must have a key to be drawn from")
    coin = setting.coin(len(public))
    found = []
    for cells, counts, name in zip(public, aligned, names, strict=True):
        noisy = counts + _geometric(streams, context, name, coin, 0, len(counts))
        noisy -= _geometric(streams, context, name, coin, 1, len(counts))
        found.append(Cells(cells.leaves, cells.first, cells.values, np.maximum(noisy, 1)))
    return tuple(found)


def _aligned(public: Cells, private: Cells) -> Ints:
    """Private counts of every value of the public class."""
    counts = np.zeros(len(public.values), np.int64)
    place = np.searchsorted(
        public.class_of * public.leaves + public.values, private.class_of * private.leaves + private.values
    )
    counts[place] = private.weights
    return counts


def _quantised(public: Cells, counts: Ints, quantum: int) -> Cells:
    total = np.add.reduceat(counts, public.first[:-1])[public.class_of]
    return Cells(public.leaves, public.first, public.values, in_levels(counts, total, quantum))


def in_levels(counts: Ints, total: Ints, quantum: int) -> Ints:
    """Shares to the nearest of `quantum` levels, none below half a level, so that no value is excluded."""
    levels = (2 * counts * quantum + total) // (2 * total)
    return np.asarray(np.maximum(2 * levels, 1))


def _geometric(streams: StreamOf, context: str, name: str, coin: int, which: int, length: int) -> Ints:
    """Heads before the first tail, for every entry: a coin of `coin` out of ONE, one word for each toss."""
    found, going, draw = np.zeros(length, np.int64), np.arange(length), which
    while len(going):
        words = streams("presence noise", context, name, draw).words(0, length)[going]
        going = going[(words >> np.uint64(2)) < np.uint64(coin)]
        found[going] += 1
        draw += 2
    return found


def start_cells(
    setting: PresenceDesign, uniform: tuple[Cells, ...], target: tuple[Cells, ...]
) -> tuple[Cells, ...]:
    """What SPALM publishes, and the others start from."""
    return target if setting.start == "pdf" else uniform
