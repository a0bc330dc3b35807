"""The frontier of a promise: ways to keep it, from the paper's on, with the errors of the tables a recipe names.

What is proposed in floats is made exact here: shares of epsilon are whole 4096ths, likelihood ratios rationals,
and the group with the largest share gets what the others leave of the ratio that the promise allows. k and epsilon
follow from the product of these ratios, so that every way keeps the promise that equal retention keeps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from pramana.errors import UnreachableError
from pramana.mechanisms.channel import Redrawn, Retention
from pramana.mechanisms.guarantees import k_of
from pramana.mechanisms.table import CoinGroups, Product, RecordRetention
from pramana.mechanisms.units import UnitDraws, composed
from pramana.methods.retention.calibration import DrawnLaw, Wanted, calibrate, largest_factor
from pramana.methods.retention.spending import (
    Floats,
    Groups,
    Spending,
    SpendingQuestion,
    best_spendings,
    kept_digits,
    mean_error,
    spend,
)
from pramana.theory import rounding

SHARES = 4096
_OTHER_GROUPS = 2  # further partitions that are shown
_ROOM = 8  # a central promise may allow more than equal retention's ratio: so many times is tried


@dataclass(frozen=True)
class Candidate:
    """One way to keep a promise."""

    law: DrawnLaw
    allocation: str  # "equal" or "best"
    errors: Mapping[str, float]  # expected L1 error by table, of the finest values
    k: float
    epsilon: float
    coarsened: Mapping[str, int] = field(default_factory=dict)  # the place of a coarsening, by attribute
    chosen: bool = False

    @property
    def mean(self) -> float:
        """What ways are compared by."""
        return kept_digits(mean_error(list(self.errors.values())))

    @property
    def coin(self) -> str:
        if isinstance(self.law, RecordRetention):
            return "record"
        return "groups" if isinstance(self.law, CoinGroups) else "attribute"

    @property
    def groups(self) -> Groups:
        """Columns that share a coin."""
        if isinstance(self.law, RecordRetention):
            return (tuple(self.law.sizes),)
        return tuple(tuple(group.sizes) for group in self.law.groups) if isinstance(self.law, CoinGroups) else ()

    @property
    def words(self) -> str:
        """In short, as a plan has it."""
        coin = {"attribute": "a coin for each column", "record": "one coin for the record"}.get(self.coin, "")
        if self.coin == "groups":
            coin = "; ".join("+".join(group) for group in self.groups) + " together"
        kept = ", equal retention" if self.allocation == "equal" and self.coin == "attribute" else ""
        fewer = ", ".join(f"{name} in {self.law.sizes[name]} values" for name in self.coarsened)
        return coin + kept + (f", {fewer}" if fewer else "")

    def to_json(self) -> dict[str, object]:
        return {
            "coin": self.coin,
            "groups": [list(group) for group in self.groups],
            "allocation": self.allocation,
            "values": {name: self.law.sizes[name] for name in self.coarsened},
            "retention": self.law.retentions(),
            "k": self.k,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
            "errors": {table: e if math.isfinite(e) else None for table, e in self.errors.items()},
            "mean": self.mean if math.isfinite(self.mean) else None,
            "chosen": self.chosen,
        }


def frontier(question: SpendingQuestion, wanted: Wanted) -> tuple[Candidate, ...]:
    """The paper's way first; the one with the least mean error is marked. The same on every machine and day."""
    equal = calibrate(question.sizes, wanted)
    candidates = [_candidate(question, wanted, equal, "equal")]
    ratio = equal.likelihood_ratio
    if ratio is not None and ratio > 1 and len(question.live) > 0:
        candidates += _others(question, wanted, ratio)
    best = min(range(len(candidates)), key=lambda place: (candidates[place].mean, place))
    return tuple(replace(one, chosen=place == best) for place, one in enumerate(candidates))


def best_candidate(question: SpendingQuestion, wanted: Wanted) -> Candidate:
    """The one that is marked."""
    return next(candidate for candidate in frontier(question, wanted) if candidate.chosen)


def way_of_units(question: SpendingQuestion, wanted: Wanted, law: Product, draws: UnitDraws) -> Candidate:
    """The one way of people with several rows: an equal retention in every column, `law` of a row.

    k and epsilon are of all rows of a unit, and `wanted` is for as many as there are units. Rows that share a draw
    vary together: n of them at most n times as much as n that do not.
    """
    whole = composed(law, draws, draws.size(draws.largest))
    own = errors_of(question, law, {})
    shared = {" x ".join(table): max(map(draws.rows_sharing, table)) for table in question.asked}
    errors = {title: kept_digits(math.sqrt(shared[title]) * error) for title, error in own.items()}
    return Candidate(law, "equal", errors, *_reached(whole, wanted))


def _others(question: SpendingQuestion, wanted: Wanted, ratio: Fraction) -> list[Candidate]:
    """A coin for each column, one for the record, the best groups, and the best of coarser values."""
    total, live = rounding.log_up(ratio), question.live
    each: Groups = tuple((name,) for name in live)
    ways = [each, *([(live,)] if len(live) > 1 else [])]
    best = best_spendings(question, total)
    finest = [one for one in best if not one.chosen]
    ways += [one.groups for one in finest if one.groups not in ways][: 1 + _OTHER_GROUPS]
    by_groups = {one.groups: one for one in finest}
    candidates = []
    for groups in ways:
        spending = by_groups.get(groups) or spend(question, groups, {}, total)
        candidates += _exact(question, wanted, spending, ratio)
    for one in best:
        if one.chosen:
            candidates += _exact(question, wanted, one, ratio)
    return candidates


def _exact(question: SpendingQuestion, wanted: Wanted, spending: Spending, ratio: Fraction) -> list[Candidate]:
    """The way in integers, checked; none where rounding keeps it from the promise."""
    sizes = question.coarsened(spending.chosen)
    ratios = _ratios(_shares(spending.epsilons), ratio)
    try:
        law = _kept(wanted, sizes, spending.groups, ratios)
    except UnreachableError:
        return []
    if not wanted.is_kept_by(law):
        return []
    return [_candidate(question, wanted, law, "best", spending.chosen)]


def _kept(wanted: Wanted, sizes: Mapping[str, int], groups: Groups, ratios: Sequence[Fraction]) -> DrawnLaw:
    if wanted.central is None:
        return law_of_ratios(sizes, groups, ratios)
    largest = max(ratios)
    most = min(Fraction(_ROOM), Fraction(10**9) / largest) if largest < 10**9 else Fraction(1)
    return largest_factor(
        lambda part: law_of_ratios(sizes, groups, [1 + part * most * (one - 1) for one in ratios]), wanted
    )


def _shares(epsilons: Floats) -> list[int]:
    """Whole shares of SHARES, none of nothing; the largest gets what rounding leaves."""
    parts = epsilons / epsilons.sum() * SHARES
    shares = [max(1, round(float(part))) for part in parts]
    shares[int(np.argmax(shares))] += SHARES - sum(shares)
    return shares


def _ratios(shares: Sequence[int], ratio: Fraction) -> list[Fraction]:
    """Each group's likelihood ratio: their product is `ratio` exactly."""
    total = Fraction(rounding.log_up(ratio))
    last = max(range(len(shares)), key=lambda place: (shares[place], -place))
    ratios = [rounding.exp_down(total * share / SHARES) for share in shares]
    others = math.prod((one for place, one in enumerate(ratios) if place != last), start=Fraction(1))
    ratios[last] = max(ratio / others, Fraction(1))
    return [min(one, ratio) for one in ratios]


def law_of_ratios(sizes: Mapping[str, int], groups: Groups, ratios: Sequence[Fraction]) -> DrawnLaw:
    """The law whose groups have likelihood ratios of at most these, as near as integers come."""
    channels: dict[str, Retention] = {name: Redrawn(size) for name, size in sizes.items() if size == 1}
    together = []
    for names, ratio in zip(groups, ratios, strict=True):
        if len(names) == 1:
            size = sizes[names[0]]
            retention = Retention.at((ratio - 1) / (ratio - 1 + size), size)
            likelihood = retention.likelihood_ratio
            exact = likelihood is not None and likelihood <= max(ratio, Fraction(1))
            channels[names[0]] = retention if exact else Redrawn(size)
        else:
            own = {name: sizes[name] for name in names}
            odds = (ratio - 1) * RecordRetention(own, 0).smallest_redraw
            together.append(RecordRetention.at(odds / (1 + odds), own))
    ordered = {name: channels[name] for name in sizes if name in channels}
    if not together:
        return Product(ordered)
    if len(together) == 1 and not channels:
        return RecordRetention(dict(sizes), together[0].bound)
    return CoinGroups(dict(sizes), tuple(together), ordered)


def _candidate(
    question: SpendingQuestion,
    wanted: Wanted,
    law: DrawnLaw,
    allocation: str,
    coarsened: Mapping[str, int] | None = None,
) -> Candidate:
    errors = errors_of(question, law, coarsened or {})
    return Candidate(law, allocation, errors, *_reached(law, wanted), dict(coarsened or {}))


def _reached(law: DrawnLaw, wanted: Wanted) -> tuple[float, float]:
    """k and epsilon."""
    ratio = law.likelihood_ratio
    epsilon = math.inf if ratio is None else rounding.log_up(ratio)
    return rounding.float_down(k_of(law, wanted.circumstances)), epsilon


def errors_of(question: SpendingQuestion, law: DrawnLaw, coarsened: Mapping[str, int]) -> dict[str, float]:
    """Of the law as it will be sampled."""
    parts: tuple[Product | RecordRetention, ...] = law.parts if isinstance(law, CoinGroups) else (law,)
    groups: list[tuple[str, ...]] = []
    epsilons = []
    for part in parts:
        members = (
            [(tuple(part.sizes), part.likelihood_ratio)]
            if isinstance(part, RecordRetention)
            else [((name,), channel.likelihood_ratio) for name, channel in part.channels.items()]
        )
        for names, ratio in members:
            groups.append(names)
            epsilons.append(math.inf if ratio is None else math.log(ratio))
    errors = question.shape(tuple(groups), coarsened).errors(np.array(epsilons))
    return {" x ".join(t): kept_digits(float(e)) for t, e in zip(question.asked, errors, strict=True)}
