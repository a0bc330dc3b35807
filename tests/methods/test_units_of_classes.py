"""Classes counted in people and households: every search on small panels, beside plain counting of the file."""

from __future__ import annotations

import contextlib
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.methods.panel import classes_of, generalised, guaranteed, k_of_units, l_of_units, panel, wrong_words

from pramana import Recipe, release, verify
from pramana.counting.value_counts import JointValues, UnitCounts
from pramana.errors import PramanaError, RecipeError, UnreachableError

COLUMNS = ("sex", "birth", "job")
ALGORITHMS = ("incognito", "local", "mondrian", "mondrian-relaxed", "kl")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("seed", range(4))
def test_k_counts_people(algorithm: str, seed: int, tmp_path: Path) -> None:
    """With a column that varies within people, so that their rows fall into several classes."""
    table = panel(seed)
    made = generalised(table, tmp_path, {"person": "pid"}, {"k": 4, "algorithm": algorithm}, COLUMNS)
    classes = classes_of(made.bundle, COLUMNS)
    k = k_of_units(classes, table["pid"].to_pylist())
    assert k >= 4
    assert guaranteed(made, "k-anonymity", "person") == k
    assert min(map(len, classes.values())) >= k
    assert wrong_words(made) == []
    assert verify(made.bundle, source=table, seed=3).valid


def test_three_rows_of_one_person_are_a_class_of_one(tmp_path: Path) -> None:
    table = pa.table(
        {
            "pid": ["a", "a", "a", "b", "c", "d"],
            "sex": ["F", "F", "F", "M", "M", "M"],
            "illness": ["flu", "cold", "none", "flu", "flu", "none"],
        }
    )
    made = generalised(table, tmp_path, {"person": "pid"}, {"k": 1}, ("sex",))
    assert guaranteed(made, "k-anonymity", "person") == 1
    rows = generalised(table, tmp_path / "rows", {"row": True}, {"k": 3}, ("sex",))
    assert guaranteed(rows, "k-anonymity", "record") == 3


@pytest.mark.parametrize("algorithm", ["incognito", "local"])
@pytest.mark.parametrize("seed", range(4))
def test_l_counts_what_people_without_a_value_have(algorithm: str, seed: int, tmp_path: Path) -> None:
    table = panel(seed, people=80)
    made = generalised(table, tmp_path, {"person": "pid"}, {"k": 3, "l": 3, "algorithm": algorithm}, COLUMNS)
    classes = classes_of(made.bundle, COLUMNS)
    owner, value = table["pid"].to_pylist(), table["illness"].to_pylist()
    least = l_of_units(classes, owner, value)
    assert least >= 3
    assert guaranteed(made, "l-diversity", "person") == {"attribute": "illness", "kind": "distinct", "l": least}
    assert wrong_words(made) == []
    shares = [
        len({owner[r] for r in rows if value[r] == one}) / len({owner[r] for r in rows})
        for rows in classes.values()
        for one in {value[r] for r in rows}
    ]
    inferred = made.certificate.mechanism["measured"]["inferred"]["illness"]
    assert inferred == pytest.approx(max(shares), abs=2e-9)


def test_a_value_that_everyone_has_makes_l_one() -> None:
    """Everyone had the flu, and something else besides: the rows alone would say l = 4."""
    joint, number = JointValues.of(np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 2, 0, 3]), 4)
    assert not joint.single and len(number) == 6
    zeros = np.zeros(6, np.int64)
    counts = UnitCounts.of_units(zeros, joint.owner, joint.value, 1, 4)
    assert counts.distinct.tolist() == [1] and counts.largest_share == 1 and counts.single_valued == 1


@pytest.mark.parametrize("seed", range(30))
def test_people_in_classes_beside_sets(seed: int) -> None:
    draw = np.random.default_rng(seed)
    rows = int(draw.integers(3, 25))
    class_of, owner, value = draw.integers(0, 3, rows), draw.integers(0, 6, rows), draw.integers(0, 4, rows)
    class_of[:3] = [0, 1, 2]
    counts = UnitCounts.of_units(class_of, owner, value, 3, 4)
    classes: dict[Any, list[int]] = {c: np.flatnonzero(class_of == c).tolist() for c in range(3)}
    assert counts.sizes.tolist() == [len({owner[r] for r in own}) for own in classes.values()]
    assert counts.distinct_l == l_of_units(classes, owner.tolist(), value.tolist())
    assert counts.totals.tolist() == [
        len({o for o, v in zip(owner, value, strict=True) if v == w}) for w in range(4)
    ]


@pytest.mark.parametrize(
    "setting", [{"t": 0.6}, {"l": 2, "l_kind": "entropy"}, {"l": 2, "l_kind": "recursive", "c": 3}]
)
def test_t_and_other_kinds_of_l_take_people_with_one_value(setting: dict[str, Any], tmp_path: Path) -> None:
    table = panel(1, people=80, steady=True)
    made = generalised(table, tmp_path, {"person": "pid"}, {"k": 3, **setting}, COLUMNS)
    classes = classes_of(made.bundle, COLUMNS)
    owner, value = table["pid"].to_pylist(), table["illness"].to_pylist()
    people = dict(zip(owner, value, strict=True))
    whole = np.array([list(people.values()).count(v) for v in sorted(set(value))]) / len(people)
    own = []
    for rows in classes.values():
        inside = [people[o] for o in {owner[r] for r in rows}]
        own.append(np.array([inside.count(v) for v in sorted(set(value))]) / len(inside))
    assert wrong_words(made) == []
    if "t" in setting:
        t = max(0.5 * np.abs(share - whole).sum() for share in own)
        assert guaranteed(made, "t-closeness", "person")["t"] == pytest.approx(t, abs=2e-9)
    elif setting["l_kind"] == "entropy":
        entropy = min(-sum(p * np.log(p) for p in share if p) for share in own)
        assert guaranteed(made, "l-diversity", "person")["l"] == pytest.approx(np.exp(entropy), rel=1e-6)
    else:
        c = max(np.sort(share)[-1] / np.sort(share)[:-1].sum() for share in own)
        assert guaranteed(made, "l-diversity", "person")["c"] == pytest.approx(c, abs=2e-9)
    varying = panel(1, people=80)
    with pytest.raises(RecipeError, match="one value of 'illness'"):
        generalised(varying, tmp_path / "varying", {"person": "pid"}, {"k": 3, **setting}, COLUMNS)


@pytest.mark.parametrize("seed", range(3))
def test_incognito_takes_no_level_that_a_lower_one_could_replace(seed: int, tmp_path: Path) -> None:
    table = panel(seed)
    made = generalised(table, tmp_path, {"person": "pid"}, {"k": 4}, COLUMNS)
    levels = made.certificate.mechanism["levels"]
    steps: dict[str, list[dict[Any, Any]]] = {
        "sex": [{"F": "F", "M": "M"}, {"F": "*", "M": "*"}],
        "birth": [{b: b // width for b in range(8)} for width in (1, 2, 4, 8)],
        "job": [{"x": "x", "y": "y", "z": "z"}, {"x": "xy", "y": "xy", "z": "z"}, dict.fromkeys("xyz", "*")],
    }
    owner = table["pid"].to_pylist()

    def holds(at: tuple[int, ...]) -> bool:
        shown = zip(
            *([steps[n][level][v] for v in table[n].to_pylist()] for n, level in zip(COLUMNS, at, strict=True)),
            strict=True,
        )
        people: dict[Any, set[Any]] = {}
        for look, who in zip(shown, owner, strict=True):
            people.setdefault(look, set()).add(who)
        return min(map(len, people.values())) >= 4

    assert holds(tuple(levels))
    lower = [at for at in product(*(range(level + 1) for level in levels)) if list(at) != levels]
    assert not any(holds(at) for at in lower)


@pytest.mark.parametrize("algorithm", ["incognito", "mondrian"])
def test_households_are_counted_one_storey_up(algorithm: str, tmp_path: Path) -> None:
    table = panel(5, people=90, homes=30)
    unit = {"person": "pid", "household": "hid"}
    made = generalised(table, tmp_path, unit, {"k": 4, "algorithm": algorithm}, COLUMNS)
    classes = classes_of(made.bundle, COLUMNS)
    people, homes = (k_of_units(classes, table[name].to_pylist()) for name in ("pid", "hid"))
    assert 4 <= homes <= people
    assert guaranteed(made, "k-anonymity", "person") == people
    assert guaranteed(made, "k-anonymity", "household") == homes
    assert wrong_words(made) == []
    assert verify(made.bundle, source=table, seed=3).valid


def test_suppression_counts_people_of_what_is_left(tmp_path: Path) -> None:
    table = panel(2)
    release_ = {"k": 4, "suppression": 0.2}
    made = generalised(table, tmp_path, {"person": "pid"}, release_, COLUMNS)
    kept = made.records
    assert kept >= 0.8 * table.num_rows
    assert guaranteed(made, "k-anonymity", "person") >= 4
    assert verify(made.bundle, source=table, seed=3).valid


def test_k_above_the_number_of_people_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError, match="number of people, 60"):
        generalised(panel(1), tmp_path, {"person": "pid"}, {"k": 61}, COLUMNS)


# ---------------------------------------------------------------- microaggregation


@pytest.mark.parametrize(
    "unit", [{"person": "pid"}, {"person": "pid", "household": "hid"}, {"person": "pid", "rows": 2}]
)
def test_microaggregation_counts_people(unit: dict[str, Any], tmp_path: Path) -> None:
    table = panel(4, people=80)
    recipe = Recipe.parse(
        {
            "unit": unit,
            "release": {"method": "microaggregate", "k": 3, "shuffle": False},
            "attributes": {
                "birth": {"role": "quasi-identifying"},
                "job": {"role": "quasi-identifying", "domain": ["x", "y", "z"]},
                "illness": {"role": "sensitive"},
            },
        }
    )
    made = release(recipe, tmp_path / "out", data=table, seed=3)
    assert verify(made.bundle, source=table, seed=3).valid
    assert guaranteed(made, "k-anonymity", "person") >= 3
    assert wrong_words(made) == []
    if "rows" in unit:
        assert made.records < table.num_rows
        return
    classes = classes_of(made.bundle, ("birth", "job"))
    assert guaranteed(made, "k-anonymity", "person") == k_of_units(classes, table["pid"].to_pylist())
    if "household" in unit:
        homes = k_of_units(classes, table["hid"].to_pylist())
        assert guaranteed(made, "k-anonymity", "household") == homes >= 3


# ---------------------------------------------------------------- forged units


@pytest.mark.parametrize("change", [{"people": 61}, {"rows": 9}, {"kind": "row"}, None])
def test_a_certificate_with_another_unit_is_caught(change: dict[str, Any] | None, tmp_path: Path) -> None:
    table = panel(1)
    bundle = generalised(table, tmp_path, {"person": "pid"}, {"k": 4}, COLUMNS).bundle
    place = bundle / "certificate.json"
    stated = json.loads(place.read_text())
    stated["unit"] = None if change is None else {**stated["unit"], **change}
    if change is None:
        del stated["unit"]
    place.write_text(json.dumps(stated, indent=2, sort_keys=True) + "\n")
    with contextlib.suppress(PramanaError):  # or it is refused before anything is checked
        assert not verify(bundle, source=table, seed=3).valid
