"""What is proved of a mechanism applied to a table of known size, computed from its integers.

This is the one place where parameters become printed guarantees: `calibrate`, `release` and `verify` all call
it, so what is promised, what is certified and what is re-derived cannot differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from pramana.errors import RecipeError
from pramana.mechanisms.channel import central_epsilon
from pramana.mechanisms.table import Mechanism
from pramana.notions.guarantee import ANY_TABLE, IN_EARNEST, OWN_COINS, Guarantee
from pramana.notions.randomised import (
    CentralPrivacy,
    CollusionBound,
    GrowthBound,
    LocalPrivacy,
    PkAnonymity,
    PosteriorBound,
)
from pramana.theory import levels, pk, rounding

if TYPE_CHECKING:
    from pramana.mechanisms.levels import AtLevel

DEFAULT_DELTA = 1e-6
_OWN_COINS = f"{OWN_COINS}, and its random numbers are uniform and known to nobody"
_UNSEEN = "the intruder did not watch the collector's machine or its network while records arrived"
MOST_RECORDS = 2**32 - 1  # a shuffle numbers rows in 32 bits


@dataclass(frozen=True)
class Circumstances:
    """What, besides the mechanism, the guarantees depend on.

    Args:
        records: How many records are released.
        shuffled: Whether they are published in an order that only the key tells.
        delta: At which the central epsilon is stated.
        candidates: The number of people among whom the records were secretly sampled.
        raw_columns: Columns released unchanged.
        domains_from_data: Columns whose values were read from the table.
        missing_from_data: Columns whose missing category was added because the table needs one.
        seeded: Whether the key was made from a seed.
        data_dependent: Whether the mechanism was made from the table.
        on_devices: Whether people randomise their own records.

    Raises:
        RecipeError: There are more records than can be counted.

    >>> import pramana
    >>> pramana.Circumstances(records=1000).shuffled
    True
    """

    records: int
    shuffled: bool = True
    delta: float = DEFAULT_DELTA
    candidates: int | None = None  # people among whom the records were secretly sampled
    raw_columns: Sequence[str] = ()
    domains_from_data: Sequence[str] = ()
    missing_from_data: Sequence[str] = ()
    seeded: bool = False
    data_dependent: bool = False  # the matrices themselves were made from this table
    on_devices: bool = False  # people randomised their own records, and the holder has no key to them

    def __post_init__(self) -> None:
        if not 0 <= self.records <= MOST_RECORDS:
            raise RecipeError(f"The number of records must be at most {MOST_RECORDS}", str(self.records))


def k_of(mechanism: Mechanism, circumstances: Circumstances) -> Fraction:
    """Theorem 3, with the sampling extension where the records are a secret sample."""
    ratio = mechanism.anonymity_ratio
    if circumstances.candidates is None:
        return pk.k_from_ratio(circumstances.records, ratio)
    likelihood = mechanism.likelihood_ratio
    smallest = Fraction(0) if likelihood is None else 1 / likelihood
    return pk.k_with_secret_sample(circumstances.records, circumstances.candidates, ratio, smallest)


def guarantees_of(mechanism: Mechanism, circumstances: Circumstances) -> tuple[Guarantee, ...]:
    """k, local epsilon and, for a shuffled release without raw columns, central (epsilon, delta).

    Args:
        mechanism: The law that records go through.
        circumstances: What else the guarantees depend on.

    Returns:
        The guarantees, each with its assumptions.

    Raises:
        ValueError: There are fewer candidates than records.

    >>> import pramana
    >>> around = pramana.Circumstances(records=1000)
    >>> law = pramana.calibrate({"sex": 2}, pramana.Wanted(around, epsilon=1.0))
    >>> [g.notion for g in pramana.guarantees_of(law, around)]
    ['pk-anonymity', 'local-differential-privacy', 'central-differential-privacy']
    """
    common = common_assumptions(circumstances)
    likelihood = mechanism.likelihood_ratio
    guarantees: list[Guarantee] = []
    if circumstances.shuffled:
        guarantees.append(_pk(mechanism, circumstances, common))
    if not circumstances.data_dependent:
        guarantees.append(
            LocalPrivacy(
                ANY_TABLE,
                "paper 1, Theorem 1 and Corollaries 1 and 2",
                epsilon=None if likelihood is None else rounding.log_up(likelihood),
                uncovered=tuple(circumstances.raw_columns),
                assumptions=(
                    "neighbouring tables differ in the randomised attributes of one record",
                    "this is the only release about these people; the epsilons of several releases add up",
                    *common,
                ),
            )
        )
        if circumstances.shuffled and likelihood is not None and not circumstances.raw_columns:
            central = _central(mechanism, circumstances, likelihood, common)
            guarantees += [] if central is None else [central]
    return tuple(guarantees)


def _pk(mechanism: Mechanism, circumstances: Circumstances, common: tuple[str, ...]) -> PkAnonymity:
    own = circumstances.on_devices
    order = "that tells nothing of who sent them, or when" if own else "that only the key tells"
    assumptions = [
        f"the release has exactly {circumstances.records} records, published in an order {order}",
        "the intruder may know "
        + ("every true value of the randomised columns" if circumstances.raw_columns else "every true record")
        + ", the method and all its parameters, but not "
        + ("the coins" if own else "the key"),
        *([_UNSEEN] if own else []),
        "this is the only release about these people",
    ]
    if circumstances.candidates is not None:
        assumptions.append(
            f"the records are a uniform sample of {circumstances.candidates} people, and who is in it is secret"
        )
    if circumstances.raw_columns:
        assumptions.append(
            "the intruder does not know the people's values of the columns released unchanged: "
            + ", ".join(circumstances.raw_columns)
        )
    return PkAnonymity(
        ANY_TABLE,
        "paper 1, Theorem 3 with Corollaries 4 and 5"
        + ("" if circumstances.candidates is None else ", and the sampling extension"),
        k=rounding.float_down(k_of(mechanism, circumstances)),
        uncovered=tuple(circumstances.raw_columns),
        assumptions=(*assumptions, *common),
    )


def _central(
    mechanism: Mechanism, circumstances: Circumstances, likelihood: Fraction, common: tuple[str, ...]
) -> CentralPrivacy | None:
    if mechanism.blankets is None:
        return None
    epsilon, statement = central_epsilon(
        mechanism.blankets, likelihood, circumstances.records, circumstances.delta
    )
    return CentralPrivacy(
        ANY_TABLE,
        statement,
        epsilon=epsilon,
        delta=circumstances.delta,
        assumptions=(
            f"the number of records, {circumstances.records}, is public and the same in neighbouring tables, "
            "which differ in one record",
            _UNSEEN
            if circumstances.on_devices
            else "the order of the release is random to everyone without the key",
            "this is the only release about these people",
            *common,
        ),
    )


def common_assumptions(circumstances: Circumstances) -> tuple[str, ...]:
    """What every guarantee of a randomised release takes for granted."""
    assumptions = ["AES-256 in counter mode is indistinguishable from random bits to anyone without the key"]
    if circumstances.on_devices:
        assumptions = [_OWN_COINS]
    if circumstances.seeded:
        assumptions = [f"{IN_EARNEST}: the key was made from a seed; reproducible, not private"]
    if circumstances.domains_from_data:
        assumptions.append(
            "the domains of these columns are taken as public although they were read from the data, "
            "which tells which values occur in it: " + ", ".join(circumstances.domains_from_data)
        )
    if circumstances.missing_from_data:
        assumptions.append(
            "that these columns have missing values at all is taken as public although it was read from the "
            "data: " + ", ".join(circumstances.missing_from_data)
        )
    return tuple(assumptions)


# What is proved of one version among many (paper 3, section 3 and Theorem 1), computed from its exact law.


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
    guarantees = [_in_company(g, company) for g in plain if linkable or not isinstance(g, PkAnonymity)]
    common = _common(plain)
    guarantees += _beliefs(version, circumstances, (company, *common))
    guarantees.append(
        CollusionBound(
            ANY_TABLE,
            "paper 3, Theorem 1, exactly on the grid of levels",
            level=str(version.level),
            uncovered=tuple(circumstances.raw_columns),
            assumptions=(company, *common),
        )
    )
    return tuple(guarantees)


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
    if not plain:
        return ()
    shared = set.intersection(*(set(g.assumptions) for g in plain))
    return tuple(a for a in plain[0].assumptions if a in shared and not a.startswith("this is the only"))
