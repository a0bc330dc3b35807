"""Rules mined from a table and from reconstructions of its generalised form, and how far apart they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.errors import MissingExtraError
from pramana.estimate import RuleSet, association_rules, class_rules, rule_distance, tree_accuracy
from pramana.experiments.adult_trees import AdultTable
from pramana.generalize import Cells, reconstructed
from pramana.randomness import Codes, Key

MIN_SUPPORT = 0.01  # the paper does not state its own
LEFT_OUT = ("workclass", "race", "native-country")  # of rule mining: nearly all rows have one value
SEED = 1


class Miner:
    """The original's rules, and what a reconstruction's differ from them by."""

    def __init__(self, table: AdultTable) -> None:
        self.table = table
        self.names = [ladder.name for ladder in table.ladders]
        self.kept = [a for a, name in enumerate(self.names) if name not in LEFT_OUT]
        self.sizes = [table.ladders[a].leaves for a in self.kept]
        self.rules = self._mined(table.columns)

    def _mined(self, columns: Sequence[Codes]) -> tuple[RuleSet, RuleSet]:
        chosen = [columns[a] for a in self.kept]
        return (
            association_rules(chosen, self.sizes, MIN_SUPPORT),
            class_rules(chosen, self.sizes, self.table.salary, 2, MIN_SUPPORT),
        )

    def errors(self, class_of: NDArray[np.integer], cells: Sequence[Cells], draws: int) -> dict[str, Any]:
        key = Key.from_seed(SEED)
        found = []
        accuracy: float | None = None
        for draw in range(draws):
            columns = reconstructed(cells, self.names, class_of, key, draw)
            mined = self._mined(columns)
            found.append([rule_distance(a, b) for a, b in zip(self.rules, mined, strict=True)])
            if draw == 0:
                accuracy = self._accuracy(columns)
        means = np.mean(found, axis=0)
        return {
            "association rule error": float(means[0]),
            "class rule error": float(means[1]),
            "tree accuracy": accuracy,
            "draws": draws,
        }

    def _accuracy(self, columns: Sequence[Codes]) -> float | None:
        """A tree learnt from the reconstruction, tried on the original; none without scikit-learn."""
        try:
            return tree_accuracy(columns, self.table.salary, self.table.columns, self.table.salary)
        except MissingExtraError:
            return None
