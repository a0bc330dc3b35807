"""What is proved of one version among many (paper 3, section 3 and Theorem 1), computed from its exact law."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from pramana.mechanisms.guarantees import Circumstances, guarantees_of
from pramana.mechanisms.levels import AtLevel
from pramana.theory import (
    ANY_TABLE,
    CentralPrivacy,
    CollusionBound,
    GrowthBound,
    Guarantee,
    PkAnonymity,
    PosteriorBound,
    levels,
    rounding,
)

PRIORS = ("0.01", "0.05", "0.1", "0.25", "0.5")  # the rho1 for which rho2 is printed
_INDEPENDENT = "the records are independent of each other to whoever looks (paper 3, section 3)"


def level_guarantees(
    version: AtLevel, circumstances: Circumstances, linkable: bool, keyed: bool = True
) -> tuple[Guarantee, ...]:
    """Every guarantee of a version, each of which a coalition at this level or below shares.

    `linkable`: quasi-identifiers are among the perturbed attributes and none is released as it is, so that Pk
    speaks of an intruder who exists. `keyed` is False for versions drawn from a history.
    """
    company = (
        f"every other release of this table is a version of it at level {version.level} or below, made "
        + ("under the same key" if keyed else "from the same history")
        + "; a version at a higher level brings its own, larger values"
    )
    plain = guarantees_of(version, circumstances)
    if not keyed:
        plain = tuple(_without_key(g) for g in plain)
    found = [_in_company(g, company) for g in plain if linkable or not isinstance(g, PkAnonymity)]
    common = _common(plain)
    found += _beliefs(version, circumstances, (company, *common))
    found.append(
        CollusionBound(
            ANY_TABLE,
            "paper 3, Theorem 1, exactly on the grid of levels",
            level=str(version.level),
            uncovered=tuple(circumstances.raw_columns),
            assumptions=(company, *common),
        )
    )
    return tuple(found)


def _beliefs(version: AtLevel, circumstances: Circumstances, shared: tuple[str, ...]) -> list[Guarantee]:
    """How far beliefs about the perturbed values move: the likelihoods, and so the odds, by e^epsilon at most.

    A column released unchanged moves beliefs too, by any amount where it goes with a perturbed one. The bounds
    are on what the release adds for someone who has already drawn their conclusions from those columns.
    """
    ratio = version.likelihood_ratio
    if ratio is None:
        return []
    unchanged = tuple(circumstances.raw_columns)
    assumptions = (_INDEPENDENT, *shared)
    if unchanged:
        assumptions = (
            "the belief beforehand already takes into account the person's values of the columns released "
            f"unchanged, {', '.join(unchanged)}: a belief that does not may grow by any amount through them",
            *assumptions,
        )
    pairs = tuple(
        (float(prior), rounding.float_up(levels.posterior_bound(ratio, Fraction(prior)))) for prior in PRIORS
    )
    rests_on = "paper 3, section 3"
    growth = levels.growth_bound(ratio)
    return [
        PosteriorBound(ANY_TABLE, rests_on, pairs=pairs, uncovered=unchanged, assumptions=assumptions),
        GrowthBound(ANY_TABLE, rests_on, delta=growth, uncovered=unchanged, assumptions=assumptions),
    ]


def _without_key(guarantee: Guarantee) -> Guarantee:
    """Versions from a history rest on entropy; only the order of the rows, and with it Pk, rests on a key."""
    if isinstance(guarantee, PkAnonymity | CentralPrivacy):
        return guarantee
    cipher = "AES-256 in counter mode"
    entropy = "the operating system's entropy is uniform, and the holder keeps the history secret"
    return replace(
        guarantee, assumptions=tuple(entropy if a.startswith(cipher) else a for a in guarantee.assumptions)
    )


def _in_company(guarantee: Guarantee, company: str) -> Guarantee:
    """guarantees_of speaks of an only release; here there are many, and that is allowed for."""
    kept = tuple(a for a in guarantee.assumptions if not a.startswith("this is the only release"))
    return replace(guarantee, assumptions=(*kept[:-1], company, *kept[-1:]) if kept else (company,))


def _common(plain: tuple[Guarantee, ...]) -> tuple[str, ...]:
    """What all of them assume of the cipher, the domains and the seed."""
    shared = [set(g.assumptions) for g in plain]
    both = set.intersection(*shared) if shared else set()
    return (
        tuple(a for a in plain[0].assumptions if a in both and not a.startswith("this is the only"))
        if plain
        else ()
    )
