"""Domains, attributes and typed numbers: what they accept, keep and refuse."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.errors import SchemaError
from pramana.schema.domain import Attribute, Domain, Role
from pramana.schema.kind import exact_number, label_of
from pramana.schema.typed import near


@given(st.lists(st.text(min_size=1), min_size=1, max_size=20, unique=True), st.booleans())
def test_a_domain_survives_json(labels: list[str], missing: bool) -> None:
    domain = Domain.declared(labels, missing=missing)
    assert Domain.from_json(domain.to_json()) == domain
    assert [domain.code_of(label) for label in labels] == list(range(len(labels)))
    assert domain.size == len(labels) + missing
    assert domain.missing_code == (len(labels) if missing else None)


@given(st.lists(st.floats(allow_nan=False, width=32), min_size=2, max_size=9, unique=True).map(sorted))
def test_bins_are_half_open_and_survive_json(edges: list[float]) -> None:
    domain = Domain.from_bins(edges)
    assert Domain.from_json(domain.to_json()) == domain
    for place, (low, high) in enumerate(pairwise(edges)):
        assert domain.bin_of(low) == place
        assert domain.bin_of(math.nextafter(high, -math.inf)) == place
    assert domain.bin_of(edges[-1]) is None
    assert domain.bin_of("words") is None and domain.bin_of("nan") is None


def test_an_empty_text_in_a_domain_is_the_missing_category() -> None:
    domain = Domain.declared(["F", "", "M"])
    assert domain.labels == ("F", "M") and domain.missing_code == 2


@pytest.mark.parametrize(
    "build",
    [
        lambda: Domain(()),
        lambda: Domain(("a", "a")),
        lambda: Domain(("a", "")),
        lambda: Domain(("a",), "guessed"),  # type: ignore[arg-type]
        lambda: Domain(("a",), edges=(1.0,)),
        lambda: Domain(("a",), members={"x": "b"}),
        lambda: Domain.from_bins([1]),
        lambda: Domain.from_bins([1, 1]),
        lambda: Domain.from_bins([math.nan, 1]),
        lambda: Domain.from_json({}),
        lambda: Domain.from_json({"labels": 5, "origin": "declared", "missing": False}),
        lambda: Domain.from_json({"labels": ["a"], "origin": "declared", "missing": False, "members": 5}),
        lambda: Attribute("", Role.SENSITIVE, None),
        lambda: Attribute("a", Role.IDENTIFYING, None),
        lambda: Attribute("a", Role.SENSITIVE, None).coded,
        lambda: Attribute.from_json({"name": "a"}),
        lambda: Attribute.from_json({"name": "a", "role": "hero", "domain": None}),
        lambda: Attribute.from_json(5),
    ],
)
def test_what_is_no_domain_or_attribute(build: object) -> None:
    with pytest.raises(SchemaError):
        build()  # type: ignore[operator]


def test_an_attribute_survives_json() -> None:
    for attribute in (
        Attribute("sex", Role.QUASI_IDENTIFYING, Domain.declared(["F", "M"])),
        Attribute("income", Role.SENSITIVE, None),
    ):
        assert Attribute.from_json(attribute.to_json()) == attribute


@pytest.mark.parametrize(
    "value, label",
    [
        (None, ""),
        (math.nan, ""),
        (True, "true"),
        (1, "1"),
        (1.0, "1"),
        (1.5, "1.5"),
        ("x", "x"),
        (math.inf, "inf"),
    ],
)
def test_values_are_written_one_way(value: object, label: str) -> None:
    assert label_of(value) == label


@pytest.mark.parametrize("text, value", [("0.3", "3/10"), ("7e-1", "7/10"), ("1/3", "1/3"), ("-2", "-2")])
def test_numbers_are_read_exactly(text: str, value: str) -> None:
    assert exact_number(text) == Fraction(value)


@pytest.mark.parametrize(
    "text", ["", "x", "1/0", "nan", "inf", "1e999999999", "1e-999999999", "1e", "9" * 101, "1 2"]
)
def test_numbers_that_are_none(text: str) -> None:
    with pytest.raises(ValueError):
        exact_number(text)


def test_near_misses() -> None:
    assert near("incme", ["income", "age"]) == "Did you mean 'income'?"
    assert near("zzz", ["income", "age"]) is None
    assert near(5, [7, "age"]) is None
