"""Smoothed shares of values in order: an optimum, nearer where they are smooth, hardly worse where heaped."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy import optimize, stats

from pramana.errors import InputError
from pramana.mechanisms.channel import Channel, Retention
from pramana.mechanisms.table import Product
from pramana.methods.retention.ordered import Criterion, OrderedValues, ordered_channel
from pramana.recipient.law import PublishedTable
from pramana.recipient.likelihood import fit
from pramana.recipient.numbers import likeliest_steps, smooth_fit, steps_of_width
from pramana.schema.domain import Axis
from pramana.schema.kind import Kind

SIZE, RECORDS = 24, 20_000
SMOOTH = np.exp(-(((np.arange(SIZE) - 9) / 6) ** 2))
HEAPED = np.where(np.arange(SIZE) % 8 == 3, 1.0, 0.01)


@cache
def channel(epsilon: float = 1.0, design: bool = False) -> Channel:
    criterion = Criterion(np.arange(float(SIZE)), "smooth", RECORDS)
    return ordered_channel(OrderedValues(criterion), Fraction(math.exp(epsilon)), design)


def published(law: Channel, shares: np.ndarray, seed: int, missing: int = 0) -> PublishedTable:
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(RECORDS, shares / shares.sum())
    rows = law.weights / 2.0**62
    shown = sum(rng.multinomial(n, row / row.sum()) for n, row in zip(counts, rows, strict=True))
    axis = Axis.of_labels("age", [str(i) for i in range(SIZE - missing)], bool(missing), Kind.NUMBER)
    return PublishedTable.of_counts([axis], np.asarray(shown), Product({"age": law}))


def distance(values: np.ndarray, shares: np.ndarray) -> float:
    return float(np.abs(np.cumsum(values / values.sum() - shares / shares.sum())).mean())


def mean_distances(law: Channel, shares: np.ndarray) -> tuple[float, float]:
    """Smoothed, and by EM."""
    drawn = [published(law, shares, seed) for seed in range(6)]
    smoothed = float(np.mean([distance(smooth_fit(t).values, shares) for t in drawn]))
    return smoothed, float(np.mean([distance(fit(t).values, shares) for t in drawn]))


def test_smooth_columns_are_told_far_nearer_than_by_likelihood_alone_and_than_by_retention() -> None:
    smoothed, by_em = mean_distances(channel(1.0, True), SMOOTH)
    ratio = math.e
    kept = Retention.at((ratio - 1) / (ratio - 1 + SIZE), SIZE)
    _, by_retention = mean_distances(kept, SMOOTH)
    assert smoothed < 0.6 * by_em
    assert smoothed < 0.5 * by_retention


def test_heaped_columns_are_hardly_smoothed() -> None:
    smoothed, by_em = mean_distances(channel(4.0), HEAPED)
    assert smoothed < 1.2 * by_em


@pytest.mark.parametrize(("width", "missing"), [(0.3, 1), (1.0, 0)])
def test_shares_are_the_optimum_that_another_optimiser_finds(width: float, missing: int) -> None:
    """The nearest one: likelihood and Student's law, written out here, have several together."""
    table = published(channel(2.0), SMOOTH, 1, missing)
    matrix = np.stack([table.law.forward(unit) for unit in np.eye(SIZE)])

    def shares_of(x: np.ndarray) -> np.ndarray:
        weights = np.exp(np.concatenate([np.cumsum([0.0, *x[: SIZE - 1 - missing]]), x[SIZE - 1 - missing :]]))
        return np.asarray(weights / weights.sum())

    def cost(x: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        steps, others = x[: SIZE - 1 - missing], x[SIZE - 1 - missing :]
        law = stats.t.logpdf(steps / width, 3).sum() + stats.norm.logpdf(others / 10).sum()
        return float(-(table.counts @ np.log(shares_of(x) @ matrix)) - law)

    ours = steps_of_width(matrix, table.counts, width, np.zeros(SIZE - 1), bool(missing))
    nearby = (ours.steps + np.random.default_rng(1).normal(0, 0.05, SIZE - 1)).reshape(SIZE - 1)
    other = optimize.minimize(cost, nearby, method="BFGS", options={"maxiter": 300})
    assert cost(nearby) > other.fun + 1  # it had somewhere to go
    assert cost(ours.steps.reshape(SIZE - 1)) <= other.fun + 0.02
    assert ours.shares == pytest.approx(shares_of(ours.steps))


def test_the_evidence_is_the_chance_of_the_counts() -> None:
    """Of three values, by adding up over all steps; widths compare as the sums do."""
    law = Product({"age": Retention.at(Fraction(1, 2), 3)})
    matrix = law.channels["age"].weights / 2.0**62
    counts, line = np.array([3600.0, 2400.0, 2000.0]), np.linspace(-1.2, 0.3, 401)
    first, second = np.meshgrid(line, line, indexing="ij")
    weights = np.exp(np.stack([np.zeros_like(first), first, first + second], axis=-1))
    likelihood = np.log(weights / weights.sum(axis=-1, keepdims=True) @ matrix) @ counts

    def summed(width: float) -> float:
        laws = stats.t.logpdf(first / width, 3) + stats.t.logpdf(second / width, 3) - 2 * math.log(width)
        return float(np.log(np.exp(likelihood + laws - likelihood.max()).sum()))

    def ours(width: float) -> float:
        return steps_of_width(matrix, counts, width, np.zeros(2)).evidence

    for wide, narrow in ((1.0, 0.2), (0.5, 0.1), (3.0, 0.5)):
        assert ours(wide) - ours(narrow) == pytest.approx(summed(wide) - summed(narrow), abs=0.2)


def test_a_heap_keeps_its_height_and_what_lies_between_is_flat() -> None:
    law = Retention.at(Fraction(9, 10), SIZE).weights / 2.0**62
    shares = np.where(np.arange(SIZE) == 11, 0.54, 0.02)
    estimated = likeliest_steps(law, RECORDS * (shares @ law)).shares
    assert estimated == pytest.approx(shares, rel=0.02)


def test_it_is_below_the_maximum_and_keeps_the_total() -> None:
    table = published(channel(), SMOOTH, 2)
    smoothed, likeliest = smooth_fit(table), fit(table)
    assert smoothed.values.sum() == pytest.approx(RECORDS)
    assert smoothed.values.min() >= 0
    assert smoothed.log_likelihood <= likeliest.log_likelihood + 1e-6
    assert smoothed.gap == pytest.approx(likeliest.log_likelihood - smoothed.log_likelihood, abs=1e-5)


def test_a_missing_category_has_no_neighbours() -> None:
    """A frequent one pulls no value next to it upwards."""
    law = Retention.at(Fraction(9, 10), SIZE)
    shares = np.append(np.full(SIZE - 1, 0.4 / (SIZE - 1)), 0.6)
    table = published(law, shares, 3, missing=1)
    estimated = smooth_fit(table).values
    assert estimated.sum() == pytest.approx(RECORDS)
    assert estimated[-1] == pytest.approx(0.6 * RECORDS, rel=0.02)
    assert np.ptp(estimated[:-1]) < 0.1 * estimated[:-1].mean()


@pytest.mark.parametrize(
    ("kind", "axes", "word"), [(Kind.NOMINAL, 1, "in order"), (Kind.ORDERED, 2, "one attribute")]
)
def test_what_has_no_order_is_refused(kind: Kind, axes: int, word: str) -> None:
    names = [f"a{i}" for i in range(axes)]
    law = Product({name: Retention.at(0.5, 4) for name in names})
    labels = [Axis.of_labels(name, list("wxyz"), kind=kind) for name in names]
    with pytest.raises(InputError, match=word):
        smooth_fit(PublishedTable.of_counts(labels, np.full((4,) * axes, 5), law))
