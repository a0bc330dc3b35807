"""What a plain release loads: nothing that takes longer to load than the work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pramana.datasets import census

HEAVY = ("pandas", "polars", "matplotlib", "scipy.stats", "scipy.optimize", "pyspark", "pyarrow.dataset")
RELEASE = """
import sys
from pramana import release
release(sys.argv[1], sys.argv[2], seed=1, even_if_useless=True)
print([name for name in sys.argv[3:] if name in sys.modules])
"""


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_plain_release_loads_nothing_heavy(form: str, tmp_path: Path) -> None:
    people, table, recipe = census(500, seed=1), tmp_path / f"people.{form}", tmp_path / "recipe.toml"
    people.write_parquet(table) if form == "parquet" else people.write_csv(table)
    people.write_recipe(recipe, source=table, k=5)
    recipe.write_text(recipe.read_text().replace('format = "parquet"', f'format = "{form}"'))
    command: list[str | Path] = [sys.executable, "-c", RELEASE, recipe, tmp_path / "out", *HEAVY]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (tmp_path / "out" / f"data.{form}").exists() and done.stdout.strip() == "[]"
