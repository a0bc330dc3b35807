"""Composed profiles: never below what all releases together really tell, and close to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from pramana import Circumstances, Wanted, calibrate
from pramana.mechanisms.channel import central_epsilon, profile_of_shuffled
from pramana.mechanisms.table import Product
from pramana.theory import rounding
from pramana.theory.composition import PrivacyProfile, composed_epsilon

Pair = tuple[np.ndarray, np.ndarray]  # the laws of an output under two neighbouring tables


def hockey_stick(first: np.ndarray, second: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(first - math.exp(epsilon) * second, 0).sum())


def delta_of(pair: Pair, epsilon: float) -> float:
    return max(hockey_stick(*pair, epsilon), hockey_stick(*pair[::-1], epsilon))


def joint(pairs: Sequence[Pair]) -> Pair:
    """All outcomes of independent releases, one by one."""
    first = [math.prod(chances) for chances in product(*(p for p, _ in pairs))]
    second = [math.prod(chances) for chances in product(*(q for _, q in pairs))]
    return np.array(first), np.array(second)


def response(epsilon: float) -> Pair:
    kept = math.exp(epsilon) / (1 + math.exp(epsilon))
    return np.array([kept, 1 - kept]), np.array([1 - kept, kept])


def drawn_pair(seed: int, size: int) -> Pair:
    rng = np.random.default_rng(seed)
    first, second = rng.dirichlet(np.ones(size), 2)
    return (0.9 / size + 0.1 * first, 0.9 / size + 0.1 * second)


def profile_of(pair: Pair, points: int) -> PrivacyProfile:
    ratio = max(np.max(pair[0] / pair[1]), np.max(pair[1] / pair[0]))
    epsilons = np.linspace(0, math.log(ratio) * (1 + 1e-12), points)
    deltas = [delta_of(pair, e) * (1 + 1e-12) for e in epsilons]
    return PrivacyProfile(tuple(map(float, epsilons)), (*deltas[:-1], 0.0))


def true_epsilon(pair: Pair, delta: float) -> float:
    low, high = 0.0, 50.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(pair, middle) > delta else (low, middle)
    return high


@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.05, 0.3])
@pytest.mark.parametrize("epsilons", [(1.0,), (0.5, 0.5), (0.1, 1.0, 2.0), (0.3,) * 8, (0.05, 3.0)])
def test_randomised_responses_compose_as_all_their_outcomes_do(epsilons: tuple[float, ...], delta: float) -> None:
    true = true_epsilon(joint([response(e) for e in epsilons]), delta)
    bound = composed_epsilon([PrivacyProfile.pure(e) for e in epsilons], delta)
    assert bound is not None and bound >= true * (1 - 1e-9) - 1e-12
    assert bound <= true * 1.02 + 2e-3


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("delta", [1e-4, 1e-2])
def test_any_two_laws_stay_below_their_composed_profile(seed: int, delta: float) -> None:
    pairs = [drawn_pair(100 * seed + i, 2 + (seed + i) % 4) for i in range(4)]
    true = true_epsilon(joint(pairs), delta)
    bound = composed_epsilon([profile_of(pair, 33) for pair in pairs], delta)
    assert bound is not None and bound >= true * (1 - 1e-9) - 1e-12
    # Each profile takes the worse of both directions, which no single pair need reach.
    assert bound <= 1.6 * true + 2e-3


def test_a_profile_of_fewer_points_bounds_no_less() -> None:
    pairs = [drawn_pair(7 + i, 5) for i in range(3)]
    fine, coarse = (composed_epsilon([profile_of(p, n) for p in pairs], 1e-3) for n in (65, 5))
    assert fine is not None and coarse is not None and fine <= coarse * (1 + 1e-3)


def test_what_profiles_lose_adds_up() -> None:
    lossy = PrivacyProfile((0.0, 0.1), (0.2, 1e-6))
    assert composed_epsilon([lossy] * 3, 2.9e-6) is None
    assert composed_epsilon([lossy] * 3, 3.1e-6) is not None
    assert composed_epsilon([], 1e-6) == 0.0
    assert composed_epsilon([PrivacyProfile.pure(0.0)], 1e-6) == 0.0
    nearly = PrivacyProfile((0.0, 1.0), (1e-12, 0.0))
    assert composed_epsilon([nearly] * 5, 1e-6) == 0.0
    assert composed_epsilon([nearly, PrivacyProfile.pure(1.0)], 1e-6) == composed_epsilon(
        [PrivacyProfile.pure(1.0)], 1e-6
    )


def test_a_law_that_forgets_one_release_would_be_caught() -> None:
    epsilons = (0.5, 0.5, 0.5)
    true = true_epsilon(joint([response(e) for e in epsilons]), 1e-3)
    forgetful = composed_epsilon([PrivacyProfile.pure(e) for e in epsilons[:2]], 1e-3)
    assert forgetful is not None and forgetful < true


def test_many_releases_cost_about_the_root_of_their_number() -> None:
    one = PrivacyProfile.pure(0.05)
    total = composed_epsilon([one] * 200, 1e-6)
    assert total is not None and total < 0.45 * 200 * 0.05


@pytest.mark.parametrize(
    ("epsilons", "deltas"),
    [((0.0, 1.0), (0.1,)), ((0.5,), (0.1,)), ((0.0, 0.0), (0.1, 0.1)), ((0.0,), (1.5,)), ((), ())],
)
def test_a_profile_that_is_none_is_refused(epsilons: tuple[float, ...], deltas: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="a profile must have"):
        PrivacyProfile(epsilons, deltas)


def histogram_law(records: tuple[int, ...], kept: float) -> dict[int, float]:
    """How many ones a shuffled randomised response publishes."""
    law = {0: 1.0}
    for value in records:
        one = kept if value else 1 - kept
        law = {
            ones: law.get(ones, 0.0) * (1 - one) + law.get(ones - 1, 0.0) * one for ones in range(len(records) + 1)
        }
    return law


@pytest.mark.parametrize("epsilon", [0.5, 1.5])
@pytest.mark.parametrize("delta", [1e-3, 0.02])
def test_two_shuffled_releases_tell_no_more_than_their_profiles(epsilon: float, delta: float) -> None:
    """Every pair of neighbouring tables of four records, released twice under keys of their own."""
    ratio = rounding.exp_up(Fraction(str(epsilon)))
    law = calibrate({"yes": 2}, Wanted(Circumstances(4), epsilon=epsilon))
    assert isinstance(law, Product) and law.blankets is not None and law.likelihood_ratio is not None
    assert law.likelihood_ratio <= ratio
    profile = profile_of_shuffled(law.blankets, law.likelihood_ratio, 4)
    bound = composed_epsilon([profile, profile], delta)
    assert bound is not None and bound <= 2 * epsilon + 1e-3
    kept = float(law.likelihood_ratio / (1 + law.likelihood_ratio))
    for others in range(4):
        tables = [(1,) * others + (0,) * (3 - others) + (last,) for last in (0, 1)]
        laws = [histogram_law(table, kept) for table in tables]
        pair = tuple(np.array([one[n] for n in range(5)]) for one in laws)
        assert true_epsilon(joint([(pair[0], pair[1])] * 2), delta) <= bound
    # Once is less than twice: a release that is not counted would show.
    alone = composed_epsilon([profile], delta)
    assert alone is not None and alone < bound


@pytest.mark.parametrize("records", [100, 10_000])
def test_a_profile_agrees_with_the_epsilon_that_is_certified(records: int) -> None:
    law = calibrate({"a": 2, "b": 5}, Wanted(Circumstances(records), epsilon=2.0))
    assert law.blankets is not None and law.likelihood_ratio is not None
    profile = profile_of_shuffled(law.blankets, law.likelihood_ratio, records)
    for delta in (1e-3, 1e-6, 1e-9):
        certified, _ = central_epsilon(law.blankets, law.likelihood_ratio, records, delta)
        composed = composed_epsilon([profile], delta)
        assert composed is not None and certified * 0.999 <= composed <= certified * 1.05


def test_many_shuffled_releases_cost_far_less_than_their_sum() -> None:
    law = calibrate({"a": 2, "b": 5, "c": 10}, Wanted(Circumstances(100_000), k=100))
    assert law.blankets is not None and law.likelihood_ratio is not None
    profile = profile_of_shuffled(law.blankets, law.likelihood_ratio, 100_000)
    one, ten = (composed_epsilon([profile] * times, 1e-6) for times in (1, 10))
    assert one is not None and ten is not None and ten < 4.2 * one
