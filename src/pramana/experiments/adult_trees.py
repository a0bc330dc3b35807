"""Hierarchies for Adult's eight quasi-identifiers, and the table itself in the order of their leaves."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.counting.classes import Ladder
from pramana.datasets.adult import adult
from pramana.errors import MissingExtraError, SourceError
from pramana.methods.cells import Cells, reconstructed
from pramana.randomness.key import Key
from pramana.randomness.samplers import Codes
from pramana.recipient.rules import RuleSet, association_rules, rule_distance, tree_accuracy
from pramana.schema.hierarchy import Hierarchy, hierarchy_of_intervals, hierarchy_of_tree

QUASI = ("age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country")
AGE_WIDTH = 8  # 17-24, 25-32, ...: ten groups, as the paper has them
PATHS = ("adult.csv", "data/adult.csv", "../shared/data/adult.csv")

TREES: dict[str, Any] = json.loads(Path(__file__).with_name("adult_trees.json").read_bytes())


@dataclass(frozen=True, eq=False)
class AdultTable:
    """Codes in leaf order, the ladders they climb, and the class."""

    ladders: tuple[Ladder, ...]
    columns: tuple[Codes, ...]
    salary: Codes

    @property
    def rows(self) -> int:
        return len(self.salary)


def adult_file() -> Path:
    """The Adult CSV: what PRAMANA_ADULT names, or adult.csv in a usual place."""
    named = os.environ.get("PRAMANA_ADULT")
    for path in [named] if named else PATHS:
        if Path(path).is_file():
            return Path(path)
    raise SourceError(
        "The experiment must have the Adult table (UCI) as a CSV with a header",
        named or f"none of {', '.join(PATHS)}",
        "Put it here as adult.csv, or set PRAMANA_ADULT to its path.",
    )


def hierarchies() -> dict[str, Hierarchy]:
    """One hierarchy per quasi-identifier; ages stand in groups of eight years from 17 on."""
    by_name = {name: hierarchy_of_tree(tree) for name, tree in TREES.items()}
    lows = range(17, 91, AGE_WIDTH)
    groups = [f"{low}-{min(low + AGE_WIDTH - 1, 90)}" for low in lows]
    tens = hierarchy_of_intervals(range(len(groups)), [2, 4])
    names = [tuple(groups)]
    for level in tens.levels[1:-1]:
        spans = [[g for g, other in zip(groups, level, strict=True) if other == label] for label in level]
        names.append(tuple(f"{s[0].split('-')[0]}-{s[-1].split('-')[1]}" for s in spans))
    by_name["age"] = Hierarchy((*names, ("*",) * len(groups)))
    return {name: by_name[name] for name in QUASI}


def read_adult(path: Path | None = None) -> AdultTable:
    people = adult(path or adult_file(), complete=True)
    ladders, columns = [], []
    for name, hierarchy in hierarchies().items():
        labels = list(people.domain(name))
        if name == "age":
            code = np.array([(int(label) - 17) // AGE_WIDTH for label in labels], np.uint8)
        else:
            code = np.array([hierarchy.leaves.index(label) for label in labels], np.uint8)
        ladders.append(Ladder.of(name, hierarchy))
        columns.append(code[people.column(name)])
    return AdultTable(tuple(ladders), tuple(columns), people.column("salary-class").astype(np.uint8))


# Rules mined from a table and from reconstructions of its generalised form, and how far apart they are.


MIN_SUPPORT = 0.01  # the paper does not state its own
LEFT_OUT = ("workclass", "race", "native-country")  # of rule mining: nearly all rows have one value
SEED = 1


class Miner:
    """The original's rules, and what a reconstruction's differ from them by."""

    def __init__(self, table: AdultTable) -> None:
        self.table = table
        self.names = [ladder.name for ladder in table.ladders]
        self.mined = [a for a, name in enumerate(self.names) if name not in LEFT_OUT]
        self.sizes = [table.ladders[a].leaves for a in self.mined]
        self.rules = self._mined(table.columns)

    def _mined(self, columns: Sequence[Codes]) -> tuple[RuleSet, RuleSet]:
        chosen = [columns[a] for a in self.mined]
        return (
            association_rules(chosen, self.sizes, MIN_SUPPORT),
            association_rules([*chosen, self.table.salary], [*self.sizes, 2], MIN_SUPPORT, consequent=len(chosen)),
        )

    def errors(self, class_of: NDArray[np.integer], cells: Sequence[Cells], draws: int) -> dict[str, Any]:
        key = Key.from_seed(SEED)
        distances = []
        accuracy: float | None = None
        for draw in range(draws):
            columns = reconstructed(cells, self.names, class_of, key, draw)
            mined = self._mined(columns)
            distances.append([rule_distance(a, b) for a, b in zip(self.rules, mined, strict=True)])
            if draw == 0:
                accuracy = self._accuracy(columns)
        means = np.mean(distances, axis=0)
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
