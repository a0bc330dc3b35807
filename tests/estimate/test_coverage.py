"""How often intervals hold the truth, computed over every table that can be published, not simulated.

Tables that can be published are stacked along an axis that is released unchanged: an interval looks at nothing
outside its own value of such an axis, so one call makes the intervals of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from benchmarks import coverage as coverage_benchmark
from benchmarks.coverage import Setting, published
from benchmarks.ratio_coverage import DIFFERENCE, MEAN, SHARE, RatioSetting, intervals, ratio_coverage
from scipy import stats
from tests.estimate.simulation import axes_of, each, record
from tests.statistical.thresholds import LEAST_EXACT_COVERAGE

from pramana.mechanisms.channel import Dense, Retention
from pramana.mechanisms.table import Mechanism, Product, RecordRetention
from pramana.recipient import ratios
from pramana.recipient.exact import (
    CellPatterns,
    CoinCounts,
    PatternLaw,
    cell_patterns,
    coin_counts,
    exact_intervals,
)
from pramana.recipient.inversion import (
    Estimate,
    _own_moment,
    _slopes,
    invert,
    pattern_intervals,
    quantile,
    score_interval,
    simultaneous_confidence,
)
from pramana.recipient.law import PublishedTable, law_of
from pramana.recipient.study import Study
from pramana.schema.domain import Axis

NAMED = [((3, 2, 1), 0.9, 0.776), ((4, 4, 4), 0.95, 0.778), ((10, 5), 0.97, 0.806), ((30, 10), 0.99, 0.825)]
RETENTIONS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 0.99)


def compositions(total: int, cells: int) -> np.ndarray:
    """Every table of so many cells that sums to the total."""
    if cells == 1:
        return np.array([[total]])
    parts = []
    for first in range(total + 1):
        rest = compositions(total - first, cells - 1)
        parts.append(np.column_stack([np.full(len(rest), first), rest]))
    return np.concatenate(parts)


def matrix_of(mechanism: Mechanism, shape: tuple[int, ...]) -> np.ndarray:
    law = law_of(mechanism, {f"a{i}": size for i, size in enumerate(shape)})
    return np.stack([law.forward(unit.reshape(shape)).ravel() for unit in np.eye(law.cells)])


def published_tables(true: Sequence[int], matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All tables that can be published, and their chances: the transform of a sum of independent records."""
    cells, records = len(true), int(sum(true))
    places = np.meshgrid(*[2 * np.pi * np.fft.fftfreq(records + 1)] * (cells - 1), indexing="ij")
    transform = np.ones([records + 1] * (cells - 1), complex)
    for row, count in zip(matrix, true, strict=True):
        transform *= (row[-1] + sum(row[z] * np.exp(-1j * places[z]) for z in range(cells - 1))) ** count
    tables = compositions(records, cells)
    chances = np.fft.ifftn(transform).real[tuple(tables[:, :-1].T)]
    assert chances.sum() == pytest.approx(1)
    return tables[chances > 1e-10], chances[chances > 1e-10]


def coverage(true: Sequence[int], mechanism: Mechanism, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Of each cell: how often its interval holds the truth, and how often the normal law's would."""
    tables, chances = published_tables(true, matrix_of(mechanism, shape))
    axes = [Axis("table", tuple(map(str, range(len(tables))))), *axes_of(shape)]
    published = PublishedTable.of_counts(axes, tables.reshape((-1, *shape)), mechanism)
    found = invert(published)
    ends = (found.low, found.high), normal_interval(published, found)
    held = [(low <= x + 1e-9) & (x - 1e-9 <= high) for x in [np.reshape(true, shape)] for low, high in ends]
    exact, normal = (chances @ h.reshape((len(tables), len(true))) for h in held)
    return exact, normal


def normal_interval(table: PublishedTable, found: Estimate) -> tuple[np.ndarray, np.ndarray]:
    """The score interval of the normal law, without any step or exact test."""
    slopes, _ = _slopes(table, None, _own_moment(table.law, None))
    return score_interval(found.values, found.variances, slopes, quantile(0.95))


def test_the_tables_that_can_be_published_have_the_chances_of_brute_force() -> None:
    matrix = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]])
    true = (2, 1, 1)
    values = np.repeat([0, 1, 2], true)
    brute: dict[tuple[int, ...], float] = {}
    for drawn in product(range(3), repeat=4):
        table = tuple(np.bincount(drawn, minlength=3).tolist())
        brute[table] = brute.get(table, 0.0) + float(np.prod(matrix[values, drawn]))
    tables, chances = published_tables(true, matrix)
    assert {tuple(t): c for t, c in zip(tables.tolist(), chances, strict=True)} == pytest.approx(brute)


@pytest.mark.parametrize(("true", "retention", "before"), NAMED)
def test_few_redrawn_records_no_longer_break_intervals(
    true: tuple[int, ...], retention: float, before: float
) -> None:
    """`before`: what the normal law's interval covers at worst."""
    exact, normal = coverage(true, each(retention, (len(true),)), (len(true),))
    assert exact.min() >= 0.95
    assert normal.min() == pytest.approx(before, abs=0.001)


def one_coin_coverages(size: int, records: int, retention: float) -> tuple[list[float], list[float]]:
    """The same for one cell of 0 to 40 records behind one coin, whose published count is all that matters."""
    arrives = (1 - retention) / size
    y = np.arange(records + 1)
    tables = np.zeros((records + 1, size))
    tables[:, 0], tables[:, 1] = y, records - y
    axes = [Axis("table", tuple(map(str, y))), *axes_of((size,))]
    table = PublishedTable.of_counts(axes, tables, each(retention, (size,)))
    found = invert(table)
    ends = [(found.low, found.high), normal_interval(table, found)]
    covered: tuple[list[float], list[float]] = ([], [])
    for x in range(0, min(records, 40) + 1, 1 if records <= 40 else 5):
        chances = np.convolve(
            stats.binom.pmf(np.arange(x + 1), x, retention + arrives),
            stats.binom.pmf(np.arange(records - x + 1), records - x, arrives),
        )
        for into, (low, high) in zip(covered, ends, strict=True):
            into.append(float(chances @ ((low[:, 0] <= x + 1e-9) & (x - 1e-9 <= high[:, 0]))))
    return covered


@pytest.mark.parametrize("size", [2, 3, 4, 5, 7, 10, 13, 16, 20])
def test_one_coin_covers_at_every_setting(size: int) -> None:
    """Up to 40 records a cell; a record coin's cell is such a cell of the combinations' domain."""
    settings = [(n, r) for n in (1, 2, 3, 6, 12, 40, 20 * size, 40 * size) for r in RETENTIONS]
    found = [one_coin_coverages(size, n, r) for n, r in settings]
    assert min(min(exact) for exact, _ in found) >= 0.95 - 1e-9  # by the test's construction; 0.93 was asked
    assert min(min(normal) for _, normal in found) < 0.85  # and the normal law is far from it


def test_the_record_coin_covers_in_a_table_and_in_parts_of_it() -> None:
    shape, mechanism = (2, 2), record(0.95, (2, 2))
    exact, _ = coverage((4, 4, 1, 0), mechanism, shape)
    assert exact.min() >= 0.95
    tables, chances = published_tables((4, 4, 1, 0), matrix_of(mechanism, shape))
    axes = [Axis("table", tuple(map(str, range(len(tables))))), *axes_of(shape)]
    found = invert(PublishedTable.of_counts(axes, tables.reshape(-1, 2, 2), mechanism), np.array([1.0, 0]))
    held = (found.low <= [4, 1]) & (np.array([4, 1]) <= found.high)
    assert (chances @ held).min() >= 0.95
    assert found.exact.all()


ATTRIBUTE_COINS = [
    ((2, 2), x, rates)
    for x in ((3, 2, 1, 0), (4, 4, 4, 4), (1, 0, 0, 2), (0, 1, 1, 0), (10, 5, 2, 1), (0, 8, 8, 8), (1, 1, 1, 12))
    for rates in ((0.9, 0.9), (0.95, 0.97), (0.5, 0.95), (0.99, 0.2), (0.99, 0.99), (0.3, 0.5), (0.05, 0.1))
] + [((2, 3), x, (0.9, 0.97)) for x in ((0, 0, 0, 0, 2, 1), (1, 1, 0, 0, 0, 0), (2, 1, 0, 1, 1, 1))]


@pytest.mark.parametrize(("shape", "true", "rates"), ATTRIBUTE_COINS)
def test_attribute_coins_cover(shape: tuple[int, int], true: tuple[int, ...], rates: tuple[float, float]) -> None:
    mechanism = Product({f"a{i}": Retention.at(rate, shape[i]) for i, rate in enumerate(rates)})
    assert coverage(true, mechanism, shape)[0].min() >= LEAST_EXACT_COVERAGE


# ---------------------------------------------------------------- several coins, whatever the domains are


def test_patterns_of_agreement_are_counted_as_they_are_defined() -> None:
    """Record by record, beside the law of the whole table summed over the cells of each pattern."""
    sizes, rates = (3, 4, 2, 3), (0.6, 0.8, 1.0, 0.6)
    mechanism = Product(
        {f"a{i}": Retention.at(r, n) for i, (r, n) in enumerate(zip(rates, sizes, strict=True)) if r < 1}
    )
    counts = np.random.default_rng(1).integers(0, 9, sizes).astype(float)
    table = PublishedTable.of_counts(axes_of(sizes), counts, mechanism)
    found = cell_patterns(table.law, counts, None)
    assert found is not None
    assert [coins for _, _, coins in found.law.kinds] == [2, 1]  # the first and the last column are of one law
    matrix, cells = matrix_of(mechanism, sizes), list(np.ndindex(sizes))
    for row, cell in enumerate(cells[::7]):
        same = [u for u in cells if u[2] == cell[2]]
        pattern = {u: ((u[0] != cell[0]) + (u[3] != cell[3]), int(u[1] != cell[1])) for u in same}
        for place, which in enumerate(found.law.patterns):
            members = [u for u in same if pattern[u] == which]
            assert found.counts[7 * row, place] == sum(counts[u] for u in members)
            for u in members:
                for to, other in enumerate(found.law.patterns):
                    there = [cells.index(z) for z in same if pattern[z] == other]
                    assert matrix[cells.index(u), there].sum() == pytest.approx(found.law.matrix[place, to])
    estimate = invert(table)
    assert found.values == pytest.approx(estimate.values.ravel())
    assert found.variances == pytest.approx(estimate.variances.ravel())
    low, high = pattern_intervals(found, 0.95)
    assert low == pytest.approx(estimate.low.ravel())
    assert high == pytest.approx(estimate.high.ravel())


def test_filters_select_patterns_too() -> None:
    sizes = (3, 4, 2)
    mechanism = Product({"a0": Retention.at(0.7, 3), "a1": Retention.at(0.8, 4)})
    counts = np.random.default_rng(2).integers(0, 9, sizes).astype(float)
    table = PublishedTable.of_counts(axes_of(sizes), counts, mechanism)
    holds = np.outer([1.0, 0, 1, 0], [0.0, 1])
    found = cell_patterns(table.law, counts, holds)
    assert found is not None
    selected = counts[:, :, 1]
    inside = selected[:, [0, 2]].sum(axis=1)
    outside = selected[:, [1, 3]].sum(axis=1)
    want = np.stack([inside, outside, inside.sum() - inside, outside.sum() - outside], axis=1)
    assert found.counts.tolist() == want.tolist()
    estimate = invert(table, holds)
    assert found.values == pytest.approx(estimate.values)
    assert found.variances == pytest.approx(estimate.variances)
    assert cell_patterns(table.law, counts, np.array([[1.0, 0], [0, 1], [0, 0], [0, 0]])) is None  # no product
    dense = law_of(Product({"a0": Dense.of(np.eye(3) * 0.7 + 0.1)}), {"a0": 3, "a1": 4, "a2": 2})
    assert cell_patterns(dense, counts, None) is None


def test_what_can_be_published_is_that_of_brute_force_by_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    law = PatternLaw(((0.8, 0.1, 1), (0.95, 0.3, 1)))
    truth = np.array([2, 1, 0, 2])
    brute: dict[tuple[int, ...], float] = {}
    for drawn in product(range(4), repeat=5):
        table = tuple(np.bincount(drawn, minlength=4).tolist())
        chance = float(np.prod(law.matrix[np.repeat(np.arange(4), truth), drawn]))
        brute[table] = brute.get(table, 0.0) + chance
    by_transform = published(law.matrix, truth)
    monkeypatch.setattr(coverage_benchmark, "_MOST_PLACES", 0)
    by_record = published(law.matrix, truth)
    for found in (by_transform, by_record):
        chances = {tuple(map(int, row)): c for row, c in zip(found.counts, found.chances, strict=True)}
        assert {k: chances.get(k, 0.0) for k in brute} == pytest.approx(brute, abs=1e-10)
        assert len(chances) <= len(brute)


COMPUTED = [  # the least of the stored grid, and some of every kind
    Setting("", (0.99, 0.6), (10, 10), (1, 1), (40, 225, 360, 81)),
    Setting("", (0.99, 0.6), (4, 5), (1, 1), (30, 100, 120, 300)),
    Setting("", (0.97, 0.8), (4, 5), (1, 1), (40, 160, 0, 3)),
    Setting("", (0.6, 0.97), (2, 2), (1, 1), (40, 0, 32, 5)),
    Setting("", (0.9, 0.97), (3, 3), (1, 1), (1, 2, 0, 4)),
    Setting("", (0.5, 0.9), (2, 3), (1, 1), (0, 6, 3, 6)),
    Setting("", (0.95, 0.9), (4, 5), (2, 3), (8, 4, 3, 20)),
    Setting("", (0.9,) * 3, (2,) * 3, (1,) * 3, (10, 4, 4, 0, 4, 0, 0, 10)),
    Setting("", (0.7,) * 3, (5,) * 3, (1,) * 3, (3, 4, 4, 16, 4, 16, 16, 64)),
    Setting("", (0.9, 0.95, 0.97), (2,) * 3, (1,) * 3, (3, 0, 0, 2, 0, 1, 0, 2)),
]


@pytest.mark.parametrize("setting", COMPUTED, ids=str)
def test_several_coins_cover_whatever_the_domains_are(setting: Setting) -> None:
    """A sample of `python -m benchmarks.coverage`, whose least coverages are in benchmarks/results."""
    assert LEAST_EXACT_COVERAGE <= coverage_benchmark.coverage(setting).least <= 1


def test_an_interval_of_the_normal_law_would_be_found_out() -> None:
    def normal(cells: CellPatterns, confidence: float) -> tuple[np.ndarray, np.ndarray]:
        return score_interval(cells.values, cells.variances, cells.slopes()[0], quantile(confidence))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coverage_benchmark, "pattern_intervals", normal)
        least = min(coverage_benchmark.coverage(setting).least for setting in COMPUTED[4:])
    assert least < LEAST_EXACT_COVERAGE - 0.02


RATIOS = [
    RatioSetting(SHARE, (0.6, 0.95), (2, 2), (30, 40, 40, 8)),
    RatioSetting(SHARE, (0.95, 0.99), (2, 2), (4, 30, 8, 8)),
    RatioSetting(SHARE, (0.9, 0.97), (2, 2), (2, 0, 2, 15)),
    RatioSetting(DIFFERENCE, (0.95, 0.6), (2, 2), (30, 15, 40, 30)),
    RatioSetting(DIFFERENCE, (0.8, 0.8), (2, 2), (0, 40, 2, 1)),
    RatioSetting(MEAN, (0.7,), (3,), (20, 20, 20)),
    RatioSetting(MEAN, (0.97,), (3,), (3, 2, 1)),
]


@pytest.mark.parametrize("setting", RATIOS, ids=str)
def test_shares_means_and_differences_cover_in_small_groups(setting: RatioSetting) -> None:
    assert LEAST_EXACT_COVERAGE <= ratio_coverage(setting) <= 1


def test_fiellers_interval_alone_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ratios, "whole_record_step", lambda *_: np.zeros(1))
    assert min(ratio_coverage(setting) for setting in RATIOS) < LEAST_EXACT_COVERAGE - 0.02


@pytest.mark.parametrize("setting", [RATIOS[1], RATIOS[4], RATIOS[6]], ids=str)
def test_what_is_computed_is_what_a_study_answers(setting: RatioSetting) -> None:
    """The intervals of the computation are those that recipients get."""
    mechanism = Product(
        {
            f"a{i}": Retention.at(r, n)
            for i, (r, n) in enumerate(zip(setting.retentions, setting.shape, strict=True))
        }
    )
    can = published(setting.matrix, np.array(setting.truth))
    some = np.argsort(-can.chances, kind="stable")[:40:5]
    low, high, seen, _ = intervals(setting, can.counts[some], 0.95)
    for row, counts in enumerate(can.counts[some].astype(int)):
        if not seen[row]:
            continue
        codes = np.array(np.unravel_index(np.repeat(np.arange(counts.size), counts), setting.shape), np.uint8)
        axes = [Axis.of_labels(f"a{i}", [str(v) for v in range(n)]) for i, n in enumerate(setting.shape)]
        study = Study.of_codes(axes, mechanism, {axis.name: codes[i] for i, axis in enumerate(axes)})
        if setting.family == MEAN:
            number = study.mean("a0")
        elif setting.family == SHARE:
            number = study.share("a0 = 0", "a1 = 0")
        else:
            number = study.compare("a1 = 0", "a1 = 1", share="a0 = 0").difference
        assert (number.low, number.high) == pytest.approx((low[row], high[row]), abs=1e-6)


DENSE = [
    [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]],
    [[0.96, 0.03, 0.01], [0.01, 0.97, 0.02], [0.02, 0.02, 0.96]],
    [[0.6, 0.4, 0.0], [0.1, 0.7, 0.2], [0.1, 0.1, 0.8]],
    [[0.99, 0.01, 0.0], [0.004, 0.99, 0.006], [0.0, 0.01, 0.99]],
]


@pytest.mark.parametrize("matrix", DENSE, ids=["middling", "near", "far", "nearest"])
def test_dense_matrices_cover(matrix: list[list[float]]) -> None:
    mechanism = Product({"a0": Dense.of(matrix)})
    tables = [(1, 1, 1), (0, 0, 1), (3, 2, 1), (10, 0, 4), (1, 0, 1), (20, 5, 9), (40, 40, 40), (40, 1, 0)]
    found = [coverage(true, mechanism, (3,)) for true in tables]
    assert min(ours.min() for ours, _ in found) >= LEAST_EXACT_COVERAGE
    assert min(normal.min() for _, normal in found) < 0.93


def test_of_the_luckiest_dates_no_interval_held_the_truth_and_simultaneous_ones_all_do() -> None:
    """A hundred records on a thousand dates, of which a page would show the 59 that are published most often."""
    rng = np.random.default_rng(3)
    true = np.bincount(rng.integers(0, 1000, 100), minlength=1000)
    kept = rng.binomial(true, 0.05)
    counts = kept + rng.multinomial(100 - kept.sum(), np.full(1000, 1 / 1000))
    top = np.argsort(-counts, kind="stable")[:59]
    table = PublishedTable.of_counts(axes_of((1000,)), counts, each(0.05, (1000,)))
    low, high = normal_interval(table, invert(table))
    assert not ((low <= true) & (true <= high))[top].any()
    found = invert(table, confidence=simultaneous_confidence(0.95, 1000))
    assert ((found.low <= true) & (true <= found.high)).all()
    assert simultaneous_confidence(0.95, 1000) == pytest.approx(0.99995)


# ---------------------------------------------------------------- the exact test itself


def test_exact_intervals_are_those_of_the_tests_one_by_one() -> None:
    """Beside the same inversion written out with scipy's binomial law, over every published count."""
    for size, records, retention, confidence in [(3, 12, 0.9, 0.95), (5, 60, 0.2, 0.9), (2, 25, 0.97, 0.9999)]:
        arrives = (1 - retention) / size
        stays, tail = retention + arrives, (1 - confidence) / 2
        upper, lower = np.empty((2, records + 1, records + 1))
        for x in range(records + 1):
            chances = np.convolve(
                stats.binom.pmf(np.arange(x + 1), x, stays),
                stats.binom.pmf(np.arange(records - x + 1), records - x, arrives),
            )
            lower[x], upper[x] = np.cumsum(chances), np.cumsum(chances[::-1])[::-1]
        y = np.arange(records + 1.0)
        counts = CoinCounts(y, np.full(records + 1, float(records)), stays, arrives)
        ends = exact_intervals(counts, np.ones(records + 1, bool), confidence)
        assert ends is not None
        want_low = [min(np.flatnonzero(upper[:, i] > tail), default=records) for i in range(records + 1)]
        want_high = [max(np.flatnonzero(lower[:, i] > tail), default=0) for i in range(records + 1)]
        assert ends[0].tolist() == want_low
        assert ends[1].tolist() == want_high


def test_what_more_than_one_coin_decides_is_no_binomial_count() -> None:
    sizes = {"a": 2, "b": 3, "raw": 2}
    counts = np.arange(12.0).reshape(2, 3, 2)
    law = law_of(RecordRetention.at(0.5, {"a": 2, "b": 3}), sizes)
    whole = coin_counts(law, counts, None)
    assert whole is not None
    assert (whole.among == counts.sum(axis=(0, 1))).all()
    uneven = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])  # two values of b for one raw value, one for the other
    assert coin_counts(law, counts, uneven) is None
    even = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    found = coin_counts(law, counts, even)
    assert found is not None
    assert found.arrives == pytest.approx(0.5 * 2 / 6)
    assert coin_counts(law_of(each(0.5, (2, 3)), {"a0": 2, "a1": 3}), counts[..., 0], None) is None


def test_more_distinct_counts_than_are_inverted_fall_back_on_the_bounded_test() -> None:
    rng = np.random.default_rng(1)
    counts = rng.permutation(20_000)[:9_000].astype(float)
    table = PublishedTable.of_counts(axes_of((9_000,)), counts, each(0.999999, (9_000,)))
    found = invert(table)
    assert not found.exact.any()
    assert (found.low <= found.values).all()
    assert (found.high >= found.values + 0.9).all()
