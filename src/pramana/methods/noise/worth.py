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
    def of(cls, columns: Sequence[NoisedNumbers]) -> NoiseLoss:
        spreads = {c.name: _spread(c) for c in columns}
        varying = [c for c in columns if spreads[c.name] > 0]
        distance = {
            c.name: float(np.mean(np.abs(c.published - c.true)[c.known])) / (math.sqrt(2) * spreads[c.name])
            for c in varying
        }
        if len(varying) < 2 or not all(c.known.all() for c in varying):
            return cls(distance, None)
        before = np.linalg.eigvalsh(np.corrcoef([c.true for c in varying]))
        after = np.linalg.eigvalsh(np.corrcoef([c.published for c in varying]))
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


def _spread(column: NoisedNumbers) -> float:
    known = column.true[column.known]
    return float(np.std(known, ddof=1)) if len(known) > 1 else 0.0
