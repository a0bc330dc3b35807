"""What rho1-rho2 and delta-growth say beside columns released unchanged, against Bayes' rule by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.notions.word_checks import problems_of

from pramana.mechanisms.guarantees import Circumstances, level_guarantees
from pramana.mechanisms.levels import AtLevel, LevelDesign, Uniform
from pramana.notions.guarantee import Guarantee
from pramana.theory.levels import Level

SIZE = 25
RETENTION = Fraction(1, 20)


def stated(raw: tuple[str, ...]) -> dict[str, Guarantee]:
    version = AtLevel(LevelDesign({"illness": Uniform(SIZE)}), Level.of(str(float(RETENTION))))
    circumstances = Circumstances(records=1000, raw_columns=raw)
    return {g.notion: g for g in level_guarantees(version, circumstances, linkable=False)}


def channel() -> np.ndarray:
    """P(published | true) at the level, in rationals."""
    matrix = np.full((SIZE, SIZE), (1 - RETENTION) / SIZE)
    return np.asarray(
        matrix + RETENTION * np.array([[Fraction(int(i == j)) for j in range(SIZE)] for i in range(SIZE)])
    )


def posterior(prior: list[Fraction], published: int) -> list[Fraction]:
    joint = [p * q for p, q in zip(prior, channel()[:, published], strict=True)]
    return [j / sum(joint) for j in joint]


def test_a_column_that_determines_the_perturbed_one_tells_all_of_it() -> None:
    """Someone who thought every illness as likely as any other reads it off the postcode: from .04 to 1."""
    bound = float(stated(("postcode",))["delta-growth"].value)
    before = Fraction(1, SIZE)
    by_postcode = [Fraction(int(i == 7)) for i in range(SIZE)]  # this postcode goes with illness 7
    after = posterior(by_postcode, published=3)[7]
    assert after - before > Fraction(9, 10) > Fraction(bound)
    assert after - by_postcode[7] == 0  # who had looked at the postcode before learns nothing


def test_the_bounds_hold_for_beliefs_that_take_the_unchanged_columns_into_account() -> None:
    growth = Fraction(stated(("postcode",))["delta-growth"].value)
    pairs = [
        (Fraction(str(p["rho1"])), Fraction(p["rho2"])) for p in stated(("postcode",))["rho1-rho2-privacy"].value
    ]
    draw = np.random.default_rng(4)
    tight = Fraction(0)
    for sharpness in (0.01, 0.1, 1.0):
        for _ in range(40):
            shares = [Fraction(int(x)) for x in 1 + draw.dirichlet([sharpness] * SIZE) * 10**6]
            given_postcode = [s / sum(shares) for s in shares]
            after = posterior(given_postcode, int(draw.integers(SIZE)))
            for b, a in zip(given_postcode, after, strict=True):
                assert a - b <= growth
                assert all(a <= rho2 for rho1, rho2 in pairs if b <= rho1)
                tight = max(tight, a - b)
    assert tight > growth / 2  # the bound is not idle


@pytest.mark.parametrize("notion", ["delta-growth", "rho1-rho2-privacy"])
def test_words_and_assumptions_say_what_the_bound_needs(notion: str) -> None:
    plain, beside = stated(())[notion], stated(("postcode", "sex"))[notion]
    assert problems_of(plain.to_json()) == problems_of(beside.to_json()) == []
    assert "the belief beforehand must already take the person's values there into account" in beside.in_words()
    assert "postcode and sex" in beside.in_words()
    assert "released unchanged" not in plain.in_words()
    assert any("a belief that does not may grow by any amount" in a for a in beside.assumptions)
    assert not any("unchanged" in a for a in plain.assumptions)


def test_every_guarantee_of_a_version_names_the_columns_it_does_not_cover() -> None:
    for guarantee in stated(("postcode",)).values():
        assert guarantee.uncovered == ("postcode",)
        assert "postcode" in guarantee.in_words()
