"""Every world of a small public table: who may be present, what would be published, and what that gives away.

`python -m tests.generalize.worlds` measures how often levels that were searched give someone away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations, combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from pramana.counting.classes import Ladder, Layout
from pramana.errors import UnreachableError
from pramana.methods.presence.search import Pair, spalm
from pramana.methods.presence.shaping import Presence

Levels = tuple[int, ...]
Columns = tuple[NDArray[np.uint8], NDArray[np.uint8]]
Choice = Callable[[Pair, Presence], Levels]
# Two columns of two and three values, which the hierarchies join in one and in two steps.
LAYOUT = Layout(
    (
        Ladder("sex", (np.arange(2), np.zeros(2, np.int64))),
        Ladder("age", (np.arange(3), np.array([0, 0, 1]), np.zeros(3, np.int64))),
    )
)
NODES = [(sex, age) for sex in range(2) for age in range(3)]


@dataclass(frozen=True)
class Told:
    """What one output tells: in how many worlds it is published, and the least and greatest chance of anyone."""

    worlds: int
    lowest: float
    highest: float

    def leaves(self, wanted: Presence) -> bool:
        return self.lowest < float(wanted.lowest) - 1e-9 or self.highest > float(wanted.highest) + 1e-9


def public_tables(people: int) -> Iterator[Columns]:
    """Every public table of so many people, but for their order."""
    for rows in combinations_with_replacement([(sex, age) for sex in range(2) for age in range(3)], people):
        columns = np.array(rows, np.uint8).T
        yield columns[0].copy(), columns[1].copy()


@cache
def worlds_of(people: int, present: int) -> NDArray[np.bool_]:
    worlds = np.zeros((0, people), np.bool_)
    for chosen in combinations(range(people), present):
        world = np.zeros((1, people), np.bool_)
        world[0, list(chosen)] = True
        worlds = np.concatenate([worlds, world])
    return worlds


def told_by(columns: Columns, present: int, wanted: Presence, levels_in: list[Levels | None]) -> Iterator[Told]:
    """What each output tells someone who knows the public table and which levels every world would have.

    An output is the levels and how many people of each class are present. Worlds in which a class leaves delta, or
    which have no levels, publish nothing.
    """
    worlds = worlds_of(len(columns[0]), present)
    for levels in sorted({levels for levels in levels_in if levels is not None}):
        here = worlds[[chosen == levels for chosen in levels_in]]
        labels = [ladder.maps[a][c] for ladder, a, c in zip(LAYOUT.ladders, levels, columns, strict=True)]
        _, class_of = np.unique(np.stack(labels), axis=1, return_inverse=True)
        member = np.eye(int(class_of.max()) + 1, dtype=np.int64)[class_of]
        outputs, output_of = np.unique(here @ member, axis=0, return_inverse=True)
        sizes = np.broadcast_to(member.sum(0), outputs.shape)
        held = wanted.held(np.stack([sizes.ravel(), outputs.ravel()], axis=1)).reshape(outputs.shape).all(axis=1)
        worlds_with = np.bincount(output_of, minlength=len(outputs))
        chances = np.zeros((len(outputs), here.shape[1]))
        np.add.at(chances, output_of, here)
        chances /= worlds_with[:, None]
        for output in np.flatnonzero(held):
            yield Told(int(worlds_with[output]), float(chances[output].min()), float(chances[output].max()))


def levels_in_every_world(columns: Columns, present: int, wanted: Presence, choose: Choice) -> list[Levels | None]:
    found: list[Levels | None] = []
    for world in worlds_of(len(columns[0]), present):
        try:
            found.append(choose(Pair(LAYOUT, columns, world), wanted))
        except UnreachableError:
            found.append(None)
    return found


def searched(pair: Pair, wanted: Presence) -> Levels:
    return spalm(pair, wanted).levels


def measure(most: int, wanted: Presence) -> tuple[int, int, int]:
    """Worlds that are published with searched levels, those that leave delta, and those that give someone away."""
    published = left = certain = 0
    for people in range(2, most + 1):
        for columns in public_tables(people):
            for present in range(1, people):
                levels = levels_in_every_world(columns, present, wanted, searched)
                for told in told_by(columns, present, wanted, levels):
                    published += told.worlds
                    left += told.worlds * told.leaves(wanted)
                    certain += told.worlds * (told.leaves(wanted) and (told.highest == 1 or told.lowest == 0))
    return published, left, certain


if __name__ == "__main__":
    for low, high in ((0.2, 0.8), (0.1, 0.7)):
        published, left, certain = measure(6, Presence.of(low, high))
        shares = f"{left / published:.1%} leave, {certain / published:.1%} give someone away"
        print(f"({low}, {high}): {published} worlds, {shares}")  # noqa: T201
