"""Releases by the models of ARX: what the certificate says is counted again, by hand and by verify."""

from __future__ import annotations

import csv
import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pramana import Bundle, Recipe, release, verify
from pramana.bundle.certificate import Certificate
from pramana.errors import PramanaError, RecipeError, SourceError
from pramana.methods.registry import restore

QUASI = {name: {"role": "quasi-identifying", "hierarchy": f"{name}.csv"} for name in ("town", "age")}
COLUMNS: dict[str, Any] = {**QUASI, "illness": {"role": "sensitive"}, "grade": {"role": "insensitive"}}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A register of 900 people, of whom 300 are patients: marked in one file, and alone in another."""
    folder, rng = tmp_path_factory.mktemp("models"), np.random.default_rng(2)
    (folder / "town.csv").write_text("".join(f"t{i};{'north' if i < 4 else 'south'};*\n" for i in range(8)))
    (folder / "age.csv").write_text(
        "".join(f"{a};{a // 10}0s;{'young' if a < 40 else 'old'};*\n" for a in range(80))
    )
    rows = []
    for _ in range(900):
        age, illness = int(rng.integers(0, 80)), ["flu", "cold", "gout"][int(rng.choice(3, p=[0.5, 0.3, 0.2]))]
        rows.append(
            [
                f"t{min(int(rng.exponential(2)), 7)}",
                age,
                illness,
                int(rng.integers(1, 6)),
                int(rng.random() < 1 / 3),
            ]
        )
    for name, kept, columns in (("register", rows, 5), ("patients", [r for r in rows if r[4]], 4)):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["town", "age", "illness", "grade", "patient"][:columns])
            out.writerows(row[:columns] for row in kept)
    return folder


def made(folder: Path, setting: dict[str, Any], source: str = "patients.csv", **columns: Any) -> Bundle:
    stated = {
        "source": {"path": source},
        "release": {"method": "generalize", "k": 2, "cells": "hierarchy", **setting},
        "attributes": {n: c for n, c in {**COLUMNS, **columns}.items() if c is not None},
        "output": {"format": "csv"},
    }
    out = folder / f"out {len(list(folder.iterdir()))}"
    release(Recipe.parse(stated, folder), out, seed=1, even_if_useless=True)
    found = verify(out, source=folder / source, seed=1)
    assert found.valid, [check for check in found.checks if not check.ok]
    return Bundle.open(out)


def shown(bundle: Bundle) -> dict[tuple[str, str], list[dict[str, str]]]:
    classes: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    with (bundle.path / "data.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            classes[row["town"], row["age"]].append(row)
    return classes


def promised(bundle: Bundle, notion: str) -> Any:
    (found,) = [g["value"] for g in bundle.certificate.guarantees if g["notion"] == notion]
    return found


def people_behind(folder: Path, bundle: Bundle) -> Counter[tuple[str, str]]:
    """From the register and the hierarchy files, by labels that are published."""
    trees = {
        name: [line.split(";") for line in (folder / f"{name}.csv").read_text().split()]
        for name in ("town", "age")
    }
    levels = dict(zip(("town", "age"), bundle.certificate.mechanism["levels"], strict=True))
    label = {name: {line[0]: line[levels[name]] for line in tree} for name, tree in trees.items()}
    with (folder / "register.csv").open(newline="") as file:
        return Counter((label["town"][r["town"]], label["age"][r["age"]]) for r in csv.DictReader(file))


@pytest.mark.parametrize("how", ["population", "subset"])
def test_people_of_the_population_are_counted(world: Path, how: str) -> None:
    """Once with the register as a file beside the source, once as the source itself."""
    asked: dict[str, Any] = {"k_map": 12, "delta": [0.1, 0.7], "suppression": 0.1}
    if how == "population":
        bundle = made(world, {**asked, "population": "register.csv"})
    else:
        bundle = made(world, {**asked, "subset": "patient"}, "register.csv")
    classes, people = shown(bundle), people_behind(world, bundle)
    assert promised(bundle, "k-map") == min(people[c] for c in classes) >= 12
    shares = [len(rows) / people[c] for c, rows in classes.items()]
    left = sum(n for c, n in people.items() if c not in classes)
    published = sum(map(len, classes.values()))
    records = len((world / "patients.csv").read_text().splitlines()) - 1
    if left:
        shares.append((records - published) / left)
    reached = promised(bundle, "delta-presence")
    assert reached["lowest"] == pytest.approx(min(shares), abs=2e-9)
    assert reached["highest"] == pytest.approx(max(shares), abs=2e-9)
    assert 0.1 <= min(shares) <= max(shares) <= 0.7
    assert published >= 0.9 * records


def test_both_ways_publish_the_same_classes(world: Path) -> None:
    one = made(world, {"k_map": 12, "population": "register.csv"})
    other = made(world, {"k_map": 12, "subset": "patient"}, "register.csv")
    assert {c: len(rows) for c, rows in shown(one).items()} == {c: len(rows) for c, rows in shown(other).items()}


def test_values_and_averages_are_counted(world: Path) -> None:
    bundle = made(world, {"d_disclosure": 1.2, "b_likeness": 0.8, "b_kind": "enhanced", "average_risk": 0.05})
    classes = shown(bundle)
    records = sum(map(len, classes.values()))
    whole = Counter(row["illness"] for rows in classes.values() for row in rows)
    ratios = [
        sum(row["illness"] == v for row in rows) * records / (len(rows) * n)
        for rows in classes.values()
        for v, n in whole.items()
    ]
    assert promised(bundle, "d-disclosure")["d"] == pytest.approx(max(abs(math.log2(r)) for r in ratios), abs=2e-9)
    assert promised(bundle, "b-likeness")["b"] == pytest.approx(max(ratios) - 1, abs=2e-9)
    assert promised(bundle, "average-risk") == pytest.approx(len(classes) / records, abs=2e-9)


def test_ordered_distances_follow_the_order_of_numbers(world: Path) -> None:
    grade: dict[str, Any] = {"grade": {"role": "sensitive"}, "illness": {"role": "insensitive"}}
    bundle = made(world, {"t": 0.1, "t_distance": "ordered"}, **grade)
    classes = shown(bundle)
    whole = Counter(int(row["grade"]) for rows in classes.values() for row in rows)
    total, most = sum(whole.values()), 0.0
    for rows in classes.values():
        own, passing, moved = Counter(int(row["grade"]) for row in rows), 0.0, 0.0
        for value in sorted(whole):
            passing += own[value] / len(rows) - whole[value] / total
            moved += abs(passing)
        most = max(most, moved / (len(whole) - 1))
    assert promised(bundle, "t-closeness")["t"] == pytest.approx(most, abs=2e-9)
    with pytest.raises(RecipeError, match="values with an order"):
        made(world, {"t": 0.1, "t_distance": "ordered"})


def test_uniques_are_estimated_from_what_is_published(world: Path) -> None:
    bundle = made(
        world,
        {
            "k": 1,
            "population_uniques": 0.02,
            "population_size": 9000,
            "uniques_model": "zayatz",
            "suppression": 0.02,
        },
    )
    sizes = [len(rows) for rows in shown(bundle).values()]
    stated = promised(bundle, "population-uniqueness")
    assert stated["share"] <= 0.02 and stated["population"] == 9000
    assert stated["model"] == ("Zayatz" if 1 in sizes else "none in the sample")


def test_a_game_is_played_by_record(world: Path) -> None:
    game = {"benefit": 10.0, "loss": 40.0, "gain": 30.0, "cost": 2.0}
    bundle = made(world, {"k": 1, "profit": game, "suppression": 0.1})
    levels = bundle.certificate.mechanism["levels"]
    widths = ([1, 4, 8][levels[0]], [1, 10, 40, 80][levels[1]])
    told = 1 - math.log(widths[0] * widths[1]) / math.log(8 * 80)
    paid = [10 * told - (40 / n if 30 / n > 2 else 0) for n in map(len, shown(bundle).values())]
    assert promised(bundle, "profitability")["payoff"] == pytest.approx(min(paid), abs=2e-9)
    assert min(paid) > 0
    journalist = {**game, "intruder": "journalist", "attacked": False}
    other = made(world, {"k": 1, "profit": journalist, "population": "register.csv", "suppression": 0.1})
    assert all(30 / people_behind(world, other)[c] <= 2 for c in shown(other))


def test_a_target_stays_learnable(world: Path) -> None:
    """The cost is the share of rows that are not of the commonest illness of their class."""
    bundle = made(world, {"k": 5, "measure": "classification", "target": "illness"})
    wrong = sum(len(rows) - max(Counter(r["illness"] for r in rows).values()) for rows in shown(bundle).values())
    measured = bundle.certificate.mechanism["measured"]
    assert measured["cost"] == pytest.approx(wrong / measured["records"])


def test_what_suppressing_counts_moves_the_choice(world: Path) -> None:
    left = [
        made(world, {"k": 8, "suppression": 0.2, "gs_factor": factor}).certificate.records
        for factor in (0.0, 0.5, 1.0)
    ]
    assert left[0] <= left[1] <= left[2]
    assert left[0] < left[2]


CHANGES = {
    "average_risk": 0.01,
    "uniques": {"share": 0.5, "population": 9000, "model": "Zayatz"},
    "payoff": 9.0,
    "d": {"illness": 0.01},
    "b": {"illness": 0.01},
}


def test_verify_notices_numbers_that_are_not_those_of_the_file(world: Path) -> None:
    game = {"benefit": 10.0, "loss": 40.0, "gain": 30.0, "cost": 2.0}
    uniques = {"population_uniques": 0.9, "population_size": 9000}
    bundle = made(world, {"d_disclosure": 3.0, "b_likeness": 3.0, "average_risk": 0.2, "profit": game, **uniques})
    stated = bundle.certificate.to_json()
    for key, value in CHANGES.items():
        models = {**stated["mechanism"]["measured"]["models"], key: value}
        mechanism = {**stated["mechanism"], "measured": {**stated["mechanism"]["measured"], "models": models}}
        plan = restore(Certificate.from_json({**stated, "mechanism": mechanism}))
        failed = [check.name for check in plan.examine(bundle).checks if not check.ok]
        assert len(failed) == 1, (key, failed)


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"k_map": 5}, "must be counted in a population"),
        (
            {"delta": [0.1, 0.5], "population": "register.csv", "cells": "pdf"},
            'delta must go with cells = "hierarchy"',
        ),
        (
            {"k_map": 5, "population": "register.csv", "algorithm": "mondrian"},
            'must go with algorithm = "incognito"',
        ),
        ({"average_risk": 0.1, "suppress": "cells"}, 'suppress = "rows"'),
        ({"population_uniques": 0.1}, "must go together"),
        ({"population_uniques": 0.1, "population_size": 10}, "population_size must be at least"),
        ({"uniques_model": "snb"}, "must go with population_uniques"),
        ({"b_kind": "enhanced"}, "must go with b_likeness"),
        ({"gs_factor": 0.2, "measure": "entropy"}, "gs_factor must go with"),
        ({"measure": "classification"}, "target must go with"),
        ({"measure": "classification", "target": "town"}, "not quasi-identifying"),
        ({"subset": "town"}, "marks the subset"),
        (
            {"profit": {"benefit": 1.0, "loss": 1.0, "gain": 1.0, "cost": 0.0, "intruder": "journalist"}},
            "profit must be",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(world: Path, setting: dict[str, Any], words: str) -> None:
    before = len(list(world.iterdir()))
    with pytest.raises(RecipeError, match=words):
        made(world, setting)
    assert len(list(world.iterdir())) == before


def test_a_population_without_the_table_and_marks_that_are_none_are_refused(world: Path, tmp_path: Path) -> None:
    few = (world / "register.csv").read_text().splitlines()[:40]
    (world / "few.csv").write_text("\n".join(few) + "\n")
    with pytest.raises(PramanaError, match="contain every record"):
        made(world, {"k_map": 2, "population": "few.csv"})
    with pytest.raises(SourceError, match="by 1 and 0"):
        made(world, {"subset": "grade"}, "register.csv", grade=None)
    assert not list(tmp_path.iterdir())
