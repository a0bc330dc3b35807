"""The same key and recipe publish the same cells as they always did, for every method."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.golden.cells import SETTINGS, STORED, cases, make_tables, released

from pramana.errors import RecipeError

IN_MEMORY = ("generalize kl", "microaggregate", "microaggregate optimal", "swap rank", "swap record")
BOUND = 1 << 29
EXPECTED = json.loads(STORED.read_text())


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("golden")
    make_tables(folder)
    return folder


@pytest.mark.parametrize(("name", "kind", "output"), cases())
def test_published_cells_are_as_stored(name: str, kind: str, output: str, tables: Path) -> None:
    assert released(name, tables, kind, output) == EXPECTED[f"{name} from {kind}"]


@pytest.mark.parametrize("name", SETTINGS)
def test_batches_within_a_bound_on_memory_publish_the_same_cells(name: str, tables: Path) -> None:
    if name in IN_MEMORY:
        with pytest.raises(RecipeError, match="needs all rows at once"):
            released(name, tables, "parquet", "parquet", memory=BOUND)
        return
    assert released(name, tables, "parquet", "parquet", memory=BOUND) == EXPECTED[f"{name} from parquet"]


def test_every_stored_digest_has_its_case() -> None:
    assert set(EXPECTED) == {f"{name} from {kind}" for name, kind, _ in cases()}
