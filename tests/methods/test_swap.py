"""Exchanged values: margins are kept to the last value, partners are near or alike, and coins are fair."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from scipy import stats
from tests.statistical.thresholds import ACCEPT, REJECT

from pramana import Recipe, release, verify
from pramana.errors import PramanaError, RecipeError, UnreachableError
from pramana.methods.swap.columns import exchanged, pairs_by_rank, pairs_of_records, pairs_wanted
from pramana.randomness.key import Key

ROWS = 400


def people(folder: Path) -> pa.Table:
    rng = np.random.default_rng(4)
    table = pa.table(
        {
            "id": pa.array(range(ROWS)),
            "income": pa.array(rng.normal(0, 1, ROWS).round(6)),
            "age": pa.array(rng.integers(0, 30, ROWS)),
            "town": pa.array(
                [None if rng.random() < 0.05 else f"t{int(rng.integers(0, 8))}" for _ in range(ROWS)]
            ),
            "sex": pa.array(rng.choice(["F", "M"], ROWS)),
        }
    )
    pacsv.write_csv(table, folder / "people.csv")
    pq.write_table(table, folder / "people.parquet")
    return table


def published(folder: Path, setting: dict[str, Any], *swapped: str, seed: int = 1) -> pa.Table:
    """In source order, so that rows can be held against the source's."""
    columns = {
        name: {"role": "insensitive", "swap": name in swapped} for name in ("id", "income", "age", "town", "sex")
    }
    recipe = {
        "source": {"path": "people.parquet"},
        "release": {"method": "swap", "shuffle": False, **setting},
        "attributes": columns,
    }
    out = folder / f"out {len(list(folder.iterdir()))}"
    release(Recipe.parse(recipe, folder), out, seed=seed)
    found = verify(out, source=folder / "people.parquet", seed=seed)
    assert found.valid, [check for check in found.checks if not check.ok]
    return pq.read_table(out / "data.parquet")


def test_ranks_are_exchanged_within_their_range_and_margins_stay(tmp_path: Path) -> None:
    source = people(tmp_path)
    done = published(tmp_path, {"rate": 0.8, "range": 0.1}, "income", "age")
    for name in ("income", "age"):
        before, after = source.column(name).to_pylist(), done.column(name).to_pylist()
        assert Counter(before) == Counter(after)
        order = sorted(before)
        # of equal values the nearest places count
        far = [
            max(0, order.index(max(a, b)) - (ROWS - 1 - order[::-1].index(min(a, b))))
            for a, b in zip(before, after, strict=True)
        ]
        assert max(far) <= 0.1 * ROWS
        least = 0.79 if name == "income" else 0.4  # equal ages may be exchanged as well
        assert sum(a != b for a, b in zip(before, after, strict=True)) > least * ROWS
    assert done.column("town").to_pylist() == source.column("town").to_pylist()


def test_records_exchange_with_alike_ones_and_rare_ones_first(tmp_path: Path) -> None:
    source = people(tmp_path)
    done = published(tmp_path, {"kind": "record", "rate": 0.2, "similar": ["sex"], "below": 3}, "town", "age")
    before = list(zip(*(source.column(n).to_pylist() for n in ("town", "age", "sex")), strict=True))
    after = list(zip(*(done.column(n).to_pylist() for n in ("town", "age", "sex")), strict=True))
    moved = [a != b for a, b in zip(before, after, strict=True)]
    assert sum(moved) == 0.2 * ROWS
    for sex in "FM":  # town and age stay together, within the sexes
        assert Counter(row for row in before if row[2] == sex) == Counter(row for row in after if row[2] == sex)
    times = Counter(before)
    risky = [times[row] < 3 for row in before]
    assert sum(risky) > 0.2 * ROWS  # there are more of them than take part
    first = [i for i, took in enumerate(moved) if took]
    assert sum(risky[i] for i in first) >= len(first) / 2, "each pair has one of them at least"


def test_other_keys_exchange_others(tmp_path: Path) -> None:
    people(tmp_path)
    one, again, other = (published(tmp_path, {"rate": 0.5}, "income", seed=seed) for seed in (1, 1, 2))
    assert one.equals(again)
    assert not one.equals(other)


def test_every_matching_is_equally_likely() -> None:
    """Four rows of one block have three matchings; a rule that prefers neighbours is caught."""

    def chance(coins_of: Any) -> float:
        seen: Counter[frozenset[frozenset[int]]] = Counter()
        for run in range(3000):
            coins = coins_of(run)
            pairs = pairs_by_rank(np.arange(4), 1.0, coins)
            if coins[2][0] % 5 <= 1:  # the cut leaves all four in one block
                seen[frozenset(frozenset(pair) for pair in pairs.tolist())] += 1
        return float(stats.chisquare([seen[m] for m in matchings]).pvalue)

    matchings = [frozenset({frozenset({0, a}), frozenset({1, 2, 3} - {a})}) for a in (1, 2, 3)]
    key = Key.from_seed(5)

    def fair(run: int) -> list[np.ndarray]:
        return [key.stream("test", str(run), "", draw).words(0, 4) for draw in range(3)]

    def neighbours(run: int) -> list[np.ndarray]:
        ties, matching, choosing = fair(run)
        return [ties, np.arange(4).astype(np.uint64) if run % 4 == 0 else matching, choosing]

    assert chance(fair) > ACCEPT
    assert chance(neighbours) < REJECT


def test_pairs_are_disjoint_and_few_enough() -> None:
    rng = np.random.default_rng(1)
    for rows, width in itertools.product((2, 3, 7, 50), (0.01, 0.3, 1.0)):
        coins = [rng.integers(0, 2**64, rows, np.uint64) for _ in range(3)]
        pairs = pairs_by_rank(rng.integers(0, 4, rows), width, coins)
        assert len(set(pairs.ravel().tolist())) == 2 * len(pairs)
        source = exchanged(pairs, rows)
        assert sorted(source.tolist()) == list(range(rows))
        assert np.array_equal(source[source], np.arange(rows))
    assert [pairs_wanted(rate, 10) for rate in (0.1, 0.2, 0.21, 1.0)] == [1, 1, 2, 5]
    own, alike = np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0])
    found = pairs_of_records(alike, own, np.zeros(4, bool), np.arange(4).astype(np.uint64), 2)
    assert len(found) == 1, "three rows have the same, and one has another to exchange"


@pytest.mark.parametrize(
    ("setting", "columns", "error", "words"),
    [
        ({"rate": 0.5}, (), RecipeError, "must have a column to exchange"),
        ({"rate": 0.5, "below": 2}, ("age",), RecipeError, "below must go with"),
        ({"rate": 0.5, "kind": "record", "range": 0.1}, ("age",), RecipeError, "range must go with"),
        ({"rate": 0.5, "kind": "record", "similar": ["age"]}, ("age",), RecipeError, "similar must name"),
        ({"rate": 0.5}, ("town",), RecipeError, "missing values"),
        ({"rate": 0.5}, ("sex",), RecipeError, "that have an order"),
        ({"rate": 1.0, "kind": "record", "similar": ["id"]}, ("age",), UnreachableError, "0 of 400 records"),
    ],
)
def test_what_cannot_be_exchanged_is_refused(
    tmp_path: Path, setting: dict[str, Any], columns: tuple[str, ...], error: type[PramanaError], words: str
) -> None:
    people(tmp_path)
    with pytest.raises(error, match=words):
        published(tmp_path, setting, *columns)
    assert not list(tmp_path.glob("out*"))
