"""What a plain release loads: nothing that takes longer to load than the work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pramana.datasets.census import census

HEAVY = ("pandas", "polars", "matplotlib", "scipy.stats", "scipy.optimize", "pyspark", "pyarrow.dataset")
OF_OTHERS = (  # what recipes with a ledger, a signature, parts, a database, a bound on memory or another law need
    "cryptography.hazmat.primitives.serialization",
    "numpy.ma",
    "pramana.bundle.signing",
    "pramana.files.parts",
    "pramana.files.upload",
    "pramana.methods.invariant.blocks",
    "pramana.methods.retention.ordered",
    "pramana.methods.retention.spending",
    "pramana.methods.retention.frontier",
    "pramana.recipient.numbers",
    "pramana.ledger",
    "pramana.mechanisms.levels",
    "pramana.methods.levels.method",
    "pramana.run.booking",
    "pramana.run.parts",
    "pramana.run.levels",
    "pramana.rows.spooled",
    "pramana.io.database",
    "pramana.theory.identification",
    "pramana.theory.statements",
    "scipy",
)
OF_TEXT = ("pramana.io.csv_file", "pyarrow.compute", "pyarrow.csv")  # what Parquet has no need of
MOST_OWN = 170  # modules of this package; it has five times as many
RELEASE = """
import sys
from pramana import release
release(sys.argv[1], sys.argv[2], seed=1, even_if_useless=True)
print([name for name in sys.argv[3:] if name in sys.modules])
print(sum(name.startswith("pramana.") for name in sys.modules))
"""


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_plain_release_loads_nothing_heavy(form: str, tmp_path: Path) -> None:
    people, table, recipe = census(500, seed=1), tmp_path / f"people.{form}", tmp_path / "recipe.toml"
    people.write_parquet(table) if form == "parquet" else people.write_csv(table)
    people.write_recipe(recipe, source=table, k=5)
    recipe.write_text(recipe.read_text().replace('format = "parquet"', f'format = "{form}"'))
    unneeded = (*HEAVY, *OF_OTHERS, *(OF_TEXT if form == "parquet" else ()))
    command: list[str | Path] = [sys.executable, "-c", RELEASE, recipe, tmp_path / "out", *unneeded]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded, own = done.stdout.strip().splitlines()
    assert (tmp_path / "out" / f"data.{form}").exists() and loaded == "[]"
    assert int(own) <= MOST_OWN


def test_a_command_does_not_look_through_what_it_leaves() -> None:
    """A last collection took longer than work."""
    lines = ("import atexit, gc", "from pramana.app.main import main")
    told = "atexit.register(lambda: print(gc.get_freeze_count() > 0))"
    command = [sys.executable, "-c", "\n".join((*lines, told, "main()")), "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "True"
