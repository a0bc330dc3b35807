"""The generated populations: a row is a function of seed and number, its laws are the stated ones."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from tests.statistical.thresholds import SEPARATES_GENERATED_LAWS

from pramana.datasets.census import census, census_chain, salaries, salaries_chain
from pramana.datasets.population import CHUNK, Chain, ConditionalAttribute, Parent, Population, bell, law
from pramana.errors import InputError
from pramana.randomness.samplers import ONE

GENERATED = {"census": (census, census_chain), "salaries": (salaries, salaries_chain)}
ROWS = 400_000

PAPER_1 = {  # paper 1, Table 1, in its order
    "sex": 2,
    "age": 18,
    "income": 12,
    "worked_last_year": 3,
    "worked_last_week": 3,
    "education": 18,
    "travel_time": 20,
}


@pytest.fixture(scope="module")
def populations() -> dict[str, Population]:
    return {name: draw(ROWS, seed=20) for name, (draw, _) in GENERATED.items()}


def same(left: Population, right: Population, where: slice = slice(None)) -> bool:
    return all(np.array_equal(a, b[where]) for a, b in zip(left.codes, right.codes, strict=True))


def test_sizes_are_the_papers() -> None:
    assert census(0).sizes == PAPER_1
    assert list(census(0).sizes) == list(PAPER_1)
    sizes = salaries(0).sizes
    assert list(sizes) == ["age", "gender", "education", "occupation", "salary"]
    assert (sizes["occupation"], sizes["salary"]) == (27, 50)  # paper 3, Section 6
    assert salaries(0).sensitive == ("salary",)


@pytest.mark.parametrize("name", GENERATED)
def test_one_seed_one_population(name: str) -> None:
    draw, _ = GENERATED[name]
    assert same(draw(3 * CHUNK + 5, seed=7, threads=1), draw(3 * CHUNK + 5, seed=7, threads=3))
    assert not same(draw(1000, seed=7), draw(1000, seed=8))


def test_a_published_seed_keeps_its_population() -> None:
    """The first people of seed 1, as first published: to change them must be a decision, never an accident."""
    rows = census(3).to_arrow().to_pylist()
    assert [row["sex"] for row in rows] == ["female", "female", "female"]
    assert [row["age"] for row in rows] == ["20-24", "30-34", "10-14"]
    assert [row["education"] for row in rows] == ["some college", "bachelor", "grades 5-8"]
    assert [row["travel_time"] for row in rows] == ["5-9", "10-14", "none"]


@pytest.mark.parametrize("name", GENERATED)
@settings(max_examples=20, deadline=None)
@given(first=st.integers(0, 2 * CHUNK), rows=st.integers(0, CHUNK + 9))
def test_any_slice_alone_is_the_slice(name: str, first: int, rows: int) -> None:
    draw, _ = GENERATED[name]
    whole = draw(first + rows, seed=3)
    assert same(draw(rows, seed=3, first=first), whole, slice(first, None))


def test_rows_far_out_exist() -> None:
    far = census(10, first=10**12)
    assert len(far) == 10
    assert same(census(5, first=10**12 + 5), far, slice(5, None))


@pytest.mark.parametrize("name", GENERATED)
def test_every_category_occurs(name: str, populations: dict[str, Population]) -> None:
    people = populations[name]
    for column, size in people.sizes.items():
        assert np.bincount(people.column(column), minlength=size).min() > 0, column
        assert people.column(column).dtype == np.uint8


def conditions(chain: Chain, people: Population, attribute: ConditionalAttribute) -> np.ndarray:
    """The law each record was drawn by, numbered as the rows of `chain.laws`, apart from the generator."""
    laws = chain.laws(attribute.name)
    groups = []
    for parent in attribute.parents:
        codes = people.column(parent.name).astype(np.int64)
        groups.append(np.array(parent.groups)[codes] if parent.groups else codes)
    return np.ravel_multi_index(groups, laws.shape[:-1]) if groups else np.zeros(len(people), np.int64)


def p_value(observed: np.ndarray, laws: np.ndarray) -> float:
    """Pearson's test of every law at once; thin cells are pooled law by law so that each expects ten or more."""
    statistic, freedom = 0.0, 0
    for counts, shares in zip(observed, laws, strict=True):
        expected = counts.sum() * shares
        assert not counts[shares == 0].any(), "a category the law forbids has occurred"
        thick = expected >= 10
        if thick.sum() < 2:
            continue
        seen, due = list(counts[thick]), list(expected[thick])
        if (rest := expected[~thick].sum()) > 0:
            smallest = int(np.argmin(due))
            seen[smallest] += counts[~thick].sum()
            due[smallest] += rest
        statistic += float(((np.array(seen) - due) ** 2 / due).sum())
        freedom += len(due) - 1
    assert freedom > 0
    return float(chi2.sf(statistic, freedom))


def tempered(shares: np.ndarray, power: float) -> np.ndarray:
    """Laws of the same support, weaker (nearer uniform) for a power below one and stronger above."""
    raised = np.where(shares > 0, shares**power, 0.0)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


CASES = [(name, a) for name, (_, chain) in GENERATED.items() for a in chain().attributes]


@pytest.mark.parametrize(("name", "attribute"), CASES, ids=[f"{n}-{a.name}" for n, a in CASES])
def test_laws_are_the_stated_ones_and_wrong_ones_are_caught(
    name: str, attribute: ConditionalAttribute, populations: dict[str, Population]
) -> None:
    chain, people = GENERATED[name][1](), populations[name]
    size = len(attribute.labels)
    laws = chain.laws(attribute.name).reshape(-1, size)
    assert (laws.sum(axis=1) == ONE).all()
    place = conditions(chain, people, attribute) * size + people.column(attribute.name)
    observed = np.bincount(place, minlength=laws.size).reshape(laws.shape)
    shares = laws / ONE
    assert p_value(observed, shares) > SEPARATES_GENERATED_LAWS
    # a coin's law hardly moves under a small power: it is held against the fair coin and its own square
    for power in (0.9, 1.1) if size > 2 else (0, 2):
        assert p_value(observed, tempered(shares, power)) < SEPARATES_GENERATED_LAWS


def test_the_top_of_the_chain_is_as_written() -> None:
    assert (census_chain().laws("sex") / ONE).tolist() == pytest.approx([0.487, 0.513])
    ages = census_chain().laws("age") / ONE
    assert ages[0, 0] == pytest.approx(76 / 1000)
    children = census_chain().laws("worked_last_year")[:, :3]
    assert (children[..., 0] == ONE).all()


def information(people: Population, left: str, right: str) -> float:
    """Mutual information in bits, less its bias under independence."""
    sizes = people.sizes
    joint = np.bincount(
        people.column(left).astype(np.int64) * sizes[right] + people.column(right),
        minlength=sizes[left] * sizes[right],
    ).reshape(sizes[left], sizes[right]) / len(people)
    product = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
    there = joint > 0
    bits = float((joint[there] * np.log2(joint[there] / product[there])).sum())
    return bits - (sizes[left] - 1) * (sizes[right] - 1) / (2 * len(people) * math.log(2))


def test_attributes_are_tied_together(populations: dict[str, Population]) -> None:
    people, earners = populations["census"], populations["salaries"]
    for left, right, least in [
        ("age", "education", 0.5),
        ("education", "income", 0.2),
        ("age", "income", 0.2),
        ("worked_last_year", "worked_last_week", 0.5),
        ("worked_last_week", "travel_time", 0.5),
        ("sex", "income", 0.01),
    ]:
        assert information(people, left, right) > least, (left, right)
    for left, right, least in [
        ("education", "occupation", 0.1),
        ("occupation", "salary", 0.1),
        ("gender", "salary", 0.01),
    ]:
        assert information(earners, left, right) > least, (left, right)
    # and the measure says nothing where there is nothing: one attribute against another seed's
    stranger = salaries(ROWS, seed=21)
    mixed = Population(("a", "b"), (earners.labels[4], stranger.labels[3]), (earners.codes[4], stranger.codes[3]))
    assert abs(information(mixed, "a", "b")) < 1e-3


def test_more_schooling_pays_better(populations: dict[str, Population]) -> None:
    people = populations["census"]
    workers = people.column("worked_last_year") == people.domain("worked_last_year").index("worked")
    schooling = people.column("education")[workers]
    income = people.column("income")[workers]
    levels = [
        people.domain("education").index(level) for level in ("grade 10", "high school", "bachelor", "doctorate")
    ]
    means = [income[schooling == level].mean() for level in levels]
    assert all(low < high for low, high in pairwise(means))


@pytest.mark.parametrize(
    "call",
    [
        lambda: census(-1),
        lambda: census(2.5),  # type: ignore[arg-type]
        lambda: census(True),
        lambda: census(1, first=-1),
        lambda: census(1, threads=0),
        lambda: census(1, seed="one"),  # type: ignore[arg-type]
    ],
)
def test_impossible_orders_are_refused_in_one_line(call: object) -> None:
    with pytest.raises(InputError, match="must be a whole number") as caught:
        call()  # type: ignore[operator]
    assert "\n" not in str(caught.value)


def test_orders_too_large_are_refused() -> None:
    with pytest.raises(InputError, match="memory"):
        census(1 << 59)
    with pytest.raises(InputError, match="at most 2"):
        census(1, first=1 << 60)


@given(weights=st.lists(st.integers(0, 10**30), min_size=1, max_size=60).filter(any))
def test_a_law_sums_to_one_and_keeps_zeros_and_order(weights: list[int]) -> None:
    scaled = law(weights)
    assert sum(scaled) == ONE
    assert all((weight > 0) or share == 0 for weight, share in zip(weights, scaled, strict=True))
    total = sum(weights)
    assert all(
        abs(share * total - weight * ONE) <= len(weights) * total
        for weight, share in zip(weights, scaled, strict=True)
    )


@pytest.mark.parametrize("weights", [[0, 0], [1, -1, 5]])
def test_no_law_from_nothing(weights: list[int]) -> None:
    with pytest.raises(ValueError, match="weights"):
        law(weights)


def test_a_bell_is_highest_at_its_centre_and_symmetric() -> None:
    curve = bell(21, centre=100, spread=25)
    assert max(curve) == curve[10]
    assert curve == curve[::-1]
    assert all(low <= high for low, high in pairwise(curve[:11]))
    assert curve[10] // curve[15] == 1 + 4 + 16  # z = 2: 1 + z^2 + z^4


def test_chains_that_cannot_be_are_refused() -> None:
    coin = ConditionalAttribute("coin", ("a", "b"), (), lambda: [1, 1])
    with pytest.raises(ValueError, match="published"):
        Chain("x", (coin,), ("coin", "other"))
    with pytest.raises(ValueError, match="one weight"):
        Chain("x", (ConditionalAttribute("coin", ("a", "b"), (), lambda: [1]),), ("coin",))
    with pytest.raises(ValueError, match="cover"):
        second = ConditionalAttribute("second", ("a", "b"), (Parent("coin", (0, 1, 1)),), lambda _: [1, 1])
        Chain("x", (coin, second), ("coin", "second"))
