"""What is counted is stated against the holder: l down, c, t and shares up, ranges of presence outwards."""

from __future__ import annotations

import decimal
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from pramana import Recipe, release
from pramana.counting.value_counts import ValueCounts
from pramana.methods.generalize.models import Diversity, PublishedClasses, share_up
from pramana.methods.generalize.setting import GeneralizeDesign

NINTH = Fraction(1, 10**9)
COUNTS = [(a, b, c) for a in range(1, 9) for b in range(1, 7) for c in range(1, 4)]  # of three values in one class


def design_of(kind: Literal["entropy", "recursive"], c: float | None = None) -> GeneralizeDesign:
    return GeneralizeDesign(
        k=2,
        algorithm="incognito",
        cells="pdf",
        suppression=0.0,
        measure="loss",
        weights={},
        l=2,
        l_kind=kind,
        c=c,
        t=None,
        t_distance="equal",
        intermediate=None,
    )


def diversity_of(counts: tuple[int, ...], design: GeneralizeDesign) -> Diversity:
    """Of one class with so many rows of each value."""
    codes = np.repeat(np.arange(len(counts)), counts).astype(np.uint8)
    own = {"s": ValueCounts.of(np.zeros(len(codes), np.uint8), codes)}
    (model,) = design.sensitive_models
    stated: Diversity = model.of_column(PublishedClasses(np.array([len(codes)]), own, {"s": None}), "s")
    return stated


def exact_entropy_l(counts: tuple[int, ...]) -> Fraction:
    """e^H with fifty digits: the product of (n/c)^(c/n)."""
    context = decimal.Context(prec=60)
    n = decimal.Decimal(sum(counts))
    total = sum(context.multiply(c, context.ln(context.divide(n, c))) for c in map(decimal.Decimal, counts))
    return Fraction(context.exp(context.divide(total, n)))


def test_l_by_entropy_is_rounded_down() -> None:
    design, wrong = design_of("entropy"), 0
    for counts in COUNTS:
        exact, stated = exact_entropy_l(counts), Fraction(diversity_of(counts, design).l)
        if len(set(counts)) == 1:  # equally frequent values are so many, and not a hair fewer
            assert stated == len(counts)
            continue
        assert 0 <= exact - stated < NINTH + Fraction(1, 10**12)
        wrong += Fraction(round(exact * 10**9), 10**9) > exact
    assert wrong > 10, "rounding to nearest would be found out"


def test_c_of_recursive_diversity_is_rounded_up() -> None:
    design, wrong = design_of("recursive", 9.0), 0
    for counts in COUNTS:
        most, *rest = sorted(counts, reverse=True)
        exact, stated = Fraction(most, sum(rest)), diversity_of(counts, design).c
        assert stated is not None
        assert 0 <= Fraction(stated) - exact + Fraction(1, 10**12) < NINTH + Fraction(1, 10**11)
        wrong += Fraction(round(exact * 10**9), 10**9) < exact
    assert wrong > 10


def test_shares_are_rounded_up() -> None:
    wrong = 0
    for top in range(1, 40):
        for bottom in range(top, 41):
            exact, stated = Fraction(top, bottom), Fraction(share_up(top / bottom))
            assert stated <= 1 and -Fraction(1, 10**12) <= stated - exact < NINTH + Fraction(1, 10**12)
            wrong += Fraction(round(exact * 10**9), 10**9) < exact
    assert wrong > 100


@pytest.mark.parametrize(("present", "people"), [(1, 3), (2, 3), (3, 7), (5, 9)])
def test_a_range_of_presence_is_rounded_outwards(present: int, people: int, tmp_path: Path) -> None:
    """People who are all alike: each is present with the same chance, which has no end in decimals."""
    rows = "".join(f"St,{int(i < present)}\n" for i in range(people))
    (tmp_path / "people.csv").write_text("job,here\n" + rows)
    (tmp_path / "job.csv").write_text("Pr;*\nSt;*\n")
    chosen = {"method": "presence", "present": "here", "delta": [0.1, 0.9]}
    job = {"role": "quasi-identifying", "hierarchy": "job.csv"}
    statement = {"source": {"path": "people.csv"}, "release": chosen, "attributes": {"job": job}}
    done = release(Recipe.parse(statement, tmp_path), tmp_path / "out", seed=1, even_if_useless=True)
    value = done.guarantees[0]["value"]
    share = Fraction(present, people)
    assert 0 < share - Fraction(value["lowest"]) < NINTH
    assert 0 < Fraction(value["highest"]) - share < NINTH
