"""What the choice of levels tells: nothing if it comes from public knowledge, too much if it is searched."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.generalize.worlds import (
    LAYOUT,
    NODES,
    levels_in_every_world,
    public_tables,
    searched,
    told_by,
    worlds_of,
)

from pramana.counting.classes import Ladder, Layout
from pramana.errors import UnreachableError
from pramana.methods.presence.search import Pair, at_presence_levels, levels_from_public, smallest_class
from pramana.methods.presence.shaping import Presence

RANGES = [Presence.of(*ends) for ends in ((0.2, 0.8), (0.1, 0.7), (0.0, 0.9), (0.0, 1.0))]


@pytest.mark.parametrize("people", range(2, 10))
def test_levels_from_public_knowledge_tell_nothing_in_any_world(people: int) -> None:
    """All public tables of up to nine people, every number of them present, every world."""
    published = 0
    for columns in public_tables(people):
        levels_for: dict[int, tuple[int, ...]] = {}  # by the size that is asked of classes
        for present in range(1, people):
            worlds = worlds_of(people, present)
            for wanted in RANGES:
                if not wanted.lowest <= Fraction(present, people) <= wanted.highest:
                    continue
                least = smallest_class(people, present, wanted)
                if least not in levels_for:
                    levels_for[least] = levels_from_public(Pair(LAYOUT, columns, worlds[0]), wanted)
                for told in told_by(columns, present, wanted, [levels_for[least]] * len(worlds)):
                    published += told.worlds
                    assert not told.leaves(wanted)
    assert published > people


def test_the_choice_is_the_same_in_every_world() -> None:
    for columns in public_tables(5):
        for wanted in RANGES:
            chosen = set(levels_in_every_world(columns, 2, wanted, levels_from_public))
            assert len(chosen) == 1


@pytest.mark.parametrize("node", NODES)
def test_levels_that_are_given_tell_nothing_in_any_world(node: tuple[int, int]) -> None:
    for columns in public_tables(6):
        for present in (1, 2, 3, 5):
            for wanted in RANGES[:3]:
                levels = [node] * len(worlds_of(6, present))
                assert not any(told.leaves(wanted) for told in told_by(columns, present, wanted, list(levels)))


def test_levels_that_are_searched_give_people_away() -> None:
    """The audit has power: it finds what the search tells."""
    wanted = RANGES[0]
    left = [
        told
        for columns in public_tables(5)
        for present in (1, 2)
        for told in told_by(columns, present, wanted, levels_in_every_world(columns, present, wanted, searched))
        if told.leaves(wanted)
    ]
    assert left and any(told.highest == 1 or told.lowest == 0 for told in left)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("ends", [(0.0, 0.9), (0.01, 0.6), (0.005, 0.99)])
def test_people_drawn_from_everyone_nearly_always_hold(share: float, ends: tuple[float, float]) -> None:
    """In 200 tables drawn from the public one, at most one in twenty falls outside at the levels chosen for it."""
    rng = np.random.default_rng(11)
    wanted, people = Presence.of(*ends), 4000
    layout = Layout((Ladder("a", (np.arange(8), np.arange(8) // 2, np.arange(8) // 4, np.zeros(8, np.int64))),))
    column = rng.integers(0, 8, people).astype(np.uint8)
    present = np.arange(people) < share * people
    if not float(wanted.lowest) <= present.mean() <= float(wanted.highest):
        pytest.skip("delta does not enclose this share")
    levels = levels_from_public(Pair(layout, (column,), present), wanted)
    failed = 0
    for _ in range(200):
        try:
            at_presence_levels(Pair(layout, (column,), rng.permutation(present)), wanted, levels)
        except UnreachableError:
            failed += 1
    assert failed <= 10


def test_the_smallest_class_grows_as_delta_narrows() -> None:
    sizes = [
        smallest_class(10_000, 1000, Presence.of(round(0.1 / r, 6), round(min(0.1 * r, 1.0), 6)))
        for r in (100.0, 4.0, 2.0, 1.2)
    ]
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1] <= 10_000
    assert smallest_class(10_000, 1000, Presence.of(0.0, 1.0)) == 1
    assert smallest_class(10, 5, Presence.of(0.49, 0.51)) == 10
    narrow, wide = (smallest_class(10_000, 1000, Presence.of(0.02, 0.5), spread) for spread in (1.0, 2.0))
    assert narrow < wide
