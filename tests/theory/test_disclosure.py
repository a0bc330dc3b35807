"""Measures of disclosure risk: against published figures, and against sums over all cases on small numbers.

Published figures: T. Benschop, C. Machingauta, M. Welch, Statistical Disclosure Control: A Practice Guide, chapter
"Measuring Risk" (its ten records with weights, individual risks and DIS-SUDA scores); the SUDA scores that the
tests of sdcMicro expect of the same records and of the example in Templ's book.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from scipy import stats

from pramana.errors import InputError
from pramana.theory import disclosure
from pramana.theory.disclosure import snb_expected

# ---------------------------------------------------------------- individual risk


def test_individual_risks_are_those_of_the_practice_guide() -> None:
    sizes = np.array([2, 1, 2, 1, 1, 2])
    behind = np.array([360.0, 215.0, 152.0, 186.0, 180.0, 262.0])
    published = [0.005424520, 0.025096439, 0.012563425, 0.028247279, 0.029010932, 0.007403834]
    assert disclosure.individual_risks(sizes, behind) == pytest.approx(published, abs=5e-10)


@pytest.mark.parametrize("f", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_individual_risk_is_the_mean_of_one_over_f(f: int, share: float) -> None:
    """Summed over the negative binomial law itself."""
    more = np.arange(0, 60_000)
    mean = float((stats.nbinom.pmf(more, f, share) / (f + more)).sum())
    assert disclosure.expected_inverse(np.array([float(f)]), np.array([share]))[0] == pytest.approx(mean, rel=1e-9)
    other = float((stats.binom.pmf(more[: f + 1], f, share) / (f + more[: f + 1])).sum())
    assert other != pytest.approx(mean, rel=1e-3)  # another law is told apart


def test_a_class_that_is_all_there_is_has_risk_one_over_its_size() -> None:
    assert disclosure.individual_risks(np.array([4, 4]), np.array([4.0, 2.0])).tolist() == [0.25, 0.25]


def test_individual_risk_is_continuous_where_weights_come_near_one() -> None:
    near = disclosure.individual_risks(np.array([3]), np.array([3.000001]))[0]
    assert near == pytest.approx(1 / 3, abs=1e-5)


# ---------------------------------------------------------------- special uniques


def test_dis_suda_scores_are_those_of_the_practice_guide() -> None:
    scores = np.array([0.0, 1.75, 3.25, 1.75, 2.75])
    dis = disclosure.intrusion_simulation(uniques=4, paired=6, fraction=0.01)
    published = [0.0, 0.005120313, 0.010702061, 0.005120313, 0.008775093]
    assert disclosure.dis_scores(scores, 4, 4, dis) == pytest.approx(published, abs=5e-10)


def test_weights_of_minimal_sample_uniques() -> None:
    assert disclosure.elliot_weights(4, 3) == (6, 2, 1)  # 3 * 2 * 1, 2 * 1, 1 as the guide has them
    assert disclosure.ihsn_weights(4, 4) == (1.75, 0.5, 0.25, 0.0)


def test_no_uniques_no_intrusion() -> None:
    assert disclosure.intrusion_simulation(0, 10, 0.1) == 0.0
    assert not disclosure.dis_scores(np.zeros(3), 4, 0, 0.0).any()


@pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])
def test_the_intrusion_simulation_is_what_intruders_find(fraction: float) -> None:
    """Skinner and Elliot: of a population sampled at random, the share of unique matches that are right.

    Over every sample of a population of classes of one, two and three: exactly, by the sampling of each class.
    """
    classes = {1: 40, 2: 60, 3: 30}
    right = wrong = uniques = pairs = 0.0
    for size, number in classes.items():
        once = number * size * fraction * (1 - fraction) ** (size - 1)
        uniques += once
        pairs += number * math.comb(size, 2) * fraction**2 * (1 - fraction) ** (size - 2) if size > 1 else 0.0
        right += once  # an intruder who looks for the sampled one is right
        wrong += once * (size - 1)  # and wrong for each of the others of its class
    expected = uniques * fraction / (uniques * fraction + 2 * pairs * (1 - fraction))
    assert disclosure.intrusion_simulation(round(uniques * 1e6), round(2e6 * pairs), fraction) == pytest.approx(
        expected, rel=1e-4
    )
    assert expected == pytest.approx(right / (right + wrong), rel=1e-9)


# ---------------------------------------------------------------- population uniques


def partitions(total: int, most: int) -> Iterator[tuple[int, ...]]:
    if total == 0:
        yield ()
    for part in range(min(total, most), 0, -1):
        for rest in partitions(total - part, part):
            yield (part, *rest)


def pitman_probability(sizes: tuple[int, ...], theta: float, alpha: float) -> float:
    """Of one way to put people one by one to tables: the chance of these sizes in this order of seating."""
    chance, seated, tables = 1.0, 0, 0
    for size in sizes:
        for there in range(size):
            if there == 0:
                chance *= (theta + tables * alpha) / (theta + seated) if seated else 1.0
                tables += 1
            else:
                chance *= (there - alpha) / (theta + seated)
            seated += 1
    return chance


def test_pitman_uniques_are_the_expectation_over_all_partitions() -> None:
    theta, alpha, people = 1.3, 0.4, 9
    mean = whole = 0.0
    for sizes in partitions(people, people):
        seatings = math.factorial(people)
        for size in sizes:
            seatings //= math.factorial(size)
        for size in set(sizes):
            seatings //= math.factorial(sizes.count(size))
        chance = seatings * pitman_probability(sizes, theta, alpha)
        whole += chance
        mean += chance * sizes.count(1)
    assert whole == pytest.approx(1.0)
    from scipy.special import gammaln

    logs = (
        gammaln(theta + 1) - gammaln(theta + alpha) + gammaln(theta + alpha + people - 1) - gammaln(theta + people)
    )
    assert people * math.exp(logs) == pytest.approx(mean)
    recursion_uniques, recursion_tables = 1.0, 1.0
    for seated in range(1, people):  # person by person
        new = (theta + alpha * recursion_tables) / (theta + seated)
        recursion_uniques += new - recursion_uniques * (1 - alpha) / (theta + seated)
        recursion_tables += new
    assert recursion_uniques == pytest.approx(mean)


def sample_of(rng: np.random.Generator, sizes: np.ndarray, share: float) -> disclosure.SizeCounts:
    people = np.repeat(np.arange(len(sizes)), sizes)
    chosen = rng.choice(people, int(share * len(people)), replace=False)
    return disclosure.SizeCounts.of(np.unique(chosen, return_counts=True)[1])


def pitman_population(rng: np.random.Generator, theta: float, alpha: float, people: int) -> np.ndarray:
    tables: list[int] = []
    for seated in range(people):
        weights = [*(size - alpha for size in tables), theta + alpha * len(tables)]
        place = int(np.searchsorted(np.cumsum(weights), rng.random() * (theta + seated), side="right"))
        if place >= len(tables):
            tables.append(1)
        else:
            tables[place] += 1
    return np.array(tables)


def test_pitman_is_fitted_by_largest_likelihood() -> None:
    """No point of a fine grid is likelier; the likelihood is that of the seating, factor by factor."""
    classes = disclosure.SizeCounts(np.array([1, 2, 3, 8]), np.array([9, 4, 2, 1]))
    fit = disclosure.pitman_fit(classes)
    assert fit is not None
    sizes = tuple(int(s) for s in np.repeat(classes.sizes, classes.counts))
    best = pitman_probability(sizes, *fit)
    for theta, alpha in itertools.product(np.linspace(0.1, 30, 40), np.linspace(0.02, 0.98, 40)):
        assert pitman_probability(sizes, theta, alpha) <= best * (1 + 1e-6)


def test_pitman_recovers_a_population_that_follows_it() -> None:
    rng = np.random.default_rng(4)
    population = pitman_population(rng, 20.0, 0.5, 8_000)
    found = disclosure.population_uniques(sample_of(rng, population, 0.08), 8_000)
    assert found.chosen == "Pitman"
    assert found.estimate == pytest.approx(int((population == 1).sum()), rel=0.35)


def test_zayatz_is_bayes_rule_on_the_hypergeometric_law() -> None:
    classes = disclosure.SizeCounts(np.array([1, 2, 5]), np.array([10, 6, 2]))
    population, records = 200, classes.records
    once = {size: stats.hypergeom.pmf(1, population, size, records) for size in (1, 2, 5)}
    share = 10 * once[1] / (10 * once[1] + 6 * once[2] + 2 * once[5])
    assert disclosure.zayatz_uniques(classes, population) == pytest.approx(10 * share * population / records)


@pytest.mark.parametrize(("alpha", "beta", "fraction"), [(0.4, 0.2, 0.3), (2.5, 0.7, 0.8), (1.0, 0.5, 0.1)])
def test_the_slide_negative_binomial_moments_are_sums_over_the_law(
    alpha: float, beta: float, fraction: float
) -> None:
    size = np.arange(1, 4000)
    chance = stats.nbinom.pmf(size - 1, alpha, beta)
    once = (chance * stats.binom.pmf(1, size, fraction)).sum()
    twice = (chance * stats.binom.pmf(2, size, fraction)).sum()
    assert snb_expected(1.0, alpha, beta, fraction) == pytest.approx((once, twice), rel=1e-6)


def test_the_slide_negative_binomial_recovers_a_population_that_follows_it() -> None:
    rng = np.random.default_rng(8)
    population = 1 + rng.negative_binomial(0.6, 0.3, 6_000)
    people = int(population.sum())
    classes = sample_of(rng, population, 0.5)
    found = disclosure.snb_uniques(classes, people)
    assert found == pytest.approx(int((population == 1).sum()), rel=0.15)
    assert disclosure.population_classes(classes, 0.5) == pytest.approx(6_000, rel=0.1)


def test_dankar_chooses_by_the_sampling_fraction() -> None:
    rng = np.random.default_rng(2)
    population = 1 + rng.negative_binomial(0.5, 0.2, 4_000)
    people = int(population.sum())
    small, large = (
        disclosure.population_uniques(sample_of(rng, population, share), people) for share in (0.05, 0.4)
    )
    assert small.chosen == "Pitman" and small.estimate == small.pitman
    assert large.snb is not None
    assert large.estimate == min(large.zayatz, large.snb)


def test_a_census_and_a_sample_without_uniques_need_no_model() -> None:
    whole = disclosure.SizeCounts(np.array([1, 2]), np.array([3, 4]))
    assert disclosure.population_uniques(whole, 11).estimate == 3
    none = disclosure.SizeCounts(np.array([2, 3]), np.array([3, 4]))
    assert disclosure.population_uniques(none, 1000).estimate == 0
    with pytest.raises(InputError, match="at least the 11 records"):
        disclosure.population_uniques(whole, 10)


@pytest.mark.parametrize("population", [300, 2_000, 50_000])
@pytest.mark.parametrize("sizes", [[1] * 40 + [2] * 20 + [3] * 10 + [7] * 5, [1] * 3 + [2] + [30] * 4, [2, 2, 5]])
def test_one_model_by_itself_is_the_same_as_among_all(sizes: list[int], population: int) -> None:
    classes = disclosure.SizeCounts.of(np.array(sizes))
    every = disclosure.population_uniques(classes, population)
    assert disclosure.uniques_by("dankar", classes, population) == (every.chosen, every.estimate)
    for model, name, estimate in (
        ("zayatz", "Zayatz", every.zayatz),
        ("pitman", "Pitman", every.pitman),
        ("snb", "SNB", every.snb),
    ):
        if every.chosen == "none in the sample":
            name = every.chosen
        expected = ("Zayatz", every.zayatz) if estimate is None else (name, estimate)
        assert disclosure.uniques_by(model, classes, population) == expected
