"""The Spark engine with executors of their own: one of them is lost in the midst of its work."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pramana import Key, release
from pramana.datasets import census

pytest.importorskip("pyspark", reason="PySpark is not installed: the Spark engine is not tested")
if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
    pytest.skip("Java is not installed: the Spark engine is not tested", allow_module_level=True)
pytestmark = pytest.mark.xdist_group("spark")

SCRIPT = """
import os

import pramana

FOLDER = os.getcwd()


def lose(tables):
    # once the first task draws, the process of its executor ends: it is the parent of the parent of this one
    import os, signal
    if not os.path.exists(os.path.join(FOLDER, "drawing")):
        return
    try:
        os.close(os.open(os.path.join(FOLDER, "lost"), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    with open(f"/proc/{os.getppid()}/stat") as file:
        executor = int(file.read().rpartition(")")[2].split()[1])
    os.kill(executor, signal.SIGKILL)


def noted(stage, done, of):
    if stage == "randomising":
        open("drawing", "w").close()


engine = pramana.SparkEngine("local-cluster[2,1,1024]", pieces=6, watch=lose)
pramana.release("recipe.toml", "there", key=pramana.Key(bytes(range(32))), engine=engine, progress=noted)
"""


def test_a_lost_executor_changes_nothing(tmp_path: Path) -> None:
    people = census(150_000, seed=7)
    people.write_parquet(tmp_path / "whole.parquet")
    pq.write_table(pq.read_table(tmp_path / "whole.parquet"), tmp_path / "people.parquet", row_group_size=25_000)
    people.write_recipe(tmp_path / "recipe.toml", source=tmp_path / "people.parquet", k=20)
    release(tmp_path / "recipe.toml", tmp_path / "here", key=Key(bytes(range(32))))
    (tmp_path / "run.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "run.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "lost").exists()
    assert "Lost executor" in done.stderr
    for file in sorted((tmp_path / "here").iterdir()):
        assert file.read_bytes() == (tmp_path / "there" / file.name).read_bytes(), file.name
