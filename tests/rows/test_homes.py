"""Wherever rows are, and however many threads there are: the same bundles, byte for byte, and they verify."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.rows.people import CORRELATED, GENERALIZE, LEVELS, NOISE, RECIPE, STRATA, people, same, trees

from pramana import Key, release, verify
from pramana.rows.engines import BatchEngine

KEY = Key(bytes(range(32)))
PLAIN = RECIPE.replace("epsilon = 3", "epsilon = 3\nshuffle = false")
RECORD = RECIPE.replace("epsilon = 3", 'retention = 0.3\ncoin = "record"')
APART = STRATA.replace('strata = ["job"]\ntogether = [["age", "sex"]]\n', "").replace("published", "withheld")
DIVERSE = GENERALIZE.replace("suppression = 0.01", 'suppression = 0.01\nl = 2\nt = 0.5\ncells = "set"')
BY_CLASS = GENERALIZE.replace("k = 20", 'k = 20\ncells = "pdf"') + '[output]\nformat = "csv"\n'
MONDRIAN = BY_CLASS.replace("suppression = 0.01", 'algorithm = "mondrian"\nl = 2')
SET = '[output]\nfiles = "many"\npart_rows = 3000\n'
LOCAL = GENERALIZE.replace("suppression = 0.01", 'algorithm = "local"\nl = 2\nt = 0.6')
RECIPES = {
    "retention": RECIPE,
    "in source order": PLAIN,
    "one coin a record": RECORD,
    "levels": LEVELS,
    "strata": STRATA,
    "invariant": APART,
    "generalize": GENERALIZE,
    "diverse": DIVERSE,
    "by class": BY_CLASS,
    "mondrian": MONDRIAN,
    "set": RECIPE + SET,
    "set by class": BY_CLASS + SET.replace("[output]\n", ""),
    "local": LOCAL,
    "noise": NOISE,
    "correlated noise": CORRELATED.replace("amount", "shuffle = false\namount"),
    "set with noise": CORRELATED + SET,
}


@pytest.fixture(params=RECIPES)
def desk(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "recipe.toml").write_text(RECIPES[request.param])
    trees(tmp_path)
    pq.write_table(people(20_000), tmp_path / "people.parquet", row_group_size=3_000)
    monkeypatch.setattr(BatchEngine, "batch_rows", lambda *_: 1_777)
    monkeypatch.setattr(BatchEngine, "bucket_bits", lambda *_: 3)
    return tmp_path


def test_bundles_are_the_same_in_every_home(desk: Path) -> None:
    recipe = desk / "recipe.toml"
    bound: dict[str, Any] = {"memory": 600 << 20}
    homes: dict[str, dict[str, Any]] = {"one": {"threads": 1}, "three": {"threads": 3}}
    homes |= {"bounded": {**bound, "threads": 1}, "in threads": {**bound, "threads": 3}}
    for name, options in homes.items():
        release(recipe, desk / name, key=KEY, **options)
        same(desk / "one", desk / name)
    KEY.write(desk / "key")
    assert verify(desk / "one").valid
    assert verify(desk / "one", source=desk / "people.parquet", key=desk / "key").valid


def test_one_row_of_all_decides_whether_noise_gives_integers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Published numbers beyond 2^53 are doubles, all of their column, also in pieces that have none of them."""
    (tmp_path / "recipe.toml").write_text(NOISE.replace("amount", "shuffle = false\namount"))
    pq.write_table(people(6_000), tmp_path / "people.parquet")
    monkeypatch.setattr(BatchEngine, "batch_rows", lambda *_: 40)
    release(tmp_path / "recipe.toml", tmp_path / "out", key=KEY, memory=600 << 20)
    incomes = pq.read_table(tmp_path / "out" / "data.parquet").column("income")
    assert incomes.type == pa.float64()
    far = [
        any(x is not None and abs(x) > 2**53 for x in incomes[i : i + 40].to_pylist()) for i in range(0, 6_000, 40)
    ]
    assert any(far) and not all(far)
