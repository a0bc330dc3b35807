"""Whether publishing a record pays: a game between a publisher and an intruder (Wan et al. 2015), as ARX plays it.

A record is worth `benefit` times what its labels tell: 1 less their logarithms of leaves over those of all leaves.
An intruder who expects to gain more than an attack costs attacks, and the publisher loses `loss` with the chance
that the attack finds the record. The more is generalised, the less a record is worth and the less it is at risk:
neither survives generalisation, so every node is asked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pramana.errors import RecipeError
from pramana.generalize.classes import Classes

Floats = NDArray[np.float64]
_DIGITS = 1e9  # payoffs are certified rounded down at the ninth place, and compared so


@dataclass(frozen=True)
class Game:
    """What publisher and intruder stand to gain and lose; `attacked`: whether attacks that pay are put up with."""

    benefit: float
    loss: float
    gain: float
    cost: float
    attacked: bool = True

    def __post_init__(self) -> None:
        numbers = (self.benefit, self.loss, self.gain, self.cost)
        if not all(math.isfinite(number) and number >= 0 for number in numbers) or not self.benefit > 0:
            raise RecipeError("benefit must be above 0, and loss, gain and cost at least 0", f"{numbers}")

    def payoffs(self, told: Floats, chance: Floats) -> Floats:
        """What publishing a record of each class pays, rounded down; 0 where an attack pays that must not."""
        attack = self.gain * chance > self.cost
        paid = self.benefit * told - np.where(attack, self.loss * chance, 0.0)
        if not self.attacked:
            paid = np.where(attack, 0.0, paid)
        return np.asarray(np.floor(paid * _DIGITS) / _DIGITS)


def told_by_labels(widths: list[Floats], leaves: list[int]) -> Floats:
    """What labels tell, from 1 for leaves to 0 for the tops: by class, from the leaves under each label."""
    most = sum(math.log(number) for number in leaves)
    lost = np.asarray(sum(np.log(width) for width in widths), np.float64)
    return np.asarray(1.0 - lost / most if most else np.ones_like(lost))


@dataclass(frozen=True)
class Profitable:
    """Records that do not pay are left out. `among_people`: an intruder picks from those of a population."""

    game: Game
    among_people: bool = False

    def stays_up(self, limit: int) -> bool:
        del limit
        return False

    def kept(self, classes: Classes, held: NDArray[np.bool_]) -> NDArray[np.bool_]:
        widths, leaves = [], []
        for a, (ladder, level) in enumerate(zip(classes.layout.ladders, classes.levels, strict=True)):
            widths.append(np.bincount(ladder.maps[level])[classes.codes(a)].astype(np.float64))
            leaves.append(ladder.leaves)
        alike = classes.counts[:, 1] if self.among_people else classes.sizes
        paid = self.game.payoffs(told_by_labels(widths, leaves), 1.0 / alike)
        return np.asarray(held & (paid > 0))
