"""Cells: the paper's examples, exact weights, keyed reconstruction, expected counts."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.statistical.thresholds import SEPARATES_CELL_LAWS

from pramana.counting.classes import Ladder
from pramana.errors import RecipeError, SchemaError
from pramana.methods.cells import (
    Cells,
    cells_between,
    expected_counts,
    hierarchy_cells,
    interval_cells,
    kl_cost,
    pdf_cells,
    reconstructed,
    set_cells,
)
from pramana.methods.generalize.recoding import partition
from pramana.randomness.key import Key
from pramana.schema.hierarchy import hierarchy_of_tree

from .tables import random_table

# Paper 4, Tables I and II: four men and four women, each group one class.
NATIONS = hierarchy_of_tree({"America": ["Canada", "Peru", "USA"], "Europe": ["Britain", "France", "Italy"]})
CANADA, PERU, USA, BRITAIN, FRANCE, ITALY = range(6)
NATION = np.array([CANADA, USA, USA, USA, ITALY, ITALY, BRITAIN, ITALY], np.uint8)
CLASS = np.array([0, 0, 0, 0, 1, 1, 1, 1])
LADDER = Ladder.of("nation", NATIONS)
PDF = pdf_cells(LADDER, NATION, CLASS, 2)


def test_the_cells_of_tables_two_and_five() -> None:
    assert PDF.at(0) == {CANADA: 0.25, USA: 0.75}
    assert PDF.at(1) == {BRITAIN: 0.25, ITALY: 0.75}
    assert set_cells(PDF).at(0) == {CANADA: 0.5, USA: 0.5}
    assert set(interval_cells(PDF).at(1)) == {BRITAIN, FRANCE, ITALY}
    assert set(hierarchy_cells(LADDER, PDF).at(0)) == {CANADA, PERU, USA}
    assert set(hierarchy_cells(LADDER, PDF, 2).at(0)) == set(range(6))


def test_figure_two_shifts_europe_to_the_optimum_in_three_steps() -> None:
    """Italy .33, .47, .61, .75; Britain .33, .30, .27, .25 (cut, not rounded); France .33, .22, .11, 0."""
    europe = hierarchy_cells(LADDER, PDF)
    for step, (italy, britain, france) in enumerate(
        [
            (Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)),
            (Fraction(17, 36), Fraction(11, 36), Fraction(2, 9)),
            (Fraction(11, 18), Fraction(5, 18), Fraction(1, 9)),
            (Fraction(3, 4), Fraction(1, 4), Fraction(0)),
        ]
    ):
        cells = cells_between(europe, PDF, step, 3)
        entries = slice(int(cells.first[1]), int(cells.first[2]))
        found = dict(zip(cells.values[entries].tolist(), cells.weights[entries].tolist(), strict=True))
        total = sum(found.values())
        shares = [Fraction(found.get(v, 0), total) for v in (ITALY, BRITAIN, FRANCE)]
        assert shares == [italy, britain, france]


@pytest.mark.parametrize(
    ("cells", "nation", "probability"),
    # section IV.C: with support 0.25 and confidence 0.75, 'US => M' holds in a reconstruction of the sets with
    # probability .68 and 'Canada => M' too; with distributions .95 and .26
    [("set", USA, 0.68), ("set", CANADA, 0.68), ("pdf", USA, 0.95), ("pdf", CANADA, 0.26)],
)
def test_rules_hold_with_the_probabilities_of_section_four(cells: str, nation: int, probability: float) -> None:
    men = {"set": set_cells(PDF), "pdf": PDF}[cells].at(0)
    # two or more of the four men: support 2/8; confidence is 1, no woman being American
    exact = sum(math.prod(men[v] for v in world) for world in product(men, repeat=4) if world.count(nation) >= 2)
    assert exact == pytest.approx(probability, abs=0.0099)
    held = 0
    for draw in range(400):
        table = reconstructed(
            [{"set": set_cells(PDF), "pdf": PDF}[cells]], ["nation"], CLASS, Key.from_seed(1), draw
        )
        held += int((table[0][:4] == nation).sum() >= 2)
    assert held / 400 == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 400))


def test_matching_probability_is_that_of_the_paper() -> None:
    """Appendix I by hand: the men's salaries are equal, one woman's differs."""
    salary = pdf_cells(Ladder.flat("salary", 2), np.array([0, 0, 0, 0, 1, 1, 1, 0], np.uint8), CLASS, 2)
    by_hand = math.log(math.factorial(4) * math.factorial(3)) + 2 * math.log(0.75**3 * 0.25)
    orders = sum(math.lgamma(int(n) + 1) for n in salary.weights)
    assert orders - kl_cost(PDF, PDF) == pytest.approx(by_hand)
    assert kl_cost(PDF, PDF) == pytest.approx(-2 * math.log(0.75**3 * 0.25))
    assert kl_cost(PDF, set_cells(PDF)) == pytest.approx(8 * math.log(2))


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_kl_cost_falls_along_the_segment_and_is_least_at_the_optimum(seed: int, steps: int) -> None:
    """Theorem 2, and Theorem 3 as corrected: along the segment from uniform to optimal."""
    layout, columns = random_table(seed, rows=80)
    found = partition(layout.ladders, columns, 5)
    for ladder, column in zip(layout.ladders, columns, strict=True):
        pdf = pdf_cells(ladder, column, found.class_of, found.classes)
        for uniform in (set_cells(pdf), hierarchy_cells(ladder, pdf), interval_cells(pdf)):
            costs = [kl_cost(pdf, cells_between(uniform, pdf, step, steps)) for step in range(steps + 1)]
            assert all(a >= b - 1e-9 for a, b in pairwise(costs))
            assert costs[-1] == pytest.approx(kl_cost(pdf, pdf))
            assert costs[0] == pytest.approx(kl_cost(pdf, uniform))


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6))
def test_expected_counts_are_those_of_brute_force(seed: int) -> None:
    layout, columns = random_table(seed, rows=40, leaves=4)
    found = partition(layout.ladders, columns, 6)
    cells = [
        pdf_cells(ladder, column, found.class_of, found.classes)
        for ladder, column in zip(layout.ladders, columns, strict=True)
    ]
    table = expected_counts(cells[:2], found.sizes)
    brute = np.zeros([c.leaves for c in cells[:2]])
    for c in range(found.classes):
        for (v, p), (w, q) in product(cells[0].at(c).items(), cells[1].at(c).items()):
            brute[v, w] += found.sizes[c] * p * q
    assert np.allclose(table, brute)
    assert np.allclose(table.sum(axis=1), np.bincount(columns[0], minlength=cells[0].leaves))


def test_reconstruction_follows_the_cells_law_and_no_other() -> None:
    """Chi-squared on 20,000 rows of one class; a weaker and a stronger law are both refused."""
    cells = Cells(3, np.array([0, 3]), np.arange(3), np.array([5, 3, 2]))
    rows = np.zeros(20_000, np.int64)
    drawn = reconstructed([cells], ["a"], rows, Key.from_seed(5))[0]
    seen = np.bincount(drawn, minlength=3)
    assert stats.chisquare(seen, 20_000 * np.array([0.5, 0.3, 0.2])).pvalue > SEPARATES_CELL_LAWS
    for wrong in ([0.48, 0.31, 0.21], [0.52, 0.29, 0.19]):
        assert stats.chisquare(seen, 20_000 * np.array(wrong)).pvalue < SEPARATES_CELL_LAWS


def test_reconstruction_is_repeatable_and_draws_and_columns_differ() -> None:
    cells = [PDF, PDF]
    one = reconstructed(cells, ["a", "b"], np.repeat([0, 1], 50), Key.from_seed(1), 3)
    again = reconstructed(cells, ["a", "b"], np.repeat([0, 1], 50), Key.from_seed(1), 3)
    other = reconstructed(cells, ["a", "b"], np.repeat([0, 1], 50), Key.from_seed(1), 4)
    shorter = reconstructed(cells, ["a", "b"], np.repeat([0, 1], 50)[:10], Key.from_seed(1), 3)
    assert np.array_equal(one[0], again[0])
    assert not np.array_equal(one[0], other[0])
    assert not np.array_equal(one[0], one[1])
    assert np.array_equal(one[0][:10], shorter[0])


def test_cells_refuse_what_is_no_distribution() -> None:
    with pytest.raises(SchemaError):
        Cells(2, np.array([0, 0]), np.zeros(0, np.int64), np.zeros(0, np.int64))
    with pytest.raises(SchemaError):
        Cells(2, np.array([0, 1]), np.array([2]), np.array([1]))
    with pytest.raises(SchemaError):
        Cells(2, np.array([0, 1]), np.array([1]), np.array([0]))
    with pytest.raises(RecipeError):
        cells_between(set_cells(PDF), PDF, 4, 3)
    with pytest.raises(SchemaError, match="every value"):
        cells_between(PDF.select(np.array([1, 0])), PDF, 1, 3)
    assert kl_cost(PDF, PDF.select(np.array([1, 0]))) == math.inf
