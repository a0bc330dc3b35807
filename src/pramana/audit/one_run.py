"""A lower bound on epsilon from one run: every record of the table is a canary.

People are paired at random, without a look at what was published. Of each published record it is asked which of
the two it was made from, where it leans far enough to either; else nothing is said of it. The idea of one run
with many canaries, of which an attacker may pass over those it is not sure of, is from Steinke, Nasr and
Jagielski (2023). Their theorem has a coin for every canary that says whether it is in. Here no coin is thrown;
what follows is ours.

**What is proved.** Let both records of a pair go through a law with P(y | x) <= e^epsilon P(y | x') for all x,
x', y. Let G be the set of published records that lean to the one person, H of those that lean to the other:
disjoint, and the same two sets for both records. With a(.) and b(.) for the laws of the two records, the
expected number of right guesses in the pair is a(G) + b(H), that of wrong ones a(H) + b(G), and a(G) <=
e^epsilon b(G), b(H) <= e^epsilon a(H):

    E right <= e^epsilon E wrong.                                                                              (1)

A single person may be guessed with a larger chance than p = e^epsilon/(1 + e^epsilon), so guesses are not
p-coins, and an interval for coins would need an argument of its own. Take any z > 1 > w with p z + (1 - p) w =
1, as z = q/p and w = (1 - q)/(1 - p) for q > p. The two records are drawn independently, each is guessed right,
wrong or not at all:

    E z^right w^wrong = (1 + a(G)(z-1) + a(H)(w-1)) (1 + b(H)(z-1) + b(G)(w-1))
                     <= (1 + [(z-1) E right - (1-w) E wrong] / 2)^2 <= 1,                                       (2)

the first by the means, the second because (1-w)/(z-1) = p/(1-p) = e^epsilon and by (1). Pairs are independent,
so (2) holds of all of them together, and by Markov's inequality z^right w^wrong reaches 1/alpha with a chance of
at most alpha. Where the sets G and H, and q, are fixed by other pairs, every epsilon with z^right w^wrong >=
1/alpha may be ruled out. It is one test at the true epsilon, so the largest such epsilon is above it with a
chance of at most alpha.

Nothing else is assumed: not that records are frequent or rare, nor that the two people differ (if they do not, G
and H are empty). For several releases with coins of their own a published record is all of a person's rows, and
the law's epsilon is the sum of theirs. Not proved, and not claimed, is that the bound comes near the true
epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pramana.audit.epsilon import below_claim, claim_words, log_ratio
from pramana.audit.linkage import LinkedTable, likelihoods_of
from pramana.audit.verdict import CHANCE_OF_FALSE_ALARM, Attack, clopper_pearson

_LEANING = (0.5, 0.2, 0.1, 0.05, 0.02)  # the shares of records that may be asked
_HALVINGS = 60
Floats = NDArray[np.float64]


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
    shown = {name: np.empty(len(codes), np.int64) for name, codes in table.true.items()}
    for name, codes in table.published.items():
        shown[name][table.order] = codes
    pairing = np.random.default_rng(20).permutation(np.sort(table.order))
    pairing = pairing[: len(pairing) // 2 * 2]
    people, partner = pairing, np.empty_like(pairing)
    partner[::2], partner[1::2] = pairing[1::2], pairing[::2]
    with np.errstate(divide="ignore", invalid="ignore"):
        own = np.log(likelihoods_of(table.law, _rows(true, people), _rows(shown, people)))
        other = np.log(likelihoods_of(table.law, _rows(true, partner), _rows(shown, people)))
        told = own - other
    return np.asarray(np.nan_to_num(told, nan=0.0, posinf=1e9, neginf=-1e9), np.float64)


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


def _rows(table: Mapping[str, NDArray[np.int64]], rows: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    return {name: codes[rows] for name, codes in table.items()}
