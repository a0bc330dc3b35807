"""What noise costs: by its law, which everyone may know, and measured against the source, for its holder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pramana.calibration import TableWorth, Usefulness, tables_asked
from pramana.methods.noise.columns import NoisedNumbers
from pramana.methods.noise.normal import kept_share
from pramana.methods.noise.setting import NoiseDesign


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


@dataclass(frozen=True)
class NoiseLoss:
    """sdcMicro's measures of what is lost (its `dUtility`), which need the source.

    `distance`, by column: mean |published - true| over the root of 2 and the true standard deviation (IL1s).
    `eigenvalues`: the largest relative difference of an eigenvalue of the columns' correlations to that of the
    covariances of the published columns in the same units; None where rows lack numbers.
    """

    distance: dict[str, float]
    eigenvalues: float | None

    @classmethod
    def of(cls, columns: Sequence[NoisedNumbers]) -> NoiseLoss:
        spreads = {c.name: _spread(c) for c in columns}
        distance = {
            c.name: float(np.mean(np.abs(c.published - c.true)[c.known])) / (math.sqrt(2) * spreads[c.name])
            for c in columns
            if spreads[c.name] > 0
        }
        varying = [c for c in columns if spreads[c.name] > 0]
        if not varying or not all(c.known.all() for c in columns):
            return cls(distance, None)
        before, after = (
            np.linalg.eigvalsh(np.atleast_2d(np.cov([getter / spreads[c.name] for c, getter in stage])))
            for stage in ([(c, c.true) for c in varying], [(c, c.published) for c in varying])
        )
        present = before > 1e-9 * before.max()
        return cls(distance, float(np.max(np.abs(after - before)[present] / before[present])))

    def sentences(self) -> tuple[str, ...]:
        """For the holder alone: they are numbers of the source."""
        told = ", ".join(f"{name} {share:.2g}" for name, share in self.distance.items())
        words = [f"IL1s, for you alone, as it is measured against the source: {told}."] if told else []
        if self.eigenvalues is not None:
            words.append(
                "Eigenvalues of the covariances of columns with noise, for you alone: the largest relative "
                f"difference is {self.eigenvalues:.2g}."
            )
        return tuple(words)


def _spread(column: NoisedNumbers) -> float:
    known = column.true[column.known]
    return float(np.std(known, ddof=1)) if len(known) > 1 else 0.0
