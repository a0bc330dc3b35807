"""The adversary's posterior on tables too large for permanents: a Markov chain over permutations.

A sweep pairs all persons at random and exchanges the rows of each pair with the Metropolis chance. Chains start
far apart; whether they forgot their starts is said by R-hat (Gelman and Rubin 1992) of the likelihood and of how
many persons are on a row of their own value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MIXED = 1.1  # R-hat at most


@dataclass(frozen=True, eq=False)
class SampledPosterior:
    """How often every person was on every row, over all chains, and the larger R-hat of the two."""

    links: Floats
    r_hat: float

    @property
    def mixed(self) -> bool:
        return self.r_hat <= MIXED


def sampled_posterior(
    likelihoods: Floats, same: NDArray[np.bool_], start: NDArray[np.int64], sweeps: int = 2000
) -> SampledPosterior:
    """Chains from the best matching, its reverse, and two random orders; the first half of each is thrown away.

    `same[i, j]` marks rows that show person i's own value.
    """
    rng = np.random.default_rng(20)
    n = len(start)
    with np.errstate(divide="ignore"):
        log = np.maximum(np.log(likelihoods), -1e4)
    chains = [start, start[::-1].copy(), rng.permutation(n), rng.permutation(n)]
    links = np.zeros((n, n))
    traces = np.zeros((len(chains), 2, sweeps // 2))
    for c, placed in enumerate(chains):
        for sweep in range(sweeps):
            _sweep(log, placed, rng)
            if (kept := sweep - (sweeps - sweeps // 2)) >= 0:
                links[np.arange(n), placed] += 1
                traces[c, :, kept] = log[np.arange(n), placed].sum(), same[np.arange(n), placed].sum()
    return SampledPosterior(links / links.sum(1, keepdims=True), max(r_hat(traces[:, t]) for t in (0, 1)))


def _sweep(log: Floats, placed: NDArray[np.int64], rng: np.random.Generator) -> None:
    order = rng.permutation(len(placed))
    half = len(order) // 2
    i, j = order[:half], order[half : 2 * half]
    gain = log[i, placed[j]] + log[j, placed[i]] - log[i, placed[i]] - log[j, placed[j]]
    going = np.log(rng.random(half)) < gain
    i, j = i[going], j[going]
    placed[i], placed[j] = placed[j], placed[i]


def r_hat(traces: Floats) -> float:
    """Gelman and Rubin's ratio of chains (rows): near 1 where they tell the same story."""
    length = traces.shape[1]
    within = float(traces.var(axis=1, ddof=1).mean())
    between = length * float(traces.mean(axis=1).var(ddof=1))
    if within == 0:
        return 1.0 if between == 0 else float("inf")
    return float(np.sqrt((length - 1) / length + between / (length * within)))


def shared_among_alike(links: Floats, look: NDArray[np.int64]) -> Floats:
    """Posteriors averaged over columns that look alike, for which they are equal."""
    sizes = np.bincount(look)
    sums = np.zeros((len(links), len(sizes)))
    for value in range(len(sizes)):
        sums[:, value] = links[:, look == value].sum(1) / max(sizes[value], 1)
    return sums[:, look]
