"""The published law is the certified one: every column, every true category, every published category."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.statistical.thresholds import ACCEPT, KEY, REJECT, ROWS, SHIFT, UNIFORM_P_VALUES

from pramana.datasets.census import census
from pramana.mechanisms.channel import Channel, Dense, Retention
from pramana.mechanisms.table import Mechanism, Product, RecordRetention
from pramana.methods.retention.ordered import Criterion, OrderedValues, ordered_channel
from pramana.randomness.key import Key
from pramana.randomness.samplers import Codes
from pramana.randomness.shuffle import gathered, shuffled_order
from pramana.rows.engines import LocalEngine

POPULATION = census(ROWS, seed=3)
CODES = {name: POPULATION.column(name) for name in POPULATION.names}
SIZES = {name: len(labels) for name, labels in zip(POPULATION.names, POPULATION.labels, strict=True)}


def dense(size: int, rho: float) -> Dense:
    """A matrix without symmetry: retention blended with a row-dependent slope."""
    slope = np.linspace(1, 2, size)
    rows = [rho * (np.arange(size) == u) + (1 - rho) * np.roll(slope, u) / slope.sum() for u in range(size)]
    return Dense.of(np.array(rows))


def ordered(size: int, rho: float) -> Channel:
    """At the ratio that retention has; domains of two values stay with it."""
    ratio = Retention.at(rho, size).likelihood_ratio
    assert ratio is not None
    return ordered_channel(OrderedValues(Criterion(np.arange(float(size)))), ratio, design=False)


def mechanisms(rho: float) -> dict[str, Mechanism]:
    return {
        "retention": Product({n: Retention.at(rho, v) for n, v in SIZES.items()}),
        "dense": Product({n: dense(v, rho) for n, v in SIZES.items()}),
        "record": RecordRetention.at(rho, SIZES),
        "ordered": Product({n: ordered(v, rho) for n, v in SIZES.items()}),
    }


def published(mechanism: Mechanism) -> dict[str, Codes]:
    return LocalEngine(threads=1).publish(mechanism, Key(KEY), "statistical", CODES)


def laws(mechanism: Mechanism) -> dict[str, NDArray[np.float64]]:
    if isinstance(mechanism, RecordRetention):
        rho = float(mechanism.retention)
        return {n: rho * np.eye(v) + (1 - rho) / v for n, v in SIZES.items()}
    assert isinstance(mechanism, Product)
    return {n: c.weights / 2.0**62 for n, c in mechanism.channels.items()}


def p_values(mechanism: Mechanism, seen: dict[str, Codes]) -> Iterator[tuple[str, int, float]]:
    """A chi-square test for every column and every true value in it."""
    for name, law in laws(mechanism).items():
        size = SIZES[name]
        counts = np.bincount(CODES[name].astype(np.int64) * size + seen[name], minlength=size * size)
        for value, row in enumerate(counts.reshape(size, size)):
            assert row.sum() > 50, f"the population must have people of every category: {name} {value}"
            yield name, value, float(stats.chisquare(row, law[value] * row.sum(), sum_check=False).pvalue)


@pytest.mark.parametrize("kind", ["retention", "dense", "record", "ordered"])
def test_every_category_follows_its_law(kind: str) -> None:
    mechanism = mechanisms(0.3)[kind]
    seen = published(mechanism)
    results = list(p_values(mechanism, seen))
    assert len(results) == sum(SIZES.values())
    assert min(p for _, _, p in results) > ACCEPT
    # The p-values themselves are uniform: no column is too good to be true either.
    assert stats.kstest([p for _, _, p in results], "uniform").pvalue > UNIFORM_P_VALUES


@pytest.mark.parametrize("kind", ["retention", "dense", "record", "ordered"])
@pytest.mark.parametrize("shift", [-SHIFT, SHIFT])
def test_a_weaker_and_a_stronger_law_are_rejected_in_every_column(kind: str, shift: float) -> None:
    seen = published(mechanisms(0.3 + shift)[kind])
    worst: dict[str, float] = {}
    for name, _, p in p_values(mechanisms(0.3)[kind], seen):
        worst[name] = min(worst.get(name, 1.0), p)
    assert set(worst) == set(SIZES)
    assert max(worst.values()) < REJECT ** (1 / 3)  # every single column notices
    assert min(worst.values()) < REJECT


def kept_together(seen: dict[str, Codes], a: str, b: str) -> float:
    """p-value of independence of "column a unchanged" and "column b unchanged"."""
    same = [(seen[n] == CODES[n]).astype(np.int64) for n in (a, b)]
    table = np.bincount(same[0] * 2 + same[1], minlength=4).reshape(2, 2)
    return float(stats.chi2_contingency(table, correction=False).pvalue)


def test_attribute_coins_are_independent_and_record_coins_are_not() -> None:
    each, record = mechanisms(0.3)["retention"], mechanisms(0.3)["record"]
    names = list(SIZES)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    seen = published(each)
    assert min(kept_together(seen, a, b) for a, b in pairs) > ACCEPT
    seen = published(record)
    assert max(kept_together(seen, a, b) for a, b in pairs) < REJECT


@pytest.mark.parametrize("lag", [1, 2, 64, 32768])
def test_coins_of_different_rows_are_independent(lag: int) -> None:
    mechanism = mechanisms(0.3)["retention"]
    seen = published(mechanism)
    for name in SIZES:
        same = (seen[name] == CODES[name]).astype(np.int64)
        table = np.bincount(same[:-lag] * 2 + same[lag:], minlength=4).reshape(2, 2)
        assert stats.chi2_contingency(table, correction=False).pvalue > ACCEPT, name


def places(order: NDArray[np.uint32]) -> float:
    """p-value of "the tenth of the source a row comes from tells nothing of the tenth it is published in"."""
    tenth = np.arange(len(order)) * 10 // len(order)
    table = np.bincount(tenth * 10 + order.astype(np.int64) * 10 // len(order), minlength=100).reshape(10, 10)
    return float(stats.chi2.sf(((table - len(order) / 100) ** 2 / (len(order) / 100)).sum(), 81))


def test_the_shuffle_is_uniform_and_a_local_one_would_be_caught() -> None:
    order = shuffled_order(Key(KEY), "statistical", ROWS)
    assert np.array_equal(np.sort(order), np.arange(ROWS))
    assert places(order) > ACCEPT
    within = np.concatenate([np.random.default_rng(i).permutation(1000) + 1000 * i for i in range(ROWS // 1000)])
    assert places(within.astype(np.uint32)) < REJECT


def test_every_order_of_four_rows_is_equally_likely() -> None:
    orders = [tuple(shuffled_order(Key(KEY), str(i), 4).tolist()) for i in range(12_000)]
    counts = [orders.count(o) for o in set(orders)]
    assert len(counts) == 24
    assert stats.chisquare(counts).pvalue > ACCEPT


def test_gathering_puts_each_row_where_the_order_says() -> None:
    order = shuffled_order(Key(KEY), "gather", ROWS)
    for codes in CODES.values():
        assert np.array_equal(gathered(codes, order), codes[order])


def test_retention_is_rounded_down_to_what_is_sampled() -> None:
    channel = Retention.at(Fraction(1, 3), 7)
    assert channel.retention <= Fraction(1, 3) < Retention(7, channel.step - 1).retention
