"""What the Spark engine refuses before Spark is started: one line, and nothing touched."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.conftest import Refused

RELEASE = ("release", "recipe.toml", "--out", "out", "--engine", "spark", "--master", "local[2]")


def test_a_master_without_spark(refused: Refused) -> None:
    told = refused("release", "recipe.toml", "--out", "out", "--master", "local[2]")
    assert "--master must come with --engine spark" in told


def test_a_bound_on_memory(refused: Refused) -> None:
    assert "must be one for the local engine" in refused(*RELEASE, "--memory", "2GiB")


def test_a_source_that_is_not_there(refused: Refused) -> None:
    assert "must exist" in refused(*RELEASE, "--source", "nobody.csv")


def test_a_column_that_is_not_there(refused: Refused, desk: Path) -> None:
    (desk / "people.csv").write_text("name,sexe,age\nA,F,3\n")
    assert "must have the column 'sex'" in refused(*RELEASE)


def test_no_java(refused: Refused, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setenv("PATH", str(desk))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert "must have Java 17" in refused(*RELEASE)


def test_no_pyspark(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    assert 'pip install "pramana[spark]"' in refused(*RELEASE)
