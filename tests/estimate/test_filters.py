from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.errors import InputError
from pramana.estimate import Axis, Filter
from pramana.schema import Domain

AGE = Axis.of_domain("age", Domain.from_bins([0, 5, 10, 65, 120], missing=True))
SEX = Axis.of_labels("sex", ["F", "M"])
REGION = Axis.of_labels("home region", ["north", "far east", "and"])
YEARS = Axis.of_labels("years", ["0", "1", "2.5", "20-24", "85+"])


def held(text: str, *axes: Axis) -> list[float]:
    return Filter.parse(text).select(axes).ravel().tolist()


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
