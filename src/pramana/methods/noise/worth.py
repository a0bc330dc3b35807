"""What noise costs: by its law, which everyone may know, and measured against the source, for its holder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pramana.calibration import TableWorth, Usefulness, tables_asked
from pramana.methods.noise.normal import kept_share
from pramana.methods.noise.setting import NoiseDesign
from pramana.methods.noise.sums import Floats

_NOTHING = 1e-9  # an eigenvalue of columns that follow from each other


def worth_of_noise(design: NoiseDesign, records: int, named: Sequence[Sequence[str]]) -> Usefulness:
    """Of the columns whose noise is measured in their standard deviations: how far a published number is off.

    With correlated noise the numbers are also drawn to their mean; the two come to 2 - 2s, with s what is kept.
    A mean is known better than a number by the root of the records. Of noise in units nothing follows without
    the rows.
    """
    if design.amount is None:
        return Usefulness()
    error = design.amount if design.kind == "independent" else math.sqrt(2 - 2 * kept_share(design.amount))
    asked, is_named = tables_asked(named, design.relative)
    tables = [
        TableWorth(names, None, error, 1.0, "value", halves=design.amount / math.sqrt(records)) for names in asked
    ]
    return Usefulness(tuple(tables), is_named)


@dataclass(frozen=True, eq=False)
class NoiseSums:
    """Some rows by column, with and without noise: sums and products of true numbers first, then of published.

    `steps` and `largest` are no sums: the largest published numbers, in steps of the last digit and as they are.
    """

    rows: int
    known: Floats  # rows that have a number
    distances: Floats
    sums: Floats
    products: Floats
    steps: Floats
    largest: Floats

    @classmethod
    def of(cls, true: Floats, published: Floats, centres: Floats, places: Sequence[int]) -> NoiseSums:
        """Numbers by column and row, NaN where there is none; taken off their `centres` they keep their digits."""
        both = np.nan_to_num(np.stack([true, published]) - centres[:, None])
        largest = np.abs(np.nan_to_num(published)).max(axis=1, initial=0)
        return cls(
            true.shape[1],
            (~np.isnan(true)).sum(axis=1),
            np.abs(both[1] - both[0]).sum(axis=1),
            both.sum(axis=2),
            both @ both.transpose(0, 2, 1),
            np.rint(largest * 10.0 ** np.array(places)),
            largest,
        )

    def __add__(self, more: NoiseSums) -> NoiseSums:
        return NoiseSums(
            self.rows + more.rows,
            self.known + more.known,
            self.distances + more.distances,
            self.sums + more.sums,
            self.products + more.products,
            np.maximum(self.steps, more.steps),
            np.maximum(self.largest, more.largest),
        )

    def covariances(self) -> Floats:
        """Before and after; right for two columns without gaps, and for variances in any case."""
        several = np.maximum(self.known, 2)
        off = self.products - self.sums[:, :, None] * self.sums[:, None, :] / several
        return np.asarray(off / (several - 1))


@dataclass(frozen=True)
class NoiseLoss:
    """Measures of sdcMicro's `dUtility`, which need the source.

    `distance`, by column: mean |published - true| over the root of 2 and the true standard deviation (IL1s).
    `eigenvalues`: relative differences of those of the columns' correlations, before and after, added up; None
    where there are no two columns, or rows lack numbers.
    """

    distance: dict[str, float]
    eigenvalues: float | None

    @classmethod
    def of(cls, names: Sequence[str], sums: NoiseSums) -> NoiseLoss:
        matrices = sums.covariances()
        spreads = np.sqrt(np.maximum(np.diagonal(matrices[0]), 0))
        varying = [i for i in range(len(names)) if spreads[i] > 0]
        means = sums.distances / np.maximum(sums.known, 1)
        distance = {names[i]: float(means[i]) / (math.sqrt(2) * float(spreads[i])) for i in varying}
        if len(varying) < 2 or any(sums.known[i] < sums.rows for i in varying):
            return cls(distance, None)
        before, after = (np.linalg.eigvalsh(_correlations(m[np.ix_(varying, varying)])) for m in matrices)
        present = before > _NOTHING
        return cls(distance, float(np.sum(np.abs(after - before)[present] / before[present])))

    def sentences(self) -> tuple[str, ...]:
        """For the holder alone: they are numbers of the source."""
        told = ", ".join(f"{name} {share:.2g}" for name, share in self.distance.items())
        words = [f"Measured against the source, for you alone: IL1s of {told}."] if told else []
        if self.eigenvalues is not None:
            words.append(
                "Measured against the source, for you alone: eigenvalues of the correlations differ by "
                f"{self.eigenvalues:.2g}, relatively and in all."
            )
        return tuple(words)


def _correlations(covariances: Floats) -> Floats:
    scale = np.sqrt(np.diagonal(covariances))
    return np.asarray(covariances / np.outer(scale, scale))
