"""Releases by retention and by matrices of people with several rows: from recipe to verified bundle."""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.methods.panel import guaranteed, panel, wrong_words
from tests.statistical.thresholds import COVERAGE_OF_FEW, COVERAGE_OF_SHARED_DRAWS_TAKEN_FOR_MANY

import pramana
from pramana import Recipe, crosstab, open_study, randomise_record, verify
from pramana.bundle.bundle import Bundle
from pramana.errors import InputError, PramanaError, RecipeError, SourceError, UnreachableError
from pramana.io.source import Table
from pramana.methods.registry import restore
from pramana.randomness.key import Key
from pramana.recipient.study import Study
from pramana.rows.engines import LocalEngine
from pramana.rows.memory import MemoryRows
from pramana.run.release import Released
from pramana.schema.unit import UnitSection

release = partial(pramana.release, even_if_useless=True)  # of a few people nothing can be learned


QUASI = {"role": "quasi-identifying"}
SEX = {**QUASI, "domain": ["F", "M"]}
JOB = {**QUASI, "domain": ["x", "y", "z"]}
REGION = {**QUASI, "domain": ["a", "b", "c"]}


def recipe_of(unit: dict[str, Any] | None, columns: dict[str, Any], **setting: Any) -> Recipe[Any, Any]:
    content: dict[str, Any] = {"release": setting, "attributes": {"pid": {"role": "identifying"}, **columns}}
    return Recipe.parse({**content, **({} if unit is None else {"unit": unit})})


def made(table: pa.Table, folder: Path, unit: dict[str, Any], columns: dict[str, Any], **setting: Any) -> Released:
    folder.mkdir(exist_ok=True)
    return release(recipe_of(unit, columns, **setting), folder / "out", data=table, seed=3)


def published(bundle: Path) -> pa.Table:
    return pq.read_table(bundle / "data.parquet")


def test_constant_values_are_drawn_once_and_the_others_with_every_row(tmp_path: Path) -> None:
    table = panel(1, people=300)
    columns = {"sex": {**SEX, "constant": True}, "job": JOB}
    done = made(table, tmp_path, {"person": "pid", "rows": 4}, columns, retention=0.3, shuffle=False)
    seen, own, varied = published(done.bundle), defaultdict(set), defaultdict(set)
    columns_ = (table["pid"], seen["sex"], seen["job"], table["job"])
    for who, sex, job, true in zip(*(column.to_pylist() for column in columns_), strict=True):
        own[who].add(sex)
        varied[who, true].add(job)
    assert {len(values) for values in own.values()} == {1}
    assert max(len(values) for values in varied.values()) == 3  # one true value, three drawn ones
    assert verify(done.bundle, source=table, seed=3).valid


def test_a_household_draws_its_own_values_once(tmp_path: Path) -> None:
    table = panel(1, people=200, homes=60)
    columns = {"region": {**REGION, "constant": "household"}, "sex": {**SEX, "constant": "person"}, "job": JOB}
    unit = {"person": "pid", "household": "hid", "rows": 4, "persons": 12}
    done = made(table, tmp_path, unit, columns, epsilon=30.0, shuffle=False)
    seen = published(done.bundle)
    regions = set(zip(table["hid"].to_pylist(), seen["region"].to_pylist(), strict=True))
    assert len(regions) == 60
    assert len(set(zip(table["pid"].to_pylist(), seen["sex"].to_pylist(), strict=True))) == 200
    person, home = (guaranteed(done, "local-differential-privacy", u) for u in ("person", "household"))
    assert person < home <= 30.0 + 1e-12
    assert wrong_words(done) == []
    assert verify(done.bundle, source=table, seed=3).valid


def test_columns_that_persons_draw_once_are_told_as_theirs_in_the_order_of_the_table(tmp_path: Path) -> None:
    """JSON sorts them; and a household whose people differ has not one value of what its people have."""
    table = panel(1, people=200, homes=60)
    columns = {"sex": {**SEX, "constant": True}, "job": JOB, "region": {**REGION, "constant": "household"}}
    swapped = {name: columns[name] for name in ("sex", "region", "job")}
    unit = {"person": "pid", "household": "hid", "rows": 4, "persons": 12}
    done = made(table, tmp_path, unit, swapped, epsilon=30.0)
    assert verify(done.bundle, source=table, seed=3).valid
    said = {g["unit"]: " ".join(g["assumptions"]) for g in done.guarantees}
    assert "every person has one value in each of these columns, drawn once and repeated: sex" in said["household"]
    assert (
        "every household has one value in each of these columns, drawn once and repeated: region"
        in said["household"]
    )
    assert "every household" not in said["person"]
    both = {"sex": columns["sex"], "region": {**REGION, "constant": True}, "job": JOB}
    alone = made(table, tmp_path / "alone", {"person": "pid", "rows": 4}, both, epsilon=30.0)
    assert verify(alone.bundle, source=table, seed=3).valid


def test_epsilon_and_k_are_of_the_whole_record_at_the_largest_number_of_rows(tmp_path: Path) -> None:
    """The numbers of the sheet, by hand: constant ones add up once, the others times the bound."""
    people, rows = 500, 3
    pid = np.repeat(np.arange(people), rows)
    draw = np.random.default_rng(0)
    table = pa.table(
        {
            "pid": pid,
            "sex": np.array(["F", "M"])[draw.integers(0, 2, people)[pid]],
            "job": np.array(["x", "y", "z"])[draw.integers(0, 3, len(pid))],
        }
    )
    columns = {"sex": {**SEX, "constant": True}, "job": JOB}
    done = made(table, tmp_path, {"person": "pid", "rows": rows}, columns, retention=0.2)
    epsilon = math.log((1 + 0.2) / (1 - 0.2)) + rows * math.log((1 + 2 * 0.2) / (1 - 0.2))
    assert guaranteed(done, "local-differential-privacy", "person") == pytest.approx(epsilon, rel=1e-12)
    k = 1 + (people - 1) * math.exp(-2 * epsilon)
    assert guaranteed(done, "pk-anonymity", "person") == pytest.approx(k, rel=1e-12)
    central = guaranteed(done, "central-differential-privacy", "person")
    assert 0 < central["epsilon"] <= epsilon
    assert done.certificate.unit is not None and done.certificate.unit.people == people
    assert all(g["most"] == {"rows": rows} for g in done.guarantees)
    assert wrong_words(done) == []


@pytest.mark.parametrize("promise", [{"k": 3}, {"epsilon": 2.0}, {"k": 3, "epsilon": 2.0}])
@pytest.mark.parametrize("unit", [{"person": "pid", "rows": 3}, {"household": "hid", "person": "pid"}])
def test_calibration_reaches_the_promise_for_the_unit(
    promise: dict[str, float], unit: dict[str, Any], tmp_path: Path
) -> None:
    table = panel(2, people=400, most=3, homes=300)
    done = made(table, tmp_path, unit, {"sex": {**SEX, "constant": True}, "job": JOB}, **promise)
    largest = "household" if "household" in unit else "person"
    if "k" in promise:
        assert guaranteed(done, "pk-anonymity", largest) >= promise["k"]
        assert guaranteed(done, "pk-anonymity", "person") >= promise["k"]
    if "epsilon" in promise:
        assert guaranteed(done, "local-differential-privacy", largest) <= promise["epsilon"] * (1 + 1e-12)
    reached = (
        guaranteed(done, "pk-anonymity", largest) <= promise.get("k", 0) + 1e-6
        or guaranteed(done, "local-differential-privacy", largest) >= promise.get("epsilon", 99) - 1e-6
    )
    assert reached  # with the largest retention that keeps it
    assert verify(done.bundle, source=table, seed=3).valid


def test_matrices_compose_as_well(tmp_path: Path) -> None:
    matrix = [[0.7, 0.3], [0.2, 0.8]]
    table = panel(3, people=50, most=2)
    columns = {"sex": {**SEX, "constant": True, "matrix": matrix}}
    once = made(table, tmp_path, {"person": "pid", "rows": 2}, columns, method="matrix")
    assert guaranteed(once, "local-differential-privacy", "person") == pytest.approx(math.log(3.5))
    plain = {"sex": {**SEX, "matrix": matrix}}
    each = made(table, tmp_path / "each", {"person": "pid", "rows": 2}, plain, method="matrix")
    assert guaranteed(each, "local-differential-privacy", "person") == pytest.approx(2 * math.log(3.5))
    with pytest.raises(UnreachableError, match="must reach"):
        made(table, tmp_path / "no", {"person": "pid", "rows": 2}, plain, method="matrix", epsilon=2.0)


def test_a_bound_that_is_not_stated_is_read_from_the_data_and_flagged(tmp_path: Path) -> None:
    table = panel(4, people=100, most=3)
    done = made(table, tmp_path, {"person": "pid"}, {"sex": {**SEX, "constant": True}, "job": JOB}, epsilon=3.0)
    unit = done.certificate.unit
    assert unit is not None and unit.rows == 3 and unit.from_data == ("rows",)
    assert any("read from the data" in warning for warning in done.certificate.warnings)
    assert all(any("read from the data" in a for a in g["assumptions"]) for g in done.guarantees)
    assert verify(done.bundle, source=table, seed=3).valid


def test_numbers_of_rows_that_differ_are_said_and_cost_the_central_guarantee(tmp_path: Path) -> None:
    done = made(panel(4), tmp_path, {"person": "pid", "rows": 4}, {"sex": SEX}, epsilon=3.0)
    assert {g["notion"] for g in done.guarantees} == {"pk-anonymity", "local-differential-privacy"}
    told = " ".join(done.certificate.warnings)
    assert "how many rows" in told and "No central guarantee" in told and "k is" in told
    with pytest.raises(UnreachableError, match="equally many rows"):
        made(panel(4), tmp_path / "no", {"person": "pid"}, {"sex": SEX}, central={"epsilon": 1.0, "delta": 1e-6})


def test_households_without_a_column_for_people_have_a_person_in_every_row(tmp_path: Path) -> None:
    table = pa.table({"hid": [1, 1, 2, 3, 3], "sex": ["F", "M", "F", "F", "M"]})
    recipe = Recipe.parse(
        {"unit": {"household": "hid", "persons": 2}, "release": {"epsilon": 4.0}, "attributes": {"sex": SEX}}
    )
    done = release(recipe, tmp_path / "out", data=table, seed=3)
    assert guaranteed(done, "local-differential-privacy", "household") == pytest.approx(4.0)
    assert guaranteed(done, "local-differential-privacy", "person") == pytest.approx(2.0)
    assert verify(done.bundle, source=table, seed=3).valid


# ---------------------------------------------------------------- surplus rows


def thinned(table: pa.Table, seed: int, **unit: Any) -> list[int]:
    """The rows that are left, by a number of their own."""
    numbered = table.append_column("number", pa.array(range(table.num_rows)))
    rows = MemoryRows(Table.of(numbered), Key.from_seed(seed), LocalEngine(1))
    kept: list[int] = rows.in_units(UnitSection(**unit)).values(["number"])["number"].to_pylist()
    return kept


def test_surplus_rows_are_left_out_and_each_is_as_likely_to_stay() -> None:
    table = pa.table({"pid": [1, 2, 1, 3, 1, 1, 2, 1], "hid": [7, 7, 7, 8, 7, 7, 7, 7]})
    left: Counter[int] = Counter()
    runs = 2_000
    for seed in range(runs):
        kept = thinned(table, seed, person="pid", rows=2)
        assert Counter(table["pid"][row].as_py() for row in kept) == {1: 2, 2: 2, 3: 1}
        assert kept == sorted(kept)
        left.update(kept)
    assert left[1] == left[3] == left[6] == runs
    for row in (0, 2, 4, 5, 7):
        assert abs(left[row] - 0.4 * runs) < 5 * math.sqrt(runs * 0.24)


def test_people_beyond_the_bound_of_a_household_are_left_out_whole() -> None:
    table = pa.table({"pid": [1, 1, 2, 2, 3, 3, 4], "hid": [1, 1, 1, 1, 1, 1, 2]})
    seen: Counter[tuple[int, ...]] = Counter()
    for seed in range(300):
        kept = thinned(table, seed, person="pid", household="hid", persons=2)
        who = Counter(table["pid"][row].as_py() for row in kept)
        assert set(who.values()) == {1, 2} and who[4] == 1 and len(who) == 3
        seen[tuple(sorted(who))] += 1
    assert len(seen) == 3 and min(seen.values()) > 60


def test_what_was_left_out_is_not_counted_anywhere(tmp_path: Path) -> None:
    table = panel(6, people=100, most=5)
    done = made(table, tmp_path, {"person": "pid", "rows": 2}, {"sex": SEX}, epsilon=2.0)
    assert done.records < table.num_rows
    stated = json.loads((done.bundle / "certificate.json").read_text())
    told = {int(n) for n in re.findall(r"(?<![\w.])\d+(?![\w.])", json.dumps({**stated, "files": {}}))}
    assert done.records in told
    assert not told & {table.num_rows, table.num_rows - done.records}
    assert any("keyed choice of 2" in warning for warning in stated["warnings"])


# ---------------------------------------------------------------- coins


def test_coins_are_bound_to_who_has_which_rows(tmp_path: Path) -> None:
    """The same values under the same key, with other people behind them, are drawn anew."""
    table = panel(7, people=200)
    columns = {"job": JOB}
    unit = {"person": "pid", "rows": 9}
    one = made(table, tmp_path, unit, columns, retention=0.5, shuffle=False)
    swapped = table.set_column(0, "pid", pa.array(table["pid"].to_pylist()[::-1]))
    two = made(swapped, tmp_path / "swapped", unit, columns, retention=0.5, shuffle=False)
    assert one.certificate.source["commitment"] != two.certificate.source["commitment"]
    alike = np.mean(np.array(published(one.bundle)["job"]) == np.array(published(two.bundle)["job"]))
    assert alike < 0.7  # by one channel twice: 0.5 with the same draw never below 1


def test_verify_notices_other_people(tmp_path: Path) -> None:
    table = panel(8)
    done = made(table, tmp_path, {"person": "pid", "rows": 4}, {"sex": SEX}, epsilon=2.0)
    others = table.set_column(0, "pid", pa.array([f"q{i}" for i in range(table.num_rows)]))
    checks = {c.name: c.ok for c in verify(done.bundle, source=others, seed=3).checks}
    assert not checks["source"] and not checks["people"]


# ---------------------------------------------------------------- analysis


def test_intervals_cover_where_rows_share_a_draw_and_would_not_otherwise(tmp_path: Path) -> None:
    """People have five rows each. Intervals that took rows for independent would miss far too often."""
    people, rows, runs = 400, 5, 40
    pid = np.repeat(np.arange(people), rows)
    sex = np.random.default_rng(5).integers(0, 2, people)
    table = pa.table({"pid": pid, "sex": np.array(["F", "M"])[sex[pid]]})
    true = rows * int((sex == 0).sum())
    recipe = recipe_of({"person": "pid", "rows": rows}, {"sex": {**SEX, "constant": True}}, retention=0.3)
    covered = naive = 0
    for seed in range(runs):
        bundle = release(recipe, tmp_path / str(seed), data=table, seed=seed).bundle
        study = open_study(bundle, unverified=True)
        assert isinstance(study, Study)
        covered += holds(study, true)
        naive += holds(replace(study, repeated={}), true)
    assert covered >= COVERAGE_OF_FEW[0] * runs
    assert naive <= COVERAGE_OF_SHARED_DRAWS_TAKEN_FOR_MANY * runs


def holds(study: Study, true: int) -> bool:
    (cell,) = (c for c in study.crosstab(["sex"], method="inverse").cells() if c["sex"] == "F")
    return bool(cell["low"] <= true <= cell["high"])


def test_profile_intervals_are_refused_where_rows_share_a_draw(tmp_path: Path) -> None:
    done = made(panel(9), tmp_path, {"person": "pid"}, {"sex": {**SEX, "constant": True}}, epsilon=2.0)
    with pytest.raises(InputError, match="drawn once for a person"):
        crosstab(done.bundle, ["sex"], profile=True)


# ---------------------------------------------------------------- what is refused

REFUSED: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]] = [
    ({"person": "pid"}, {"sex": SEX}, {"k": 2, "coin": "record"}, "coin must be"),
    ({"person": "pid"}, {"sex": SEX}, {"k": 2, "allocation": "best"}, "allocation"),
    ({"person": "pid"}, {"sex": SEX}, {"k": 2, "candidates": 900}, "candidates"),
    ({"person": "pid"}, {"sex": {**SEX, "constant": "household"}}, {"k": 2}, "households that"),
    ({"person": "pid"}, {"job": {**JOB, "constant": True}}, {"k": 2}, "one value for each person"),
    (
        {"person": "pid"},
        {"sex": SEX, "job": {"role": "sensitive", "constant": True}},
        {"k": 2},
        "must be randomised",
    ),
    ({"person": "job"}, {"sex": SEX, "job": JOB}, {"k": 2}, "must not be published"),
    ({"person": "pid", "rows": 1}, {"sex": SEX}, {"k": 99}, "k must"),
    ({"row": True, "rows": 2}, {"sex": SEX}, {"k": 2}, "either"),
    ({"rows": 2}, {"sex": SEX}, {"k": 2}, "whose privacy"),
    ({"persons": 2, "person": "pid"}, {"sex": SEX}, {"k": 2}, "with household"),
    ({"person": "pid", "household": "pid"}, {"sex": SEX}, {"k": 2}, "another for households"),
    ({"person": "pid", "rows": 0}, {"sex": SEX}, {"k": 2}, "whole number from 1"),
    ({"person": "pid", "row": False, "who": 1}, {"sex": SEX}, {"k": 2}, r"key of \[unit\]"),
    ({}, {"sex": SEX}, {"k": 2}, "whose privacy"),
    ({"person": "hid", "household": "pid"}, {"sex": SEX}, {"k": 2}, "of one household"),
    ({"person": "nobody"}, {"sex": SEX}, {"k": 2}, "no such column"),
]


@pytest.mark.parametrize(("unit", "columns", "setting", "words"), REFUSED)
def test_what_is_refused_writes_nothing(
    unit: dict[str, Any], columns: dict[str, Any], setting: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(PramanaError, match=words):
        made(panel(1), tmp_path, unit, columns, **setting)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("method", "setting"),
    [
        ("levels", {"retention": 0.5}),
        ("invariant", {"xi": 0.1}),
        ("presence", {"delta": [0.1, 0.9], "public": "p.csv"}),
    ],
)
def test_methods_that_count_rows_refuse_people_by_name(method: str, setting: dict[str, Any]) -> None:
    for unit in ({"person": "pid"}, {"household": "hid"}):
        with pytest.raises(RecipeError, match=f"With method '{method}' every row must be a person"):
            recipe_of(unit, {"sex": SEX}, method=method, **setting)
    recipe_of({"row": True}, {"sex": SEX}, method=method, **setting)


def test_constant_without_a_unit_is_refused(tmp_path: Path) -> None:
    one_each = pa.table({"pid": [1, 2, 3], "sex": ["F", "M", "F"]})
    with pytest.raises(RecipeError, match="constant for a person"):
        release(
            recipe_of(None, {"sex": {**SEX, "constant": True}}, epsilon=1.0), tmp_path / "o", data=one_each, seed=1
        )


def test_a_row_without_a_person_is_refused_without_counting(tmp_path: Path) -> None:
    table = pa.table({"pid": ["a", None, "b", ""], "sex": ["F", "M", "F", "M"]})
    with pytest.raises(SourceError) as refused:
        made(table, tmp_path, {"person": "pid"}, {"sex": SEX}, epsilon=1.0)
    assert not any(c.isdigit() for c in str(refused.value))


def test_a_single_record_is_one_persons() -> None:
    with pytest.raises(RecipeError, match="single records"):
        randomise_record(recipe_of({"person": "pid"}, {"sex": SEX}, epsilon=1.0), {"sex": "F"})
    assert randomise_record(recipe_of({"row": True}, {"sex": SEX}, epsilon=1.0), {"sex": "F"})["sex"] in ("F", "M")


def test_row_true_changes_no_byte_of_the_data(tmp_path: Path) -> None:
    table = panel(1)
    recipe = {"release": {"epsilon": 1.0}, "attributes": {"sex": SEX, "job": JOB}}
    plain = table.drop(["pid"])
    one = release(Recipe.parse(recipe), tmp_path / "one", data=plain, seed=1)
    two = release(Recipe.parse({**recipe, "unit": {"row": True}}), tmp_path / "two", data=table, seed=1)
    assert (one.bundle / "data.parquet").read_bytes() == (two.bundle / "data.parquet").read_bytes()
    assert one.certificate.unit is None and two.certificate.unit is not None and two.certificate.unit.kind == "row"
    assert [g["value"] for g in one.guarantees] == [g["value"] for g in two.guarantees]
    assert verify(two.bundle, source=table, seed=1).valid


# ---------------------------------------------------------------- forged units


def edits() -> list[dict[str, Any]]:
    return [
        {"unit": {"people": 10_000}},
        {"unit": {"rows": 1}},
        {"unit": {"kind": "household", "household": "hid", "households": 5, "persons": 1}},
        {"units": {"once": {"job": "person"}}},
        {"units": {"same": True}},
        {"units": {"alike": [60, 1, 4]}},
        {"units": {"alike": [0, 1, 4]}},
        {"units": {"once": {"illness": "person"}}},
        {"units": None},
    ]


@pytest.mark.parametrize("edit", edits())
def test_forged_units_are_caught_without_the_source(edit: dict[str, Any], tmp_path: Path) -> None:
    columns = {"sex": {**SEX, "constant": True}, "job": JOB}
    bundle = made(panel(1), tmp_path, {"person": "pid", "rows": 4}, columns, epsilon=3.0).bundle
    place = bundle / "certificate.json"
    stated = json.loads(place.read_text())
    if "unit" in edit:
        stated["unit"] |= edit["unit"]
    elif edit["units"] is None:
        del stated["mechanism"]["units"]
    else:
        stated["mechanism"]["units"] |= edit["units"]
    place.write_text(json.dumps(stated))
    try:
        forged = Bundle.open(bundle).certificate
        derived = [g.to_json() for g in restore(forged).guarantees(True)]
        caught = (
            derived != [dict(g) for g in forged.guarantees] or restore(forged).warnings(True) != forged.warnings
        )
    except InputError:
        caught = True
    assert caught
