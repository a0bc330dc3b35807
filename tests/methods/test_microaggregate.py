"""Releases with method microaggregate, beside plain counting, plain MDAV and every grouping there is."""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from statistics import median_low
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from tests.generalize.adult import SHARED, adult_numbers
from tests.generalize.test_microaggregate import plain_mdav, set_partitions

from pramana import PramanaError, PublishedCells, Recipe, crosstab, release, report, verify
from pramana.bundle.bundle import Bundle
from pramana.bundle.certificate import Certificate
from pramana.errors import BundleError, RecipeError, SourceError, UnreachableError
from pramana.methods.registry import restore

Table = dict[str, Any]
QUASI = {"role": "quasi-identifying"}
SECRET, OTHER = {"role": "sensitive"}, {"role": "insensitive"}
TOWNS = {**QUASI, "domain": ["north", "south", "west"]}


def people(rows: int = 60, seed: int = 1) -> Table:
    """Ages and incomes all different as pairs, so that no order of rows decides anything."""
    draw = np.random.default_rng(seed)
    return {
        "age": draw.integers(18, 80, rows).tolist(),
        "income": draw.choice(90_000, rows, replace=False).tolist(),
        "town": draw.choice(["north", "south", "west"], rows).tolist(),
        "illness": draw.choice(["none", "flu", "gout"], rows).tolist(),
        "number": list(range(rows)),
    }


def published(
    folder: Path,
    table: Table | pa.Table,
    attributes: dict[str, Any],
    *,
    source: str = "parquet",
    output: str = "parquet",
    seed: int = 7,
    name: str = "out",
    **setting: Any,
) -> Path:
    made = table if isinstance(table, pa.Table) else pa.table(table)
    path = folder / f"people.{source}"
    pq.write_table(made, path) if source == "parquet" else pacsv.write_csv(made, path)
    recipe = {
        "source": {"path": path.name},
        "release": {"method": "microaggregate", **setting},
        "attributes": attributes,
        "output": {"format": output},
    }
    # tables so small that one class is all there is, which nobody can learn from
    return release(Recipe.parse(recipe, folder), folder / name, seed=seed, even_if_useless=True).bundle


def rows_of(bundle: Path) -> list[dict[str, Any]]:
    """With plain tools, in the order of the file."""
    if (bundle / "data.parquet").exists():
        found: list[dict[str, Any]] = pq.read_table(bundle / "data.parquet").to_pylist()
        return found
    with (bundle / "data.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def columns_of(bundle: Path, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows_of(bundle)]


def measured(bundle: Path) -> dict[str, Any]:
    found: dict[str, Any] = Bundle.open(bundle).certificate.mechanism["measured"]
    return found


def mean(values: Sequence[Any]) -> Fraction:
    exact = [Fraction(str(value)) for value in values]
    return sum(exact, Fraction(0)) / len(exact)


# ---------------------------------------------------------------- the classes


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_optimal_loses_no_more_than_any_grouping(tmp_path: Path, k: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 40, 8).tolist()
    bundle = published(tmp_path, {"income": values}, {"income": QUASI}, k=k, algorithm="optimal", shuffle=False)
    shown = [value for (value,) in columns_of(bundle, "income")]

    def sse(groups: list[tuple[int, ...]]) -> Fraction:
        means = [(group, mean([values[i] for i in group])) for group in groups]
        return sum(((values[i] - centre) ** 2 for group, centre in means for i in group), Fraction(0))

    least = min(sse(groups) for groups in set_partitions(8, k))
    ours = sum((v - p) ** 2 for v, p in zip(values, shown, strict=True))
    assert ours == pytest.approx(float(least), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("aggregate", ["mean", "median"])
@pytest.mark.parametrize("k", [2, 5, 7, 40])
def test_every_row_shows_its_class_of_plain_mdav(tmp_path: Path, k: int, aggregate: str) -> None:
    table = people()
    attributes = {"age": QUASI, "income": QUASI, "number": OTHER}
    bundle = published(tmp_path, table, attributes, k=k, shuffle=False, aggregate=aggregate)
    shown = columns_of(bundle, "age", "income", "number")
    numbers = {name: np.array(table[name]) for name in ("age", "income")}
    of: Callable[[list[int]], Any] = median_low if aggregate == "median" else lambda v: float(mean(v))
    for group in plain_mdav(numbers, k, float):
        cell = tuple(of([table[name][i] for i in group]) for name in numbers)
        assert {shown[i][:2] for i in group} == {cell}
    assert [number for *_, number in shown] == table["number"]


def test_adult_is_as_the_plain_algorithm_has_it(tmp_path: Path) -> None:
    if not SHARED.is_dir():
        pytest.skip("the shared Adult table is not on this machine")
    first = {name: column[:1200] for name, column in adult_numbers().items()}
    bundle = published(tmp_path, {n: c.tolist() for n, c in first.items()}, dict.fromkeys(first, QUASI), k=5)
    expected: Counter[tuple[float, ...]] = Counter()
    for group in plain_mdav(first, 5, float):
        expected[tuple(float(mean(first[name][group].tolist())) for name in first)] += len(group)
    assert Counter(columns_of(bundle, *first)) == expected
    assert measured(bundle)["k"] == min(expected.values())
    assert measured(bundle)["classes"] == len(expected)


def test_no_order_of_the_rows_shows_in_what_is_published(tmp_path: Path) -> None:
    """Few values, so that rows tie: by numbers, and in what goes with them."""
    draw = np.random.default_rng(4)
    table = {"age": draw.integers(0, 6, 90), "town": draw.choice(["north", "south", "west"], 90)}
    attributes, found = {"age": QUASI, "town": TOWNS}, []
    for turn in range(4):
        order = draw.permutation(90)
        mixed = {name: column[order].tolist() for name, column in table.items()}
        bundle = published(tmp_path, mixed, attributes, k=4, seed=turn, name=f"out{turn}")
        found.append(Counter(columns_of(bundle, "age", "town")))
    assert found == [found[0]] * 4


def test_coins_decide_which_of_equal_rows_goes_to_which_class(tmp_path: Path) -> None:
    """By the order of the source it would be the first two, which tells of that order."""
    table = {"income": [0, 1, 1, 1, 1, 2], "number": list(range(6))}
    attributes = {"income": QUASI, "number": SECRET}
    seen = set()
    for seed in range(40):
        bundle = published(
            tmp_path, table, attributes, k=3, algorithm="optimal", shuffle=False, seed=seed, name=f"out{seed}"
        )
        low = {number for income, number in columns_of(bundle, "income", "number") if income < 1}
        assert 0 in low and 5 not in low and len(low) == 3
        seen.add(frozenset(low - {0}))
    assert len(seen) == 6  # every pair of the four


# ---------------------------------------------------------------- what is published


@pytest.mark.parametrize("decimals", [None, 2, 0, -3])
def test_means_keep_the_sum_of_a_column_up_to_rounding(tmp_path: Path, decimals: int | None) -> None:
    table = people()
    setting: dict[str, Any] = {} if decimals is None else {"decimals": decimals}
    bundle = published(tmp_path, table, {"age": QUASI, "income": QUASI}, k=4, **setting)
    unit = 1e-9 if decimals is None else 10.0**-decimals
    for name in ("age", "income"):
        shown = [row[name] for row in rows_of(bundle)]
        assert abs(sum(shown) - sum(table[name])) <= len(shown) * unit / 2
        assert all(isinstance(x, int if decimals is not None and decimals <= 0 else float) for x in shown)
        if decimals is not None:
            assert all(Fraction(round(Fraction(str(x)), decimals)) == Fraction(str(x)) for x in shown)


@pytest.mark.parametrize(
    "column",
    [pa.array([0.1, 0.6]), pa.array(["0.1", " .60"]), pa.array([Decimal("0.1"), Decimal("0.6")])],
    ids=["doubles", "texts", "decimals"],
)
def test_numbers_are_the_decimals_they_are_written_as(tmp_path: Path, column: pa.Array) -> None:
    """0.35 is a half and goes to the even digit. The mean of the doubles 0.1 and 0.6 lies below: 0.3."""
    assert float(round((Fraction(0.1) + Fraction(0.6)) / 2, 1)) == 0.3
    bundle = published(tmp_path, pa.table({"income": column}), {"income": QUASI}, k=2, decimals=1)
    assert columns_of(bundle, "income") == [(0.4,), (0.4,)]


def test_doubles_of_many_digits_are_taken_as_they_are(tmp_path: Path) -> None:
    values = [0.1 + 0.2, 1e130, 2e130, -1e-300]
    bundle = published(tmp_path, {"income": values}, {"income": QUASI}, k=4, output="csv")
    exact = sum(map(Fraction, values), Fraction(0)) / 4
    assert [float(text) for (text,) in columns_of(bundle, "income")] == [float(exact)] * 4
    assert verify(bundle).valid


def test_medians_may_be_rounded(tmp_path: Path) -> None:
    table = {"income": [1250, 1350, 9000, 9149]}
    bundle = published(tmp_path, table, {"income": QUASI}, k=4, aggregate="median", decimals=-2)
    assert columns_of(bundle, "income") == [(1400,)] * 4  # 1350: a half, to the even digit


def test_a_column_may_be_rounded_its_own_way(tmp_path: Path) -> None:
    table = {"age": [20, 21, 60, 62], "income": [1010, 1090, 8020, 8060]}
    attributes = {"age": QUASI, "income": {**QUASI, "decimals": -2}}
    whole = published(tmp_path, table, attributes, k=4, decimals=0)
    assert columns_of(whole, "age", "income") == [(41, 4500)] * 4  # 40.75 and 4545
    alone = published(tmp_path, table, attributes, k=4, name="alone")
    assert columns_of(alone, "age", "income") == [(40.75, 4500)] * 4
    assert any("not rounded" in w and ": age." in w for w in Bundle.open(alone).certificate.warnings)


def test_categories_are_the_commonest_of_their_class(tmp_path: Path) -> None:
    table = people()
    table["town"] = [None if i % 3 == 0 else town for i, town in enumerate(table["town"])]
    attributes = {"age": QUASI, "income": QUASI, "town": TOWNS}
    bundle = published(tmp_path, table, attributes, k=6, shuffle=False)
    shown, changed = columns_of(bundle, "town"), 0
    numbers = {name: np.array(table[name]) for name in ("age", "income")}
    for group in plain_mdav(numbers, 6, float):
        own = [table["town"][i] or "(missing)" for i in group]
        times = Counter(own)
        first = max(["north", "south", "west", "(missing)"], key=lambda town: times[town])  # the first of several
        assert {shown[i] for i in group} == {(first,)}
        changed += sum(town != first for town in own)
    assert measured(bundle)["changed"] == {"town": math.ceil(100 * changed / 60) / 100}


def test_a_category_called_missing_looks_like_none(tmp_path: Path) -> None:
    """Two classes that differ only in that are one to the reader, and are counted as one."""
    table = {"income": [1] * 4, "town": ["(missing)", "(missing)", None, None]}
    attributes = {"income": QUASI, "town": {**QUASI, "domain": ["(missing)", "north"]}}
    bundle = published(tmp_path, table, attributes, k=2)
    assert Counter(columns_of(bundle, "income", "town")) == {(1.0, "(missing)"): 4}
    assert (measured(bundle)["k"], measured(bundle)["classes"]) == (4, 1)
    assert verify(bundle).valid


@pytest.mark.parametrize("setting", [{}, {"decimals": -4}, {"aggregate": "median"}])
def test_losses_are_squared_distances_rounded_up(tmp_path: Path, setting: dict[str, Any]) -> None:
    table = people() | {"same": [3] * 60}
    attributes = {"age": QUASI, "income": QUASI, "same": QUASI}
    bundle = published(tmp_path, table, attributes, k=9, shuffle=False, **setting)
    rows, shares = rows_of(bundle), {}
    for name in attributes:
        own, shown = table[name], [Fraction(row[name]) for row in rows]
        sse = sum((x - y) ** 2 for x, y in zip(own, shown, strict=True))
        sst = sum((x - mean(own)) ** 2 for x in own)
        shares[name] = sse / sst if sst else Fraction(0)
    for name, told in measured(bundle)["lost"].items():
        assert 0 <= told - shares[name] < 0.01, name
    assert 0 <= measured(bundle)["total"] - (shares["age"] + shares["income"]) / 2 < 0.01


def test_no_value_of_the_source_is_told(tmp_path: Path) -> None:
    """Neither the numbers, nor what of them would do: sums of squares in full, numbers of classes."""
    table = {"income": [71_013, 71_931, 84_307, 84_877, 93_911, 93_923]}
    bundle = published(tmp_path, table, {"income": QUASI}, k=3, decimals=0, output="csv")
    assert sorted(p.name for p in bundle.iterdir()) == ["certificate.json", "data.csv", "report.html"]
    told = "".join(p.read_text() for p in bundle.iterdir())
    assert not any(str(value) in told for value in table["income"])
    assert set(rows_of(bundle)[0]) == {"income"}
    assert set(measured(bundle)["lost"].values()) <= {n / 100 for n in range(101)}


# ---------------------------------------------------------------- certified, and verified


@pytest.mark.parametrize("output", ["parquet", "csv"])
@pytest.mark.parametrize("source", ["parquet", "csv"])
@pytest.mark.parametrize("setting", [{}, {"decimals": 0}, {"aggregate": "median"}, {"shuffle": False}])
def test_releases_are_k_anonymous_and_verify(
    tmp_path: Path, source: str, output: str, setting: dict[str, Any]
) -> None:
    table, names = people(), ("age", "income", "town")
    attributes = {"age": QUASI, "income": QUASI, "town": TOWNS, "illness": SECRET, "number": OTHER}
    bundle = published(tmp_path, table, attributes, source=source, output=output, k=4, **setting)
    sizes = Counter(columns_of(bundle, *names)).values()
    certificate = Bundle.open(bundle).certificate
    (guarantee,) = certificate.guarantees
    assert (guarantee["notion"], guarantee["value"], guarantee["scope"]) == (
        "k-anonymity",
        min(sizes),
        "this table",
    )
    assert min(sizes) >= 4
    assert "age, income, town" in guarantee["assumptions"][0]
    assert "illness, number" in guarantee["assumptions"][2]
    assert (measured(bundle)["classes"], measured(bundle)["records"]) == (len(sizes), 60)
    assert verify(bundle).valid
    again = verify(bundle, source=tmp_path / f"people.{source}", seed=7)
    assert again.valid and {"measured again", "made again"} <= {check.name for check in again.checks}
    shown = {int(number): illness for number, illness in columns_of(bundle, "number", "illness")}
    assert shown == dict(enumerate(table["illness"]))
    if setting.get("shuffle", True):
        assert [int(n) for (n,) in columns_of(bundle, "number")] != table["number"]


def test_one_table_in_csv_and_parquet_is_published_alike(tmp_path: Path) -> None:
    table = people() | {"rate": [i / 8 for i in range(60)]}
    bundles = [
        published(
            tmp_path, table, {"income": QUASI, "rate": QUASI, "number": OTHER}, source=s, name=s, k=3, output="csv"
        )
        for s in ("csv", "parquet")
    ]
    texts = [sorted((b / "data.csv").read_text().replace('"', "").splitlines()) for b in bundles]
    assert texts[0] == texts[1]


def forged(bundle: Path, **changes: Any) -> Path:
    """The bundle with other numbers, under a digest that fits them."""
    certificate = Bundle.open(bundle).certificate
    stated = {**certificate.mechanism["measured"], **changes}
    guarantees = [{**g, "value": stated["k"]} for g in certificate.guarantees]
    other = replace(
        certificate, mechanism={**certificate.mechanism, "measured": stated}, guarantees=tuple(guarantees)
    )
    (bundle / "certificate.json").write_text(other.text())
    return bundle


def failed(bundle: Path, **options: Any) -> set[str]:
    return {check.name for check in verify(bundle, **options).checks if not check.ok}


def test_a_forged_k_is_caught_by_anyone(tmp_path: Path) -> None:
    bundle = published(tmp_path, people(), {"age": QUASI, "income": QUASI}, k=4)
    assert "k counted again" in failed(forged(bundle, k=5))
    assert "classes counted again" in failed(forged(bundle, classes=7))


def test_a_forged_loss_is_caught_with_source_and_key(tmp_path: Path) -> None:
    bundle = published(tmp_path, people(), {"age": QUASI, "income": QUASI, "town": TOWNS}, k=9)
    assert measured(bundle)["lost"]["age"] > 0.01
    other = forged(bundle, lost={"age": 0.01, "income": 0.01})
    assert failed(other, source=tmp_path / "people.parquet", seed=7) == {"measured again", "report"}


def test_another_table_under_the_same_name_is_told(tmp_path: Path) -> None:
    bundle = published(tmp_path, people(), {"age": QUASI, "income": QUASI}, k=4)
    other = pa.table(people(seed=2))
    assert {"source", "made again"} <= failed(bundle, source=other, seed=7)


@pytest.mark.parametrize(
    "change",
    [
        {"lost": {"age": 0.5}},
        {"lost": {"age": -1.0, "income": 0.5}},
        {"k": 0},
        {"inferred": {"age": 0.5}},
        {"more": 1},
    ],
)
def test_a_certificate_that_states_something_else_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    bundle = forged(published(tmp_path, people(), {"age": QUASI, "income": QUASI}, k=4), **change)
    with pytest.raises(BundleError):
        restore(Certificate.read(bundle / "certificate.json"))
    assert failed(bundle)


@pytest.mark.parametrize("change", [{"k": 61}, {"algorithm": "optimal"}, {"decimals": {"town": 1}}, {"k": 1}])
def test_a_setting_that_does_not_fit_the_table_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    bundle = published(tmp_path, people(), {"age": QUASI, "income": QUASI}, k=4)
    certificate = Bundle.open(bundle).certificate
    mechanism = {**certificate.mechanism, "setting": {**certificate.mechanism["setting"], **change}}
    (bundle / "certificate.json").write_text(replace(certificate, mechanism=mechanism).text())
    assert "law" in failed(bundle, source=tmp_path / "people.parquet", seed=7)


def test_warnings_say_what_k_does_not(tmp_path: Path) -> None:
    table = people() | {"illness": ["flu"] * 60}
    attributes = {"income": QUASI, "town": {**QUASI, "domain": "from-data"}, "illness": SECRET}
    told = " ".join(Bundle.open(published(tmp_path, table, attributes, k=4, shuffle=False)).certificate.warnings)
    for words in (
        "seed",
        "source order",
        "not rounded",
        "illness with a confidence of up to 1",
        "Domains read from the data",
    ):
        assert words in told
    rounded = published(tmp_path, table, {"income": QUASI}, k=4, decimals=-2, name="rounded")
    assert len(Bundle.open(rounded).certificate.warnings) == 1  # the seed


def test_reports_and_readers_of_other_releases(tmp_path: Path) -> None:
    bundle = published(tmp_path, people(), {"age": QUASI, "income": QUASI, "town": TOWNS}, k=4, decimals=-2)
    for page in (bundle / "report.html", report(bundle)):
        text = page.read_text()
        assert "Information loss" in text and "mean of the class, to multiples of 100" in text
        assert "commonest value of the class" in text
    assert crosstab(bundle, ["town"]).estimate.sum() == 60
    with pytest.raises(BundleError, match="one with cells"):
        PublishedCells.open(bundle)


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("table", "attributes", "setting", "error", "words"),
    [
        ({"income": [1, 2, 3, 4]}, {"income": QUASI}, {"k": 5}, UnreachableError, "rows, 4, got 5"),
        ({"income": [1]}, {"income": QUASI}, {"k": 2}, UnreachableError, "rows, 1, got 2"),
        ({"income": ["1", "zwei", "drei"]}, {"income": QUASI}, {"k": 2}, SourceError, "2 rows with something"),
        ({"income": ["01067", "04109"]}, {"income": QUASI}, {"k": 2}, SourceError, "2 rows with something"),
        ({"income": [True, False]}, {"income": QUASI}, {"k": 2}, SourceError, "2 rows with something"),
        ({"income": [1.0, math.inf]}, {"income": QUASI}, {"k": 2}, SourceError, "1 row with something"),
        ({"income": [1, None, None]}, {"income": QUASI}, {"k": 2}, SourceError, "2 rows without one. Leave"),
        ({"income": [1.0, math.nan]}, {"income": QUASI}, {"k": 2}, SourceError, "1 row without one"),
        ({"income": [1, 2**53 + 1]}, {"income": QUASI}, {"k": 2}, SourceError, "identifying"),
        ({"income": [1.5, 1e200]}, {"income": QUASI}, {"k": 2}, SourceError, "below 1e140"),
        ({"income": [1, 2]}, {"income": OTHER}, {"k": 2}, RecipeError, "column of numbers"),
        ({"town": ["north"] * 4}, {"town": TOWNS}, {"k": 2}, RecipeError, "method generalize"),
        ({"town": ["n", "e"]}, {"town": TOWNS, "income": QUASI}, {"k": 2}, SourceError, "'income'"),
        (
            {"a": [1, 2], "b": [1, 2]},
            {"a": QUASI, "b": QUASI},
            {"k": 2, "algorithm": "optimal"},
            RecipeError,
            "one",
        ),
        ({"a": [1, 2]}, {"a": QUASI}, {"k": 1}, RecipeError, "at least 2"),
        ({"a": [1, 2]}, {"a": QUASI}, {"k": 2.5}, RecipeError, "whole number"),
        ({"a": [1, 2]}, {"a": QUASI}, {}, RecipeError, "must state k"),
        ({"a": [1, 2]}, {"a": QUASI}, {"k": 2, "decimals": 16}, RecipeError, "from -15 to 15"),
        ({"a": [1, 2]}, {"a": QUASI, "b": {**OTHER, "decimals": 1}}, {"k": 2}, RecipeError, "of numbers, got 'b'"),
        ({"a": [1, 2]}, {"a": QUASI}, {"k": 2, "aggregate": "mode"}, RecipeError, "mean, median"),
        (
            {"a": [1, 2]},
            {"a": QUASI},
            {"k": 2, "epsilon": 1.0},
            RecipeError,
            "microaggregate makes no such promise",
        ),
    ],
)
def test_refusals_name_what_must_hold_and_no_value(
    tmp_path: Path,
    table: Table,
    attributes: dict[str, Any],
    setting: dict[str, Any],
    error: type[PramanaError],
    words: str,
) -> None:
    with pytest.raises(error, match=words) as refused:
        published(tmp_path, table, attributes, **setting)
    assert not any(text in str(refused.value) for text in ("zwei", "drei", "04109", str(2**53 + 1)))
    assert not (tmp_path / "out").exists()


def test_a_bound_on_memory_is_refused_by_name(tmp_path: Path) -> None:
    bundle = published(tmp_path, {"income": [1, 2, 3]}, {"income": QUASI}, k=2)
    recipe = {
        "source": {"path": "people.parquet"},
        "release": {"method": "microaggregate", "k": 2},
        "attributes": {"income": QUASI},
    }
    with pytest.raises(RecipeError, match="'microaggregate' which needs all rows at once"):
        release(Recipe.parse(recipe, tmp_path), tmp_path / "other", seed=1, memory=1 << 30)
    with pytest.raises(RecipeError, match="'microaggregate'"):
        verify(bundle, source=tmp_path / "people.parquet", seed=7, memory=1 << 30)


def test_a_column_of_one_value_is_published_as_it_is(tmp_path: Path) -> None:
    bundle = published(tmp_path, {"income": [5] * 7}, {"income": QUASI}, k=3)
    assert columns_of(bundle, "income") == [(5.0,)] * 7
    assert measured(bundle) == {
        "records": 7, "classes": 1, "k": 7, "lost": {"income": 0.0}, "total": 0.0, "changed": {},
        "single_valued": {}, "inferred": {},
    }  # fmt: skip
    assert json.loads((bundle / "certificate.json").read_text())["attributes"][0]["kind"] == "number"
    assert verify(bundle).valid
