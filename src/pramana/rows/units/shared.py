"""Values that all rows of a person or a household have in common: drawn once, and repeated over the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pramana.mechanisms import Mechanism
from pramana.randomness import Codes


@dataclass(frozen=True, eq=False)
class SharedDraws:
    """`each` is the law of columns that every row draws for itself; of the others, by unit, what was drawn."""

    each: Mechanism
    drawn: Mapping[str, Codes] = field(default_factory=dict)
    unit_of_row: Mapping[str, NDArray[np.uint32]] = field(default_factory=dict)

    def of_rows(self, first: int, rows: int) -> dict[str, Codes]:
        """For consecutive rows, what their units drew."""
        return {name: codes[self.unit_of_row[name][first : first + rows]] for name, codes in self.drawn.items()}
