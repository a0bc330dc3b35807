"""Central privacy of a shuffled release, held against whole distributions by brute force."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import pytest
from scipy import stats

from pramana.mechanisms import Dense, Product, RecordRetention, Retention
from pramana.theory import pk, shuffling

Channel = list[list[float]]


def grr(rho: float, size: int) -> Channel:
    return [[rho * (u == v) + (1 - rho) / size for v in range(size)] for u in range(size)]


def joint(a: Channel, b: Channel) -> Channel:
    values = list(product(range(len(a)), range(len(b))))
    return [[a[u][x] * b[v][y] for x, y in values] for u, v in values]


def shuffled_law(channel: Channel, truth: tuple[int, ...]) -> Counter[tuple[int, ...]]:
    """The law of the multiset of published values."""
    law: Counter[tuple[int, ...]] = Counter()
    for seen in product(range(len(channel)), repeat=len(truth)):
        law[tuple(sorted(seen))] += math.prod(channel[t][s] for t, s in zip(truth, seen, strict=True))
    return law


def true_delta(channel: Channel, records: int, epsilon: float) -> float:
    """The largest hockey-stick divergence between neighbouring tables, over every table."""
    worst = 0.0
    for others in product(range(len(channel)), repeat=records - 1):
        if list(others) != sorted(others):
            continue
        laws = [shuffled_law(channel, (u, *others)) for u in range(len(channel))]
        for p in laws:
            for q in laws:
                worst = max(worst, sum(max(0.0, p[x] - math.exp(epsilon) * q[x]) for x in p))
    return worst


@pytest.mark.parametrize(("size", "records"), [(2, 2), (2, 5), (3, 2), (3, 4), (4, 3)])
@pytest.mark.parametrize("rho", [0.2, 0.4, 0.7])
def test_record_coin_is_bounded_at_every_epsilon(size: int, records: int, rho: float) -> None:
    blanket = shuffling.blanket_of_retentions([rho], [size])
    assert blanket is not None
    local = math.log((1 + (size - 1) * rho) / (1 - rho))
    for share in (0.02, 0.2, 0.5, 0.8, 0.95):
        truth = true_delta(grr(rho, size), records, share * local)
        assert truth * (1 - 1e-9) <= shuffling.shuffled_delta(records, blanket, share * local) <= 1


def test_the_sheets_formula_is_no_bound() -> None:
    """n = 2, three values, rho = .4, e^epsilon = 5/2: the true delta is 3/50, the formula says 1/50.

    The formula lets the others fall on u and v with alpha each, as if none of them were a u. See shuffling.md.
    """
    own, other, e = Fraction(3, 5), Fraction(1, 5), Fraction(5, 2)
    # Both records are u against one of them v: the only multiset that speaks for u beyond e is {u, u}.
    assert own * own - e * own * other == Fraction(3, 50)
    assert true_delta(grr(0.4, 3), 2, math.log(2.5)) == pytest.approx(0.06)
    # The formula: others on u, v with alpha = 1/5 each.
    stay = 1 - 2 * other
    at_20 = own * other - e * other * other
    at_10 = own * stay + other * other - e * (other * stay + other * other)
    assert max(at_20, 0) + max(at_10, 0) == Fraction(1, 50)
    blanket = shuffling.blanket_of_retentions([0.4], [3])
    assert blanket is not None
    assert shuffling.shuffled_delta(2, blanket, math.log(2.5)) >= 0.06 * (1 - 1e-9)


@pytest.mark.parametrize("rhos", [(0.5, 0.25), (0.3, 0.3), (0.6, 0.1)])
def test_a_coin_per_attribute_is_bounded_over_all_pairs(rhos: tuple[float, float]) -> None:
    """All pairs of true records, those that agree in an attribute too."""
    channel = joint(grr(rhos[0], 2), grr(rhos[1], 3))
    blanket = shuffling.blanket_of_retentions(rhos, [2, 3])
    assert blanket is not None
    local = pk.epsilon_from_retention(rhos, [2, 3])
    for share in (0.05, 0.4, 0.8):
        truth = true_delta(channel, 3, share * local)
        assert truth * (1 - 1e-9) <= shuffling.shuffled_delta(3, blanket, share * local)


def test_any_matrix_is_bounded_by_clones() -> None:
    channel = [[0.7, 0.3], [0.2, 0.8]]
    mechanism = Product({"a": Dense.of(channel)})
    blanket, ratio = mechanism.blanket, mechanism.likelihood_ratio
    assert blanket is not None
    assert ratio is not None
    for share in (0.05, 0.4, 0.8):
        truth = true_delta(channel, 5, share * math.log(ratio))
        assert truth * (1 - 1e-9) <= shuffling.shuffled_delta(5, blanket, share * math.log(ratio))


@pytest.mark.parametrize("hidden", [5, 64, 1000])
def test_the_expectation_is_the_exact_trinomial_sum(hidden: int) -> None:
    """For one coin per record the sum has three outcomes and can be summed exactly; ours is above and close."""
    rho, size, epsilon = 0.3, 20, 0.2
    blanket = shuffling.blanket_of_retentions([rho], [size])
    assert blanket is not None
    own, other, e = 1 - rho + rho * size, 1 - rho, math.exp(epsilon)
    exact = 0.0
    for both in range(hidden + 1):
        weight = stats.binom.pmf(both, hidden, 2 / size)
        for a in range(both + 1):
            value = own * a + other * (hidden - a) - e * (own * (both - a) + other * (hidden - both + a))
            exact += weight * stats.binom.pmf(a, both, 0.5) * max(0.0, value) / hidden
    values = blanket.first - e * blanket.second
    ours = shuffling._positive_part_of_sum(values, blanket.mass, hidden) / hidden
    assert exact * (1 - 1e-9) <= ours <= exact * 1.01 + 1e-13


def test_the_chance_of_a_thin_blanket_is_bounded_from_above_and_closely() -> None:
    """Against the exact sum in rationals, and at sizes where a 32-bit count of trials would have wrapped."""
    for trials in (1, 2, 9, 64, 700):
        for chance in (Fraction(1, 100), Fraction(1, 3), Fraction(9, 10)):
            p, below = Fraction(float(chance)), Fraction(0)
            for count in range(trials + 1):
                bound = shuffling.fewer_than(count, trials, float(chance))
                assert below <= bound <= 1
                assert bound <= max(1.04 * below, Fraction(1e-300)) or below > 1e-7, (trials, chance, count)
                below += math.comb(trials, count) * p**count * (1 - p) ** (trials - count)
            assert shuffling.fewer_than(trials + 1, trials, float(chance)) == 1.0
    for trials in (10**10, 10**12):
        away = 7 * math.sqrt(trials * 0.3 * 0.7)
        found = shuffling.fewer_than(round(trials * 0.3 - away), trials, 0.3)
        assert stats.norm.cdf(-7) < found < 1.05 * stats.norm.cdf(-7)


def test_the_example_of_the_sheet() -> None:
    """R = 100,000, V = (2, 5, 10), k = 100, delta = 1e-6: local 3.459; what we can prove is .0374 and .0417."""
    rho = float(pk.retention_for_pk(100_000, [2, 5, 10], 100))
    ratio = math.exp(3.458897807392820)
    each = shuffling.blanket_of_retentions([rho] * 3, [2, 5, 10])
    one = shuffling.blanket_of_retentions([(ratio - 1) / (ratio + 99)], [100])
    assert each is not None
    assert one is not None
    assert shuffling.shuffled_epsilon(100_000, ratio, each, 1e-6) == pytest.approx(0.0373, abs=2e-4)
    assert shuffling.shuffled_epsilon(100_000, ratio, one, 1e-6) == pytest.approx(0.0416, abs=2e-4)


def test_more_records_hide_better_and_central_never_exceeds_local() -> None:
    mechanism = RecordRetention.at(Fraction(1, 2), {"a": 4, "b": 3})
    ratio, blanket = mechanism.likelihood_ratio, mechanism.blanket
    assert ratio is not None
    assert blanket is not None
    found = [shuffling.shuffled_epsilon(n, ratio, blanket, 1e-6) for n in (1, 10, 100, 1000, 10_000, 100_000)]
    assert found == sorted(found, reverse=True)
    assert found[0] <= math.nextafter(math.log(ratio), math.inf)
    assert found[-1] < 0.05


def test_epsilon_ends_on_the_private_side() -> None:
    for records, rhos, sizes in (
        (50, [0.5], [3]),
        (10_000, [0.3, 0.6], [5, 2]),
        (1_000_000, [0.4] * 3, [9, 4, 30]),
    ):
        blanket = shuffling.blanket_of_retentions(rhos, sizes)
        assert blanket is not None
        ratio = math.exp(pk.epsilon_from_retention(rhos, sizes))
        epsilon = shuffling.shuffled_epsilon(records, ratio, blanket, 1e-6)
        assert shuffling.shuffled_delta(records, blanket, epsilon, 1e-8) <= 1e-6 or epsilon >= math.log(ratio)
        if epsilon < math.log(ratio):
            assert shuffling.shuffled_delta(records, blanket, epsilon * 0.99, 1e-8) > 1e-6


def test_beyond_twelve_attributes_the_clones_serve() -> None:
    assert shuffling.blanket_of_retentions([0.1] * 13, [3] * 13) is None
    mechanism = Product({str(i): Retention.at(Fraction(1, 10), 3) for i in range(13)})
    assert mechanism.blanket is not None
    assert "clones" in mechanism.blanket.statement
