"""Domains read from the data: in the order of values, whatever form the column has."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana import Recipe, open_study, release
from pramana.io import codes
from pramana.io.codes import domain_from_data, has_missing
from pramana.recipient.study import Study
from pramana.schema.kind import Kind


def column(values: list[Any], kind: pa.DataType | None = None, dictionary: bool = False) -> pa.ChunkedArray:
    array = pa.array(values, kind)
    return pa.chunked_array([array.dictionary_encode() if dictionary else array])


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, unique=True), st.booleans(), st.booleans())
def test_numbers_are_in_order_of_value(numbers: list[int], as_text: bool, dictionary: bool) -> None:
    """On the old code texts, and numbers in a dictionary, were sorted by their letters."""
    values = [str(n) for n in numbers] if as_text else numbers
    domain = domain_from_data(column(values, None if as_text else pa.int64(), dictionary))
    assert domain.labels == tuple(str(n) for n in sorted(numbers))
    assert domain.kind is Kind.NUMBER


@given(st.lists(st.dates(), min_size=1, unique=True), st.booleans())
def test_dates_are_in_order_of_the_calendar(dates: list[datetime.date], as_text: bool) -> None:
    domain = domain_from_data(column([d.isoformat() for d in dates] if as_text else dates))
    assert domain.labels == tuple(d.isoformat() for d in sorted(dates))
    assert domain.kind is Kind.DATE


@pytest.mark.parametrize(
    ("values", "labels", "kind"),
    [
        (
            [datetime.timedelta(days=10), datetime.timedelta(days=9)],
            ("9 days, 0:00:00", "10 days, 0:00:00"),
            "ordered",
        ),
        ([Decimal("10.5"), Decimal("9.25"), None], ("9.25", "10.50"), "number"),
        ([float("inf"), 10.0, 9.5, float("nan")], ("9.5", "10", "inf"), "ordered"),
        ([True, False], ("false", "true"), "nominal"),
        (["b", "a", ""], ("a", "b"), "nominal"),
        (["80331", "01067", "9999"], ("01067", "80331", "9999"), "nominal"),
    ],
)
def test_other_values(values: list[Any], labels: tuple[str, ...], kind: str) -> None:
    domain = domain_from_data(column(values))
    assert (domain.labels, domain.kind) == (labels, kind)


def test_missing_values_are_seen_in_dictionaries() -> None:
    """A NaN or a null among a dictionary's values went unseen; a value that no row has was taken for one."""
    indices = pa.array([0, 1, 0], pa.int8())
    empty = [pa.array(["a", ""], kind) for kind in (pa.string(), pa.large_string(), pa.string_view())]
    for values in (pa.array([1.0, float("nan")]), pa.array([True, None]), pa.array(["a", None]), *empty):
        assert has_missing(pa.chunked_array([pa.DictionaryArray.from_arrays(indices, values)]))
    unused = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), pa.array(["a", ""]))
    assert not has_missing(pa.chunked_array([unused]))


def test_no_row_is_looked_at_for_a_missing_value_that_no_entry_could_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten million rows were counted for it, on one core, before anything else could begin."""
    looked: list[int] = []
    true = codes.occurring

    def counting(chunk: pa.Array) -> tuple[Any, list[Any]]:
        looked.append(len(chunk))
        return true(chunk)

    monkeypatch.setattr(codes, "occurring", counting)
    indices = pa.array([0, 0, 0], pa.int8())
    for entries, rows in ((["a", "b"], []), (["a", ""], [3]), (["a", None], [3])):
        assert not has_missing(pa.chunked_array([pa.DictionaryArray.from_arrays(indices, pa.array(entries))]))
        assert looked == rows
        looked.clear()


def test_ages_from_a_text_file_are_ages_from_the_first_to_the_last_step(tmp_path: Path) -> None:
    ages = [4, 34, 104, 9, 11, 2, 100, 71] * 40
    (tmp_path / "people.csv").write_text("age\n" + "".join(f"{age}\n" for age in ages))
    quasi = {"role": "quasi-identifying", "domain": "from-data"}
    source = {"path": "people.csv"}
    randomised = {"source": source, "release": {"retention": 0.9}, "attributes": {"age": quasi}}
    release(Recipe.parse(randomised, tmp_path), tmp_path / "randomised", seed=1)
    study = open_study(tmp_path / "randomised")
    assert study.axis("age").labels == ("2", "4", "9", "11", "34", "71", "100", "104")
    assert study.axis("age").kind is Kind.NUMBER
    grouped = {
        "source": source,
        "release": {"method": "generalize", "k": 60, "algorithm": "mondrian", "cells": "interval"},
        "attributes": {"age": quasi},
    }
    release(Recipe.parse({**grouped, "output": {"format": "csv"}}, tmp_path), tmp_path / "grouped", seed=1)
    cells = {line.strip('"') for line in (tmp_path / "grouped" / "data.csv").read_text().split()[1:]}
    ends = [tuple(map(int, cell.split(".."))) for cell in cells if ".." in cell]
    assert ends
    assert all(low < high for low, high in ends)


@pytest.mark.parametrize(
    ("values", "labels", "kind"),
    [
        (
            [datetime.timedelta(days=10), datetime.timedelta(days=9)],
            ("9 days, 0:00:00", "10 days, 0:00:00"),
            "ordered",
        ),
        ([20.0, float("inf"), 3.5, float("-inf")], ("-inf", "3.5", "20", "inf"), "ordered"),
        ([10.0, -0.0, 0.0, 9.0], ("0", "9", "10"), "number"),
        ([10.0, float("nan"), 9.0], ("9", "10", "(missing)"), "number"),
        (["10", "9", "n/a"], ("9", "10", "n/a"), "nominal"),
        ([datetime.date(2024, 10, 1), datetime.date(999, 9, 1)], ("0999-09-01", "2024-10-01"), "date"),
    ],
)  # fmt: skip
def test_a_column_released_unchanged_is_in_the_order_of_its_values(
    values: list[Any], labels: tuple[str, ...], kind: str, tmp_path: Path
) -> None:
    """Recipients had 10 days before 9, and numbers with an infinite one among them as names."""
    pq.write_table(pa.table({"sex": ["F", "M"] * len(values), "x": values * 2}), tmp_path / "t.parquet")
    attributes = {"sex": {"role": "quasi-identifying", "domain": ["F", "M"]}, "x": {"role": "insensitive"}}
    stated = {"source": {"path": "t.parquet"}, "release": {"retention": 0.9}, "attributes": attributes}
    release(Recipe.parse(stated, tmp_path), tmp_path / "out", seed=1)
    study = open_study(tmp_path / "out")
    assert isinstance(study, Study)
    assert (study.axis("x").labels, study.axis("x").kind) == (labels, kind)
    counted = study.table(["x"]).counts
    assert counted.sum() == 2 * len(values) and counted.min() >= 2
