"""Lower bounds on epsilon, from what was published and from canaries: they must never exceed the claim.

Records of a table are its own canaries (`one_run` has the bound of whole records). Neighbouring runs are the older
way: the same small table again and again, with one record changed, and an event that tells the two apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pramana.holder.audit.linkage import AttackedLaw, LinkedTable, likelihoods_of, taken
from pramana.holder.audit.verdict import CHANCE_OF_FALSE_ALARM, Attack, NotRun, Outcome, clopper_pearson
from pramana.mechanisms.channel import Channel, central_epsilon
from pramana.mechanisms.table import CoinGroups, Mechanism, Product, RecordRetention
from pramana.randomness.key import Key
from pramana.randomness.samplers import Codes, code_dtype

_VALUES = 50  # of an attribute, the most frequent ones
_RUNS = 20_000
_ROWS = 12  # of a small table that is published again and again
_DELTA = 1e-4
Floats = NDArray[np.float64]
Rows = Mapping[str, NDArray[np.int64]]
DrawnLaw = Product | RecordRetention | CoinGroups


def epsilon_by_attribute(table: LinkedTable) -> list[Outcome]:
    """For each attribute a lower bound from the table's records: shown as v, by those who are v and by the others.

    The bounds of all values and attributes hold together (Bonferroni).
    """
    if not isinstance(table.law, Product):
        return [NotRun("epsilon of each attribute", "columns share a coin")]
    drawn = {name: channel for name, channel in table.law.channels.items() if channel.size > 1}
    return [_of_attribute(table, name, channel, len(drawn)) for name, channel in drawn.items()]


def _of_attribute(table: LinkedTable, name: str, channel: Channel, attributes: int) -> Attack:
    claimed = log_ratio(channel.likelihood_ratio)
    true, shown = table.true[name][table.order], table.published[name]
    counts = np.bincount(true, minlength=channel.size)
    values = np.argsort(-counts, kind="stable")[:_VALUES]
    alpha = CHANCE_OF_FALSE_ALARM / (2 * len(values) * attributes)
    low = 0.0
    for value in values.tolist():
        own, others = int(counts[value]), int(len(true) - counts[value])
        if own and others:
            hits = int(((true == value) & (shown == value)).sum())
            strange = int((shown == value).sum()) - hits
            least = clopper_pearson(hits, own, alpha)[0]
            most = clopper_pearson(strange, others, alpha)[1]
            low = max(low, math.log(least / most) if least > 0 else 0.0)
    what = f"at least {low:.4g} by {len(true):,} records, {claim_words(claimed)}"
    return below_claim(f"epsilon of {name}, from its records", claimed, low, what)


# ---------------------------------------------------------------- neighbouring runs


@dataclass(frozen=True)
class WorstPair:
    """Two true records that the law tells apart as well as any, and the value that does it, by attribute."""

    one: Mapping[str, int]
    other: Mapping[str, int]


def worst_pair(law: DrawnLaw) -> WorstPair:
    if isinstance(law, CoinGroups):
        pairs = [worst_pair(part) for part in law.parts]
        return WorstPair(
            {name: code for pair in pairs for name, code in pair.one.items()},
            {name: code for pair in pairs for name, code in pair.other.items()},
        )
    if isinstance(law, RecordRetention):
        return WorstPair(dict.fromkeys(law.sizes, 0), {name: size - 1 for name, size in law.sizes.items()})
    one, other = {}, {}
    for name, channel in law.channels.items():
        weights = channel.weights.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = weights.max(0) / weights.min(0)
        column = int(np.nan_to_num(ratio, nan=0.0, posinf=np.inf).argmax())
        one[name], other[name] = int(weights[:, column].argmax()), int(weights[:, column].argmin())
    return WorstPair(one, other)


def neighbouring_runs(law: DrawnLaw, drawn: Mechanism | None = None) -> list[Attack]:
    """Canaries: the worst pair of records, each published many times alone (local) and in a small table (central).

    `drawn` is what throws the coins; without it, the law that is claimed.
    """
    pair, mechanism = worst_pair(law), law if drawn is None else drawn
    return [_local(law, mechanism, pair), *_central(law, mechanism, pair)]


def _local(law: DrawnLaw, drawn: Mechanism, pair: WorstPair) -> Attack:
    claimed = log_ratio(law.likelihood_ratio)
    leaning = []
    for run, record in enumerate((pair.one, pair.other)):
        people = {name: np.full(_RUNS, code) for name, code in record.items()}
        leaning.append(_leaning(law, pair, _published(drawn, people, run)))
    low = _told_apart(leaning[0], leaning[1], 0.0)
    what = f"at least {low:.4g} by {_RUNS:,} runs with each of two records, {claim_words(claimed)}"
    return below_claim("epsilon of the record, neighbouring runs", claimed, low, what)


def _central(law: DrawnLaw, drawn: Mechanism, pair: WorstPair) -> list[Attack]:
    """A table of a few records, shuffled: what is left to see is how many records show what."""
    blankets, ratio = law.blankets, law.likelihood_ratio
    if blankets is None or ratio is None:
        return []
    claimed, _ = central_epsilon(blankets, ratio, _ROWS, _DELTA)
    leaning = []
    for run, record in enumerate((pair.one, pair.other)):
        people = {name: np.full((_RUNS, _ROWS), code) for name, code in pair.other.items()}
        for name, code in record.items():
            people[name][:, 0] = code
        flat = {name: codes.reshape(-1) for name, codes in people.items()}
        scores = _leaning(law, pair, _published(drawn, flat, 2 + run)).reshape(_RUNS, _ROWS)
        with np.errstate(over="ignore"):
            leaning.append(np.log(np.exp(np.minimum(scores, 50.0)).mean(1)))
    low = _told_apart(leaning[0], leaning[1], _DELTA)
    what = (
        f"at least {low:.4g} by {_RUNS:,} runs of each of two tables of {_ROWS} records that differ in one, "
        f"delta {_DELTA:g}, {claim_words(claimed)}"
    )
    return [
        below_claim("central epsilon, neighbouring runs", claimed, low, what, {"delta": _DELTA, "records": _ROWS})
    ]


def _told_apart(one: Floats, other: Floats, delta: float) -> float:
    """The best threshold by the first half of the runs, held to the second."""
    half = len(one) // 2
    best, cut = -math.inf, 0.0
    for candidate in np.unique(np.quantile(one[:half], np.linspace(0, 0.995, 60))).tolist():
        hits, strange = int((one[:half] >= candidate).sum()), int((other[:half] >= candidate).sum())
        value = _ratio(hits, strange, half, delta)
        best, cut = (value, candidate) if value > best else (best, cut)
    hits, strange = int((one[half:] >= cut).sum()), int((other[half:] >= cut).sum())
    return max(0.0, _ratio(hits, strange, len(one) - half, delta))


def _ratio(hits: int, strange: int, runs: int, delta: float) -> float:
    alpha = CHANCE_OF_FALSE_ALARM / 2
    least, most = clopper_pearson(hits, runs, alpha)[0] - delta, clopper_pearson(strange, runs, alpha)[1]
    return math.log(least / most) if least > 0 else -math.inf


def _leaning(law: AttackedLaw, pair: WorstPair, seen: Mapping[str, Codes]) -> Floats:
    shown = {name: codes.astype(np.int64) for name, codes in seen.items()}
    one, other = ({n: np.array([c]) for n, c in record.items()} for record in (pair.one, pair.other))
    return _log_odds(law, one, other, shown, 1e3)


def _log_odds(law: AttackedLaw, one: Rows, other: Rows, shown: Rows, most: float) -> Floats:
    """How far published records lean to the one true record, off the other; at most so far."""
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.log(likelihoods_of(law, one, shown)) - np.log(likelihoods_of(law, other, shown))
    return np.asarray(np.nan_to_num(odds, nan=0.0, posinf=most, neginf=-most), np.float64)


def _published(drawn: Mechanism, codes: Rows, run: int) -> dict[str, Codes]:
    """Through the mechanism's own samplers, under a key of the audit: nobody's record is in it."""
    key = Key.from_seed(20)
    sized = {name: codes[name].astype(code_dtype(size)) for name, size in drawn.sizes.items()}
    out = {name: np.empty_like(column) for name, column in sized.items()}
    drawn.publish(lambda purpose, column: key.stream(purpose, f"audit {run}", column), 0, sized, out)
    return out


def log_ratio(ratio: object) -> float | None:
    """The logarithm of a likelihood ratio, where it is bounded."""
    if not isinstance(ratio, Fraction):
        return None
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def claim_words(claimed: float | None) -> str:
    return "claimed none" if claimed is None else f"claimed {claimed:.4g}"


def below_claim(
    name: str, claimed: float | None, low: float, what: str, more: Mapping[str, object] | None = None
) -> Attack:
    ok = claimed is None or low <= claimed
    return Attack(name, claimed, low, ok, what, None, {"lower_bound": True, **(more or {})})


# A lower bound on epsilon from one run: every record of the table is a canary.
#
# People are paired at random, without a look at what was published. Of each published record it is asked
# which of the two it was made from, where it leans far enough to either; else nothing is said of it. The idea
# of one run with many canaries, of which an attacker may pass over those it is not sure of, is from Steinke,
# Nasr and Jagielski (2023). Their theorem has a coin for every canary that says whether it is in. Here no
# coin is thrown; what follows is ours.
#
# **What is proved.** Let both records of a pair go through a law with P(y | x) <= e^epsilon P(y | x') for all
# x, x', y. Let G be the set of published records that lean to the one person, H of those that lean to the
# other: disjoint, and the same two sets for both records. With a(.) and b(.) for the laws of the two records,
# the expected number of right guesses in the pair is a(G) + b(H), that of wrong ones a(H) + b(G), and a(G) <=
# e^epsilon b(G), b(H) <= e^epsilon a(H):
#
# E right <= e^epsilon E wrong. (1)
#
# A single person may be guessed with a larger chance than p = e^epsilon/(1 + e^epsilon), so guesses are not
# p-coins, and an interval for coins would need an argument of its own. Take any z > 1 > w with p z + (1 - p)
# w = 1, as z = q/p and w = (1 - q)/(1 - p) for q > p. The two records are drawn independently, each is
# guessed right, wrong or not at all:
#
# E z^right w^wrong = (1 + a(G)(z-1) + a(H)(w-1)) (1 + b(H)(z-1) + b(G)(w-1)) <= (1 + [(z-1) E right - (1-w) E
# wrong] / 2)^2 <= 1, (2)
#
# the first by the means, the second because (1-w)/(z-1) = p/(1-p) = e^epsilon and by (1). Pairs are
# independent, so (2) holds of all of them together, and by Markov's inequality z^right w^wrong reaches
# 1/alpha with a chance of at most alpha. Where the sets G and H, and q, are fixed by other pairs, every
# epsilon with z^right w^wrong >= 1/alpha may be ruled out. It is one test at the true epsilon, so the largest
# such epsilon is above it with a chance of at most alpha.
#
# Nothing else is assumed: not that records are frequent or rare, nor that the two people differ (if they do
# not, G and H are empty). For several releases with coins of their own a published record is all of a
# person's rows, and the law's epsilon is the sum of theirs. Not proved, and not claimed, is that the bound
# comes near the true epsilon.


_LEANING = (0.5, 0.2, 0.1, 0.05, 0.02)  # the shares of records that may be asked
_HALVINGS = 60


@dataclass(frozen=True)
class Guesses:
    """Right and wrong ones among the pairs that count, and the share that other pairs let expect (q)."""

    right: int
    wrong: int
    expected: float

    @property
    def tries(self) -> int:
        return self.right + self.wrong


def epsilon_in_one_run(table: LinkedTable) -> Attack:
    """For the whole record: of random pairs, whose is this published record?"""
    claimed = log_ratio(table.law.likelihood_ratio)
    guesses = guesses_of(leaning_of_pairs(table))
    low = least_epsilon(guesses)
    what = (
        f"at least {low:.4g} by {guesses.right:,} right guesses of {guesses.tries:,} in one run, "
        f"{claim_words(claimed)}"
    )
    more = {"right": guesses.right, "guesses": guesses.tries}
    return below_claim("epsilon of the record, in one run", claimed, low, what, more)


def leaning_of_pairs(table: LinkedTable) -> Floats:
    """People in random pairs: how far each one's published record leans to its own person, off the other.

    Of the same people the pairs are the same, whatever was published of them. Neighbours in the result are a pair.
    """
    true = {name: codes.astype(np.int64) for name, codes in table.true.items()}
    shown = table.by_person()
    pairing = np.random.default_rng(20).permutation(np.sort(table.order))
    pairing = pairing[: len(pairing) // 2 * 2]
    partner = pairing.reshape(-1, 2)[:, ::-1].reshape(-1)
    published = taken(shown, pairing)
    return _log_odds(table.law, taken(true, pairing), taken(true, partner), published, 1e9)


def guesses_of(leaning: Floats) -> Guesses:
    """Guesses about the records that lean furthest, and no others.

    How far that is, and how often it is right, is learned from the one half of the pairs and held to the other.
    """
    half = len(leaning) // 4 * 2  # pairs stay together
    if half == 0:
        return Guesses(0, 0, 0.5)
    cuts = [max(float(np.quantile(np.abs(leaning[:half]), 1 - share)), 1e-9) for share in _LEANING]
    best = max(cuts, key=lambda cut: _promising(*_counted(leaning[:half], cut)))
    right, wrong = _counted(leaning[:half], best)
    expected = (right + 0.5) / (right + wrong + 1)
    return Guesses(*_counted(leaning[half:], best), expected)


def _counted(leaning: Floats, cut: float) -> tuple[int, int]:
    guesses = leaning[np.abs(leaning) >= cut]
    right = int((guesses > 0).sum())
    return right, len(guesses) - right


def _promising(right: int, wrong: int) -> float:
    """What a share is surely above, if guesses were coins: a rule for choosing, on which nothing rests."""
    return clopper_pearson(right, right + wrong)[0] if right + wrong else 0.0


def least_epsilon(guesses: Guesses, alpha: float = CHANCE_OF_FALSE_ALARM) -> float:
    """The largest epsilon that such guesses rule out; 0 where they rule out none."""
    right, wrong, q = guesses.right, guesses.wrong, guesses.expected
    if not right or not 0.5 < q < 1:
        return 0.0

    def evidence(p: float) -> float:
        return right * math.log(q / p) + wrong * math.log((1 - q) / (1 - p))

    low, high = 0.5, min(q, right / guesses.tries * (1 - 1e-12))  # between them the evidence falls with p
    wanted = -math.log(alpha)
    if high <= low or evidence(low) < wanted:
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if evidence(middle) >= wanted else (low, middle)
    return math.log(low / (1 - low))
