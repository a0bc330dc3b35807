"""Texts that a spreadsheet would run: told of, escaped when asked, and read back exactly."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.security.bundles import copied, failed, statement_of, write_report_again, write_statement

from pramana import Recipe, crosstab, release, verify
from pramana.app.main import run
from pramana.errors import RecipeError, SourceError
from pramana.methods.published_cells import PublishedCells
from pramana.methods.recipe import AnyRecipe
from pramana.run.verify import Verification

FORMULA = "=cmd|' /C calc'!A0"
DOMAIN = [FORMULA, "'=x", "@x", "-5", "plain", "'plain"]
ROWS = 60


def table() -> pa.Table:
    words = [DOMAIN[i % len(DOMAIN)] for i in range(ROWS)]
    return pa.table({"word": words, "raw": [f"+{w}" for w in words], "n": list(range(ROWS))})


def recipe(method: dict[str, Any], **output: Any) -> AnyRecipe:
    word = {"role": "quasi-identifying", "domain": DOMAIN}
    roles = {"raw": {"role": "insensitive"}, "n": {"role": "insensitive"}}
    return Recipe.parse({"release": method, "attributes": {"word": word, **roles}, "output": output})


RETENTION = {"epsilon": 4.0}
METHODS: dict[str, dict[str, Any]] = {
    "retention": RETENTION,
    "invariant": {"method": "invariant", "xi": 0.5},
    "levels": {"method": "levels", "retention": 0.4},
    "generalize": {"method": "generalize", "k": 5, "algorithm": "mondrian"},
    "intervals": {"method": "generalize", "k": 5, "algorithm": "mondrian", "cells": "interval"},
}


def words_of(method: str, **output: Any) -> AnyRecipe:
    made = recipe(METHODS[method], **output)
    if method != "levels":
        return made
    attributes = {"word": {"role": "sensitive", "domain": DOMAIN}, "raw": {"role": "insensitive"}}
    return Recipe.parse({"release": METHODS[method], "attributes": attributes, "output": output})


def spreadsheets(verification: Verification) -> str:
    return next(check.detail for check in verification.checks if check.name == "spreadsheets")


@pytest.mark.parametrize("method", METHODS)
def test_escaped_and_read_back(method: str, tmp_path: Path) -> None:
    plain = release(words_of(method, format="csv"), tmp_path / "plain", data=table(), seed=3)
    escaped = release(
        words_of(method, format="csv", escape_formulas=True), tmp_path / "escaped", data=table(), seed=3
    )
    assert "raw" in plain.formulas and escaped.formulas == ()
    assert plain.certificate.content == escaped.certificate.content, "the same rows"
    assert not plain.certificate.escaped and escaped.certificate.escaped
    assert statement_of(escaped.bundle)["escaped"] is True
    for path in escaped.bundle.glob("*.csv"):
        with path.open(newline="") as lines:
            cells = [cell for row in csv.reader(lines) for cell in row]
        assert not any(cell.startswith(("=", "+", "@")) for cell in cells), path.name
    for made in (plain, escaped):
        assert verify(made.bundle, source=table(), seed=3).valid
    assert "raw" in spreadsheets(verify(plain.bundle)) and "apostrophe" in spreadsheets(verify(escaped.bundle))


def test_tables_of_an_escaped_bundle_are_those_of_the_plain_one(tmp_path: Path) -> None:
    for name, escape in (("plain", False), ("escaped", True)):
        release(recipe(RETENTION, format="csv", escape_formulas=escape), tmp_path / name, data=table(), seed=3)
    plain, escaped = (crosstab(tmp_path / name, ["word"]) for name in ("plain", "escaped"))
    assert list(plain.cells()) == list(escaped.cells())
    assert FORMULA in {cell["word"] for cell in escaped.cells()}


def test_cells_of_an_escaped_bundle_are_those_of_the_plain_one(tmp_path: Path) -> None:
    for name, escape in (("plain", False), ("escaped", True)):
        chosen = recipe(METHODS["generalize"], format="csv", escape_formulas=escape)
        release(chosen, tmp_path / name, data=table(), seed=3)
    plain, escaped = (PublishedCells.open(tmp_path / name).expected(["word"]) for name in ("plain", "escaped"))
    assert plain.tolist() == escaped.tolist()


def test_a_bundle_that_says_it_is_escaped_is(tmp_path: Path) -> None:
    """Saying so of plain data, or taking the apostrophes away, shows."""
    release(recipe(RETENTION, format="csv"), tmp_path / "plain", data=table(), seed=3)
    forged = copied(tmp_path / "plain", tmp_path / "forged")
    write_statement(forged, {**statement_of(forged), "escaped": True})
    write_report_again(forged)
    assert "data" in failed(forged)
    chosen = recipe(RETENTION, format="csv", escape_formulas=True)
    release(chosen, tmp_path / "escaped", data=table(), seed=3)
    forged = copied(tmp_path / "escaped", tmp_path / "forged")
    write_statement(forged, {**statement_of(forged), "escaped": False})
    assert "data" in failed(forged)


def test_parquet_needs_none_and_a_name_cannot_be_escaped(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="escape_formulas"):
        recipe(RETENTION, format="parquet", escape_formulas=True)
    attributes = {"=a": {"role": "quasi-identifying", "domain": ["x", "y"]}}
    chosen = Recipe.parse(
        {"release": RETENTION, "attributes": attributes, "output": {"format": "csv", "escape_formulas": True}}
    )
    with pytest.raises(SourceError, match="formula"):
        release(chosen, tmp_path / "out", data=pa.table({"=a": ["x", "y"] * 20}), seed=3)
    assert not (tmp_path / "out").exists()


def test_the_holder_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Of columns, not of values; the certificate keeps to what is promised."""
    (tmp_path / "t.csv").write_text("word,raw\n" + "a,=1+1\nb,x\n" * 20)
    (tmp_path / "r.toml").write_text(
        '[source]\npath = "t.csv"\n[release]\nepsilon = 2\n[output]\nformat = "csv"\n'
        '[attributes.word]\nrole = "quasi-identifying"\ndomain = ["a", "b"]\n'
        '[attributes.raw]\nrole = "insensitive"\n'
    )
    assert run(["release", str(tmp_path / "r.toml"), "--out", str(tmp_path / "out")]) == 0
    shown = capfd.readouterr().out
    assert "escape_formulas = true" in shown and "texts of raw" in shown and "=1+1" not in shown
    assert not any("spreadsheet" in warning for warning in statement_of(tmp_path / "out")["warnings"])
