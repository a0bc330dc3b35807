"""Central privacy of a shuffled release, held against all neighbouring small tables and some large ones."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.theory.formulas import epsilon_from_retention
from tests.theory.shuffled_tables import Channel, grr, joint, true_deltas

from pramana.mechanisms.channel import Dense, Retention, central_epsilon
from pramana.mechanisms.table import Product, RecordRetention
from pramana.theory import _grid, blanket, pk, shuffling

SHARES = (Fraction(1, 50), Fraction(1, 4), Fraction(3, 5), Fraction(9, 10))  # of e^local - 1


def certify(mechanism: Product | RecordRetention, records: int, delta: float) -> tuple[float, str]:
    ratio, blankets = mechanism.likelihood_ratio, mechanism.blankets
    assert ratio is not None
    assert blankets is not None
    return central_epsilon(blankets, ratio, records, delta)


def factors(channel: Channel) -> list[Fraction]:
    """Some e^epsilon between 1 and the likelihood ratio."""
    ratio = max(max(column) / min(column) for column in zip(*channel, strict=True))
    return [1 + ((ratio - 1) * share).limit_denominator(1000) for share in SHARES]


def random_matrix(rng: random.Random, size: int) -> list[list[Fraction]]:
    rows = [[Fraction(rng.choice((1, 1, 2, 3, 5, 9, 20, 60))) for _ in range(size)] for _ in range(size)]
    return [[entry / sum(row) for entry in row] for row in rows]


def assert_bounded(channel: Channel, records: int, laws: list[blanket.Blanket]) -> None:
    """The largest bound of the laws, one for each pair or one for all, is above the worst of all tables."""
    tried = factors(channel)
    for e, truth in zip(tried, true_deltas(channel, records, tried), strict=True):
        bound = max(shuffling.shuffled_delta(records, law, math.log(e) * (1 - 1e-15)) for law in laws)
        assert truth <= bound <= 1, (records, float(e), float(truth), bound)


def integer_rows(channel: Channel) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    common = math.lcm(*(entry.denominator for row in channel for entry in row))
    return np.array([[int(entry * common) for entry in row] for row in channel], np.int64)


@pytest.mark.parametrize(("size", "records"), [(2, 1), (2, 2), (2, 5), (3, 2), (3, 3), (3, 5), (4, 3), (5, 2)])
def test_record_coins_are_bounded_over_all_tables(size: int, records: int) -> None:
    for tenths in range(1, 10):
        rho = Fraction(tenths, 10)
        assert_bounded(grr(rho, size), records, [blanket.blanket_of_retentions([rho], [size])])


@pytest.mark.parametrize("records", [1, 2, 3])
def test_a_coin_per_attribute_is_bounded_over_all_pairs(records: int) -> None:
    """All pairs of true records, those that agree in an attribute too."""
    for a in (1, 3, 6, 8):
        for b in (2, 5, 9):
            rhos = [Fraction(a, 10), Fraction(b, 10)]
            channel = joint(grr(rhos[0], 2), grr(rhos[1], 3))
            assert_bounded(channel, records, [blanket.blanket_of_retentions(rhos, [2, 3])])


@pytest.mark.parametrize(("size", "records"), [(2, 2), (2, 4), (2, 5), (3, 1), (3, 2), (3, 4), (4, 3)])
def test_matrices_are_bounded_by_their_own_blanket_by_the_envelope_and_by_clones(size: int, records: int) -> None:
    rng = random.Random(size * 100 + records)
    for _ in range(20):
        channel = random_matrix(rng, size)
        rows = blanket.rows_over_blanket([integer_rows(channel)])
        pairs = [rows.pair(u, v) for u in range(size) for v in range(size) if u != v]
        ratio = max(max(column) / min(column) for column in zip(*channel, strict=True))
        assert_bounded(channel, records, pairs)
        assert_bounded(channel, records, [blanket.envelope_of_rows(rows)])
        assert_bounded(channel, records, [blanket.blanket_of_ratio(float(ratio))])


@pytest.mark.parametrize("records", [2, 3])
def test_a_matrix_beside_a_retention_is_bounded_by_envelope_times_law(records: int) -> None:
    """What many true records get: the product of the attributes' laws; and the joint matrix, pair by pair."""
    rng = random.Random(records + 40)
    for tenths in (2, 5, 8):
        for _ in range(4):
            matrix, rho = random_matrix(rng, 2), Fraction(tenths, 10)
            channel = joint(matrix, grr(rho, 3))
            envelope = blanket.envelope_of_rows(blanket.rows_over_blanket([integer_rows(matrix)]))
            law = blanket.blanket_of_product([envelope, blanket.blanket_of_retentions([rho], [3])])
            assert_bounded(channel, records, [law])
            rows = blanket.rows_over_blanket([integer_rows(matrix), integer_rows(grr(rho, 3))])
            assert_bounded(channel, records, [rows.pair(u, v) for u in range(6) for v in range(6) if u != v])


@pytest.mark.parametrize("records", [2, 4])
def test_redraws_that_are_not_uniform_are_bounded_by_their_least_likely_value(records: int) -> None:
    for weights in ((Fraction(1, 5), Fraction(4, 5)), (Fraction(1, 10), Fraction(3, 10), Fraction(6, 10))):
        for rho in (Fraction(1, 4), Fraction(2, 3)):
            channel = [
                [rho * (u == v) + (1 - rho) * weights[v] for v in range(len(weights))] for u in range(len(weights))
            ]
            assert_bounded(channel, records, [blanket.blanket_of_retentions([rho], [min(weights)])])


@pytest.mark.parametrize("records", [2, 3, 5])
def test_the_epsilon_of_a_matrix_is_enough_for_every_table(records: int) -> None:
    """Through every pair, Chernoff's bound and the envelope: delta of the truth at what is certified."""
    rng = random.Random(records)
    for _ in range(12):
        mechanism = Product({"a": Dense.of(random_matrix(rng, 3))})
        ratio = mechanism.likelihood_ratio
        assert ratio is not None
        channel = [
            [Fraction(int(w), 1 << 62) for w in row]
            for channel in mechanism.channels.values()
            for row in channel.weights
        ]
        for delta in (0.3, 0.05, 0.003):
            epsilon, _ = certify(mechanism, records, delta)
            (truth,) = true_deltas(channel, records, [Fraction(math.exp(epsilon))])
            assert truth <= delta * (1 + 1e-12)


def test_too_thick_a_blanket_would_be_found_out() -> None:
    """The same law under twice its weight is below the truth: the tables above can tell."""
    rho = Fraction(1, 2)
    law = blanket.blanket_of_retentions([rho], [3])
    thick = blanket.Blanket(1.0, law.first, law.second, law.mass)
    with pytest.raises(AssertionError):
        assert_bounded(grr(rho, 3), 4, [thick])


def test_the_sheets_formula_is_no_bound() -> None:
    """n = 2, three values, rho = .4, e^epsilon = 5/2: the true delta is 3/50, the formula says 1/50.

    The formula lets the others fall on u and v with alpha each, as if none of them were a u. See shuffling.md.
    """
    own, other, e = Fraction(3, 5), Fraction(1, 5), Fraction(5, 2)
    # Both records are u against one of them v: the only multiset that speaks for u beyond e is {u, u}.
    assert own * own - e * own * other == Fraction(3, 50)
    assert true_deltas(grr(Fraction(2, 5), 3), 2, [e]) == [Fraction(3, 50)]
    # The formula: others on u, v with alpha = 1/5 each.
    stay = 1 - 2 * other
    at_20 = own * other - e * other * other
    at_10 = own * stay + other * other - e * (other * stay + other * other)
    assert max(at_20, Fraction(0)) + max(at_10, Fraction(0)) == Fraction(1, 50)
    law = blanket.blanket_of_retentions([Fraction(2, 5)], [3])
    assert shuffling.shuffled_delta(2, law, math.log(2.5)) >= 0.06


def delta_among_thirds(records: int, rho: float, size: int, epsilon: float) -> float:
    """delta of u against v where everybody else holds a third value, to one who sees the counts of u and v.

    A table of its own, so no bound may be below. Terms are positive; what is cut away makes it smaller.
    """
    own, other, e = rho + (1 - rho) / size, (1 - rho) / size, math.exp(epsilon)
    likely = [int(stats.binom.ppf(p, records, other)) for p in (1e-18, 1 - 1e-15)]
    on_u = np.arange(max(0, likely[0] - 50), min(records, likely[1] + 400) + 1)[:, None]
    on_v = on_u.T
    third = records - on_u - on_v
    elsewhere = (1 - own - other) * (1 - e) / (1 - 2 * other)
    chance = stats.binom.pmf(on_u, records, other) * stats.binom.pmf(on_v, records - on_u, other / (1 - other))
    gain = on_u * (own - e * other) / other + on_v * (other - e * own) / other + third * elsewhere
    return float(np.where(third >= 0, chance * np.maximum(gain, 0), 0).sum()) / records


@pytest.mark.parametrize(
    ("records", "rho", "size"), [(1000, 0.3, 10), (10_000, 0.05, 3), (100_000, 0.2353683571571184, 100)]
)
@pytest.mark.parametrize("delta", [1e-4, 1e-6, 1e-9, 1e-13])
def test_large_tables_lie_between_a_table_of_their_own_and_a_little_above(
    records: int, rho: float, size: int, delta: float
) -> None:
    law = blanket.blanket_of_retentions([rho], [size])
    ratio = (1 + (size - 1) * rho) / (1 - rho)
    epsilon = shuffling.shuffled_epsilon(records, ratio, law, delta)
    assert delta_among_thirds(records, rho, size, epsilon * 0.9999) <= shuffling.shuffled_delta(
        records, law, epsilon * 0.9999
    )
    # What is lost to the blanket is the leftover law of the others; here it costs some per cent at most.
    assert delta_among_thirds(records, rho, size, epsilon * 0.94) > delta


def test_the_example_of_the_sheet() -> None:
    """R = 100,000, V = (2, 5, 10), k = 100, delta = 1e-6: local 3.459. One coin: a table needs .0411."""
    rho = pk.retention_for_pk(100_000, [2, 5, 10], 100)
    ratio = math.exp(3.458897807392820)
    each = blanket.blanket_of_retentions([rho] * 3, [2, 5, 10])
    joint_rho = (ratio - 1) / (ratio + 99)
    one = blanket.blanket_of_retentions([joint_rho], [100])
    assert shuffling.shuffled_epsilon(100_000, ratio, each, 1e-6) <= 0.0368
    certified = shuffling.shuffled_epsilon(100_000, ratio, one, 1e-6)
    assert certified <= 0.0412
    assert delta_among_thirds(100_000, joint_rho, 100, certified - 1e-4) > 1e-6


def test_a_tiny_delta_is_no_reason_to_fall_back_to_the_local_epsilon() -> None:
    """Chernoff's bound says .0701 at 1e-12 in the sheet's example; four columns at 1e-9 have some .3."""
    rho = pk.retention_for_pk(100_000, [2, 5, 10], 100)
    each = blanket.blanket_of_retentions([rho] * 3, [2, 5, 10])
    assert shuffling.shuffled_epsilon(100_000, math.exp(3.458897807392820), each, 1e-12) <= 0.0701
    for records, size, delta, most in (
        (10**5, 100, 1e-12, 0.2),
        (10**9, 20, 1e-12, 0.001),
        (10**5, 100, 1e-200, 1.0),
    ):
        law = blanket.blanket_of_retentions([Fraction(1, 2)], [size])
        assert shuffling.shuffled_epsilon(records, 1 + size, law, delta) < most


def averaged_over_blankets(records: int, rho: float, size: int, epsilon: float) -> float:
    """delta by the law of Balle et al. 2019, term by term.

    The sum over how many of the others are hidden, a binomial count of records - 1, of the exact trinomial
    expectation with the target among them.
    """
    own, other, e = 1 - rho + rho * size, 1 - rho, math.exp(epsilon)
    exact = 0.0
    for hidden in range(1, records + 1):
        chance = stats.binom.pmf(hidden - 1, records - 1, 1 - rho)
        both, a = np.meshgrid(np.arange(hidden + 1), np.arange(hidden + 1))
        weight = stats.binom.pmf(both, hidden, 2 / size) * stats.binom.pmf(a, both, 0.5)
        value = own * a + other * (hidden - a) - e * (own * (both - a) + other * (hidden - both + a))
        exact += chance * float((weight * np.maximum(value, 0)).sum()) / hidden
    return exact


@pytest.mark.parametrize("records", [1, 2, 3, 10, 60])
@pytest.mark.parametrize(("rho", "size"), [(0.3, 4), (0.6, 3), (0.1, 20)])
def test_the_count_of_blanket_records_is_averaged(records: int, rho: float, size: int) -> None:
    """With few records one more or one fewer of them would be seen."""
    law = blanket.blanket_of_retentions([rho], [size])
    for epsilon in (0.1, 0.35):
        exact = averaged_over_blankets(records, rho, size, epsilon)
        assert exact * (1 - 1e-9) <= shuffling.shuffled_delta(records, law, epsilon) <= exact * 1.05
    if records == 60:
        assert shuffling.shuffled_delta(records, law, 0.35) <= exact * 1.002


def test_the_bound_falls_with_epsilon_where_the_law_has_few_steps() -> None:
    """51 records, 623,290 values: near epsilon 2.9 Newton's steps alone swing about the best line for ever."""
    law = blanket.blanket_of_retentions([0.000514002756491963], [623_290])
    bounds = [shuffling.log_delta(51, law, 2.8 + 0.01 * i) for i in range(20)]
    assert bounds == sorted(bounds, reverse=True)


def test_more_records_hide_better_and_central_never_exceeds_local() -> None:
    mechanism = RecordRetention.at(Fraction(1, 2), {"a": 4, "b": 3})
    ratio = mechanism.likelihood_ratio
    assert ratio is not None
    certified = [certify(mechanism, n, 1e-6) for n in (0, 1, 10, 100, 1000, 10_000, 100_000)]
    epsilons = [epsilon for epsilon, _ in certified]
    assert epsilons[0] == 0.0
    assert epsilons[1:] == sorted(epsilons[1:], reverse=True)
    assert epsilons[1] <= math.nextafter(math.log(ratio), math.inf)
    assert epsilons[-1] < 0.05
    assert "local guarantee" in certified[1][1]
    assert "blanket" in certified[-1][1]


@pytest.mark.parametrize(("records", "rho", "size"), [(20, 0.2, 4), (50, 0.5, 3), (80, 0.3, 10)])
@pytest.mark.parametrize("delta", [1e-2, 1e-4, 1e-6])
def test_epsilon_ends_on_the_private_side(records: int, rho: float, size: int, delta: float) -> None:
    """Four digits at which the law itself, term by term, is within delta; a little below it is not."""
    law = blanket.blanket_of_retentions([rho], [size])
    ratio = (1 + (size - 1) * rho) / (1 - rho)
    epsilon = shuffling.shuffled_epsilon(records, ratio, law, delta)
    assert epsilon < math.log(ratio) and float(f"{epsilon:.4g}") == epsilon
    assert averaged_over_blankets(records, rho, size, epsilon) <= delta
    assert averaged_over_blankets(records, rho, size, epsilon * 0.99) > delta


@pytest.mark.parametrize(
    ("records", "rhos", "sizes"),
    [(10_000, [0.3, 0.6], [5, 2]), (1_000_000, [0.4] * 3, [9, 4, 30]), (2**32 - 1, [0.9], [7])],
)
def test_the_epsilon_that_is_stated_is_the_first_of_four_digits(
    records: int, rhos: list[float], sizes: list[int]
) -> None:
    """By the bound itself, which other tests hold against tables: the number before has too large a delta."""
    law = blanket.blanket_of_retentions(rhos, sizes)
    local = epsilon_from_retention(rhos, sizes)
    epsilon = shuffling.shuffled_epsilon(records, math.exp(local), law, 1e-6)
    before = epsilon - 10.0 ** (math.floor(math.log10(epsilon)) - 3)
    assert epsilon < local and float(f"{epsilon:.4g}") == epsilon
    assert shuffling.shuffled_delta(records, law, epsilon) <= 1e-6
    assert shuffling.shuffled_delta(records, law, float(f"{before:.4g}")) > 1e-6


def test_matrices_have_a_smaller_epsilon_than_by_clones() -> None:
    """By its own blanket less than half of what clones need; a retention written as a matrix needs no more."""
    rng = random.Random(3)
    mechanism = Product({"a": Dense.of(random_matrix(rng, 8))})
    ratio = mechanism.likelihood_ratio
    assert ratio is not None
    own, _ = certify(mechanism, 100_000, 1e-6)
    clones = shuffling.shuffled_epsilon(100_000, ratio, blanket.blanket_of_ratio(float(ratio)), 1e-6)
    assert own < 0.5 * clones
    retention = Retention.at(Fraction(3, 10), 40)
    as_matrix, as_retention = Product({"a": Dense(retention.weights)}), Product({"a": retention})
    assert retention.likelihood_ratio is not None
    both = [certify(m, 10_000, 1e-8)[0] for m in (as_matrix, as_retention)]
    assert both[0] == pytest.approx(both[1], rel=2e-3)


def test_matrices_of_many_values_are_certified_by_the_envelope() -> None:
    """200 values: a retention written as a matrix has its own epsilon, alone and beside another column."""
    wide, other = Retention.at(Fraction(3, 10), 200), Retention.at(Fraction(1, 5), 4)
    for beside in ({}, {"b": other}):
        as_matrix, as_retention = Product({"a": Dense(wide.weights), **beside}), Product({"a": wide, **beside})
        known, statement = certify(as_retention, 50_000, 1e-9)
        envelope, _ = certify(as_matrix, 50_000, 1e-9)
        assert known * (1 - 1e-3) <= envelope <= known * 1.01
        assert "own" in statement


def test_what_is_certified_of_a_matrix_is_what_its_worst_pair_needs() -> None:
    """Every pair of a matrix is below what is certified for it, and one of them reaches it."""
    rng = random.Random(11)
    for _ in range(4):
        channel = random_matrix(rng, 6)
        rows = blanket.rows_over_blanket([integer_rows(channel)])
        ratio = max(max(column) / min(column) for column in zip(*channel, strict=True))
        certified = shuffling.shuffled_epsilon(500, ratio, rows, 1e-5)
        pairs = [shuffling.shuffled_epsilon(500, ratio, rows.pair(u, v), 1e-5) for u in range(6) for v in range(6)]
        assert max(pairs) <= certified <= max(pairs) * 1.002


def test_many_attributes_keep_their_own_blanket() -> None:
    """Thirteen attributes, and fifteen of different sizes: far below what the likelihood ratio alone gives."""
    for sizes in ([3] * 13, [2, 3, 5, 7, 10, 4, 9, 11, 6, 13, 8, 17, 21, 12, 14]):
        mechanism = Product({str(i): Retention.at(Fraction(1, 12), size) for i, size in enumerate(sizes)})
        ratio = mechanism.likelihood_ratio
        assert ratio is not None
        own, statement = certify(mechanism, 10**6, 1e-6)
        assert "own" in statement
        assert own < 0.3 * shuffling.shuffled_epsilon(10**6, ratio, blanket.blanket_of_ratio(float(ratio)), 1e-6)


@pytest.mark.parametrize(
    ("given", "shown"),
    [(0.5, 0.5), (0.123456, 0.1234), (1, 1.0), (Fraction(1, 3), 0.3333), (12345.6, 12340.0), (0, 0)],
)
def test_four_digits_down(given: float | Fraction, shown: float) -> None:
    assert shuffling.digits_down(given) == shown


def classes_of(laws: list[blanket.Blanket]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every class of a product by itself: nothing is merged, nothing is split."""
    first, second, mass = np.ones(1), np.ones(1), np.ones(1)
    for law in laws:
        first, second = np.outer(first, law.first).ravel(), np.outer(second, law.second).ravel()
        mass = np.outer(mass, law.mass).ravel()
    return first, second, mass


@pytest.mark.parametrize("sizes", [[2, 3, 5, 4, 2, 7, 3, 2, 6, 3, 2], [9, 5, 16, 7, 14, 6, 5, 2, 3, 11]])
def test_the_law_of_many_columns_on_a_grid_is_larger_and_close(sizes: list[int]) -> None:
    """Means are kept, convex functions do not fall, and what is certified is near the law without any grid."""
    laws = [blanket.blanket_of_retentions([Fraction(1, 5)], [size]) for size in sizes]
    exact, grid = classes_of(laws), blanket.blanket_of_product(laws)
    assert len(grid.mass) < len(exact[2])
    rough = blanket.roughly_of_retentions([0.2] * len(sizes), sizes)
    for law, least in ((grid, 0.999), (rough, 0.9)):
        assert law.mass.sum() == pytest.approx(1, abs=1e-12)
        assert law.mass @ law.first == pytest.approx(1, abs=1e-12)
        assert law.mass @ law.second == pytest.approx(1, abs=1e-12)
        for a, b in ((1.0, 1.0), (1.0, 2.0), (0.5, 1.5)):
            for t in (0.0, 0.5, 3.0):
                whole = exact[2] @ np.maximum(a * exact[0] - b * exact[1] - t, 0.0)
                assert whole * (1 - 1e-12) <= law.mass @ np.maximum(a * law.first - b * law.second - t, 0.0)
        direct = blanket.Blanket(grid.weight, *exact)
        ours, own = (shuffling.log_delta(50_000, one, 0.4) for one in (law, direct))
        assert own - 1e-6 <= ours <= own * least


def by_hand_on_nodes(
    first: np.ndarray, second: np.ndarray, mass: np.ndarray, columns: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Every class to the four nodes around it, one addition after the other."""
    grid = np.zeros((len(columns), len(rows)))
    for x, y, m in zip(first, second, mass, strict=True):
        i = min(max(int(np.sum(columns <= x)) - 1, 0), len(columns) - 2)
        j = min(max(int(np.sum(rows <= y)) - 1, 0), len(rows) - 2)
        a, b = (x - columns[i]) / (columns[i + 1] - columns[i]), (y - rows[j]) / (rows[j + 1] - rows[j])
        for right, p in ((0, 1 - a), (1, a)):
            for up, q in ((0, 1 - b), (1, b)):
                grid[i + right, j + up] += m * p * q
    return grid


def test_the_grids_kernel_adds_what_four_neighbours_get() -> None:
    rng = np.random.default_rng(2)
    columns, rows = np.sort(rng.random(6)), np.sort(rng.random(5))
    inside = rng.random((2, 40))
    first, second = columns[0] + np.ptp(columns) * inside[0], rows[0] + np.ptp(rows) * inside[1]
    first[:2], second[1:3] = (columns[0], columns[-1]), (rows[0], rows[-1])
    mass, grid = rng.random(40), np.zeros((6, 5))
    _grid.split(first, second, mass, columns, rows, grid)
    assert grid == pytest.approx(by_hand_on_nodes(first, second, mass, columns, rows))
    with pytest.raises(ValueError, match="entries"):
        _grid.split(first, second[:3], mass, columns, rows, grid)
    with pytest.raises(ValueError, match="at least 2"):
        _grid.split(first, second, mass, columns[:1], rows, np.zeros(5))
    law = blanket.blanket_of_retentions([Fraction(1, 3)], [4])
    wider, tall = columns[0] * 0.5 + 3.0 * np.linspace(0, 1, 6), rows[0] * 0.5 + 3.0 * np.linspace(0, 1, 5)
    moved, by_hand = np.zeros((6, 5)), np.zeros((6, 5))
    _grid.times(grid, columns, rows, law.first, law.second, law.mass, wider, tall, moved)
    x, y = (axis.ravel() for axis in np.meshgrid(columns, rows, indexing="ij"))
    for u, v, m in zip(law.first, law.second, law.mass, strict=True):
        by_hand += by_hand_on_nodes(x * u, y * v, grid.ravel() * m, wider, tall)
    assert moved == pytest.approx(by_hand)
    with pytest.raises(ValueError, match="entries"):
        _grid.times(grid, columns, rows, law.first, law.second[:1], law.mass, wider, tall, moved)


def test_the_kernels_sum_of_products() -> None:
    rng = np.random.default_rng(3)
    for values, left, right in ((1, 1, 1), (7, 3, 65), (400, 32, 64)):
        a, b = (rng.normal(size=(values, n)) + 1j * rng.normal(size=(values, n)) for n in (left, right))
        out = np.empty((left, right), np.complex128)
        _grid.sum_of_products(a, b, values, out)
        assert out == pytest.approx(np.einsum("vr,vc->rc", a, b))
    with pytest.raises(ValueError, match="entries"):
        _grid.sum_of_products(a, b, 400, out[:2])
    with pytest.raises(ValueError, match="line"):
        _grid.sum_of_products(a, b, 399, out)
