"""Counting cells: against every table that they leave possible, on small ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from pramana.errors import InputError
from pramana.methods.cells import Cells
from pramana.methods.protocol import ColumnUncertainty
from pramana.recipient.cell_counts import CellColumn
from pramana.recipient.cell_study import CellStudy
from pramana.schema.domain import Axis

A = Axis.of_labels("a", ["10", "20", "30"])
B = Axis.of_labels("b", ["x", "y"])
C = Axis.of_labels("c", ["1", "2", "3", "4"], missing=True)
ROWS = 600  # of numbers that are aggregated
World = dict[str, NDArray[np.int64]]


def column(
    axis: Axis, cells: Sequence[dict[int, int]], codes: Sequence[int], doubt: ColumnUncertainty | None = None
) -> CellColumn:
    first = np.cumsum([0, *(len(cell) for cell in cells)])
    values = [value for cell in cells for value in sorted(cell)]
    weights = [cell[value] for cell in cells for value in sorted(cell)]
    held = Cells(axis.size, first.astype(np.int64), np.array(values, np.int64), np.array(weights, np.int64))
    return CellColumn(axis, held, np.array(codes, np.uint32), doubt or ColumnUncertainty())


def study_of(columns: Sequence[CellColumn], weights: NDArray[np.float64] | None = None) -> CellStudy:
    named = {c.axis.name: c for c in columns}
    axes = {name: c.axis for name, c in named.items()}
    return CellStudy(axes, named.__getitem__, len(columns[0].codes), weights)


def random_columns(seed: int, records: int = 4) -> list[CellColumn]:
    draw = np.random.default_rng(seed)
    made = []
    for axis in (A, B, C):
        cells = []
        for _ in range(3):
            values = draw.choice(axis.size, draw.integers(1, min(axis.size, 3) + 1), replace=False)
            cells.append({int(v): int(draw.integers(1, 4)) for v in values})
        made.append(column(axis, cells, draw.integers(0, 3, records).tolist()))
    return made


def worlds(columns: Sequence[CellColumn]) -> Iterator[tuple[float, World]]:
    """Every table that the cells leave possible, with its probability."""
    options = []
    for c in columns:
        options += [list(c.cells.at(code).items()) for code in c.codes.tolist()]
    records = len(columns[0].codes)
    for choice in product(*options):
        values = np.array([value for value, _ in choice]).reshape(len(columns), records)
        chance = float(np.prod([float(share) for _, share in choice]))
        yield chance, {c.axis.name: values[i] for i, c in enumerate(columns)}


FILTERS = {
    "a = 10": lambda w: w["a"] == 0,
    "a >= 20 and b = x": lambda w: (w["a"] >= 1) & (w["b"] == 0),
    "a = 30 or c < 3": lambda w: (w["a"] == 2) | (w["c"] < 2),
    "not (b = x and c is missing)": lambda w: ~((w["b"] == 0) & (w["c"] == 4)),
}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("where", FILTERS)
def test_counts_are_those_of_all_possible_tables(seed: int, where: str) -> None:
    columns = random_columns(seed)
    study = study_of(columns)
    counts = [(chance, float(FILTERS[where](w).sum())) for chance, w in worlds(columns)]
    found = study.total(where)
    assert found.estimate == pytest.approx(sum(chance * n for chance, n in counts))
    assert (found.low, found.high) == (min(n for _, n in counts), max(n for _, n in counts))


@pytest.mark.parametrize("seed", range(6))
def test_tables_are_those_of_all_possible_tables(seed: int) -> None:
    columns = random_columns(seed, 3)
    table = study_of(columns).crosstab(["b", "a"], "c != 2 or a = 10")
    cells = np.zeros((3, *table.estimate.shape))
    cells[1] = np.inf
    for chance, w in worlds(columns):
        keep = ((w["c"] != 1) & (w["c"] != 4)) | (w["a"] == 0)
        counts = np.zeros(table.estimate.shape)
        np.add.at(counts, (w["b"][keep], w["a"][keep]), 1)
        cells[0] += chance * counts
        cells[1], cells[2] = np.minimum(cells[1], counts), np.maximum(cells[2], counts)
    assert table.estimate == pytest.approx(cells[0])
    assert np.array_equal(table.low, cells[1]) and np.array_equal(table.high, cells[2])
    assert table.method == "expected"
    assert [c["low"] for c in table.cells()] == table.low.ravel().tolist()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("where", [None, *FILTERS])
def test_means_shares_and_quantiles_hold_in_every_possible_table(seed: int, where: str | None) -> None:
    columns = random_columns(seed)
    study = study_of(columns)
    numbers = np.array([10.0, 20.0, 30.0])
    means, shares, middles = [], [], []
    for _, w in worlds(columns):
        keep = np.ones(4, bool) if where is None else FILTERS[where](w)
        if keep.any():
            values = numbers[w["a"][keep]]
            means.append(values.mean())
            shares.append((w["b"][keep] == 0).mean())
            middles.append(np.sort(values)[int(np.ceil(0.5 * len(values))) - 1])
    if not means:
        return
    found = study.mean("a", where)
    assert [found.low, found.high] == pytest.approx([min(means), max(means)])
    share = study.share("b = x", where)
    assert share.low <= min(shares) + 1e-12 and max(shares) <= share.high + 1e-12
    if where is None:  # who is in the group is known: the bounds are reached
        assert [share.low, share.high] == pytest.approx([min(shares), max(shares)])
        by_b = study.crosstab(["b"], shares=True)
        assert (by_b.low[0], by_b.high[0]) == (pytest.approx(min(shares)), pytest.approx(max(shares)))
    middle = study.quantiles("a", [0.5], where)[0]
    assert middle.low <= min(middles) and max(middles) <= middle.high
    if where is None:
        assert (middle.low, middle.high) == (min(middles), max(middles))


def test_a_comparison_is_as_wide_as_its_groups_leave_it() -> None:
    columns = random_columns(2)
    study = study_of(columns)
    by_share = study.compare("a = 10", "a > 10", share="b = x")
    one, other = study.share("b = x", "a = 10"), study.share("b = x", "a > 10")
    assert (by_share.first, by_share.second) == (one, other)
    assert by_share.difference.low == one.low - other.high
    assert "p_value" not in by_share.to_json()
    assert study.compare("b = x", "b = y", mean="a").difference.estimate == pytest.approx(
        study.mean("a", "b = x").estimate - study.mean("a", "b = y").estimate
    )
    with pytest.raises(InputError, match="share or of a mean"):
        study.compare("a = 10", "a > 10")


def test_means_by_group_are_those_of_single_questions() -> None:
    study = study_of(random_columns(3))
    cells = study.means("a", ["b"], "c != 1")
    for cell in cells:
        condition = f"b = {cell['b']} and c != 1"
        assert cell["estimate"] == pytest.approx(study.mean("a", condition).estimate)


def test_weights_stand_for_records() -> None:
    columns = random_columns(4)
    weights = np.array([1.0, 2.0, 0.5, 3.0])
    found = study_of(columns, weights).total("a = 10")
    counts = [(chance, float(weights[w["a"] == 0].sum())) for chance, w in worlds(columns)]
    assert found.estimate == pytest.approx(sum(chance * n for chance, n in counts))
    assert (found.low, found.high) == (min(n for _, n in counts), max(n for _, n in counts))


def test_categories_that_a_share_of_records_left_widen_every_count() -> None:
    codes = np.repeat([0, 1], [30, 10])
    study = study_of([CellColumn.of_codes(B, codes.astype(np.uint32), ColumnUncertainty(moved=0.05))])
    found = study.total("b = x")
    assert (found.estimate, found.low, found.high) == (30, 28, 32)


def aggregated(seed: int) -> tuple[NDArray[np.float64], CellStudy]:
    """Numbers in classes of five, published as means."""
    draw = np.random.default_rng(seed)
    true = np.sort(draw.gamma(2, 20, ROWS)).round(3)
    means = np.repeat(true.reshape(-1, 5).mean(axis=1), 5)
    lost = ((true - means) ** 2).sum() / ((true - true.mean()) ** 2).sum()
    labels = sorted(set(means.tolist()))
    axis = Axis("n", tuple(map(str, labels)), tuple(labels), tuple(labels), kind=C.kind)
    codes = np.searchsorted(labels, means).astype(np.uint32)
    group = CellColumn.of_codes(B, (np.arange(ROWS) % 2).astype(np.uint32))
    return true, study_of(
        [CellColumn.of_codes(axis, codes, ColumnUncertainty(lost=np.ceil(lost * 100) / 100)), group]
    )


@pytest.mark.parametrize("seed", range(12))
def test_numbers_that_were_aggregated_lie_within_what_their_loss_allows(seed: int) -> None:
    true, study = aggregated(seed)
    odd = np.arange(ROWS) % 2 == 1
    for bound in (15, 30, 45, 70):
        found = study.total(f"n >= {bound}")
        assert found.low <= (true >= bound).sum() <= found.high
        both = study.total(f"n >= {bound} and b = y")
        assert both.low <= ((true >= bound) & odd).sum() <= both.high
    assert study.total("n >= 70").high < ROWS / 2 and study.total("n >= 15").low > ROWS / 4  # it says something
    mean = study.mean("n", "b = y")
    assert mean.low <= true[odd].mean() <= mean.high
    assert study.mean("n").estimate == pytest.approx(true.mean())
    ends = study.axes["n"].lower or ()
    for share, quantile in zip((0.25, 0.5, 0.75), study.quantiles("n"), strict=True):
        value = np.sort(true)[int(np.ceil(share * ROWS)) - 1]
        next_one = min((end for end in ends if end > quantile.high), default=np.inf)  # between means
        assert quantile.low <= value or quantile.low == ends[0]
        assert value <= next_one


def test_counts_that_are_right_on_average_have_their_deviation() -> None:
    """Two groups of columns: within one, chance; across both, only that no selection outgrows its parts."""
    codes = np.repeat([0, 1], [70, 30]).astype(np.uint32)
    doubt = ColumnUncertainty(together=("b",), deviation=4.0)
    other = column(A, [{0: 1}, {1: 1}, {2: 1}], np.tile([0, 1, 2, 1], 25).tolist())
    study = study_of(
        [
            CellColumn.of_codes(B, codes, doubt),
            replace(other, doubt=ColumnUncertainty(together=("a",), deviation=1.0)),
        ]
    )
    found = study.total("b = x")
    assert [found.estimate, found.low, found.high] == pytest.approx([70, 70 - 7.84, 70 + 7.84], abs=0.01)
    both = study.total("b = y and a = 10")
    assert both.low == 0 and both.high == pytest.approx(25 + 1.96, abs=0.01)
    assert study.mean("a").high == pytest.approx(20 + 1.96 * 20 / 2**0.5 / 100, abs=0.01)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda s: s.crosstab(["d"]), "must be in the release"),
        (lambda s: s.crosstab(["a", "a"]), "each attribute once"),
        (lambda s: s.crosstab(["a"], profile=True), "with a law"),
        (lambda s: s.crosstab(["a"], method="best"), "one of em, inverse"),
        (lambda s: s.mean("b"), "must be numeric"),
        (lambda s: s.quantiles("b"), "numbers or dates"),
        (lambda s: s.quantiles("a", [1.5]), "strictly between"),
        (lambda s: s.total("a = 99"), "99"),
    ],
)
def test_what_cannot_be_asked_is_said(ask, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=words):
        ask(study_of(random_columns(1)))
