"""One coin for each group of columns: law, guarantees and estimates by brute force over all records."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.statistical.thresholds import ACCEPT, REJECT
from tests.theory.shuffled_tables import true_deltas

from pramana.errors import MatrixError
from pramana.holder.audit.epsilon import worst_pair
from pramana.holder.audit.linkage import likelihoods_of
from pramana.mechanisms.channel import Dense, Retention, central_epsilon
from pramana.mechanisms.guarantees import Circumstances, k_of
from pramana.mechanisms.stated import mechanism_from_json
from pramana.mechanisms.table import (
    CoinGroups,
    Mechanism,
    Product,
    RecordRetention,
    streams_of,
)
from pramana.randomness.key import Key
from pramana.randomness.samplers import ONE
from pramana.recipient.law import law_of
from pramana.rows.engines import LocalEngine

SIZES = {"a": 2, "b": 3, "c": 4}  # redraws of 2 and 4 values are uniform to the last bit


def groups(kept: Fraction, alone: Fraction) -> CoinGroups:
    """a and c together, b by itself."""
    bound = math.ceil((1 - kept) * ONE)
    return CoinGroups(SIZES, (RecordRetention({"a": 2, "c": 4}, bound),), {"b": Retention.at(alone, 3)})


LAW = groups(Fraction(2, 5), Fraction(1, 3))
RECORDS = list(itertools.product(range(2), range(3), range(4)))


def chance(law: CoinGroups, true: tuple[int, ...], shown: tuple[int, ...]) -> Fraction:
    """Written out: the coin of a and c, redrawn among eight, times b's own channel."""
    redrawn = Fraction(law.groups[0].bound, ONE)
    together = redrawn / 8 + ((1 - redrawn) if (true[0], true[2]) == (shown[0], shown[2]) else 0)
    return together * Fraction(int(law.channels["b"].weights[true[1], shown[1]]), ONE)


def matrix(law: CoinGroups) -> list[list[Fraction]]:
    return [[chance(law, u, v) for v in RECORDS] for u in RECORDS]


@pytest.mark.parametrize("kept", [Fraction(0), Fraction(2, 5), Fraction(9, 10)])
@pytest.mark.parametrize("alone", [Fraction(1, 3), Fraction(3, 4)])
def test_ratios_are_those_of_the_whole_matrix(kept: Fraction, alone: Fraction) -> None:
    law = groups(kept, alone)
    rows = matrix(law)
    assert all(sum(row) == 1 for row in rows)
    ratio = max(max(column) / min(column) for column in zip(*rows, strict=True))
    assert law.likelihood_ratio == ratio
    pairs = list(itertools.permutations(range(len(rows)), 2))
    crossed = min(
        rows[u][w] * rows[v][z] / (rows[u][z] * rows[v][w]) for u, v in pairs[::7] for w, z in pairs[::11]
    )
    own = min(rows[u][v] * rows[v][u] / (rows[u][u] * rows[v][v]) for u, v in pairs)
    assert law.anonymity_ratio == own <= crossed
    assert k_of(law, Circumstances(100)) == 1 + 99 * own


def test_the_ends_are_the_record_coin_and_attribute_coins() -> None:
    whole = CoinGroups(SIZES, (RecordRetention(SIZES, ONE // 3),), {})
    record = RecordRetention(SIZES, ONE // 3)
    channels = {name: Retention.at(Fraction(1, 3), size) for name, size in SIZES.items()}
    apart, product = CoinGroups(SIZES, (), channels), Product(channels)
    for one, other in ((whole, record), (apart, product)):
        assert one.likelihood_ratio == other.likelihood_ratio
        assert one.anonymity_ratio == other.anonymity_ratio
        assert one.blankets is not None
        assert other.blankets is not None
        assert central_epsilon(one.blankets, one.likelihood_ratio or Fraction(1), 1000, 1e-6) == central_epsilon(
            other.blankets, other.likelihood_ratio or Fraction(1), 1000, 1e-6
        )


@pytest.mark.parametrize("other", [Retention.at(Fraction(1, 2), 2), Dense.of([[0.7, 0.3], [0.2, 0.8]])])
def test_the_central_bound_covers_every_pair_of_tables(other: Retention | Dense) -> None:
    sizes = {"a": 2, "b": 2, "c": 2}
    law = CoinGroups(sizes, (RecordRetention({"a": 2, "b": 2}, ONE // 2),), {"c": other})
    assert law.blankets is not None
    ratio = law.likelihood_ratio
    assert ratio is not None
    together = [[Fraction(1, 2) * (u == v) + Fraction(1, 8) for v in range(4)] for u in range(4)]
    own = [[Fraction(int(w), ONE) for w in row] for row in other.weights.tolist()]
    joint = [[p * q for p in left for q in right] for left in together for right in own]
    for records, delta in ((2, 0.05), (3, 0.02)):
        epsilon, _ = central_epsilon(law.blankets, ratio, records, delta)
        assert true_deltas(joint, records, [Fraction(math.exp(epsilon))])[0] <= Fraction(delta) * (
            1 + Fraction(1, 10**9)
        )


def test_published_records_follow_the_matrix() -> None:
    """Every true record, every published one; and a law with another coin is told apart."""
    from scipy import stats

    true = np.repeat(np.arange(len(RECORDS)), 3000)
    codes = {name: np.array(RECORDS, np.uint8)[true, i] for i, name in enumerate(SIZES)}
    shown = LocalEngine(threads=1).publish(LAW, Key(bytes(range(32))), "groups", codes)
    cell = np.ravel_multi_index([shown[name] for name in SIZES], tuple(SIZES.values()))
    counts = np.bincount(true * len(RECORDS) + cell, minlength=len(RECORDS) ** 2).reshape(len(RECORDS), -1)
    for law, fits in ((LAW, True), (groups(Fraction(9, 20), Fraction(1, 3)), False)):
        expected = np.array(matrix(law), float) * 3000
        statistic = float(((counts - expected) ** 2 / expected).sum())
        p = stats.chi2.sf(statistic, len(RECORDS) * (len(RECORDS) - 1))
        assert p > ACCEPT if fits else p < REJECT


def test_chunks_and_orders_of_columns_change_no_value() -> None:
    codes = {name: np.arange(500, dtype=np.uint8) % size for name, size in SIZES.items()}
    key = Key(bytes(32))
    whole = LocalEngine(threads=1).publish(LAW, key, "x", codes)
    small = LocalEngine(threads=2, chunk=7).publish(LAW, key, "x", codes)
    turned = CoinGroups(
        dict(reversed(SIZES.items())),
        (RecordRetention({"c": SIZES["c"], "a": SIZES["a"]}, LAW.groups[0].bound),),
        LAW.channels,
    )
    other = LocalEngine(threads=1).publish(turned, key, "x", codes)
    for name in SIZES:
        assert (whole[name] == small[name]).all()
        assert (whole[name] == other[name]).all()
    assert len(set(streams_of(LAW))) == len(streams_of(LAW))


def test_two_groups_have_two_coins() -> None:
    sizes = {"a": 50, "b": 50, "c": 50, "d": 50}
    pairs = [{"a": 50, "b": 50}, {"c": 50, "d": 50}]
    law = CoinGroups(sizes, tuple(RecordRetention(pair, ONE // 2) for pair in pairs), {})
    codes = {name: np.zeros(20_000, np.uint8) for name in sizes}
    shown = LocalEngine(threads=1).publish(law, Key(bytes(32)), "x", codes)
    kept = {name: shown[name] == 0 for name in sizes}
    assert np.corrcoef(kept["a"], kept["b"])[0, 1] > 0.9
    assert abs(np.corrcoef(kept["a"], kept["c"])[0, 1]) < 0.04
    assert np.corrcoef(kept["c"], kept["d"])[0, 1] > 0.9


@pytest.mark.parametrize("names", [("a", "b", "c"), ("c", "b"), ("a",), ("b", "a")])
def test_tables_are_estimated_by_the_law_over_their_columns(names: tuple[str, ...]) -> None:
    sizes = {name: SIZES[name] for name in names}
    law = law_of(LAW, sizes)
    own = np.stack([law.forward(unit.reshape(law.shape)).ravel() for unit in np.eye(law.cells)])
    places = [list(SIZES).index(name) for name in names]
    wanted = np.zeros((law.cells, law.cells))
    full = np.array(matrix(LAW), float)
    seen = np.ravel_multi_index([np.array(RECORDS)[:, p] for p in places], law.shape)
    for u, row in enumerate(full):
        if all(RECORDS[u][p] == 0 for p in range(3) if p not in places):
            for v, p in enumerate(row):
                wanted[seen[u], seen[v]] += p
    assert own == pytest.approx(wanted, abs=1e-12)


def test_an_auditor_has_the_same_likelihoods_and_the_worst_pair() -> None:
    across = {name: np.array([r[i] for r in RECORDS])[:, None] for i, name in enumerate(SIZES)}
    down = {name: codes.T for name, codes in across.items()}
    assert likelihoods_of(LAW, across, down) == pytest.approx(np.array(matrix(LAW), float))
    pair = worst_pair(LAW)
    rows = matrix(LAW)
    one, other = (RECORDS.index((r["a"], r["b"], r["c"])) for r in (pair.one, pair.other))
    assert max(p / q for p, q in zip(rows[one], rows[other], strict=True)) == LAW.likelihood_ratio


def test_what_is_stated_is_read_back_and_nothing_else() -> None:
    stated = json.loads(json.dumps(LAW.to_json()))
    again = mechanism_from_json(stated)
    assert isinstance(again, CoinGroups)
    assert again.to_json() == LAW.to_json()
    group = stated["groups"][0]
    changes: list[dict[str, Any]] = [
        {"groups": [group, group]},
        {"groups": [{**group, "columns": ["a", "b"]}]},
        {"groups": [{**group, "columns": ["a", "x"]}]},
        {"groups": [{**group, "columns": ["a"]}]},
        {"groups": [{**group, "columns": ["a", "c", "a"]}]},
        {"groups": [{**group, "bound": str(ONE + 1)}]},
        {"groups": [{**group, "bound": "-1"}]},
        {"sizes": {"a": 2, "b": 4, "c": 4}},
        {"sizes": {"a": 2, "b": 3}},
        {"channels": {}},
        {"more": 1},
    ]
    for change in changes:
        with pytest.raises(MatrixError):
            mechanism_from_json({**stated, **change})


def test_a_law_without_redraws_has_no_epsilon() -> None:
    law: Mechanism = CoinGroups(
        SIZES, (RecordRetention({"a": 2, "c": 4}, 0),), {"b": Retention.at(Fraction(1, 3), 3)}
    )
    assert law.likelihood_ratio is None
    assert law.blankets is None
    assert k_of(law, Circumstances(10)) == 1
