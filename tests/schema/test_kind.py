"""Kinds: what labels read as, the order they are put in, what domains and attributes say of it in JSON."""

from __future__ import annotations

import copy
import datetime
import math
import time
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.errors import SchemaError
from pramana.schema.domain import Attribute, Domain, Role
from pramana.schema.hierarchy import Hierarchy, hierarchy_of_dates, hierarchy_of_intervals
from pramana.schema.kind import Kind, decimal_number, label_of

WRITTEN_NUMBERS = st.one_of(
    st.integers(-(10**30), 10**30).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)


@given(st.lists(WRITTEN_NUMBERS, min_size=1, unique=True), st.randoms(use_true_random=False))
def test_numbers_written_as_text_are_in_order_of_value(texts: list[str], random: Any) -> None:
    random.shuffle(texts)
    ordered = Kind.of_labels(texts).in_order(texts)
    values = [Fraction(text) for text in ordered]
    assert values == sorted(values)
    assert sorted(ordered) == sorted(texts)
    assert Kind.of_labels(texts) is Kind.NUMBER


@given(st.lists(st.dates(), min_size=1, unique=True), st.randoms(use_true_random=False))
def test_dates_written_as_text_are_in_order_of_the_calendar(dates: list[datetime.date], random: Any) -> None:
    texts = [date.isoformat() for date in dates]
    random.shuffle(texts)
    assert Kind.of_labels(texts) is Kind.DATE
    assert Kind.DATE.in_order(texts) == [date.isoformat() for date in sorted(dates)]


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["4", "34", "104"], Kind.NUMBER),
        (["-0.5", ".5", "7e-1", "+3", " 8"], Kind.NUMBER),
        (["0-4", "5-9", "85+"], Kind.NUMBER),
        (["[0,5)", "[5,inf)"], Kind.NUMBER),
        (["-5--1", "0-4"], Kind.NUMBER),
        (["01067", "80331"], Kind.NOMINAL),
        (["0", "0.7"], Kind.NUMBER),
        (["2024-03-31", "2023-01-01"], Kind.DATE),
        (["2024-02-30"], Kind.NOMINAL),
        (["20240331"], Kind.NUMBER),
        (["2024-03", "2024-04"], Kind.NOMINAL),  # a month, not the interval from 2024 to 3
        (["12-5"], Kind.NOMINAL),
        (["1", "x"], Kind.NOMINAL),
        (["nan"], Kind.NOMINAL),
        (["inf"], Kind.NOMINAL),
        (["1e999"], Kind.NOMINAL),
        (["1_000"], Kind.NOMINAL),
        (["١٢"], Kind.NOMINAL),
        ([], Kind.NOMINAL),
    ],
)
def test_what_labels_read_as(labels: list[str], kind: Kind) -> None:
    assert Kind.of_labels(labels) is kind


def test_numbers_among_names_come_first_by_value_and_codes_stay_texts() -> None:
    assert Kind.NOMINAL.in_order(["unknown", "104", "90+", "34", "4"]) == ["4", "34", "90+", "104", "unknown"]
    assert Kind.NOMINAL.in_order(["107", "0107", "9"]) == ["0107", "107", "9"]
    assert Kind.ORDERED.in_order(["low", "high", "5"]) == ["low", "high", "5"]
    assert Kind.NUMBER.in_order(["5-9", "10-14", "0-4"]) == ["0-4", "5-9", "10-14"]


@pytest.mark.parametrize(
    "text", ["١٢", "1_000", "nan", "infinity", "inf", "-inf", "1e400", "0x10", "1 2", "", "٣.5"]
)
def test_bins_take_ascii_decimals_only(text: str) -> None:
    """Python's float takes most of these: a record with such a text fell into some bin."""
    assert decimal_number(text) is None
    assert Domain.from_bins([-math.inf, 0, 5000]).code_of(text) is None


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e6, max_value=1e6))
def test_a_number_and_its_text_fall_into_the_same_bin(number: float) -> None:
    domain = Domain.from_bins([-1e6, -0.1, 0.1, 0.3, 7, 1e7])
    assert domain.bin_of(repr(number)) == domain.bin_of(number)
    assert domain.bin_of(f" {number!r}\t") == domain.bin_of(number)


def test_numbers_from_arrays_are_written_as_numbers() -> None:
    assert label_of(np.float64(2.5)) == "2.5"


@pytest.mark.parametrize("label", ["9" * 9_999, "9" * 9_998 + "x", "[" + "1" * 9_000, "1-" * 4_999, " " * 9_999])
def test_reading_a_long_label_takes_no_time(label: str) -> None:
    start = time.process_time()
    Kind.of_labels([label])
    Domain.from_bins([0, 1]).code_of(label)
    assert time.process_time() - start < 0.5


def test_longer_labels_are_refused() -> None:
    Domain.declared(["x" * 10_000])
    for build in (
        lambda: Domain.declared(["x" * 10_001]),
        lambda: Hierarchy((("x" * 10_001,), ("*",))),
    ):
        with pytest.raises(SchemaError, match=r"at most 10,000 characters, got 10,001") as caught:
            build()
        assert "xx" not in str(caught.value)
    assert decimal_number("1" + " " * 10_001) == 1
    assert decimal_number("0." + "0" * 10_000) is None


# ---------------------------------------------------------------- domains and attributes


def level(hierarchy: Hierarchy, at: int) -> Domain:
    codes, labels = hierarchy.level_map(at)
    members = dict(zip(hierarchy.leaves, (labels[c] for c in codes), strict=True)) if at else {}
    return Domain(labels, "hierarchy", members=members)


def test_the_kind_of_a_domain() -> None:
    assert Domain.from_bins([0, 0.5, 1]).kind is Kind.NUMBER
    assert Domain.declared([3, 1, 2.5]).kind is Kind.NUMBER
    assert Domain.declared([3, 1, 2.5]).labels == ("3", "1", "2.5")
    assert Domain.declared(["34", "4"]).labels == ("34", "4")
    assert Domain.declared(["F", "M"]).kind is Kind.NOMINAL
    assert Domain.declared([True, False]).kind is Kind.NOMINAL
    assert Domain.declared(["low", "high"]).with_missing().kind is Kind.NOMINAL
    ages = Domain.from_bins([0, 5, math.inf], missing=True)
    assert (ages.as_published().kind, ages.as_published().edges) == (Kind.NUMBER, ())
    stated = Domain(("low", "high"), kind=Kind.ORDERED)
    assert stated.with_missing().kind is stated.as_published().kind is Kind.ORDERED
    assert not stated.with_missing(from_data=False).missing_from_data


def test_the_kind_of_a_level_of_a_hierarchy() -> None:
    ages = hierarchy_of_intervals(range(20), [5, 10])
    assert [level(ages, at).kind for at in range(4)] == [Kind.NUMBER, Kind.NUMBER, Kind.NUMBER, Kind.ORDERED]
    words = Hierarchy.from_rows([[str(a), "young" if a < 40 else "old", "*"] for a in range(100)])
    assert level(words, 1).kind is Kind.ORDERED
    parity = Hierarchy.from_rows([[str(a), "even" if a % 2 == 0 else "odd", "*"] for a in range(10)])
    assert level(parity, 1).kind is Kind.NOMINAL
    shuffled = Hierarchy.from_rows([["3", "a", "*"], ["1", "b", "*"], ["2", "b", "*"]])
    assert level(shuffled, 0).kind is level(shuffled, 1).kind is Kind.NOMINAL
    towns = Hierarchy.from_rows([["Lyon", "1", "*"], ["Pisa", "2", "*"]])
    assert level(towns, 1).kind is Kind.NOMINAL
    days = hierarchy_of_dates(["2024-03-31", "2023-05-01"], ["month"])
    assert (level(days, 0).kind, level(days, 1).kind) == (Kind.DATE, Kind.ORDERED)


def test_builders_put_leaves_in_order_of_value() -> None:
    ages = hierarchy_of_intervals(["104", "34", "4", "-3"], [5])
    assert ages.leaves == ("-3", "4", "34", "104")
    assert ages.levels[1] == ("-5--1", "0-4", "30-34", "100-104")
    assert hierarchy_of_dates(["2024-03-31", "2023-05-01"]).leaves == ("2023-05-01", "2024-03-31")
    for wrong in ("١٢", "1_000", " 5", "1" * 400):
        with pytest.raises(SchemaError, match="whole numbers"):
            hierarchy_of_intervals([wrong], [5])
    with pytest.raises(SchemaError, match="dates like"):
        hierarchy_of_dates(["20240331"])


def test_a_stated_kind_must_fit() -> None:
    for build in (
        lambda: Domain(("F", "M"), kind=Kind.NUMBER),
        lambda: Domain(("1", "2"), kind=Kind.DATE),
        lambda: Domain(("[0,1)",), "bins", edges=(0.0, 1.0), kind=Kind.NOMINAL),
        lambda: Attribute("a", Role.SENSITIVE, Domain.declared(["F", "M"]), Kind.NUMBER),
    ):
        with pytest.raises(SchemaError):
            build()
    assert Attribute("a", Role.SENSITIVE, Domain.declared([1, 2])).kind is Kind.NUMBER
    assert Attribute("a", Role.SENSITIVE, None).kind is Kind.NOMINAL
    assert Attribute("a", Role.SENSITIVE, None, Kind.DATE).kind is Kind.DATE


KEPT = [
    Attribute("age", Role.QUASI_IDENTIFYING, Domain.from_bins([-math.inf, 0.5, 1e-7 + 1, 1e20, math.inf])),
    Attribute("age", Role.QUASI_IDENTIFYING, level(hierarchy_of_intervals(range(20), [5]), 1).with_missing()),
    Attribute("level", Role.SENSITIVE, Domain(("low", "high"), kind=Kind.ORDERED)),
    Attribute("day", Role.INSENSITIVE, None, Kind.DATE),
]


@pytest.mark.parametrize("attribute", KEPT, ids=lambda a: f"{a.name} {a.kind}")
def test_attributes_survive_json_with_their_kind(attribute: Attribute) -> None:
    statement = attribute.to_json()
    assert statement["kind"] == attribute.kind.value
    again = Attribute.from_json(statement)
    assert again == attribute
    assert again.kind is attribute.kind


def parts_of(statement: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(statement, dict):
        return [path, *(p for key in statement for p in parts_of(statement[key], (*path, key)))]
    if isinstance(statement, list):
        return [path, *(p for i in range(len(statement)) for p in parts_of(statement[i], (*path, i)))]
    return [path]


@pytest.mark.parametrize("wrong", [None, 5, 0.5, True, "text", ["text"], {"text": "text"}], ids=repr)
@pytest.mark.parametrize("attribute", KEPT, ids=lambda a: f"{a.name} {a.kind}")
def test_a_part_of_another_shape_is_refused(attribute: Attribute, wrong: Any) -> None:
    """Each part in turn; the old code took any label, flag or edge for what it should have been."""
    for path in parts_of(attribute.to_json())[1:]:
        statement = copy.deepcopy(attribute.to_json())
        holder = statement
        for key in path[:-1]:
            holder = holder[key]
        if type(holder[path[-1]]) is not type(wrong):
            holder[path[-1]] = wrong
            with pytest.raises(SchemaError):
                Attribute.from_json(statement)


@pytest.mark.parametrize("key", ["name", "role", "kind", "raw", "domain"])
def test_a_statement_must_have_all_its_keys_and_no_others(key: str) -> None:
    statement = KEPT[1].to_json()
    del statement[key]
    with pytest.raises(SchemaError):
        Attribute.from_json(statement)
    for inner in ("labels", "origin", "kind", "missing"):
        statement = KEPT[1].to_json()
        del statement["domain"][inner]
        with pytest.raises(SchemaError):
            Attribute.from_json(statement)
    for within_domain in (False, True):
        statement = KEPT[1].to_json()
        (statement["domain"] if within_domain else statement)["more"] = 1
        with pytest.raises(SchemaError):
            Attribute.from_json(statement)


@pytest.mark.parametrize(
    "edges", [["0", "x"], ["0", "nan"], ["5", "1"], ["0", "١"], [0, 1], ["0", "1", "2"], "01"]
)
def test_edges_that_are_none_are_refused(edges: Any) -> None:
    statement = {**Domain.from_bins([0, 1]).to_json(), "edges": edges}
    with pytest.raises(SchemaError):
        Domain.from_json(statement)


JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
DOMAIN_KEYS = ["labels", "origin", "kind", "missing", "missing_from_data", "edges", "members"]


@given(st.dictionaries(st.sampled_from(DOMAIN_KEYS), JSONISH) | JSONISH)
def test_any_json_is_a_domain_or_refused(content: Any) -> None:
    base = Domain.from_bins([0, 1]).to_json()
    for statement in (content, {**base, **content} if isinstance(content, dict) else content):
        try:
            Domain.from_json(statement)
        except SchemaError as error:
            assert "\n" not in str(error)


def test_ends_are_exact() -> None:
    assert Kind.NUMBER.ends_of("9007199254740993") == (Decimal(9007199254740993),) * 2
    large = 10**40
    assert Kind.NUMBER.ends_of(f"{large}-{large}") == (Decimal(large), Decimal(large + 1))
    for edges in ([0.1, 0.25, 1e-5 + 1, 1e22, math.inf], [-math.inf, -1e-7, 5e-324, 1.5e300]):
        for label, (low, high) in zip(Domain.from_bins(edges).labels, pairwise(edges), strict=True):
            ends = Kind.NUMBER.ends_of(label)
            assert ends is not None
            assert (float(ends[0]), float(ends[1])) == (low, high)
