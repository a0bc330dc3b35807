"""SPALM on distributions: against every node of small lattices, in rationals; what is and what is not monotone."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from pramana.counting.classes import Ladder, Layout
from pramana.errors import RecipeError, UnreachableError
from pramana.methods.presence.algorithms import PresenceDesign
from pramana.methods.presence.reversal import Seen, reversed_of
from pramana.methods.presence.search import Pair, at_presence_levels, presented, spalm
from pramana.methods.presence.shaping import Presence

TREE = Ladder("a", (np.arange(4), np.array([0, 0, 1, 1]), np.zeros(4, np.int64)))
PAIRS = Ladder("b", (np.arange(4), np.array([0, 1, 1, 0]), np.zeros(4, np.int64)))
FLAT = Ladder("c", (np.arange(3), np.zeros(3, np.int64)))
LADDERS = (TREE, PAIRS, FLAT)
LOSSES = ((0, 1 / 3, 1), (0, 1 / 3, 1), (0, 1))  # leaves under a label, less one, over leaves less one
NODES = list(itertools.product(range(3), range(3), range(2)))
Rows = list[tuple[int, ...]]


def world(seed: int, people: int = 40) -> Pair:
    rng = np.random.default_rng(seed)
    sizes = (4, 4, 3)
    columns = tuple(rng.choice(s, people, p=rng.dirichlet(np.full(s, 4.0))).astype(np.uint8) for s in sizes)
    present = rng.random(people) < 0.25 + 0.2 * (columns[2] == 1) + 0.1 * (columns[0] > 1)
    present[:2] = True, False
    return Pair(Layout(LADDERS), columns, present)


def cost(levels: tuple[int, ...]) -> float:
    return float(math.prod(1 + loss[level] for loss, level in zip(LOSSES, levels, strict=True)) ** (1 / 3) - 1)


def elementary(w: list[Fraction], degree: int) -> Fraction:
    e = [Fraction(1)] + [Fraction(0)] * degree
    for x in w:
        for d in range(degree, 0, -1):
            e[d] += x * e[d - 1]
    return e[degree]


def probabilities(pair: Pair, levels: tuple[int, ...], mode: str, quantum: int = 8) -> tuple[Fraction, Fraction]:
    """Least and greatest existence probability at a node, from the rows: Eq. 2, Definition 10 and Eq. 4."""
    rows = list(zip(*[c.tolist() for c in pair.columns], strict=True))
    label = [ladder.maps[level] for ladder, level in zip(LADDERS, levels, strict=True)]
    classes: dict[tuple[int, ...], list[int]] = {}
    for i, row in enumerate(rows):
        classes.setdefault(tuple(int(m[v]) for m, v in zip(label, row, strict=True)), []).append(i)
    least, most = Fraction(1), Fraction(0)
    for members in classes.values():
        chosen = [i for i in members if pair.present[i]]
        if not chosen:
            least = Fraction(0)
            continue
        each = inclusion([likelihood(rows, rows[i], members, chosen, mode, quantum) for i in members], len(chosen))
        least, most = min(least, *each), max(most, *each)
    return least, most


def likelihood(
    rows: Rows, row: tuple[int, ...], members: list[int], chosen: list[int], mode: str, quantum: int
) -> Fraction:
    w = Fraction(1)
    for a, value in enumerate(row):
        group = members if mode == "public" else chosen
        count = sum(1 for i in group if rows[i][a] == value)
        if mode == "uniform":
            continue
        if mode == "quantised":
            level = math.floor(Fraction(count, len(chosen)) * quantum + Fraction(1, 2))
            w *= max(2 * level, 1)
        else:
            w *= count
    return w


def inclusion(w: list[Fraction], n: int) -> list[Fraction]:
    whole = elementary(w, n)
    known = {x: x * elementary(w[: w.index(x)] + w[w.index(x) + 1 :], n - 1) / whole for x in set(w)}
    return [known[x] for x in w]


@pytest.mark.parametrize("mode", ["public", "private", "quantised"])
def test_the_node_found_is_the_best_of_the_whole_lattice(mode: str) -> None:
    how = PresenceDesign("spalm", mode, "pdf")
    lower = found_at = nothing = 0
    for seed, (low, high) in itertools.product(range(5), [("0", "0.8"), ("0.02", "0.9"), ("0.1", "0.75")]):
        pair, wanted = world(seed), Presence.of(low, high)
        ranges = {levels: probabilities(pair, levels, mode) for levels in NODES}
        good = {
            levels: cost(levels) for levels, (a, b) in ranges.items() if wanted.lowest <= a and b <= wanted.highest
        }
        if not good:
            nothing += 1
            with pytest.raises(UnreachableError, match="presence"):
                spalm(pair, wanted, setting=how)
            continue
        found = spalm(pair, wanted, setting=how)
        assert found.levels in good
        assert found.cost == pytest.approx(min(good.values()))
        assert cost(found.levels) == pytest.approx(found.cost)
        made = presented(found, how)
        assert made.existence == pytest.approx([float(x) for x in ranges[found.levels]], abs=1e-11)
        uniform = spalm(pair, wanted)
        assert uniform.cost <= found.cost + 1e-12
        lower += uniform.cost < found.cost
        found_at += sum(found.levels) > 0
    assert lower, "the distributions never mattered"
    assert found_at >= 5
    assert nothing


def test_presence_of_distributions_is_not_monotone_but_needs_uniform_presence() -> None:
    """A node that holds below one that fails, and the other way round: failing or holding settles no other node.

    The mean of a class's probabilities is its share of people present, so that whatever holds with distributions
    holds with uniform cells: only this may prune.
    """
    wanted = Presence.of("0.1", "0.75")
    up = down = 0
    for seed in range(6):
        pair = world(seed)
        held = {}
        for levels in NODES:
            low, high = probabilities(pair, levels, "public")
            held[levels] = wanted.lowest <= low and high <= wanted.highest
            if held[levels]:
                least, most = probabilities(pair, levels, "uniform")
                assert wanted.lowest <= least and most <= wanted.highest
        for fine, coarse in itertools.product(NODES, NODES):
            if fine != coarse and all(a <= b for a, b in zip(fine, coarse, strict=True)):
                up += held[fine] and not held[coarse]
                down += held[coarse] and not held[fine]
    assert up
    assert down


def test_public_distributions_withstand_and_private_ones_are_attacked() -> None:
    pair, wanted = world(1), Presence.of("0", "0.8")
    for mode in ("public", "private"):
        how = PresenceDesign("spalm", mode, "pdf")
        found = reversed_of(Seen.of(presented(spalm(pair, wanted, setting=how), how)))
        assert (found.verdict == "withstood") is (mode == "public"), found
    lying = Seen.of(presented(spalm(pair, wanted, setting=how), how))
    other = Seen(**{**lying.__dict__, "setting": PresenceDesign("spalm", "public", "pdf")})
    assert reversed_of(other).verdict == "broken"


def test_one_exact_world_is_found_behind_private_distributions() -> None:
    """The paper's own men: SPALM with the paper's distributions checks out, and tells that Obi is absent."""
    flat = [Ladder(name, (np.arange(2), np.zeros(2, np.int64))) for name in ("job", "nation")]
    columns = (np.array([1, 1, 1, 0, 0], np.uint8), np.array([0, 1, 1, 1, 0], np.uint8))
    pair = Pair(Layout(tuple(flat)), columns, np.array([True, True, True, True, False]))
    how = PresenceDesign("spalm", "private", "pdf")
    made = presented(spalm(pair, Presence.of("0.4", "0.95"), setting=how), how)
    assert made.classes.levels == (1, 1)
    assert made.existence == pytest.approx((8 / 17, 16 / 17))
    found = reversed_of(Seen.of(made))
    assert (found.verdict, found.fewest_worlds, found.lowest, found.highest) == ("broken", 1, 0.0, 1.0)
    public = PresenceDesign("spalm", "public", "pdf")
    assert reversed_of(Seen.of(presented(spalm(pair, Presence.of("0.4", "0.95"), setting=public), public))).ok


def test_distributions_that_do_not_hold_are_not_published() -> None:
    pair = world(0)
    wanted = Presence.of("0.2", "0.7")
    low, high = probabilities(pair, (2, 2, 1), "private")
    assert low < wanted.lowest or high > wanted.highest
    classes = at_presence_levels(pair, wanted, (2, 2, 1))
    with pytest.raises(UnreachableError, match="distributions at these levels"):
        presented(classes, PresenceDesign("spalm", "private", "pdf"))


def test_only_spalm_publishes_the_target_itself() -> None:
    for algorithm, mode, epsilon in (("optimal", "public", None), ("spalm", "noised", 1.0)):
        with pytest.raises(RecipeError, match="must go with"):
            PresenceDesign(algorithm, mode, "pdf", epsilon=epsilon)
