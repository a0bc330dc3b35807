"""Which variables of a model hang together, as far as the noise lets it be seen, and the tables that say so.

A dependence is tested on the published table: what a model without it predicts goes through the law of the
release, and Pearson's statistic tells whether the published counts differ from it by more than chance. Of pairs
that are not independent a maximum spanning tree is taken (Chow and Liu), weighted by the dependence that is left
when the part of noise is taken off and its attenuation undone. Then variables get further parents, among those
that stand in a clique with the parents they have, where the tree does not explain a pair, and at last tables of
three are looked at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pramana.estimate.law import Array, Keep, Matrix, TableLaw
from pramana.estimate.table import PublishedTable

SIGNIFICANT = 4.0  # standard deviations of the statistic under no dependence


@dataclass(frozen=True)
class Dependence:
    """Pearson's statistic of a published table against a model of it without a dependence."""

    statistic: float
    freedom: float
    deviation: float
    records: float
    attenuation: float

    @classmethod
    def of(cls, table: PublishedTable, without: Array, freedom: float) -> Dependence:
        """`without`: the shares of the true table under the model."""
        n = table.total
        expected = n * table.law.forward(without.reshape(table.counts.shape))
        seen = expected > 1e-9 * max(n, 1.0) / expected.size
        gap = table.counts[seen] - expected[seen]
        cells = float(seen.sum())
        # the variance of Pearson's statistic in a sparse table (Haldane)
        sparse = float((1 / expected[seen]).sum()) - (cells**2 + 2 * cells - 2) / n
        deviation = math.sqrt(max(2 * freedom + sparse, 1.0))
        return cls(float((gap**2 / expected[seen]).sum()), freedom, deviation, n, attenuation(table.law))

    @property
    def seen(self) -> bool:
        """Whether it is more than chance."""
        return self.statistic - self.freedom > SIGNIFICANT * self.deviation

    @property
    def signal(self) -> float:
        """The share of the statistic that chance does not explain."""
        return max(1 - self.freedom / max(self.statistic, 1e-300), 0.0)

    @property
    def strength(self) -> float:
        """Phi squared of the private table: what chance adds is taken off, what the law attenuated is undone."""
        return max(self.statistic - self.freedom, 0.0) / self.records / self.attenuation**2


def attenuation(law: TableLaw) -> float:
    """By what deviations from independence shrink on their way through a law."""
    whole = 1.0
    for factor in law.factors:
        if isinstance(factor, Keep):
            whole *= factor.retention
        elif isinstance(factor, Matrix):
            spread = factor.matrix - factor.matrix.mean(axis=0)
            whole *= math.sqrt(float((spread**2).sum()) / max(len(spread) - 1, 1))
    return max(whole, 1e-6)
