from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.estimate.simulation import axes_of, each, population, publish, record, streams_of
from tests.statistical.thresholds import COVERAGE_OF_SPARSE_CELLS, COVERAGE_OF_THOUSANDS

from pramana.errors import InputError
from pramana.mechanisms.channel import Dense, Retention
from pramana.mechanisms.table import (
    ChannelGroup,
    CoinGroups,
    Exchange,
    Mechanism,
    Product,
    RecordRetention,
)
from pramana.randomness.key import Key
from pramana.randomness.samplers import ONE
from pramana.recipient.inversion import covariance_with_total, invert, linear, to_simplex
from pramana.recipient.law import PublishedTable, TableLaw, law_of, tabulate
from pramana.schema.domain import Axis

DENSE = Dense.of([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]])


def covariance(table: PublishedTable) -> np.ndarray:
    """Covariances of all pairs of cells, in the order of `values.ravel()`: B diag(y) B^T - diag(x)."""
    identity = np.eye(table.law.cells).reshape((table.law.cells, *table.law.shape))
    return linear(table, list(identity))[1]


def matrix_of(law: TableLaw) -> np.ndarray:
    """A of the whole table by brute force: row u is the forward image of one record at u."""
    cells = law.cells
    return np.stack([law.forward(unit.reshape(law.shape)).ravel() for unit in np.eye(cells)])


EYE = np.eye(6) + np.diag([0, 0, 0, 0.1, 0], 1) - np.diag([0, 0, 0, 0.1, 0, 0])
SIZES = {"a": 2, "b": 3, "c": 2}
MECHANISMS: dict[str, tuple[Mechanism, dict[str, int]]] = {
    "product": (Product({"a": Retention.at(0.5, 2), "b": Retention.at(0.4, 3)}), {"a": 2, "b": 3}),
    "dense": (Product({"a": Retention.at(0.5, 2), "b": DENSE}), {"a": 2, "b": 3}),
    "record": (RecordRetention.at(0.4, SIZES), SIZES),
    "exchange": (
        Exchange(
            SIZES,
            (ChannelGroup(("c", "b"), Dense.of(EYE * 0.6 + 0.4 / 6)), ChannelGroup(("a",), Retention.at(0.5, 2))),
        ),
        SIZES,
    ),
    "groups": (
        CoinGroups(SIZES, (RecordRetention({"a": 2, "c": 2}, ONE // 2),), {"b": DENSE}),
        SIZES,
    ),
    "record, some": (RecordRetention.at(0.4, {**SIZES, "d": 5}), {"c": 2, "b": 3}),
    "record with a raw column": (RecordRetention.at(0.4, {"a": 2, "c": 2}), SIZES),
    "product with a raw column": (Product({"b": DENSE, "c": Retention.at(0.3, 2)}), SIZES),
}


def test_the_sheets_worked_numbers() -> None:
    table = PublishedTable.of_counts(
        [Axis("sex", ("F", "M")), Axis("age", ("0", "1", "2"))],
        np.array([[20, 10, 15], [12, 25, 18]]),
        Product({"sex": Retention.at(0.5, 2), "age": Retention.at(0.4, 3)}),
    )
    found = invert(table)
    assert found.values == pytest.approx(np.array([[40, -13.75, 13.75], [-10, 51.25, 18.75]]), abs=1e-9)
    variances = np.array([[168.75, 150.3125, 158.4375], [163.75, 202.8125, 180.9375]])
    assert found.variances == pytest.approx(variances, abs=1e-9)


@pytest.mark.parametrize(("mechanism", "sizes"), MECHANISMS.values(), ids=list(MECHANISMS))
def test_every_operation_agrees_with_the_whole_matrix(mechanism: Mechanism, sizes: dict[str, int]) -> None:
    law = law_of(mechanism, sizes)
    rng = np.random.default_rng(5)
    y = rng.integers(0, 50, law.shape).astype(float)
    matrix = matrix_of(law)
    inverse = np.linalg.inv(matrix).T
    assert matrix.sum(axis=1) == pytest.approx(1)
    assert law.backward(y).ravel() == pytest.approx(matrix @ y.ravel())
    assert law.inverse(y).ravel() == pytest.approx(inverse @ y.ravel())
    assert law.inverse_adjoint(y).ravel() == pytest.approx(inverse.T @ y.ravel())
    assert law.inverse_power(y, 3).ravel() == pytest.approx(inverse**3 @ y.ravel())
    table = PublishedTable(tuple(Axis(n, tuple("abcde"[:v])) for n, v in sizes.items()), y, law, y)
    x = inverse @ y.ravel()
    full = inverse @ np.diag(y.ravel()) @ inverse.T - np.diag(x)
    assert covariance(table) == pytest.approx(full)
    assert invert(table).variances.ravel() == pytest.approx(np.diag(full))


@pytest.mark.parametrize(("mechanism", "sizes"), MECHANISMS.values(), ids=list(MECHANISMS))
def test_filtered_cells_agree_with_sums_of_covariances(mechanism: Mechanism, sizes: dict[str, int]) -> None:
    law = law_of(mechanism, sizes)
    rng = np.random.default_rng(6)
    y = rng.integers(0, 50, law.shape).astype(float)
    table = PublishedTable(tuple(Axis(n, tuple("abcde"[:v])) for n, v in sizes.items()), y, law, y)
    for filtered in range(1, len(law.shape) + 1):
        kept = law.shape[: len(law.shape) - filtered]
        if isinstance(mechanism, Exchange) and filtered == 1:
            with pytest.raises(InputError, match="stand together"):
                invert(table, np.ones(law.shape[-1:]))
            continue
        holds = rng.integers(0, 2, law.shape[len(kept) :]).astype(float)
        holds.flat[0] = 1
        cells = [np.multiply.outer(unit.reshape(kept), holds) for unit in np.eye(math.prod(kept))]
        values, covariances = linear(table, [*cells, np.multiply.outer(np.ones(kept), holds)])
        full = covariance(table)
        sums = np.stack([c.ravel() for c in cells])
        assert covariances[:-1, :-1] == pytest.approx(sums @ full @ sums.T)
        found = invert(table, holds)
        assert found.values.ravel() == pytest.approx(values[:-1])
        assert found.variances.ravel() == pytest.approx(np.diag(covariances)[:-1])
        together = covariance_with_total(table, np.broadcast_to(holds, law.shape), holds)
        assert together.ravel() == pytest.approx(covariances[-1, :-1])


@pytest.mark.parametrize("mechanism", [each(0.303, (2, 5, 10)), record(0.238, (2, 5, 10))], ids=["each", "record"])
def test_variances_are_those_of_repeated_publication(mechanism: Mechanism) -> None:
    rng = np.random.default_rng(7)
    true = population((2, 5, 10), 5_000, 0.5, rng)
    found = [invert(publish(true, mechanism, rng)) for _ in range(600)]
    values = np.array([f.values for f in found])
    claimed = np.mean([f.variances for f in found], axis=0)
    assert values.mean(axis=0) == pytest.approx(true, abs=5 * math.sqrt(claimed.max() / 600))
    assert values.var(axis=0).sum() == pytest.approx(claimed.sum(), rel=0.05)
    assert values.var(axis=0).sum() != pytest.approx(claimed.sum() / 1.2, rel=0.05)  # the test has power


def test_the_record_coin_has_the_variance_of_the_sheet() -> None:
    """The sheet's example: 16.9n instead of 521.9n for the joint table of (2, 5, 10) at k = 100, R = 100,000."""
    rng = np.random.default_rng(8)
    true = population((2, 5, 10), 100_000, 1.0, rng)
    one = invert(publish(true, each(0.303195623089413, (2, 5, 10)), rng)).variances.sum() / 100_000
    ratio = math.exp(3.458897807392820)
    whole = invert(publish(true, record((ratio - 1) / (ratio + 99), (2, 5, 10)), rng)).variances.sum() / 100_000
    assert one == pytest.approx(521.9, rel=0.01)
    assert whole == pytest.approx(16.9, rel=0.01)


COVERED = [
    (each(0.303, (2, 5, 10)), (2, 5, 10), 200),
    (each(0.303, (2, 5, 10)), (2, 5, 10), 100_000),
    (record(0.238, (2, 5, 10)), (2, 5, 10), 200),
    (record(0.238, (2, 5, 10)), (2, 5, 10), 100_000),
    (each(0.8, (4, 6)), (4, 6), 3_000),
    (Product({"a0": Retention.at(0.6, 5), "a1": DENSE}), (5, 3), 3_000),
]


@pytest.mark.parametrize(("mechanism", "sizes", "records"), COVERED)
def test_intervals_cover(mechanism: Mechanism, sizes: tuple[int, ...], records: int) -> None:
    rng = np.random.default_rng(9)
    holds = (np.arange(sizes[-1]) % 3 != 0).astype(float)
    covered: list[np.ndarray] = []
    filtered: list[np.ndarray] = []
    narrow: list[np.ndarray] = []
    while sum(c.size for c in covered) < 4_000:
        true = population(sizes, records, 0.5, rng)
        table = publish(true, mechanism, rng)
        found = invert(table)
        covered.append((found.low <= true) & (true <= found.high))
        half = 1.6 * np.sqrt(np.maximum(found.variances, 0))
        narrow.append(abs(found.values - true) <= half)
        part, sums = invert(table, holds), (true * holds).sum(axis=-1)
        filtered.append((part.low <= sums) & (sums <= part.high))
    least, most = COVERAGE_OF_SPARSE_CELLS if records < 1_000 else COVERAGE_OF_THOUSANDS
    assert least <= np.mean(covered) <= most
    assert np.mean(filtered) == pytest.approx(0.95, abs=max(0.02, 3 * math.sqrt(0.05 / np.size(filtered))))
    assert np.mean(narrow) < least  # the test would see intervals that are a fifth too short


def test_weighted_tables_are_unbiased_and_cover() -> None:
    rng = np.random.default_rng(10)
    mechanism = each(0.5, (3, 4))
    covered = []
    for draw in range(60):
        true = {"a0": rng.integers(0, 3, 4_000).astype(np.uint8), "a1": rng.integers(0, 4, 4_000).astype(np.uint8)}
        weights = rng.gamma(2.0, 2.0, 4_000)
        out = {name: np.empty_like(codes) for name, codes in true.items()}
        mechanism.publish(streams_of(Key.from_seed(draw)), 0, true, out)
        found = invert(tabulate(out, axes_of((3, 4)), mechanism, weights))
        want = tabulate(true, axes_of((3, 4)), mechanism, weights).counts
        covered.append((found.low <= want) & (want <= found.high))
    least, most = COVERAGE_OF_THOUSANDS
    assert least <= np.mean(covered) <= most


def test_ten_million_cells_are_inverted_without_a_kronecker_matrix() -> None:
    sizes = (10, 10, 10, 10, 10, 10, 10)
    rng = np.random.default_rng(11)
    counts = rng.poisson(1.0, sizes).astype(float)
    law = law_of(each(0.6, sizes), {f"a{i}": 10 for i in range(7)})
    assert np.allclose(law.forward(law.inverse(counts)), counts, atol=1e-6)  # a matrix would have 10^14 entries


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.floats(0.5, 1e6))
@settings(max_examples=100, deadline=None)
def test_projection_is_the_nearest_point_of_the_simplex(values: list[float], total: float) -> None:
    x = np.array(values)
    p = to_simplex(x, total)
    assert (p >= 0).all()
    assert p.sum() == pytest.approx(total, rel=1e-6)
    corner = (x - p) @ (total * np.eye(len(x)) - p).T  # <= 0 towards every corner: the projection's mark
    assert corner.max() <= 1e-6 * (1 + total * (total + np.abs(x).max()))


def test_what_cannot_be_inverted_is_refused() -> None:
    y = np.ones((2, 2))
    with pytest.raises(InputError, match="positive probability"):
        invert(PublishedTable.of_counts(axes_of((2, 2)), y, each(0.0, (2, 2))))
    same = Product({"a0": Dense.of([[0.5, 0.5], [0.5, 0.5]])})
    with pytest.raises(InputError, match="can be inverted"):
        invert(PublishedTable.of_counts(axes_of((2, 2)), y, same))
    with pytest.raises(InputError, match="strictly between"):
        invert(PublishedTable.of_counts(axes_of((2, 2)), y, each(0.5, (2, 2))), confidence=1.0)
