"""Existence probabilities: the sheet's numbers, enumeration of Eq. 4, bounds, and the best distributions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pramana.theory import presence

EXAMPLE = [3, 9, 9, 3, 1]  # sixteenths: paper 4, the class of Table III under the cells of Table V


def enumerated(w: list[float], n: int) -> list[float]:
    """Eq. 4 as it stands: sums over all subsets of n."""
    total, each = 0.0, [0.0] * len(w)
    for chosen in itertools.combinations(range(len(w)), n):
        weight = math.prod(w[i] for i in chosen)
        total += weight
        for i in chosen:
            each[i] += weight
    return [x / total for x in each]


@pytest.mark.parametrize(
    ("n", "numerators", "denominator"),
    [(4, (14, 16, 16, 14, 8), 17), (3, (26, 39, 39, 26, 11), 47), (2, (11, 24, 24, 11, 4), 37)],
)
def test_existence_of_the_sheet(n: int, numerators: tuple[int, ...], denominator: int) -> None:
    wanted = [Fraction(x, denominator) for x in numerators]
    assert presence.exact_existence(EXAMPLE, n) == wanted
    assert presence.existence(EXAMPLE, n) == pytest.approx([float(x) for x in wanted], abs=1e-14)
    assert presence.extremes(EXAMPLE, n) == pytest.approx((float(min(wanted)), float(max(wanted))), abs=1e-14)


def test_bounds_of_the_sheet() -> None:
    assert presence.bounds(5, 4, Fraction(1), Fraction(9)) == (Fraction(4, 13), Fraction(36, 37))


def test_ratio_of_the_sheet() -> None:
    assert presence.ratio_bound(5, 4, Fraction(2, 5), Fraction(19, 20)) == Fraction(19, 4)


def test_best_distribution_of_the_sheet() -> None:
    assert presence.best_product([np.array([8.0, 3, 1, 0])], 4)[0] == pytest.approx(
        [1 / 2, 1 / 4, 1 / 8, 1 / 8], abs=1e-12
    )


classes = st.lists(
    st.one_of(st.floats(1e-6, 1e6), st.integers(1, 4).map(float), st.just(0.0)), min_size=1, max_size=9
)


@settings(max_examples=300, deadline=None)
@given(classes, st.integers(0, 9))
def test_exact_equals_enumeration(w: list[float], n: int) -> None:
    possible = sum(x > 0 for x in w)
    if n > possible:
        with pytest.raises(ValueError, match="present must be"):
            presence.existence(w, n)
        return
    wanted = enumerated([x / max([*w, 1.0]) for x in w], n)
    assert presence.existence(w, n) == pytest.approx(wanted, abs=1e-12)
    assert presence.extremes(w, n) == pytest.approx((min(wanted), max(wanted)), abs=1e-12)
    exact = presence.exact_existence([Fraction(x) for x in w], n)
    assert [float(x) for x in exact] == pytest.approx(wanted, abs=1e-12)
    assert presence.exact_extremes([Fraction(x) for x in w], n) == (min(exact), max(exact))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.floats(1e-3, 1e3), st.integers(1, 30)), min_size=1, max_size=6), st.integers(1, 60))
def test_bounds_hold_those_from_the_mode_within_theorem_5s_room(groups: list[tuple[float, int]], n: int) -> None:
    groups.sort()
    w, m = np.array([g[0] for g in groups]), np.array([g[1] for g in groups])
    people = int(m.sum())
    n = min(n, people)
    low, high = presence.extremes(w, n, m)
    below, above = map(float, presence.bounds(people, n, Fraction(float(w.min())), Fraction(float(w.max()))))
    assert below <= low + 1e-12
    assert high <= above + 1e-12
    for which, value in ((0, low), (len(w) - 1, high)):
        least, most = presence.mode_bounds(
            np.log(w), m.astype(float), np.array([0, len(w)]), np.array([float(n)]), np.array([which])
        )
        assert least[0] - 1e-12 <= value <= most[0] + 1e-12


def test_bounds_from_the_mode_are_narrow_where_theorem_5s_are_not() -> None:
    w, m = np.geomspace(1, 100, 40), np.full(40, 50)
    exact = presence.extremes(w, 300, m)
    first, n = np.array([0, 40]), np.array([300.0])
    for which, value in ((0, exact[0]), (39, exact[1])):
        least, most = presence.mode_bounds(np.log(w), m.astype(float), first, n, np.array([which]))
        assert most[0] - least[0] < 0.01
        assert least[0] < value < most[0]
    loose = presence.bounds(2000, 300, Fraction(1), Fraction(100))
    assert loose[0] < exact[0] / 3


def test_grouped_likelihoods_equal_single_ones() -> None:
    w, m = [0.5, 2.0, 3.0], [4, 1, 3]
    single = presence.existence(np.repeat(w, m), 3)
    assert presence.existence(w, 3, m) == pytest.approx(single[[0, 4, 5]], abs=1e-13)


def test_existence_sums_to_the_present_in_a_large_class() -> None:
    """The probabilities of a class add up to n; 20,000 people, 10,000 present."""
    w, m = np.linspace(1, 5, 100), np.full(100, 200)
    found = presence.existence(w, 10_000, m)
    assert found @ m == pytest.approx(10_000, rel=1e-11)
    assert (np.diff(found) > 0).all()
    assert presence.extremes(w, 10_000, m) == pytest.approx((found[0], found[-1]), rel=1e-11)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 40), st.data())
def test_ratio_bound_is_where_the_bounds_leave_the_range(people: int, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, people - 1))
    low = Fraction(data.draw(st.integers(1, 100)), 100) * Fraction(n, people)
    high = 1 - Fraction(data.draw(st.integers(1, 100)), 100) * Fraction(people - n, people)
    star = presence.ratio_bound(people, n, low, high)
    assert star is not None and star >= 1
    inside = presence.bounds(people, n, Fraction(1), star)
    outside = presence.bounds(people, n, Fraction(1), star * Fraction(1001, 1000))
    assert low <= inside[0] and inside[1] <= high
    assert outside[0] < low or outside[1] > high


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 20), min_size=2, max_size=4), min_size=1, max_size=2), st.floats(1.0, 30.0)
)
def test_best_product_is_not_beaten(counts: list[list[int]], ratio: float) -> None:
    """Against a general solver on the convex problem in ln f, started from the uniform distribution."""
    total = 30
    tables = [np.array([*c[:-1], c[-1] + max(total - sum(c), 1)], float) for c in counts]
    tables = [t / t.sum() * total for t in tables]
    found = presence.best_product(tables, ratio)
    spread = sum(math.log(f.max() / f.min()) for f in found if f.min() > 0)
    assert all(f.sum() == pytest.approx(1) for f in found)
    assert spread <= math.log(ratio) + 1e-9
    mine = -sum(float(t @ np.log(f)) for t, f in zip(tables, found, strict=True))
    assert mine <= solved(tables, ratio) + 1e-4


def solved(tables: list[np.ndarray], ratio: float) -> float:
    sizes = [len(t) for t in tables]
    edges = np.cumsum([0, *sizes])

    def parts(x: np.ndarray) -> list[np.ndarray]:
        return [x[a:b] for a, b in itertools.pairwise(edges)]

    start = np.concatenate([np.full(s, -math.log(s)) for s in sizes])
    limits: list[Any] = [{"type": "ineq", "fun": lambda x: np.array([1 - np.exp(g).sum() for g in parts(x)])}]
    rows = []
    for chosen in itertools.product(*[itertools.permutations(range(s), 2) for s in sizes]):
        row = np.zeros(edges[-1])
        for start_of, (top, bottom) in zip(edges[:-1], chosen, strict=True):
            row[start_of + top] += 1
            row[start_of + bottom] -= 1
        rows.append(row)
    spread = np.array(rows)
    limits.append({"type": "ineq", "fun": lambda x: math.log(ratio) - spread @ x})
    weights = np.concatenate(tables)

    def cost(x: np.ndarray) -> float:
        return float(-weights @ x)

    def slope(_: np.ndarray) -> NDArray[np.float64]:
        return np.asarray(-weights, np.float64)

    done = scipy.optimize.minimize(cost, start, jac=slope, constraints=limits)
    return float(done.fun) if done.success else math.inf


def people_of(rng: np.random.Generator) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Rows that use every value but not every combination, and counts of a private table."""
    sizes = rng.integers(2, 5, int(rng.integers(2, 4)))
    rows = int(rng.integers(max(sizes), 12))
    places = [rng.permutation(np.concatenate([np.arange(s), rng.integers(0, s, rows - s)])) for s in sizes]
    counts = [rng.multinomial(20, rng.dirichlet(np.full(s, 0.5))).astype(float) for s in sizes]
    return counts, places


def test_a_search_begun_elsewhere_ends_at_the_same_distributions() -> None:
    """One class asked about several ratios, in any order, against each ratio asked by itself."""
    rng = np.random.default_rng(4)
    begun = 0
    for _ in range(40):
        counts, places = people_of(rng)
        problem = presence.RowsProblem(counts, places)
        for width in rng.uniform(0.1, 6.0, 5).tolist():
            begun += problem.early is not None
            here, alone = problem.best(width), presence.RowsProblem(counts, places).best(width)
            assert here is not None and alone is not None
            costs = [-sum(float(c @ np.log(f)) for c, f in zip(counts, fs, strict=True)) for fs in (here, alone)]
            assert costs[0] == pytest.approx(costs[1], abs=1e-8)
            logs = sum(np.log(f[p]) for f, p in zip(here, places, strict=True))
            assert np.ptp(logs) <= width + 1e-9
    assert begun > 100


def test_best_for_rows_is_what_a_general_solver_finds() -> None:
    """The convex problem of the sheet, whose ratio is that of the rows people have, by scipy's SLSQP."""
    rng = np.random.default_rng(0)
    compared = better = 0
    for _ in range(60):
        counts, places = people_of(rng)
        width = float(rng.uniform(0.1, 3.0))
        found = presence.RowsProblem(counts, places).best(width)
        assert found is not None
        assert all(f.sum() == pytest.approx(1) for f in found)
        logs = sum(np.log(f[p]) for f, p in zip(found, places, strict=True))
        assert np.ptp(logs) <= width + 1e-9
        mine = -sum(float(c @ np.log(f)) for c, f in zip(counts, found, strict=True))
        product = presence.best_product(counts, math.exp(width))
        # every combination bounded is more than the rows bounded
        assert mine <= -sum(float(c @ np.log(f)) for c, f in zip(counts, product, strict=True)) + 1e-7
        better += mine < -sum(float(c @ np.log(f)) for c, f in zip(counts, product, strict=True)) - 1e-3
        theirs = solved_for_rows(counts, places, width)
        if theirs is not None:
            compared += 1
            assert mine == pytest.approx(theirs, abs=1e-5)
    assert compared > 40
    assert better > 10


def solved_for_rows(counts: list[np.ndarray], places: list[np.ndarray], width: float) -> float | None:
    edges = np.cumsum([0, *map(len, counts)])
    which = np.zeros((len(places[0]), edges[-1] + 1))
    for start, place in zip(edges[:-1], places, strict=True):
        which[np.arange(len(place)), start + place] = 1
    which[:, -1] = -1  # less the bottom of the range, the last variable
    weights = np.concatenate([*counts, [0.0]])
    start_at = np.concatenate([np.full(len(c), -math.log(len(c))) for c in counts])
    start_at = np.append(start_at, -sum(math.log(len(c)) for c in counts) - width / 2)
    limits: list[Any] = [
        {
            "type": "ineq",
            "fun": lambda x: np.array([1 - np.exp(x[a:b]).sum() for a, b in itertools.pairwise(edges)]),
        },
        {"type": "ineq", "fun": lambda x: which @ x},
        {"type": "ineq", "fun": lambda x: width - which @ x},
    ]

    def cost(x: np.ndarray) -> float:
        return float(-weights @ x)

    def slope(_: np.ndarray) -> NDArray[np.float64]:
        return np.asarray(-weights, np.float64)

    done = scipy.optimize.minimize(cost, start_at, jac=slope, constraints=limits, options={"ftol": 1e-12})
    return float(done.fun) if done.success else None


def test_best_for_rows_equals_the_closed_form_of_a_full_product() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        sizes = rng.integers(2, 5, 2)
        places = [p.ravel() for p in np.meshgrid(*map(np.arange, sizes), indexing="ij")]
        counts = [rng.multinomial(30, rng.dirichlet(np.ones(s))).astype(float) for s in sizes]
        found = presence.RowsProblem(counts, places).best(1.2)
        assert found is not None
        for mine, closed in zip(found, presence.best_product(counts, math.exp(1.2)), strict=True):
            assert mine == pytest.approx(closed, abs=1e-5)


def test_best_for_rows_without_room_says_so() -> None:
    assert presence.RowsProblem([np.array([1.0, 2.0])], [np.array([0, 1])]).best(0.0) is None


def test_bad_classes_are_refused() -> None:
    for w, m in (([], None), ([-1.0], None), ([math.nan], None), ([1.0], [2, 3])):
        with pytest.raises(ValueError, match="must be"):
            presence.existence(w, 0, m)
