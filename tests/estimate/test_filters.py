from __future__ import annotations

import datetime
import operator
import time
from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.errors import InputError
from pramana.recipient.filters import AllOf, Filter
from pramana.schema.domain import Axis, Domain
from pramana.schema.kind import Kind

AGE = Axis.of_domain("age", Domain.from_bins([0, 5, 10, 65, 120], missing=True))
SEX = Axis.of_labels("sex", ["F", "M"])
REGION = Axis.of_labels("home region", ["north", "far east", "and"])
YEARS = Axis.of_labels("years", ["0", "1", "2.5", "20-24", "85+"])


def held(condition: str | Filter, *axes: Axis) -> list[float]:
    parsed = Filter.parse(condition) if isinstance(condition, str) else condition
    return parsed.select(axes).ravel().tolist()


def test_comparisons_of_numbers_go_by_bins() -> None:
    assert held("age >= 65", AGE) == [0, 0, 0, 1, 0]
    assert held("age < 10", AGE) == [1, 1, 0, 0, 0]
    assert held("age is missing", AGE) == [0, 0, 0, 0, 1]
    assert held("not age < 10", AGE) == [0, 0, 1, 1, 1]
    assert held('age = "[5,10)"', AGE) == [0, 1, 0, 0, 0]
    assert held("years > 1", YEARS) == [0, 0, 1, 1, 1]
    assert held("years <= 2.5", YEARS) == [1, 1, 1, 0, 0]
    assert held("years = 2.50", YEARS) == [0, 0, 1, 0, 0]
    assert held("years >= 85", YEARS) == [0, 0, 0, 0, 1]


@pytest.mark.parametrize("text", ["age >= 64", "age > 65", "age <= 0", "years < 22", "years > 90"])
def test_a_cut_bin_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="must not cut"):
        Filter.parse(text).select([AGE if text.startswith("age") else YEARS])


def test_and_binds_closer_than_or_and_names_may_be_quoted() -> None:
    found = Filter.parse("sex = F and age >= 65 or 'home region' in (north, 'and')")
    assert found.names == ("sex", "age", "home region")
    grid = found.select([SEX, AGE, REGION])
    want = np.zeros((2, 5, 3))
    want[0, 3, :] = 1
    want[:, :, [0, 2]] = 1
    assert (grid == want).all()
    assert held("sex = F AND (age >= 65 OR age < 5)", SEX, AGE) == [1, 0, 0, 1, 0, 0, 0, 0, 0, 0]


def test_a_missing_value_fulfils_no_comparison() -> None:
    assert held('age != "[0,5)"', AGE) == [0, 1, 1, 1, 0]
    assert held('age not in ("[0,5)", "[5,10)")', AGE) == [0, 0, 1, 1, 0]
    assert held("age is not missing", AGE) == [1, 1, 1, 1, 0]


@pytest.mark.parametrize(
    "text",
    [
        "", "sex", "sex =", "sex = F and", "= F", "sex ~ F", "(sex = F", "sex = F)", "sex in F", "sex in (F",
        "sex not F", "sex is F", "sex = F M", "__import__('os')", "sex = 'F", "sex = F or " * 2000,
        "(" * 60 + "sex = F" + ")" * 60,
    ],
)  # fmt: skip
def test_what_does_not_parse_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(InputError, match="must read like") as caught:
        Filter.parse(text)
    assert "\n" not in str(caught.value)


def test_values_and_comparisons_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="published values"):
        held("sex = X", SEX)
    with pytest.raises(InputError, match="numeric attribute"):
        held("sex < 3", SEX)
    with pytest.raises(InputError, match="numeric attribute"):
        held("age < old", AGE)
    with pytest.raises(InputError, match="numeric attribute"):
        held("age < nan", AGE)


@given(st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_no_text_ends_in_a_traceback(text: str) -> None:
    try:
        Filter.parse(text)
    except InputError:
        return


words = st.sampled_from(["sex = F", "sex != F", "age >= 65", "age is missing", "age < 5", "sex in (F, M)"])
trees = st.recursive(
    words,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})"),
        inner.map(lambda t: f"not ({t})"),
    ),
    max_leaves=8,
)


@given(trees)
@settings(max_examples=150, deadline=None)
def test_filters_agree_with_plain_logic(text: str) -> None:
    grid = Filter.parse(text).select([SEX, AGE])
    for s, sex in enumerate("FM"):
        for a, low in enumerate([0, 5, 10, 65, None]):
            truth = {
                "sex = F": sex == "F", "sex != F": sex != "F", "age is missing": low is None,
                "age >= 65": low is not None and low >= 65, "age < 5": low is not None and low < 5,
                "sex in (F, M)": True,
            }  # fmt: skip
            plain = text
            for word, value in truth.items():
                plain = plain.replace(word, str(value))
            assert grid[s, a] == eval(plain)


def test_codes_with_leading_zeros_are_no_numbers() -> None:
    assert Axis.of_labels("postcode", ["01067", "80331"]).lower is None
    assert Axis.of_labels("share", ["0", "0.5", "10"]).lower == (0.0, 0.5, 10.0)


# ---------------------------------------------------------------- bins of any width

EDGES = [-1.0, 0.0, 0.25, 0.5, 1.0, 2.0, 5.0]
OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@pytest.mark.parametrize("sign", OPERATORS)
@pytest.mark.parametrize("point", [-2, -1, -0.5, 0, 0.1, 0.25, 0.3, 0.5, 0.75, 1, 1.5, 2, 4.99, 5, 6])
def test_a_bin_is_decided_as_a_whole_or_refused(sign: str, point: float) -> None:
    """Beside every decision: the values a bin can hold, one by one."""
    axis = Axis.of_domain("share", Domain.from_bins(EDGES, missing=True))
    bins = [
        [*np.linspace(low, high, 100, endpoint=False), np.nextafter(high, low)] for low, high in pairwise(EDGES)
    ]
    truths = [{bool(OPERATORS[sign](value, point)) for value in values} for values in bins]
    question = Filter.compare("share", sign, point)
    if any(len(truth) == 2 for truth in truths):
        with pytest.raises(InputError, match="must not cut"):
            question.select([axis])
    else:
        assert held(question, axis) == [*(truth == {True} for truth in truths), False]
        assert held(f"share {sign} {point}", axis) == held(question, axis)


def test_bins_narrower_than_one_are_not_cut_in_silence() -> None:
    axis = Axis.of_domain("share", Domain.from_bins([0, 0.25, 0.5, 1]))
    assert held("share < 0.25", axis) == [1, 0, 0]
    for text in ("share < 0.3", "share <= 0.25", "share > 0.5"):
        with pytest.raises(InputError, match="must not cut"):
            held(text, axis)


def test_only_where_all_edges_are_whole_numbers_does_a_bin_hold_one_value() -> None:
    whole = Axis.of_domain("children", Domain.from_bins([0, 1, 2, 3, 4, float("inf")], missing=True))
    assert held("children <= 2", whole) == [1, 1, 1, 0, 0, 0]
    assert held("children > 2", whole) == [0, 0, 0, 1, 1, 0]
    assert held("children = 3", whole) == [0, 0, 0, 1, 0, 0]
    with pytest.raises(InputError, match="must not cut"):
        held("children > 4", whole)
    broken = Axis.of_domain("hours", Domain.from_bins([0, 1, 2, 2.5]))
    with pytest.raises(InputError, match="must not cut"):
        held("hours <= 1", broken)


# ---------------------------------------------------------------- kinds

DAYS = Axis.of_domain("day", Domain.declared(["2024-03-31", "2023-12-01", "0999-01-01"], missing=True))
LEVELS = Axis.of_domain("level", Domain(("low", "middle", "high"), missing=True, kind=Kind.ORDERED))


def test_dates_compare_as_dates() -> None:
    assert held("day >= 2023-12-01", DAYS) == [1, 1, 0, 0]
    assert held("day < 1500-06-30", DAYS) == [0, 0, 1, 0]
    assert held(Filter.compare("day", "<=", datetime.date(2023, 12, 1)), DAYS) == [0, 1, 1, 0]
    assert held("day < 2024", DAYS) == held("day < 2024-01-01", DAYS)
    for text in ("day < 2024-02-30", "day < 31.3.2024", "day < 24"):
        with pytest.raises(InputError, match="a date with one like"):
            held(text, DAYS)
    with pytest.raises(InputError, match="numeric"):
        _ = DAYS.middles


def test_ordered_names_compare_by_their_place() -> None:
    assert held("level >= middle", LEVELS) == [0, 1, 1, 0]
    assert held("level < low", LEVELS) == [0, 0, 0, 0]
    with pytest.raises(InputError, match="published values"):
        held("level < tall", LEVELS)


def test_an_axis_has_the_kind_of_its_domain_and_not_of_its_labels() -> None:
    coded = Domain(("1", "2", "3"), "hierarchy", members={"Lyon": "1", "Pisa": "2", "Rome": "3"})
    axis = Axis.of_domain("region", coded)
    assert (axis.kind, axis.lower) == (Kind.NOMINAL, None)
    with pytest.raises(InputError, match="numeric attribute"):
        held("region < 3", axis)
    bins = Domain.from_bins([0, 0.5, 1])
    assert Axis.of_domain("share", bins.as_published()) == Axis.of_domain("share", bins)
    with pytest.raises(InputError, match="read as its kind"):
        Axis.of_labels("x", ["F"], kind=Kind.NUMBER)
    with pytest.raises(InputError, match="intervals if"):
        Axis("x", ("1",), kind=Kind.NUMBER)


@pytest.mark.parametrize("label", ["1" * 12_000, "1" * 9_999 + "x", "1" * 5_000 + "-" * 4_000, "[" + "1" * 9_000])
def test_a_long_label_takes_no_time(label: str) -> None:
    """12,000 digits took the old pattern 20 seconds."""
    start = time.process_time()
    Axis.of_labels("x", [label])
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize("value", ["infinity", "1_000", "١٢", "nan"])
def test_numbers_in_filters_are_decimals(value: str) -> None:
    with pytest.raises(InputError, match="numeric attribute"):
        held(f"age < {value}", AGE)


# ---------------------------------------------------------------- objects


def test_filters_are_built_without_text() -> None:
    built = Filter.compare("sex", "=", "F") & Filter.compare("age", ">=", 65) | ~Filter.among(
        "home region", ["north", "far east"]
    )
    text = "sex = F and age >= 65 or not 'home region' in (north, 'far east')"
    assert built == Filter.parse(text)
    assert built.names == ("sex", "age", "home region")
    assert Filter.compare("age", "!=", "[0,5)") == Filter.parse('age != "[0,5)"')
    assert ~~Filter.missing("age") == Filter.parse("age is missing")


def test_labels_with_both_quotes_can_be_asked_for() -> None:
    strange = "5' 11\" and more"
    axis = Axis.of_labels('it\'s "x"', [strange, "b"])
    assert held(Filter.compare(axis.name, "=", strange), axis) == [1, 0]


def test_long_chains_stay_flat() -> None:
    chain = reduce(operator.and_, [Filter.compare("sex", "=", "F")] * 5_000)
    assert isinstance(chain, AllOf)
    assert len(chain.parts) == 5_000
    assert held(chain, SEX) == [1, 0]


def test_objects_that_are_no_filter_are_refused() -> None:
    for build in (
        lambda: Filter.compare("age", "~", 5),
        lambda: Filter.compare("age", "=", None),
        lambda: Filter.among("age", []),
        lambda: Filter.compare("height", "=", 5).select([AGE]),
    ):
        with pytest.raises(InputError) as caught:
            build()
        assert "\n" not in str(caught.value)
