"""A presence release computes what was asked for: the other algorithms only with `compare`, and nothing twice."""

from __future__ import annotations

import csv
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import pramana
from pramana import Recipe, verify
from pramana.errors import RecipeError
from pramana.methods.presence import algorithms, reversal
from pramana.methods.presence import search as presence
from pramana.methods.presence.algorithms import ALGORITHMS as PRESENCE_ALGORITHMS
from pramana.methods.presence.shaping import Shaped, Task
from pramana.methods.recipe import AnyRecipe
from pramana.randomness.key import Key

release = partial(pramana.release, even_if_useless=True)  # of a few people nothing can be learned


AGES = ["20", "30", "40", "50"]


def world(folder: Path) -> None:
    rng = np.random.default_rng(5)
    rows = []
    for _ in range(240):
        age, sex = int(rng.integers(4)), int(rng.integers(2))
        rows.append([AGES[age], "FM"[sex], str(int(rng.random() < 0.15 + 0.1 * age))])
    (folder / "age.csv").write_text("20;young;*\n30;young;*\n40;old;*\n50;old;*\n")
    (folder / "sex.csv").write_text("F;*\nM;*\n")
    with (folder / "everyone.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["age", "sex", "ill"], *rows])


def recipe(folder: Path, **release: object) -> AnyRecipe:
    quasi = {n: {"role": "quasi-identifying", "hierarchy": f"{n}.csv"} for n in ("age", "sex")}
    setting = {"method": "presence", "delta": [0.1, 0.6], "present": "ill", **release}
    return Recipe.parse({"source": {"path": "everyone.csv"}, "release": setting, "attributes": quasi}, folder)


def made_again(folder: Path, name: str) -> bool:
    """Whether the two tables lead to the same figures, bytes and report once more."""
    checks = verify(folder / name, source=folder / "everyone.csv", key=Key.from_seed(1)).checks
    ok = {c.name: c.ok for c in checks}
    return ok["chances of being present, and reversal, made again"] and ok["made again"] and ok["report"]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The algorithms that were run, in their order."""
    names: list[str] = []

    def counted(task: Task, algorithm: str) -> Shaped:
        names.append(algorithm)
        return algorithms.shaped(task, algorithm)

    for module in (presence, reversal):
        monkeypatch.setattr(module, "shaped", counted)
    return names


@pytest.mark.parametrize("algorithm", PRESENCE_ALGORITHMS)
def test_without_compare_only_the_published_algorithm_runs_and_once(
    tmp_path: Path, ran: list[str], algorithm: str
) -> None:
    world(tmp_path)
    done = release(recipe(tmp_path, algorithm=algorithm), tmp_path / "out", seed=1)
    assert ran == [algorithm]
    gains = done.certificate.mechanism["reached"]["expected_gains"]
    assert list(gains) == [algorithm]
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"{100 * gains[algorithm]:.1f}%" in page
    assert made_again(tmp_path, "out")


def test_with_compare_every_algorithm_says_what_it_gains(tmp_path: Path) -> None:
    world(tmp_path)
    gains = []
    for algorithm in ("spalm", "optimal"):
        out = tmp_path / algorithm
        done = release(recipe(tmp_path, algorithm=algorithm, compare=True), out, seed=1)
        gains.append(done.certificate.mechanism["reached"]["expected_gains"])
        assert made_again(tmp_path, algorithm)
    assert gains[0] == gains[1]
    assert set(gains[0]) == set(PRESENCE_ALGORITHMS)
    assert gains[0]["spalm"] == 0 < gains[0]["ppalm"] <= gains[0]["wpalm"] <= gains[0]["optimal"]


def test_private_counts_are_not_compared(tmp_path: Path) -> None:
    """Other algorithms' gains would tell more of the private counts."""
    world(tmp_path)
    with pytest.raises(RecipeError, match="compare must go with"):
        recipe(tmp_path, mode="private", compare=True)
    done = release(recipe(tmp_path, algorithm="wpalm", mode="private"), tmp_path / "out", seed=1)
    assert list(done.certificate.mechanism["reached"]["expected_gains"]) == ["wpalm"]
