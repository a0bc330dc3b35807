"""Linkage: exact posteriors by permanents, the chain against them, and attacks that win where they should."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from pramana.holder.audit.linkage import (
    LinkedTable,
    best_matching,
    everyone_linked,
    exact_linkage,
    expected_counts,
    link_posteriors,
    matched_linkage,
    pairwise_likelihoods,
    r_hat,
    sampled_linkage,
    sampled_posterior,
)
from pramana.holder.audit.verdict import Attack, clopper_pearson
from pramana.mechanisms.channel import Dense, Retention
from pramana.mechanisms.table import Product, RecordRetention
from pramana.randomness.key import Key

CHANNEL = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
SIZES = {"a": 4, "b": 3}
LAW = Product({"a": Retention.at(Fraction(1, 5), 4), "b": Retention.at(Fraction(1, 10), 3)})


def likelihoods(true: str, shown: str) -> Any:
    return np.array([[CHANNEL[int(u)][int(v)] for v in shown] for u in true], object)


def by_brute_force(table: Any) -> Any:
    n = len(table)
    links, total = np.full((n, n), Fraction(0), object), Fraction(0)
    for order in permutations(range(n)):
        weight = Fraction(1)
        for i, j in enumerate(order):
            weight *= table[i, j]
        total += weight
        for i, j in enumerate(order):
            links[i, j] += weight
    return links / total


def test_the_worked_example_has_its_posteriors() -> None:
    found = link_posteriors(likelihoods("00111", "01101"))
    assert {found[i, j] for i in range(5) for j in range(5)} == {
        Fraction(9, 23),
        Fraction(5, 69),
        Fraction(59, 207),
    }
    assert found[0, 0] == Fraction(9, 23)
    assert found[0, 1] == Fraction(5, 69)
    assert found[2, 1] == Fraction(59, 207)


@pytest.mark.parametrize(
    ("true", "shown"), [("00111", "01101"), ("0", "1"), ("0101", "1111"), ("001011", "110100")]
)
def test_permanents_equal_all_permutations(true: str, shown: str) -> None:
    table = likelihoods(true, shown)
    assert (link_posteriors(table) == by_brute_force(table)).all()
    several = np.stack([table.astype(float)] * 3)
    assert np.allclose(link_posteriors(several)[2], by_brute_force(table).astype(float), rtol=1e-12)


def test_tables_too_large_for_permanents_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 12"):
        link_posteriors(np.ones((13, 13)))


def test_the_chain_finds_the_exact_posteriors() -> None:
    table = likelihoods("00111010", "01101101").astype(float)
    exact = link_posteriors(table)
    same = table == 0.75
    found = sampled_posterior(table, same, best_matching(table), sweeps=20_000)
    assert found.mixed
    assert np.abs(found.links - exact).max() < 0.02
    wrong = link_posteriors(table**2)  # a chain for another law would not pass
    assert np.abs(found.links - wrong).max() > 0.02


def test_chains_that_tell_different_stories_have_not_mixed() -> None:
    rng = np.random.default_rng(1)
    traces = rng.normal(size=(4, 500))
    assert r_hat(traces) < 1.01
    traces[0] += 3
    assert r_hat(traces) > 1.5
    own = np.eye(6, dtype=bool)  # everyone on their own row, or everyone on the next: no exchange leads across
    stuck = np.where(own | np.roll(own, 1, axis=1), 1.0, 0.0)
    assert link_posteriors(stuck)[0, 0] == 0.5
    assert not sampled_posterior(stuck, own, np.arange(6), sweeps=400).mixed


@pytest.mark.parametrize("law", [LAW, RecordRetention.at(Fraction(1, 3), SIZES)], ids=["attributes", "record"])
def test_likelihoods_are_the_laws(law: Any) -> None:
    true = {"a": np.repeat(np.arange(4, dtype=np.uint8), 3), "b": np.tile(np.arange(3, dtype=np.uint8), 4)}
    found = pairwise_likelihoods(law, true, true)
    assert np.allclose(found.sum(1), 1)
    if law is LAW:
        one, other = (Fraction(1, 5) + Fraction(1, 5), Fraction(1, 10) + Fraction(3, 10))
        assert found[0, 0] == pytest.approx(float(one * other))
        assert found[0, 1] == pytest.approx(float(one * Fraction(3, 10)))
    else:
        assert found[0, 0] == pytest.approx(float(Fraction(1, 3) + Fraction(2, 3) / 12))


def test_expected_counts_are_those_of_all_pairs_where_columns_are_independent() -> None:
    grid = {"a": np.repeat(np.arange(4, dtype=np.uint8), 3), "b": np.tile(np.arange(3, dtype=np.uint8), 4)}
    weights = np.outer([1, 2, 3, 4], [5, 2, 1]).reshape(-1)  # times that each record occurs
    true = {name: np.repeat(codes, weights) for name, codes in grid.items()}
    for law in LAWS:
        exact = weights @ pairwise_likelihoods(law, grid, grid)
        assert np.allclose(expected_counts(law, true, grid), exact, rtol=1e-9)


def published(law: Any, drawn: Any, rows: int = 3000, shuffle: bool = True) -> LinkedTable:
    """A table through what really throws the coins, beside the law that is claimed of it."""
    rng, key = np.random.default_rng(3), Key(bytes(range(32)))
    true = {name: rng.integers(0, size, rows).astype(np.uint8) for name, size in law.sizes.items()}
    out = {name: np.empty_like(codes) for name, codes in true.items()}
    drawn.publish(lambda purpose, column: key.stream(purpose, "test", column), 0, true, out)
    order = rng.permutation(rows) if shuffle else np.arange(rows)
    return LinkedTable(law, true, {name: codes[order] for name, codes in out.items()}, order)


ATTACKS = [exact_linkage, matched_linkage, sampled_linkage, everyone_linked]
LAWS: list[Any] = [
    LAW,
    RecordRetention.at(Fraction(1, 20), SIZES),
    Product(
        {"a": Retention.at(Fraction(1, 5), 4), "b": Dense.of([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]])}
    ),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda a: a.__name__)
@pytest.mark.parametrize("law", LAWS, ids=["attributes", "record", "matrix"])
def test_honest_releases_are_not_linked_beyond_their_claim(attack: Any, law: Any) -> None:
    found = attack(published(law, law))
    assert isinstance(found, Attack)
    assert found.ok, found.detail
    assert found.claimed is not None and found.interval is not None
    assert found.interval[0] <= found.measured <= found.interval[1]
    assert 0 < found.claimed <= 1


@pytest.mark.parametrize("attack", ATTACKS[1:], ids=lambda a: a.__name__)
def test_rows_that_were_not_shuffled_are_linked(attack: Any) -> None:
    found = attack(published(LAW, LAW, shuffle=False))
    assert not found.ok
    assert found.interval[0] > found.claimed


def test_rows_that_were_not_randomised_are_linked_by_permanents() -> None:
    """A release whose law is claimed to be nearly even, and which is the table itself."""
    even = Product({name: Retention.at(Fraction(1, 50), size) for name, size in SIZES.items()})
    kept = Product({name: Retention.at(1, size) for name, size in SIZES.items()})
    assert exact_linkage(published(even, even)).ok
    found = exact_linkage(published(even, kept))
    assert not found.ok and found.measured > found.claimed  # type: ignore[operator]


def test_intervals_are_clopper_and_pearsons() -> None:
    low, high = clopper_pearson(0, 10, 0.025)
    assert low == 0 and high == pytest.approx(1 - 0.025 ** (1 / 10))
    low, high = clopper_pearson(10, 10, 0.025)
    assert high == 1 and low == pytest.approx(0.025 ** (1 / 10))
    low, high = clopper_pearson(4, 20, 0.025)
    assert (low, high) == pytest.approx((0.0573, 0.4366), abs=1e-4)
