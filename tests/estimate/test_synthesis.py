"""Models of a published table and records drawn from them: against brute force, and against wrong laws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import minimize
from tests.statistical.thresholds import ACCEPT, KEY, REJECT

from pramana.errors import InputError
from pramana.mechanisms.channel import Dense, Retention
from pramana.mechanisms.table import ChannelGroup, Exchange, Mechanism, Product, RecordRetention
from pramana.randomness.key import Key
from pramana.randomness.samplers import ONE
from pramana.recipient.junction import (
    Clique,
    Dependence,
    Junction,
    Learner,
    Target,
    attenuation,
    fit_junction,
    margin_of,
)
from pramana.recipient.law import Array
from pramana.recipient.likelihood import fit
from pramana.recipient.model import ModelColumn, exact_weights, fit_records, tables_of, variables_of
from pramana.recipient.study import Study
from pramana.rows.engines import LocalEngine
from pramana.schema.domain import Axis

SIZES = (2, 3, 2, 4)
Column = NDArray[np.integer[Any]]


def joint_of(junction: Junction, potentials: Sequence[Array]) -> Array:
    """The distribution over all combinations, from the definition."""
    weights = np.zeros(SIZES)
    for cell in np.ndindex(SIZES):
        weights[cell] = math.exp(
            sum(p[tuple(cell[v] for v in c.scope)] for c, p in zip(junction.cliques, potentials, strict=True))
        )
    return np.asarray(weights / weights.sum())


TREE = Junction((Clique(1), Clique(0, (1,), 0), Clique(2, (0, 1), 1), Clique(3, (2, 0), 2)))


def test_marginals_are_those_of_the_whole_distribution() -> None:
    draw = np.random.default_rng(1)
    potentials = [draw.normal(size=[SIZES[v] for v in c.scope]) for c in TREE.cliques]
    whole = joint_of(TREE, potentials)
    conditionals = TREE.conditionals(potentials)
    for clique, log, marginal in zip(TREE.cliques, conditionals, TREE.marginals(conditionals), strict=True):
        assert np.exp(log).sum(axis=-1) == pytest.approx(1)
        assert marginal == pytest.approx(margin_of(whole, (0, 1, 2, 3), clique.scope))


def test_parents_must_stand_together() -> None:
    with pytest.raises(InputError, match="together"):
        Junction((Clique(0), Clique(1), Clique(2, (0, 1), 1)))
    with pytest.raises(InputError, match="within a clique"):
        fit_junction(Junction((Clique(0), Clique(1))), [Target((0, 1), np.full((2, 3), 1 / 6))], SIZES)


def log_linear(counts: Array, scopes: Sequence[tuple[int, ...]]) -> Array:
    """The maximum-likelihood log-linear model with these margins, by climbing its likelihood."""
    shape = counts.shape
    parts = [np.arange(math.prod(shape[v] for v in s)).reshape([shape[v] for v in s]) for s in scopes]
    lengths = np.cumsum([0, *(part.size for part in parts)])
    places = np.stack(
        [
            np.array([first + part[tuple(cell[v] for v in s)] for cell in np.ndindex(shape)])
            for first, part, s in zip(lengths, parts, scopes, strict=False)
        ]
    )

    def loss(theta: Array) -> tuple[float, Array]:
        logs = theta[places].sum(axis=0)
        logs -= logs.max()
        shares = np.exp(logs) / np.exp(logs).sum()
        gradient = np.zeros_like(theta)
        for row in places:
            np.add.at(gradient, row, shares * counts.sum() - counts.ravel())
        return -float(counts.ravel() @ np.log(shares)), gradient

    best = minimize(loss, np.zeros(lengths[-1]), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 0})
    logs = best.x[places].sum(axis=0)
    weights = np.exp(logs - logs.max()).reshape(shape)
    return np.asarray(weights / weights.sum())


@pytest.mark.parametrize(
    "scopes",
    [((0, 1), (1, 2), (2, 3)), ((0, 1), (0, 2), (1, 2), (2, 3)), ((0, 1, 2), (2, 3))],
    ids=["tree", "a loop in a clique", "a table of three"],
)
def test_the_fit_is_the_maximum_likelihood_model_by_brute_force(scopes: tuple[tuple[int, ...], ...]) -> None:
    counts = np.random.default_rng(2).integers(1, 60, SIZES).astype(float)
    shares = counts / counts.sum()
    junction = Junction((Clique(0), Clique(1, (0,), 0), Clique(2, (0, 1), 1), Clique(3, (2,), 2)))
    targets = [Target(s, margin_of(shares, (0, 1, 2, 3), s)) for s in scopes]
    fitted = fit_junction(junction, targets, SIZES)
    assert fitted.converged
    assert fitted.joint(SIZES) == pytest.approx(log_linear(counts, scopes), abs=1e-5)
    assert abs(fitted.joint(SIZES) - shares).sum() > 0.05  # it is no copy of the table


def test_tables_that_no_distribution_has_are_settled_between() -> None:
    """Three pairs of two values that must all be opposite: at most two of them can."""
    opposite = np.array([[0.0, 0.5], [0.5, 0.0]]) * 0.98 + 0.005
    junction = Junction((Clique(0), Clique(1, (0,), 0), Clique(2, (0, 1), 1)))
    targets = [Target(pair, opposite) for pair in ((0, 1), (0, 2), (1, 2))]
    fitted = fit_junction(junction, targets, (2, 2, 2))
    assert fitted.converged and fitted.apart > 0.1
    joint = fitted.joint((2, 2, 2))
    differ = [joint[a, b, c] for a, b, c in product(range(2), repeat=3) if not a == b == c]
    assert differ == pytest.approx([1 / 6] * 6, abs=1e-3)  # each pair is opposite as often as can be


# ---------------------------------------------------------------- structure


def chain(rows: int, sizes: Sequence[int], follows: float, seed: int) -> list[Column]:
    """Each column copies the one before it, scaled, or is drawn anew."""
    draw = np.random.default_rng(seed)
    columns: list[Column] = [draw.integers(0, sizes[0], rows)]
    for before, size in pairwise(sizes):
        copied = columns[-1] * size // before
        columns.append(np.where(draw.random(rows) < follows, copied, draw.integers(0, size, rows)))
    return columns


def study_of(
    columns: Sequence[Column], sizes: Sequence[int], mechanism: Mechanism | None, seed: bytes = KEY
) -> Study:
    names = [f"c{i}" for i in range(len(sizes))]
    true = {n: c.astype(np.uint8) for n, c in zip(names, columns, strict=True)}
    axes = [Axis.of_labels(n, [str(v) for v in range(s)]) for n, s in zip(names, sizes, strict=True)]
    if mechanism is None:
        return Study.of_codes(axes, Product({}), true)
    seen = LocalEngine(threads=1).publish(mechanism, Key(seed), "synthesis", true)
    return Study.of_codes(axes, mechanism, {**true, **seen})


def mechanism_of(coin: str, sizes: Sequence[int], rho: float) -> Mechanism:
    names = {f"c{i}": s for i, s in enumerate(sizes)}
    if coin == "record":
        return RecordRetention.at(rho, names)
    return Product({n: Retention.at(rho, s) for n, s in names.items()})


def learned(study: Study) -> tuple[Learner, set[frozenset[int]]]:
    variables = variables_of(study, list(study.axes))

    def tables(scopes):  # type: ignore[no-untyped-def]
        return tables_of(study, [[variables[v] for v in scope] for scope in scopes])

    learner = Learner([v.size for v in variables], tables)
    fitted = learner.learn()
    return learner, {frozenset(c.scope) for c in fitted.junction.cliques if c.parents}


@pytest.mark.parametrize(("coin", "rho"), [("attribute", 0.6), ("record", 0.4)])
def test_a_chain_is_found_through_the_noise(coin: str, rho: float) -> None:
    sizes = (3, 4, 5, 3, 4)
    study = study_of(chain(60_000, sizes, 0.7, 3), sizes, mechanism_of(coin, sizes, rho))
    _, cliques = learned(study)
    assert {frozenset(pair) for pair in ((0, 1), (1, 2), (2, 3), (3, 4))} == {c for c in cliques if len(c) == 2}


@pytest.mark.parametrize(("coin", "rho"), [("attribute", 0.5), ("record", 0.5)])
@pytest.mark.parametrize("seed", range(8))
def test_independent_columns_stay_alone(coin: str, rho: float, seed: int) -> None:
    sizes = (3, 12, 5, 20)
    columns = chain(5_000, sizes, 0.0, seed)
    learner, cliques = learned(study_of(columns, sizes, mechanism_of(coin, sizes, rho), bytes([seed]) * 32))
    assert cliques == set() and learner.targets == {}


def test_the_statistic_of_a_sparse_table_has_its_mean_and_deviation() -> None:
    """400 cells for 300 records: the usual variance 2 df would be too small."""
    draw, sizes = np.random.default_rng(5), (20, 20)
    skewed = np.geomspace(1, 0.01, 20)
    skewed /= skewed.sum()
    found = []
    for _ in range(300):
        columns = [draw.choice(20, 300, p=skewed) for _ in sizes]
        study = study_of(columns, sizes, None)
        table = study.table(["c0", "c1"])
        found.append(Dependence.of(table, np.multiply.outer(skewed, skewed), 399))
    z = np.array([(d.statistic - 399) / d.deviation for d in found])
    assert abs(z.mean()) < 5 / math.sqrt(300)
    assert 0.8 < z.std() < 1.2
    assert np.std([d.statistic for d in found]) > 1.5 * math.sqrt(2 * 399)


def test_what_a_law_attenuates() -> None:
    sizes = (3, 4)
    for coin, wanted in (("attribute", 0.25), ("record", 0.5)):
        law = study_of(chain(10, sizes, 0, 1), sizes, mechanism_of(coin, sizes, 0.5)).table(["c0", "c1"]).law
        assert attenuation(law) == pytest.approx(wanted)
    dense = Dense.of(0.3 * np.eye(4) + 0.7 / 4)
    law = study_of(chain(10, (4,), 0, 1), (4,), Product({"c0": dense})).table(["c0"]).law
    assert attenuation(law) == pytest.approx(0.3)


# ---------------------------------------------------------------- what is drawn


def drawn_law(study: Study, limit: int) -> tuple[Array, Column]:
    """The model's probabilities of all combinations from its integers, and how often they are drawn."""
    names = list(study.axes)
    model = fit_records(study, names, most_joint_cells=limit)
    sizes = [study.axes[n].size for n in names]
    shares = np.ones(sizes)
    for step in model.steps:
        scope = (*step.given, step.variable)
        table = (step.weights / ONE).reshape([sizes[v] for v in scope])
        shares *= np.transpose(table, np.argsort(scope)).reshape(
            [sizes[v] if v in scope else 1 for v in range(len(sizes))]
        )
    codes = model.draw(Key(KEY), "", 0, 400_000)
    place = np.ravel_multi_index([codes[n] for n in names], sizes)
    return shares, np.bincount(place, minlength=shares.size).reshape(sizes)


@pytest.mark.parametrize("limit", [1, 1 << 20], ids=["graphical", "joint"])
def test_the_drawn_law_is_the_fitted_one_and_no_other(limit: int) -> None:
    sizes = (2, 3, 4)
    draw = np.random.default_rng(7)
    table = draw.gamma(0.7, size=sizes)
    place = draw.choice(24, 50_000, p=(table / table.sum()).ravel())
    columns = list(np.unravel_index(place, sizes))
    study = study_of(columns, sizes, mechanism_of("attribute", sizes, 0.7))
    shares, counts = drawn_law(study, limit)
    assert shares.sum() == pytest.approx(1)
    seen = shares.ravel() > 0
    assert counts.ravel()[~seen].sum() == 0
    assert stats.chisquare(counts.ravel()[seen], shares.ravel()[seen] * counts.sum()).pvalue > ACCEPT
    for axis in range(3):  # a law a little off, in any column
        tilt = np.linspace(0.97, 1.03, sizes[axis]).reshape([-1 if a == axis else 1 for a in range(3)])
        wrong = shares * tilt / (shares * tilt).sum()
        assert stats.chisquare(counts.ravel()[seen], wrong.ravel()[seen] * counts.sum()).pvalue < REJECT


def test_the_joint_model_is_the_maximum_likelihood_table() -> None:
    """Where the published table says that lower tables do not explain it: three coins whose sum is even."""
    draw = np.random.default_rng(8)
    first, second = draw.integers(0, 2, 30_000), draw.integers(0, 2, 30_000)
    odd = (first + second + (draw.random(30_000) < 0.1)) % 2
    study = study_of([first, second, odd], (2, 2, 2), mechanism_of("attribute", (2, 2, 2), 0.8))
    shares, _ = drawn_law(study, 1 << 20)
    assert fit_records(study, list(study.axes)).kind == "joint"
    best = fit(study.table(list(study.axes))).values
    assert shares == pytest.approx(best / best.sum(), abs=1e-12)
    assert shares[0, 0, 0] > 4 * shares[0, 0, 1]


def test_rows_do_not_depend_on_batches_and_do_on_the_key() -> None:
    sizes = (3, 5)
    study = study_of(chain(5_000, sizes, 0.6, 9), sizes, mechanism_of("attribute", sizes, 0.6))
    model = fit_records(study, list(study.axes))
    whole = model.draw(Key(KEY), "a", 0, 1000)
    parts = [model.draw(Key(KEY), "a", first, 100) for first in range(0, 1000, 100)]
    for name in whole:
        assert np.array_equal(whole[name], np.concatenate([part[name] for part in parts]))
        assert not np.array_equal(whole[name], model.draw(Key(KEY), "b", 0, 1000)[name])
        assert not np.array_equal(whole[name], model.draw(Key(bytes(32)), "a", 0, 1000)[name])


def test_structural_zeros_are_kept() -> None:
    """Combinations that no published record can have come from: blocks of a matrix, and columns left unchanged."""
    draw = np.random.default_rng(10)
    raw = draw.integers(0, 3, 20_000)
    value = np.where(raw == 0, draw.integers(0, 2, 20_000), 2 + draw.integers(0, 2, 20_000))
    block = np.kron(np.eye(2), np.array([[0.8, 0.2], [0.3, 0.7]]))  # values 0, 1 never become 2, 3
    study = study_of([raw, value], (3, 4), Product({"c1": Dense.of(block)}))
    model = fit_records(study, ["c0", "c1"], most_joint_cells=1)
    codes = model.draw(Key(KEY), "", 0, 50_000)
    assert ((codes["c0"] == 0) == (codes["c1"] < 2)).all()
    assert len(np.unique(codes["c1"])) == 4


def test_columns_randomised_together_are_one_variable() -> None:
    sizes = (2, 3, 2)
    columns = chain(20_000, sizes, 0.8, 11)
    group = ChannelGroup(("c0", "c1"), Dense.of(0.7 * np.eye(6) + 0.3 / 6))
    mechanism = Exchange({"c0": 2, "c1": 3}, (group,))
    study = study_of(columns, sizes, mechanism)
    assert [v.names for v in variables_of(study, list(study.axes))] == [("c0", "c1"), ("c2",)]
    codes = fit_records(study, list(study.axes)).draw(Key(KEY), "", 0, 100_000)
    got = np.bincount(codes["c0"].astype(int) * 3 + codes["c1"], minlength=6) / 100_000
    want = np.bincount(columns[0] * 3 + columns[1], minlength=6) / 20_000
    assert got == pytest.approx(want, abs=0.02)


def test_many_values_released_unchanged_go_by_groups_and_come_back_as_values() -> None:
    draw = np.random.default_rng(12)
    income = np.sort(draw.choice(50_000, 700, replace=False))
    codes = draw.choice(700, 40_000, p=np.arange(1, 701) / np.arange(1, 701).sum())
    sex = (codes > 350).astype(np.uint8) ^ (draw.random(40_000) < 0.1)
    axes = [Axis.of_labels("income", [str(v) for v in income]), Axis.of_labels("sex", ["F", "M"])]
    true: dict[str, NDArray[np.unsignedinteger]] = {"income": codes.astype(np.uint16), "sex": sex.astype(np.uint8)}
    mechanism = Product({"sex": Retention.at(0.7, 2)})
    seen = LocalEngine(threads=1).publish(mechanism, Key(KEY), "s", {"sex": true["sex"]})
    study = Study.of_codes(axes, mechanism, {**true, **seen})
    assert variables_of(study, ["income", "sex"])[0].size <= 64
    got = fit_records(study, ["income", "sex"]).draw(Key(KEY), "", 0, 40_000)
    ranks = stats.ks_2samp(got["income"], true["income"])
    assert ranks.pvalue > 1e-3
    above = got["income"] > 350
    assert got["sex"][above].mean() == pytest.approx(0.9, abs=0.02)
    assert got["sex"][~above].mean() == pytest.approx(0.1, abs=0.03)


@pytest.mark.parametrize("kind", ["numbers", "names"])
def test_groups_keep_the_order_of_numbers_and_the_frequent_names(kind: str) -> None:
    labels = [str(v) if kind == "numbers" else f"n{v:03d}" for v in range(200)]
    counts = np.arange(200, dtype=np.int64)[::-1] + 1
    axis = Axis.of_labels("a", labels, missing=True)
    column = ModelColumn.of(axis, np.append(counts, 7))
    groups = column.group_of
    assert groups is not None and column.size <= 64
    assert set(groups) == set(range(column.size))
    assert np.flatnonzero(groups == groups[-1]).tolist() == [200]  # missing values are a group of their own
    if kind == "numbers":
        assert (np.diff(groups[:-1]) >= 0).all()
    else:
        assert len(set(groups[:60])) == 60  # the most frequent stand alone


def test_weights_are_exact() -> None:
    rows = np.random.default_rng(13).gamma(0.2, size=(50, 9))
    rows[rows < 0.01] = 0
    weights = exact_weights(rows)
    assert (weights.sum(axis=1) == ONE).all() and (weights >= 0).all()
    assert ((weights == 0) >= (rows == 0)).all()
    assert weights / ONE == pytest.approx(rows / rows.sum(axis=1, keepdims=True), abs=1e-15)
    assert (exact_weights(np.zeros((1, 3))).sum(axis=1) == ONE).all()
