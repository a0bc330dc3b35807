"""Rules against brute force over all itemsets; the paper's example; the distance by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import needs

from pramana.errors import RecipeError
from pramana.recipient.rules import association_rules, rule_distance, tree_accuracy

# Paper 4, Table I: sex, job, nation, salary of eight people (M/F; Pr, St, Te, Sh, Si; Ca, US, Br, It)
SEX = np.array([0, 0, 0, 0, 1, 1, 1, 1], np.uint8)
JOB = np.array([0, 1, 1, 1, 3, 4, 2, 2], np.uint8)
NATION = np.array([0, 1, 1, 1, 3, 3, 2, 3], np.uint8)
NATIONS = ["Ca", "US", "Br", "It"]
SALARY = np.array([0, 0, 0, 0, 1, 1, 0, 1], np.uint8)


def test_the_rule_of_section_four() -> None:
    """'M => USA' has support 3/8 and confidence 3/4; 'Italy => >50K' holds with certainty."""
    found = association_rules([SEX, NATION], [2, 4], 0.25, 0.75)
    words = {
        (r.antecedent, r.consequent): r for r in found.named(["sex", "nation"], ["MF", ["Ca", "US", "Br", "It"]])
    }
    rule = words[(("sex", "M"),), (("nation", "US"),)]
    assert (rule.support, rule.confidence) == (3 / 8, 3 / 4)
    classes = association_rules([SEX, JOB, NATION, SALARY], [2, 5, 4, 2], 0.25, consequent=3)
    named = classes.named(["sex", "job", "nation", "salary"], ["MF", "abcde", NATIONS, ["<=", ">"]])
    assert any(
        r.antecedent == (("nation", "It"),) and r.consequent == (("salary", ">"),) and r.confidence == 1
        for r in named
    )


def test_equally_good_rules_come_in_order_of_values() -> None:
    """Values 4, 34 and 104 each imply one class: as texts, 104 came before 34 and 4."""
    age = np.repeat([0, 1, 2], 5).astype(np.uint8)
    named = association_rules([age, age], [3, 3], 0.1, consequent=1).named(
        ["age", "class"], [["4", "34", "104"], "abc"]
    )
    assert [rule.antecedent for rule in named] == [(("age", "4"),), (("age", "34"),), (("age", "104"),)]


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.floats(0.02, 0.6), st.floats(0.3, 1.0))
def test_rules_are_those_of_brute_force(seed: int, support: float, confidence: float) -> None:
    rng = np.random.default_rng(seed)
    sizes = [int(rng.integers(1, 4)) for _ in range(4)]
    columns = [rng.choice(s, 50, p=rng.dirichlet(np.ones(s))).astype(np.uint8) for s in sizes]
    found = association_rules(columns, sizes, support, confidence)
    rows = list(zip(*(c.tolist() for c in columns), strict=True))

    def count(items: tuple[tuple[int, int], ...]) -> int:
        return sum(all(row[a] == v for a, v in items) for row in rows)

    expected = {}
    for size in range(2, 5):
        for attributes in combinations(range(4), size):
            for values in {tuple(row[a] for a in attributes) for row in rows}:
                items = tuple(zip(attributes, values, strict=True))
                n = count(items)
                if n / 50 < support:
                    continue
                for m in range(1, size):
                    for left in combinations(items, m):
                        if n / count(left) >= confidence:
                            rest = tuple(i for i in items if i not in left)
                            expected[left, rest] = n / count(left)
    names = [str(a) for a in range(4)]
    mine = {
        (
            tuple((int(a), int(v)) for a, v in r.antecedent),
            tuple((int(a), int(v)) for a, v in r.consequent),
        ): r.confidence
        for r in found.named(names, [[str(v) for v in range(s)] for s in sizes])
    }
    assert mine == pytest.approx(expected)


def test_distance_by_hand() -> None:
    """One rule at 1.0 against 0.9, one that the other lacks at 0.85: 0.1 + 0.05."""
    a = np.repeat([0, 1], [10, 20]).astype(np.uint8)
    b = np.concatenate([np.zeros(10), np.ones(17), np.zeros(3)]).astype(np.uint8)
    c = np.concatenate([np.zeros(9), [1], np.ones(14), np.zeros(6)]).astype(np.uint8)
    first = association_rules([a, b], [2, 2], 0.2, consequent=1)
    second = association_rules([a, c], [2, 2], 0.2, consequent=1)
    # a=0 => 0: 10/10 and 9/10; a=1 => 1: 17/20 and 14/20, the latter below 0.8
    assert (len(first), len(second)) == (2, 1)
    assert rule_distance(first, second) == pytest.approx(0.1 + 0.05)
    assert rule_distance(first, first) == 0
    assert rule_distance(second, first) == pytest.approx(rule_distance(first, second))
    with pytest.raises(RecipeError):
        rule_distance(first, association_rules([a, c], [2, 2], 0.2, 0.9, consequent=1))


def test_bad_thresholds_are_one_error() -> None:
    for support, confidence in ((0, 0.8), (2, 0.8), (0.1, 0)):
        with pytest.raises(RecipeError):
            association_rules([SEX], [2], support, confidence)


def test_a_tree_learns_what_there_is_to_learn() -> None:
    needs.package("sklearn")
    rng = np.random.default_rng(1)
    x = rng.integers(0, 4, 2000).astype(np.uint8)
    y = (x >= 2).astype(np.uint8)
    noise = rng.integers(0, 2, 2000).astype(np.uint8)
    assert tree_accuracy([x], y, [x], y) == 1.0
    assert 0.4 < tree_accuracy([noise], y, [noise], y) < 0.6
