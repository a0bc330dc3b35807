"""t is kept by what is published: after suppression a class is compared with the rows that stay."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana import Recipe, release, verify
from pramana.counting.classes import Layout, grouped
from pramana.counting.value_counts import ValueCounts
from pramana.errors import UnreachableError
from pramana.methods.generalize.conditions import All, Close, KAnonymous
from pramana.methods.generalize.lines import grouped_for
from pramana.methods.generalize.measures import measure_of
from pramana.methods.generalize.recoding import full_domain
from pramana.randomness.key import Key

from .tables import Columns, random_table, with_counts_of

TREE = (np.array([0, 0, 1, 1, 2, 2]), np.array([0, 0, 1]), np.array([0, 0]))


def tree_distance(p: list[Fraction], q: list[Fraction]) -> Fraction:
    """By the definition of Li, Li and Venkatasubramanian: what passes each inner node, by its height."""
    total, excess = Fraction(0), [a - b for a, b in zip(p, q, strict=True)]
    for height, parent in enumerate(TREE, 1):
        nodes = int(parent.max()) + 1
        up, down = [Fraction(0)] * nodes, [Fraction(0)] * nodes
        for child, node in enumerate(parent):
            if excess[child] > 0:
                up[node] += excess[child]
            else:
                down[node] -= excess[child]
        total += Fraction(height, len(TREE)) * sum(min(a, b) for a, b in zip(up, down, strict=True))
        excess = [a - b for a, b in zip(up, down, strict=True)]
    return total


def distance(line: np.ndarray, whole: np.ndarray, tree: bool) -> Fraction:
    p = [Fraction(int(n), int(line.sum())) for n in line]
    q = [Fraction(int(n), int(whole.sum())) for n in whole]
    if tree:
        return tree_distance(p, q)
    return sum((abs(a - b) for a, b in zip(p, q, strict=True)), Fraction(0)) / 2


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=60)
def test_distances_are_those_of_the_definition(seed: int, tree: bool) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 4, (5, 6)) * rng.integers(0, 2, (5, 6))
    table[:, 0] += table.sum(axis=1) == 0
    counts = np.concatenate([table.sum(axis=1, keepdims=True), table], axis=1).astype(np.uint32)
    whole = table.sum(axis=0)
    found = ValueCounts.of_table(counts).distances(whole, TREE if tree else None)
    assert found.tolist() == pytest.approx([float(distance(line, whole, tree)) for line in table], abs=1e-14)
    near = Close(0.4, whole, TREE if tree else None).held(counts)
    assert near.tolist() == [distance(line, whole, tree) <= Fraction(2, 5) for line in table]


@given(st.integers(0, 10**6))
@settings(max_examples=40)
def test_the_ordered_distance_is_the_sum_over_all_values_that_occur(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 4, (5, 9)) * rng.integers(0, 2, (5, 9))
    table[:, 4] += table.sum(axis=1) == 0
    counts = np.concatenate([table.sum(axis=1, keepdims=True), table], axis=1).astype(np.uint32)
    whole = table.sum(axis=0)
    excess = (table / table.sum(axis=1, keepdims=True) - whole / whole.sum())[:, whole > 0]
    # neighbours are values that occur, one after the other
    expected = np.abs(np.cumsum(excess, axis=1)).sum(axis=1) / max(1, excess.shape[1] - 1)
    assert ValueCounts.of_table(counts).ordered_distances(whole).tolist() == pytest.approx(expected.tolist())


def nodes_that_held_before(
    layout: Layout, columns: Columns, secret: np.ndarray, k: int, t: Fraction, limit: int, tree: bool
) -> list[float]:
    """Costs of nodes whose classes were chosen by the source's values and happen to keep t among what stays."""
    base, index = grouped(layout, columns)
    measure = measure_of("loss", base)
    counted = with_counts_of(base, index, secret, 6)
    costs = []
    for levels in itertools.product(*(range(h) for h in layout.heights)):
        classes = counted.rolled(levels)
        lines, whole = classes.counts[:, 1:], classes.counts[:, 1:].sum(axis=0)
        held = np.array(
            [n >= k and distance(c, whole, tree) <= t for n, c in zip(classes.sizes, lines, strict=True)]
        )
        if not held.any() or int(classes.sizes[~held].sum()) > limit:
            continue
        stays = lines[held].sum(axis=0)
        if all(distance(line, stays, tree) <= t for line in lines[held]):
            costs.append(measure.cost(classes, held))
    return costs


@given(
    st.integers(0, 10**6),
    st.integers(1, 6),
    st.sampled_from(["0.1", "0.2", "0.3", "0.5"]),
    st.integers(0, 30),
    st.booleans(),
)
@settings(max_examples=150)
def test_what_is_published_keeps_t_and_is_found_where_it_was(
    seed: int, k: int, t: str, limit: int, tree: bool
) -> None:
    layout, columns = random_table(seed)
    secret = np.random.default_rng(seed + 1).integers(0, 6, len(columns[0])).astype(np.uint8)
    before = nodes_that_held_before(layout, columns, secret, k, Fraction(t), limit, tree)
    counted = grouped_for(layout, columns, [(secret, 6)])
    close = Close(float(t), np.bincount(secret, minlength=6), TREE if tree else None)
    try:
        made = full_domain(counted, All((KAnonymous(k), close)), limit=limit)
    except UnreachableError:
        assert not before
        return
    assert made.cost is not None
    assert made.cost <= min(before, default=math.inf) + 1e-12
    assert made.suppressed <= limit
    shown = [np.bincount(secret[made.class_of == c], minlength=6) for c in range(made.classes)]
    whole = np.sum(shown, axis=0)
    assert all(line.sum() >= k and distance(line, whole, tree) <= Fraction(t) for line in shown)


def test_a_release_that_suppresses_certifies_no_more_than_the_t_asked_for(tmp_path: Path) -> None:
    """Tables whose classes were close to the source, and further from what was published."""
    certified = []
    (tmp_path / "town.csv").write_text("".join(f"t{i};h{i // 2};*\n" for i in range(8)))
    for seed in (8, 9, 10, 23):
        rng = np.random.default_rng(seed)
        town, laws = rng.integers(0, 8, 40), rng.dirichlet(np.full(3, 2.0), 8)
        ill = [["flu", "cold", "gout"][rng.choice(3, p=laws[place])] for place in town]
        rows = "\n".join(f"t{a},{b}" for a, b in zip(town, ill, strict=True))
        (tmp_path / "people.csv").write_text(f"town,ill\n{rows}\n")
        setting = {"method": "generalize", "k": 2, "t": 0.3, "suppression": 0.4, "cells": "hierarchy"}
        columns = {"town": {"role": "quasi-identifying", "hierarchy": "town.csv"}, "ill": {"role": "sensitive"}}
        recipe = {"source": {"path": "people.csv"}, "release": setting, "attributes": columns}
        done = release(Recipe.parse(recipe, tmp_path), tmp_path / f"out{seed}", seed=1)
        certified.append(done.certificate.mechanism["measured"]["t"]["ill"])
        assert verify(tmp_path / f"out{seed}", source=tmp_path / "people.csv", key=Key.from_seed(1)).valid
    assert 0 < max(certified) <= 0.3


@given(st.integers(0, 10**6), st.integers(0, 40))
@settings(max_examples=60)
def test_ordered_distances_go_with_suppression(seed: int, limit: int) -> None:
    """A class that is left out may have values alone that what is published lacks."""
    layout, columns = random_table(seed)
    secret = np.minimum(np.random.default_rng(seed + 1).geometric(0.5, len(columns[0])) - 1, 5).astype(np.uint8)
    counted = grouped_for(layout, columns, [(secret, 6)])
    close = Close(0.15, np.bincount(secret, minlength=6), ordered=True)
    try:
        made = full_domain(counted, All((KAnonymous(2), close)), limit=limit)
    except UnreachableError:
        return
    shown = np.stack([np.bincount(secret[made.class_of == c], minlength=6) for c in range(made.classes)])
    counts = np.concatenate([shown.sum(axis=1, keepdims=True), shown], axis=1).astype(np.uint32)
    assert (ValueCounts.of_table(counts).ordered_distances(shown.sum(axis=0)) <= 0.15 + 1e-9).all()
