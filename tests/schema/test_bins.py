"""Bins as recipes state them: every value in the bin a person would put it in, and domains that are read back."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pramana import Recipe
from pramana.errors import PramanaError, SchemaError
from pramana.schema.bins import Binning, BinsSection
from pramana.schema.domain import Domain
from pramana.schema.kind import UNITS, Kind, end_of, label_of_period, period_of, start_of

DAYS = st.dates(datetime.date(1, 1, 8), datetime.date(9989, 12, 31))


def bins(**keys: Any) -> BinsSection:
    return BinsSection(**{("from_" if key == "first" else key): value for key, value in keys.items()})


# ---------------------------------------------------------------- the calendar


@given(DAYS, st.sampled_from(UNITS))
@example(datetime.date(1, 1, 8), "year")
def test_a_period_holds_its_days_and_no_others(day: datetime.date, unit: str) -> None:
    """By walking day after day to both ends, and by Python's own calendar."""
    label = label_of_period(unit, day.toordinal())
    first, end = start_of(unit, day.toordinal()), end_of(unit, day.toordinal())
    assert first <= day.toordinal() < end
    assert period_of(label) == (first, end)
    inside = [datetime.date.fromordinal(d) for d in (first, (first + end) // 2, end - 1)]
    calendar = range(datetime.date.min.toordinal(), datetime.date.max.toordinal() + 1)
    outside = [datetime.date.fromordinal(d) for d in (first - 1, end) if d in calendar]
    names: dict[str, Callable[[datetime.date], object]] = {
        "year": lambda d: d.year,
        "quarter": lambda d: (d.year, (d.month - 1) // 3),
        "month": lambda d: (d.year, d.month),
        "week": lambda d: d.isocalendar()[:2],
        "decade": lambda d: d.year // 10,
    }
    name = names[unit]
    assert {name(d) for d in inside} == {name(day)}
    assert name(day) not in {name(d) for d in outside}


@pytest.mark.parametrize(
    ("label", "first", "last"),
    [
        ("2024", "2024-01-01", "2024-12-31"),
        ("2024-Q1", "2024-01-01", "2024-03-31"),
        ("2024-02", "2024-02-01", "2024-02-29"),
        ("2024-W01", "2024-01-01", "2024-01-07"),
        ("2020-W53", "2020-12-28", "2021-01-03"),
        ("1980s", "1980-01-01", "1989-12-31"),
        ("[2020-01-01,2020-03-01)", "2020-01-01", "2020-02-29"),
    ],
)
def test_labels_are_read_as_days(label: str, first: str, last: str) -> None:
    ends = Kind.DATE.ends_of(label)
    assert ends is not None
    assert [datetime.date.fromordinal(int(d)).isoformat() for d in (ends[0], ends[1] - 1)] == [first, last]


@pytest.mark.parametrize(
    "label",
    ["2024-Q5", "2024-13", "2024-W54", "2021-W53", "1985s", "0000", "24", "2024-1", "[2024,2025)"],
)
def test_what_is_no_period_is_none(label: str) -> None:
    assert Kind.DATE.ends_of(label) is None


def test_periods_are_dates_only_where_it_is_stated() -> None:
    """Names that look like periods stay what they were, in releases of old recipes as well."""
    assert Kind.of_labels(["2024-Q1", "2024-Q2"]) is Kind.NOMINAL
    assert Kind.of_labels(["2023", "2024"]) is Kind.NUMBER
    assert Kind.DATE.in_order(["2024-10", "2024-09", "2023-12"]) == ["2023-12", "2024-09", "2024-10"]


# ---------------------------------------------------------------- which bin a value is in

HUNDREDTHS = st.integers(-2000, 2000).map(lambda n: Fraction(n, 100))


@given(HUNDREDTHS, st.integers(1, 400), st.integers(1, 12), HUNDREDTHS)
def test_bins_of_a_width_hold_the_numbers_from_edge_to_edge(
    first: Fraction, width: int, count: int, value: Fraction
) -> None:
    """Brute force in fractions; bins by a count of the same bounds are the same."""
    step = Fraction(width, 100)
    last = first + count * step
    by_width = Binning(bins(width=float(step), first=float(first), to=float(last))).domain()
    by_count = Binning(bins(count=count, first=float(first), to=float(last))).domain()
    assert by_width == by_count and len(by_width.labels) == count
    expected = [i for i in range(count) if first + i * step <= value < first + (i + 1) * step]
    assert by_width.code_of(str(float(value))) == (expected[0] if expected else None)
    assert Domain.from_json(by_width.to_json()) == by_width


@given(
    st.integers(-30, 30), st.sampled_from([1, 5, 0.5, 0.25, 100]), st.integers(1, 20), HUNDREDTHS, st.booleans()
)
def test_rounding_is_to_the_nearest_multiple_and_up_at_halves(
    low: int, base: float, count: int, value: Fraction, coded: bool
) -> None:
    first, last, step = Fraction(str(base)) * low, Fraction(str(base)) * (low + count), Fraction(str(base))
    ends = (float(first), float(last))
    stated = Binning(None, *ends, round=base) if coded else Binning(bins(first=ends[0], to=ends[1]), round=base)
    domain = stated.domain()
    nearest = math.floor(value / step + Fraction(1, 2)) * step
    code = domain.code_of(str(float(value)))
    if coded:
        nearest = min(max(nearest, first), last)
    assert (code is None) == (not first <= nearest <= last)
    if code is not None:
        assert Fraction(domain.labels[code]) == nearest
    assert Domain.from_json(domain.to_json()) == domain


@given(DAYS, DAYS, DAYS, st.sampled_from(UNITS))
def test_bins_by_the_calendar_are_whole_periods(
    one: datetime.date, other: datetime.date, day: datetime.date, unit: str
) -> None:
    first, last = sorted([one, min(other, one + datetime.timedelta(days=4000))])
    if first == last:
        return
    domain = Binning(bins(calendar=unit, first=first.isoformat(), to=last.isoformat())).domain()
    assert domain.kind is Kind.DATE and domain.kind.is_ascending(domain.labels)
    code = domain.code_of(day.isoformat())
    label = label_of_period(unit, day.toordinal())
    assert (code is not None) == (label in domain.labels)
    if code is not None:
        assert domain.labels[code] == label
        assert domain.code_of(f"{day.isoformat()} 23:59:59") == domain.code_of(label) == code
    assert {label_of_period(unit, first.toordinal()), label_of_period(unit, last.toordinal() - 1)} <= {
        *domain.labels
    }
    assert Domain.from_json(domain.to_json()) == domain


def test_top_and_bottom_take_in_what_lies_beyond() -> None:
    domain = Binning(bins(width=5), bottom=15, top=30).domain()
    assert domain.labels == ("[-inf,15)", "[15,20)", "[20,25)", "[25,30)", "[30,inf)")
    assert [domain.code_of(v) for v in ("-7", "14.9", "15", "29", "30", "1e9")] == [0, 0, 1, 3, 4, 4]
    assert Binning([0, 18, 65, 120], top=65).domain().labels == ("[0,18)", "[18,65)", "[65,inf)")
    born = Binning(bins(calendar="decade", first="1920-01-01", to="2020-01-01"), bottom="1940-01-01").domain()
    assert born.labels[:2] == ("[-inf,1940-01-01)", "1940s") and born.code_of("1899-05-05") == 0
    years = Binning(["1990-01-01", "2000-01-01", math.inf]).domain()
    assert years.labels == ("[1990-01-01,2000-01-01)", "[2000-01-01,inf)") and years.kind is Kind.DATE


def test_birth_years_alone_find_their_decade() -> None:
    domain = Binning(bins(calendar="decade", first="1980-01-01", to="2000-01-01")).domain()
    assert [domain.code_of(v) for v in ("1984", "1990-03", "1979", "1980s", "words")] == [0, 1, None, 0, None]
    assert Binning(bins(calendar="month", first="1980-01-01", to="1981-01-01")).domain().code_of("1980") is None


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        (Binning(bins(width=7, first=0, to=100)), "whole widths.*Let them end at 98 or 105"),
        (Binning(bins(width=5, first=0)), "public bounds.*no to"),
        (Binning(bins(width=5, first=9, to=0)), "lower bound to a higher"),
        (Binning(bins(width=1e-9, first=0, to=1e9)), "at most 1,000,000"),
        (Binning(bins(first=0, to=9)), "a width, a count or a calendar"),
        (Binning(bins(width=5, first=0, to=100), top=88), "top must be an edge.*85, 90"),
        (Binning(bins(width=5, first=0, to=100), bottom=50, top=20), "bottom must be below top"),
        (Binning(bins(width=5, first="2020-01-01", to=100)), "all be numbers or all be dates"),
        (Binning(bins(calendar="week", first="2020-01-01", to="2020-01-32")), "like 2024-03-31"),
        (Binning(bins(calendar="year", first=1990, to=2000)), "like 2024-03-31"),
        (Binning(bins(calendar="year", first="1990-01-01", to="9999-12-31")), "before the year 9999"),
        (Binning(None, 0, 950, 100), "multiples of what it is rounded to"),
        (Binning(None, "2020-01-01", "2021-01-01", 100), "round must be of numbers"),
        (Binning(None, None, 950, 100), "public bounds"),
        (Binning(["2020-01-01", 5]), "all be numbers or all be dates"),
        (Binning([5]), "at least two edges"),
        (Binning(bins(width=0.5, first="2020-01-01", to="2020-01-05")), "whole days"),
    ],
)
def test_bins_that_make_none_are_refused(stated: Binning, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        stated.domain()


# ---------------------------------------------------------------- what a recipe may say


def recipe(**keys: Any) -> Any:
    column = {"role": "quasi-identifying", **keys}
    return Recipe.parse({"release": {"retention": 0.5}, "attributes": {"x": column}}).attributes["x"]


@pytest.mark.parametrize(
    "keys",
    [
        {"bins": {"width": 5, "count": 2, "from": 0, "to": 10}},
        {"bins": {"wdth": 5}},
        {"bins": {"calendar": "fortnight"}},
        {"bins": "from-data"},
        {"bins": {"width": -1, "from": 0, "to": 10}},
        {"bins": {"width": 5, "from": 0, "to": math.inf}},
        {"bins": [0, 1], "round": 5},
        {"domain": ["a", "b"], "top": 5},
        {"round": 0, "bottom": 0, "top": 5},
        {"domain": ["1", "2"], "publish": "draw"},
        {"bins": [0, 1, 2], "publish": "mean"},
    ],
)
def test_a_recipe_that_contradicts_itself_is_refused(keys: dict[str, Any]) -> None:
    with pytest.raises(PramanaError) as caught:
        recipe(**keys)
    assert "\n" not in str(caught.value)


def test_dates_of_a_recipe_may_stand_without_quotes() -> None:
    quoted = recipe(bins={"calendar": "year", "from": "2000-01-01", "to": "2004-01-01"})
    bare = recipe(bins={"calendar": "year", "from": datetime.date(2000, 1, 1), "to": datetime.date(2004, 1, 1)})
    assert quoted == bare and quoted.binning.domain().labels == ("2000", "2001", "2002", "2003")


@pytest.mark.parametrize(
    "change",
    [
        {"calendar": "month"},
        {"calendar": "age"},
        {"rounded": "5"},
        {"edges": ["2000-01-01", "2001-01-01", "2002-02-01"]},
        {"edges": ["730120", "730486", "730851"]},
        {"publish": {"as": "draw", "law": "uniform", "step": "1"}},
        {"publish": {"as": "draw"}},
        {"publish": "draw"},
        {"labels": ["2000", "2002"]},
        {"kind": "number"},
    ],
)
def test_a_forged_statement_of_periods_is_refused(change: dict[str, Any]) -> None:
    honest = Binning(bins(calendar="year", first="2000-01-01", to="2002-01-01")).domain().to_json()
    assert Domain.from_json(honest).labels == ("2000", "2001")
    with pytest.raises(SchemaError):
        Domain.from_json({**honest, **change})
