"""The further models against an oracle that knows only their definitions, over whole lattices of small tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.counting.classes import Classes, CountedCombinations
from pramana.errors import RecipeError, UnreachableError
from pramana.methods.generalize import space as roll_ups
from pramana.methods.generalize.conditions import (
    Alike,
    All,
    Close,
    Condition,
    Disclosing,
    FewUniques,
    KAnonymous,
    LeftOutPresent,
    Mapped,
    MeanRiskWithin,
    Profitable,
    ProfitSection,
    ShareOfPeople,
    TableCondition,
    staying,
)
from pramana.methods.generalize.lattice import search
from pramana.methods.generalize.lines import beside_people, grouped_for
from pramana.methods.generalize.measures import CLASSIFICATION, FACTORED, SEPARABLE, measure_of
from pramana.methods.generalize.setting import GeneralizeSetting, design_in
from pramana.methods.presence.shaping import Presence
from pramana.schema.typed import read_section

from . import oracle
from .tables import random_table

FIVE = (*SEPARABLE, "discernibility", "class-size")
MEASURES = (*FIVE, CLASSIFICATION)
ROWS = 40


@dataclass(frozen=True)
class Asked:
    """One model as the package has it and as the oracle does, for a table."""

    condition: Condition | None = None
    test: oracle.ClassTest | None = None
    table: TableCondition | None = None
    rule: oracle.TableRule | None = None


Make = Callable[[oracle.OracleTable, np.ndarray], Asked]
DELTA = (Fraction(1, 5), Fraction(4, 5))
GAME = ProfitSection(benefit=10.0, loss=12.0, gain=8.0, cost=1.5)


def presence(table: oracle.OracleTable, totals: np.ndarray) -> Asked:
    del totals
    wanted = Presence(*DELTA)
    return Asked(
        ShareOfPeople(wanted),
        oracle.present(*DELTA),
        LeftOutPresent(wanted, len(table.population), len(table.rows)),
        oracle.left_out_present(table, *DELTA),
    )


MODELS: dict[str, Make] = {
    "k": lambda *_: Asked(),
    "k-map": lambda *_: Asked(Mapped(7), oracle.k_map(7)),
    "presence": presence,
    "d-disclosure": lambda _, totals: Asked(Disclosing(1.5, totals), oracle.d_disclosing(1.5)),
    "b-likeness": lambda _, totals: Asked(Alike(0.75, totals), oracle.b_alike(Fraction(3, 4), False)),
    "enhanced b": lambda _, totals: Asked(Alike(2.0, totals, True), oracle.b_alike(Fraction(2), True)),
    "ordered t": lambda _, totals: Asked(Close(0.2, totals, None, True), oracle.ordered_close(Fraction(1, 5))),
    "profit": lambda table, _: Asked(
        table=Profitable(GAME), rule=oracle.profitable(table, 10.0, 12.0, 8.0, 1.5, True)
    ),
    "profit, never attacked": lambda table, _: Asked(
        table=Profitable(msgspec.structs.replace(GAME, attacked=False)),
        rule=oracle.profitable(table, 10.0, 12.0, 8.0, 1.5, False),
    ),
    "average risk": lambda *_: Asked(
        table=MeanRiskWithin(Fraction("0.15")), rule=oracle.mean_risk(Fraction("0.15"))
    ),
}


def small_table(seed: int) -> oracle.OracleTable:
    """Rows that are the first part of a population, with a sensitive value each."""
    layout, columns = random_table(seed, rows=3 * ROWS // 2, leaves=5)
    people = tuple(tuple(int(column[i]) for column in columns) for i in range(len(columns[0])))
    values = np.random.default_rng(seed + 1).choice(3, ROWS, p=[0.5, 0.3, 0.2])
    return oracle.OracleTable(layout, people[:ROWS], tuple(int(v) for v in values), people)


def counted(table: oracle.OracleTable) -> Classes:
    """Its distinct rows, with their sensitive values and people."""
    columns = [np.array(column, np.uint8) for column in zip(*table.rows, strict=True)]
    people = [np.array(column, np.uint8) for column in zip(*table.population, strict=True)]
    values = np.array(table.values, np.uint8)
    counted = grouped_for(table.layout, columns, [(values, 3)])
    everyone = CountedCombinations(tuple(people), np.ones(len(table.population), np.uint32))
    return beside_people(counted.base, counted.index, everyone)[0]


@settings(deadline=None, max_examples=80)
@given(
    st.integers(0, 10**6),
    st.sampled_from(sorted(MODELS)),
    st.sampled_from(MEASURES),
    st.sampled_from((0, 1, 2, 4)),
    st.sampled_from((1, 2, 3)),
    st.sampled_from((None, {"q0": 3.0, "q1": 0.5}, {"q2": 0.0})),
    st.sampled_from((None, 0.0, 0.2, 0.8, 1.0)),
    st.booleans(),
)
def test_the_optimum_of_every_model_and_measure_is_the_oracles(
    seed: int,
    model: str,
    kind: str,
    limit: int,
    k: int,
    weights: dict[str, float] | None,
    factor: float | None,
    probing: bool,
) -> None:
    """Suppression of 0 to 10% of the rows, with weights and factors where a measure takes them."""
    table = small_table(seed)
    weights = weights if kind in SEPARABLE else None
    factor = factor if kind in FACTORED else None
    factors = None if factor is None else {"q0": factor, "q1": factor}
    asked = MODELS[model](table, np.bincount(table.values, minlength=3))
    tests = [oracle.k_anonymous(k), *([] if asked.test is None else [asked.test])]
    condition = KAnonymous(k) if asked.condition is None else All((KAnonymous(k), asked.condition))
    expected = oracle.optimum(table, tests, kind, limit, asked.rule, weights, factors)
    base = counted(table)
    measure = measure_of(kind, base.occupied.bare, weights, factors)
    with pytest.MonkeyPatch.context() as patch:
        if probing:  # small tables take the path of large ones
            patch.setattr(roll_ups, "LARGE_TABLE", 0)
            patch.setattr(roll_ups, "SMALL_TABLE", 0)
        if expected is None:
            with pytest.raises(UnreachableError):
                search(base, condition, measure, limit, table=asked.table)
            return
        found = search(base, condition, measure, limit, table=asked.table)
    assert found.cost == pytest.approx(expected.cost, abs=1e-9)
    assert (found.levels, roll_ups.lost_rows(found.classes, found.held)) == (expected.levels, expected.suppressed)


@pytest.mark.parametrize("model", ["k-map", "presence", "d-disclosure", "b-likeness", "enhanced b", "ordered t"])
def test_a_class_made_of_classes_that_hold_does(model: str) -> None:
    """What lets a search prune without suppression; and what the anchor says survives any merging."""
    seen = 0
    for seed in range(40):
        table = small_table(seed)
        condition = MODELS[model](table, np.bincount(table.values, minlength=3)).condition
        assert condition is not None
        base = counted(table)
        for levels in itertools.islice(table.nodes(), 12):
            low = base.rolled(levels).occupied
            high, into = low.rolled_with_index(table.layout.top)
            held, above = condition.held(low.seen), condition.held(high.seen)
            if held.all():
                seen += 1
                assert above.all()
            if condition.anchor is not None:
                anchored = condition.anchor.held(low.seen)
                assert not (held & ~anchored).any(), "holding implies the anchor"
                assert condition.anchor.held(high.seen)[into[anchored]].all()
    assert seen > 20


def test_average_risk_survives_generalisation_with_suppression() -> None:
    """At every pair of nodes, one above the other: no more rows have to be left out above."""
    rule, pairs = MeanRiskWithin(Fraction("0.2")), 0
    for seed in range(60):
        base = counted(small_table(seed))
        lost = {}
        for levels in small_table(seed).nodes():
            classes = base.rolled(levels).occupied
            held = staying(KAnonymous(2), classes, rule)[1]
            lost[levels] = int(classes.sizes[~held].sum()) if held.any() else ROWS
        for low, high in itertools.product(lost, repeat=2):
            if all(i <= j for i, j in zip(low, high, strict=True)):
                pairs += low != high
                assert lost[high] <= lost[low]
    assert pairs > 1000


def test_population_uniques_are_asked_of_every_node() -> None:
    """Its estimate can rise where classes merge; the search finds the cheapest node all the same."""
    model, found_any = FewUniques(0.02, 400, "zayatz"), 0
    for seed in range(60):
        table = small_table(seed)
        base = counted(table)
        for limit in (0, 3):
            nodes = []
            measure = measure_of("loss", base.occupied.bare)
            for levels in table.nodes():
                classes = base.rolled(levels).occupied
                held = np.ones(len(classes), bool)
                sizes = classes.sizes.astype(int)
                singles, records = int((sizes == 1).sum()), int(sizes.sum())
                if singles and zayatz_by_sums(sizes.tolist(), 400) > 0.02 * 400:
                    held = sizes > 1
                if held.any() and records - int(sizes[held].sum()) <= limit:
                    nodes.append((measure.cost(classes, held), levels))
            if not nodes:
                continue
            found_any += 1
            found = search(base, KAnonymous(1), measure, limit, table=model)
            assert found.cost == pytest.approx(min(nodes)[0], abs=1e-12)
    assert found_any > 50


def zayatz_by_sums(sizes: list[int], population: int) -> float:
    """Bayes' rule, with binomial coefficients as whole numbers."""
    from math import comb

    records, singles = sum(sizes), sizes.count(1)
    whole = comb(population, records)
    once = sum(Fraction(size * comb(population - size, records - 1), whole) for size in sizes)
    alone = singles * Fraction(records, population)
    return float(min(singles * alone / once * Fraction(population, records), Fraction(population)))


@pytest.mark.parametrize(
    "stated",
    [
        {"k": 0},
        {"l": 0.5},
        {"l": 2, "l_kind": "recursive", "c": 0.0},
        {"t": 1.5},
        {"k_map": 0},
        {"d_disclosure": 0.0},
        {"b_likeness": 0.0},
        {"average_risk": 0.0},
        {"population_uniques": 1.5, "population_size": 10},
        {"delta": [0.5, 0.1], "cells": "hierarchy"},
        {"profit": {"benefit": 1.0, "loss": math.inf, "gain": 1.0, "cost": 1.0}, "cells": "hierarchy"},
    ],
)
def test_models_refuse_numbers_that_mean_nothing(stated: dict[str, Any]) -> None:
    with pytest.raises(RecipeError):
        design_in(read_section(GeneralizeSetting, {"method": "generalize", "k": 2, **stated}, "[release]"))
