"""What tables are worth: closed forms beside enumerations and simulations, and what is called hopeless."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from pramana.mechanisms.channel import Dense, Retention
from pramana.mechanisms.table import Product, RecordRetention
from pramana.methods.usefulness import (
    CellLook,
    TableWorth,
    Usefulness,
    blind_error,
    mean_ratio,
    tables_asked,
    worth_of_cells,
    worth_of_law,
)
from pramana.recipient.law import law_of


def compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield (first, *rest)


@pytest.mark.parametrize(("cells", "records"), [(2, 400), (3, 120), (4, 40)])
def test_a_blind_guess_over_all_tables(cells: int, records: int) -> None:
    """Every table of so many records is as likely as any other; a last 1/records is what the limit leaves out."""
    tables = np.array(list(compositions(records, cells))) / records
    squares = ((tables - 1 / cells) ** 2).mean()
    assert blind_error(cells) == pytest.approx(math.sqrt(squares), rel=3 / records)


@pytest.mark.parametrize("coin", ["attribute", "record"])
def test_the_error_of_a_law_is_that_of_estimates(coin: str) -> None:
    """A fixed table, published a thousand times by numpy's own coins, and estimated by inversion."""
    sizes, retention, records = {"a": 2, "b": 3}, 0.4, 600
    law = (
        RecordRetention.at(retention, sizes)
        if coin == "record"
        else Product({name: Retention.at(retention, size) for name, size in sizes.items()})
    )
    (worth,) = worth_of_law(law, ["a", "b"], records, [["a", "b"]]).tables
    draw = np.random.default_rng(3)
    true = np.array([[200, 50, 50], [100, 150, 50]])
    cells = np.repeat(np.arange(6), true.reshape(-1))
    errors = []
    for _ in range(1000):
        kept = [draw.random(records) < retention for _ in sizes]
        kept = [kept[0], kept[0]] if coin == "record" else kept
        a = np.where(kept[0], cells // 3, draw.integers(0, 2, records))
        b = np.where(kept[1], cells % 3, draw.integers(0, 3, records))
        seen = np.bincount(a * 3 + b, minlength=6).reshape(2, 3).astype(np.float64)
        errors.append((law_of(law, sizes).inverse(seen) - true) / records)
    assert worth.error == pytest.approx(math.sqrt(np.mean(np.square(errors))), rel=0.05)
    kinder = (
        RecordRetention.at(0.5, sizes)
        if coin == "record"
        else Product({name: Retention.at(0.5, size) for name, size in sizes.items()})
    )
    assert worth_of_law(kinder, ["a", "b"], records, [["a", "b"]]).tables[0].error < 0.9 * worth.error


def test_a_matrix_that_cannot_be_inverted_is_hopeless() -> None:
    flat = Product({"a": Dense.of([[0.5, 0.5], [0.5, 0.5]])})
    worth = worth_of_law(flat, ["a"], 1000, ())
    assert worth.useless
    assert worth.tables[0].to_json()["within"] is None
    assert not worth_of_law(Product({"a": Dense.of([[0.9, 0.1], [0.5, 0.5]])}), ["a"], 1000, ()).useless


def look(leaves: int, widths: list[int]) -> CellLook:
    return CellLook(leaves, np.arange(len(widths)), np.array(widths))


def test_labels_leave_open_how_their_leaves_share_them() -> None:
    """Two labels of three and two leaves: averaged over all ways in which each of their totals may spread."""
    worth = worth_of_cells({"a": look(5, [3, 2])}, np.array([60, 40]), 0, (), exact=False).tables[0]
    mean = np.mean([sum((x - 20) ** 2 for x in one) for one in compositions(60, 3)])
    mean = mean + np.mean([sum((x - 20) ** 2 for x in one) for one in compositions(40, 2)])
    assert worth.error == pytest.approx(math.sqrt(mean / 5) / 100, rel=0.05)
    assert not worth.hopeless


def test_cells_that_say_everything_or_nothing() -> None:
    sizes = np.array([7, 3])
    for leaves in (2, 5, 100):
        star = {"a": CellLook(leaves, np.array([0, 0]), np.array([leaves, leaves]))}
        assert worth_of_cells(star, sizes, 0, (), exact=False).useless
        assert worth_of_cells(star, sizes, 0, (), exact=True).tables[0].error == 0  # every leaf is counted
    told = worth_of_cells({"a": look(2, [1, 1])}, sizes, 0, (), exact=False)
    assert told.tables[0].error == 0
    assert told.sentences() == ["The share of a value of a is known exactly."]
    assert worth_of_cells({"a": look(2, [1, 1])}, sizes, 10, (), exact=False).tables[0].error > 0  # left out


def test_distributions_leave_open_how_columns_go_together() -> None:
    looks = {"a": look(2, [2]), "b": look(2, [2])}
    single, _, both = worth_of_cells(looks, np.array([10]), 0, (), exact=True).tables
    assert single.error == 0
    assert both.error == pytest.approx(math.sqrt((4 - 1 - 2) / (4 * 5) / 4))  # one number of three is open
    assert both.error < both.guess


def test_the_order_of_classes_changes_nothing() -> None:
    draw = np.random.default_rng(2)
    cell, sizes = draw.integers(0, 40, 500), draw.integers(1, 90, 500)
    width = np.array([1 + c % 7 for c in cell])
    order = draw.permutation(500)
    one = worth_of_cells({"a": CellLook(50, cell, width)}, sizes, 3, (), exact=False)
    other = worth_of_cells({"a": CellLook(50, 99 - cell[order], width[order])}, sizes[order], 3, (), exact=False)
    assert one == other


@pytest.mark.parametrize("missing", [0, 1])
def test_the_error_of_a_mean_is_that_of_its_estimate(missing: int) -> None:
    """Beside all outcomes of a record, exactly, and tables of three values drawn at random."""
    rows = (
        [[5, 2, 1, 2], [2, 4, 3, 1], [1, 1, 7, 1], [2, 2, 2, 4]] if missing else [[5, 2, 3], [2, 4, 4], [1, 1, 8]]
    )
    dense = Dense.of([[Fraction(w, sum(row)) for w in row] for row in rows])
    channel = np.array(dense.weights) / np.array(dense.weights)[0].sum()
    ranks = np.array([-1.0, 0.0, 1.0] + [0.0] * missing)
    g = np.linalg.inv(channel) @ ranks
    variance = np.mean([np.dot(row, (g - np.dot(row, g)) ** 2) for row in channel])
    drawn = np.random.default_rng(4).dirichlet([1, 1, 1], 400_000) @ [-1, 0, 1]
    expected = math.sqrt(variance / 50) / drawn.std()
    assert mean_ratio(dense, 3, 50) == pytest.approx(expected, rel=5e-3)


def test_a_column_whose_mean_alone_is_known_is_not_useless() -> None:
    weights = [
        [1 + (u == z) + 100 * (29 - u) * (z == 0) + 100 * u * (z == 29) for z in range(30)] for u in range(30)
    ]
    law = Product({"age": Dense.of([[Fraction(w, sum(row)) for w in row] for row in weights])})
    by_cells = worth_of_law(law, ["age"], 5000, ())
    assert by_cells.tables[0].hopeless and by_cells.useless
    assert not worth_of_law(law, ["age"], 5000, (), {"age": 30}).useless
    assert worth_of_law(law, ["age"], 5, (), {"age": 30}).useless


def test_which_tables_are_spoken_of() -> None:
    assert tables_asked([["a", "raw"], ["raw"], ["b", "a"]], ["a", "b"]) == ([("a",), ("b", "a")], True)
    assert tables_asked((), ["a", "b", "c"]) == (
        [("a",), ("b",), ("c",), ("a", "b"), ("a", "c"), ("b", "c")],
        False,
    )
    many = worth_of_law(Product({f"c{i:02d}": Retention.at(0.5, 2) for i in range(14)}), [], 9, ())
    assert many.tables == ()
    names = [f"c{i:02d}" for i in range(14)]
    shown = worth_of_law(Product({n: Retention.at(0.5, 2 + i % 3) for i, n in enumerate(names)}), names, 9, ())
    assert len(shown.tables) == 14 + 91
    assert len(shown.shown) == 10
    assert all(len(table.names) == 1 for table in shown.shown)


def test_words_and_numbers() -> None:
    table = TableWorth(("age",), 5, 0.002, blind_error(5))
    assert table.words == "the share of a value of age is known to within 0.4 points"
    assert TableWorth(("age", "sex"), 10, 0.9, 0.1).hopeless
    assert Usefulness((table, TableWorth(("age", "sex"), 10, 0.9, 0.1))).sentences() == [
        "The share of a value of age is known to within 0.4 points.",
        "Hopeless, as a guess that ignores the data is as near: age x sex.",
    ]
    assert not TableWorth(("one",), 1, 0.0, blind_error(1)).hopeless  # a column of one value has no secret
    assert not Usefulness().useless
    barren = TableWorth(("age", "sex"), 10, 0.9, 0.1, halves=1.0)
    assert Usefulness((barren, barren)).useless
    assert not Usefulness((table, barren)).useless and not Usefulness((barren, table)).useless
    assert not Usefulness((TableWorth(("age", "sex"), 10, 0.9, 0.1, halves=0.9),)).useless  # of halves it tells
    at_the_border = TableWorth(("a",), 2, 0.25, 0.25, halves=1.0)
    assert at_the_border.hopeless and at_the_border.barren
    huge = TableWorth(("x",), None, 1.0, 1.0, "value")
    assert huge.hopeless
