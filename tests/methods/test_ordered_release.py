"""Releases with ordered channels: from recipe to verified bundle, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pramana import Recipe, open_study, release, verify
from pramana.errors import PramanaError
from pramana.mechanisms.channel import Dense, Retention
from pramana.mechanisms.stated import mechanism_from_json
from pramana.mechanisms.table import Product
from pramana.run.release import Released

QUASI = {"role": "quasi-identifying"}
AGE = {**QUASI, "bins": {"width": 5, "from": 0, "to": 100}, "channel": "ordered"}
SEX = {**QUASI, "domain": ["f", "m"]}
RECORDS = 30_000


def people() -> pa.Table:
    chance = np.random.default_rng(5)
    age = np.clip(chance.normal(50, 15, RECORDS), 0, 99.9)
    return pa.table({"age": age, "sex": chance.choice(["f", "m"], RECORDS)})


def released(folder: Path, columns: dict[str, Any], **setting: Any) -> Released:
    folder.mkdir(exist_ok=True)
    recipe = Recipe.parse({"release": setting, "attributes": columns})
    return release(recipe, folder / "out", data=people(), seed=3, even_if_useless=True)


def law_in(bundle: Path) -> Product:
    law = mechanism_from_json(json.loads((bundle / "certificate.json").read_text())["mechanism"]["law"])
    assert isinstance(law, Product)
    return law


def test_a_release_for_means_is_certified_and_its_mean_is_right(tmp_path: Path) -> None:
    done = released(tmp_path, {"age": {**AGE, "error_of": "mean"}, "sex": SEX}, k=20, epsilon=3.0)
    law = law_in(done.bundle)
    assert isinstance(law.channels["age"], Dense)
    assert isinstance(law.channels["sex"], Retention)
    ratio = law.likelihood_ratio
    assert ratio is not None
    assert float(ratio) <= np.exp(3.0)
    assert all(check.ok for check in verify(done.bundle).checks)
    mean = open_study(done.bundle).mean("age")
    truth = float(np.mean(5 * np.floor(people()["age"].to_numpy() / 5) + 2.5))
    assert mean.low < truth < mean.high
    plain = released(tmp_path / "plain", {"age": {**QUASI, "bins": AGE["bins"]}, "sex": SEX}, k=20, epsilon=3.0)
    wide = open_study(plain.bundle).mean("age")
    assert mean.high - mean.low < 0.6 * (wide.high - wide.low)


def test_grades_in_order_and_missing_values(tmp_path: Path) -> None:
    grades = {**QUASI, "domain": ["f", "m", "x", "y", "z"], "kind": "ordered", "missing": "category"}
    done = released(tmp_path, {"sex": {**grades, "channel": "ordered", "error_of": "mean"}}, epsilon=0.8)
    channel = law_in(done.bundle).channels["sex"]
    assert channel.size == 6
    assert all(check.ok for check in verify(done.bundle).checks)


WRONG: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"age": AGE}, {"k": 20, "coin": "record"}, "coin"),
    ({"age": AGE}, {"k": 20, "coin": "best"}, "coin"),
    ({"age": AGE}, {"retention": 0.5}, "stated retention"),
    ({"age": {**AGE, "retention": 0.5}}, {}, "retention"),
    ({"sex": {**SEX, "channel": "ordered"}}, {"k": 20}, "in order"),
    ({"age": {**QUASI, "bins": AGE["bins"], "error_of": "mean"}}, {"k": 20}, "error_of"),
    ({"age": {**AGE, "role": "sensitive"}, "sex": SEX}, {"k": 20}, "randomised"),
    ({"age": AGE}, {"method": "levels"}, "channel"),
]


@pytest.mark.parametrize(("columns", "setting", "named"), WRONG)
def test_what_has_no_meaning_is_refused_by_name(
    columns: dict[str, Any], setting: dict[str, Any], named: str, tmp_path: Path
) -> None:
    with pytest.raises(PramanaError, match=named):
        released(tmp_path, columns, **setting)
    assert not (tmp_path / "out").exists()
