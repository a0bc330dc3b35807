"""Association rules, class rules and decision trees of tables of codes; the paper's distance of rule sets.

A table of categories has few attributes, and its frequent itemsets are the large cells of its marginal tables:
every set of attributes is counted at once instead of growing itemsets one by one. On such tables this is faster
than a general frequent-itemset library by the factor that `benchmarks/generalize.py` measures.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pramana.errors import MissingExtraError, RecipeError, install_command
from pramana.randomness.samplers import Codes, joint_codes

MIN_CONFIDENCE = 0.8  # paper 4, section VI
MOST_ATTRIBUTES = 24
Attributes = tuple[int, ...]
CellNumbers = NDArray[np.int64]


@dataclass(frozen=True)
class Rule:
    """If these attributes have these values, then those have those."""

    antecedent: tuple[tuple[str, str], ...]
    consequent: tuple[tuple[str, str], ...]
    confidence: float
    support: float


@dataclass(frozen=True, eq=False)
class RuleSet:
    """Rules by (antecedent's attributes, all attributes): the cells of the latter, confidences and supports.

    A cell is the number of a combination of values, the first attribute the most significant.
    """

    sizes: tuple[int, ...]
    min_confidence: float
    rules: Mapping[tuple[Attributes, Attributes], tuple[CellNumbers, NDArray[np.float64], NDArray[np.float64]]]

    def __len__(self) -> int:
        return sum(len(cells) for cells, _, _ in self.rules.values())

    def named(self, names: Sequence[str], labels: Sequence[Sequence[str]]) -> Iterator[Rule]:
        """The rules in words, best first; equally good ones in the order of attributes and of their values."""
        ranked = []
        for (left, every), (cells, confidences, supports) in self.rules.items():
            values = np.unravel_index(cells, [self.sizes[a] for a in every])
            for i in range(len(cells)):
                codes = {a: int(v[i]) for a, v in zip(every, values, strict=True)}
                items = {a: (names[a], labels[a][code]) for a, code in codes.items()}
                rest = tuple(a for a in every if a not in left)
                rule = Rule(
                    tuple(items[a] for a in left),
                    tuple(items[a] for a in rest),
                    float(confidences[i]),
                    float(supports[i]),
                )
                values_in_order = tuple((a, codes[a]) for a in left), tuple((a, codes[a]) for a in rest)
                ranked.append((-rule.confidence, -rule.support, values_in_order, rule))
        return (rule for *_, rule in sorted(ranked, key=lambda entry: entry[:3]))


def marginals(
    columns: Sequence[Codes], sizes: Sequence[int], min_count: int, most_items: int | None = None
) -> dict[Attributes, tuple[CellNumbers, NDArray[np.int64]]]:
    """The frequent itemsets: for every set of attributes its cells with at least `min_count` rows, and counts.

    A set of attributes is counted only where all its subsets have frequent cells (the apriori property).
    """
    if len(columns) > MOST_ATTRIBUTES:
        raise RecipeError(f"Rules must be of at most {MOST_ATTRIBUTES} attributes", str(len(columns)))
    frequent: dict[Attributes, tuple[CellNumbers, NDArray[np.int64]]] = {}
    codes: dict[Attributes, CellNumbers] = {(): np.zeros(len(columns[0]), np.int64)}
    for size in range(1, min(most_items or len(columns), len(columns)) + 1):
        level: dict[Attributes, CellNumbers] = {}
        for attributes in combinations(range(len(columns)), size):
            if size > 1 and not all(s in frequent for s in combinations(attributes, size - 1)):
                continue
            before, last = math.prod(sizes[a] for a in attributes[:-1]), attributes[-1]
            code = joint_codes([codes[attributes[:-1]], columns[last]], [before, sizes[last]])
            cells, counts = _counted(code, before * sizes[last])
            enough = counts >= min_count
            if enough.any():
                frequent[attributes] = cells[enough], counts[enough]
                level[attributes] = code
        codes = level
    return frequent


def _counted(code: CellNumbers, space: int) -> tuple[CellNumbers, NDArray[np.int64]]:
    if space <= 4 * len(code) + 4096:
        counts = np.bincount(code, minlength=space)
        cells = np.flatnonzero(counts)
        return cells, counts[cells]
    return np.unique(code, return_counts=True)


def association_rules(
    columns: Sequence[Codes],
    sizes: Sequence[int],
    min_support: float,
    min_confidence: float = MIN_CONFIDENCE,
    *,
    consequent: int | None = None,
    most_items: int | None = None,
) -> RuleSet:
    """Every rule with that support and confidence.

    With `consequent`, only those that conclude that attribute: class rules (paper 4, section IV.C).
    """
    if not 0 < min_support <= 1 or not 0 < min_confidence <= 1:
        raise RecipeError("Support and confidence must be shares above 0", f"{min_support}, {min_confidence}")
    rows = len(columns[0])
    # the smallest count whose share reaches the support, whatever the rounding of the product
    least = max(int(np.ceil(min_support * rows - 1e-9)), 1)
    frequent = marginals(columns, sizes, least, most_items)
    rules = {}
    for every, (cells, counts) in frequent.items():
        if len(every) < 2 or (consequent is not None and consequent not in every):
            continue
        values = np.unravel_index(cells, [sizes[a] for a in every])
        for left in _antecedents(every, consequent):
            inner, totals = frequent[left]
            key = joint_codes([values[every.index(a)] for a in left], [sizes[a] for a in left])
            confidence = counts / totals[np.searchsorted(inner, key)]
            enough = confidence >= min_confidence
            if enough.any():
                rules[left, every] = cells[enough], confidence[enough], counts[enough] / rows
    return RuleSet(tuple(sizes), min_confidence, rules)


def _antecedents(every: Attributes, consequent: int | None) -> list[Attributes]:
    if consequent is not None:
        return [tuple(a for a in every if a != consequent)]
    return [left for size in range(1, len(every)) for left in combinations(every, size)]


def rule_distance(a: RuleSet, b: RuleSet) -> float:
    """Paper 4, section VI: the sum over rules of either set of the difference of confidences.

    A rule that a set lacks counts there with the minimum confidence.
    """
    if a.sizes != b.sizes or a.min_confidence != b.min_confidence:
        raise RecipeError("Rule sets must be of the same attributes and minimum confidence to be compared")
    empty = (np.zeros(0, np.int64), np.zeros(0), np.zeros(0))
    total = 0.0
    for key in {**a.rules, **b.rules}:
        cells_a, ours, _ = a.rules.get(key, empty)
        cells_b, theirs, _ = b.rules.get(key, empty)
        union = np.union1d(cells_a, cells_b)
        gap = np.full(len(union), a.min_confidence) - a.min_confidence
        gap[np.searchsorted(union, cells_a)] += ours - a.min_confidence
        gap[np.searchsorted(union, cells_b)] -= theirs - a.min_confidence
        total += float(np.abs(gap).sum())
    return total


def tree_accuracy(train: Sequence[Codes], train_class: Codes, test: Sequence[Codes], test_class: Codes) -> float:
    """The share of `test` that a decision tree learnt from `train` classifies rightly."""
    try:
        from sklearn.tree import DecisionTreeClassifier
    except ImportError:
        raise MissingExtraError(
            "Decision trees need scikit-learn", "no such library", f"Install it with: {install_command('models')}"
        ) from None
    tree: Any = DecisionTreeClassifier(min_samples_leaf=20, random_state=0)
    tree.fit(np.stack(list(train), axis=1), train_class)
    return float((tree.predict(np.stack(list(test), axis=1)) == test_class).mean())
