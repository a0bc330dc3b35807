"""A generated census with the seven attributes and category counts of paper 1, Table 1.

Every figure here and in census.toml is invented: chosen to look like a census of a large country around 1990 and
to tie the attributes together, taken from no person's record and from no published table.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from pramana.datasets.population import Chain, ConditionalAttribute, Parent, Population, bell

_FIGURES = tomllib.loads(Path(__file__).with_name("census.toml").read_text("utf-8"))

SEX = ("male", "female")
AGE = (*(f"{low}-{low + 4}" for low in range(0, 85, 5)), "85+")
INCOME = (
    "loss",
    "none",
    "1-4999",
    *(f"{low}-{low + 4999}" for low in range(5000, 30000, 5000)),
    "30000-39999",
    "40000-49999",
    "50000-74999",
    "75000+",
)
WORKED_LAST_YEAR = ("under 16", "worked", "did not work")
WORKED_LAST_WEEK = ("not asked", "worked", "did not work")  # in the 1990 files: under 16, and some not at work
EDUCATION = tuple(_FIGURES["education"])
TRAVEL_TIME = ("none", "1-4", *(f"{low}-{low + 4}" for low in range(5, 90, 5)), "90+")

_UNDER_16, _WORKED, _IDLE = range(3)
_FEMALE = 1


def _ages(sex: int) -> list[int]:
    return list(_FIGURES["ages"][sex])


def _schooling(sex: int, age: int) -> list[int]:
    band = age if age < 5 else min(5 + (age - 5) // 2, 10)
    degrees = 100 if sex != _FEMALE or age < 4 else 94 if age < 9 else 62
    return [weight * (degrees if level >= 14 else 100) for level, weight in enumerate(_FIGURES["schooling"][band])]


def _worked_last_year(sex: int, age: int, education: int) -> list[int]:
    if age < 3:
        return [1000, 0, 0]
    young = 200 if age == 3 else 0  # one in five of those aged 15 to 19 is 15
    base = _FIGURES["working"][sex][age - 3]
    worked = min(max(base + 14 * (education - 10) * min(base, 1000 - base) // 250, 4), 990)
    return [young * 1000, (1000 - young) * worked, (1000 - young) * (1000 - worked)]


def _worked_last_week(sex: int, age: int, last_year: int) -> list[int]:
    if last_year == _UNDER_16:
        return [1000, 0, 0]
    if last_year == _IDLE:
        worked = 55 if age < 12 else 6
    else:
        worked = (620 if age == 3 else 700 if age == 4 else 850 if age < 12 else 660) - 45 * (sex == _FEMALE)
    return [0, worked, 1000 - worked]


def _income(sex: int, age: int, education: int, last_year: int) -> list[int]:
    if last_year == _UNDER_16:
        return [0, 1000, *[0] * 10]
    if last_year == _WORKED:
        centre = _FIGURES["pay"][education] + _FIGURES["pay_age"][age] - 13 * (sex == _FEMALE)
        some, loss, none = bell(10, max(centre, 18) - 20, 19), 4, 6
    elif age >= 12:  # pensions
        centre = 28 + max(education - 9, 0) * 3 - 6 * (sex == _FEMALE)
        some, loss, none = bell(10, centre - 20, 11), 2, 30 + 50 * (sex == _FEMALE)
    else:
        some, loss, none = bell(10, 2, 9), 3, 420 + 160 * (sex == _FEMALE)
    total = sum(some)
    return [
        loss * total // 1000,
        none * total // 1000,
        *[weight * (1000 - loss - none) // 1000 for weight in some],
    ]


def _travel_time(sex: int, income: int, last_week: int) -> list[int]:
    if last_week != _WORKED:
        return [1000, *[0] * 19]
    longer = (income - 6) * 2 - 5 * (sex == _FEMALE)  # better paid work lies further away
    minutes = [weight * max(100 + longer * (band - 5), 15) for band, weight in enumerate(_FIGURES["minutes"])]
    at_home = 140 if income < 2 else 30
    return [sum(minutes) * at_home // (1000 - at_home), *minutes]


@cache
def census_chain() -> Chain:
    """The laws of the generated census."""
    sex, age, education = Parent("sex"), Parent("age"), Parent("education")
    last_year, last_week, income = Parent("worked_last_year"), Parent("worked_last_week"), Parent("income")
    return Chain(
        "census",
        (
            ConditionalAttribute("sex", SEX, (), lambda: [487, 513]),
            ConditionalAttribute("age", AGE, (sex,), _ages),
            ConditionalAttribute("education", EDUCATION, (sex, age), _schooling),
            ConditionalAttribute("worked_last_year", WORKED_LAST_YEAR, (sex, age, education), _worked_last_year),
            ConditionalAttribute("worked_last_week", WORKED_LAST_WEEK, (sex, age, last_year), _worked_last_week),
            ConditionalAttribute("income", INCOME, (sex, age, education, last_year), _income),
            ConditionalAttribute("travel_time", TRAVEL_TIME, (sex, income, last_week), _travel_time),
        ),
        published=("sex", "age", "income", "worked_last_year", "worked_last_week", "education", "travel_time"),
    )


def census(rows: int, seed: int = 1, first: int = 0, threads: int | None = None) -> Population:
    """Rows first .. first+rows-1 of a generated census with paper 1's seven attributes.

    A row depends on the seed and its number alone: any slice, batch or number of threads gives the same people.
    """
    return census_chain().draw(rows, seed, first, threads)


# A generated population of earners with the five attributes of paper 3, Section 6.
#
# The paper prints two of the five domain sizes, occupation 27 and salary 50; age 78, gender 2 and education
# 17 are our choice. Every figure is invented, taken from no person's record and from no published
# table.


SALARY_AGE = tuple(str(year) for year in range(17, 95))
GENDER = ("male", "female")
SALARY_EDUCATION = EDUCATION[1:]
SALARY = (*(f"{low}-{low + 1999}" for low in range(0, 98000, 2000)), "98000+")

_OCCUPATIONS = _FIGURES["occupations"]
OCCUPATION = tuple(_OCCUPATIONS)

_DECADE = tuple(min((year - 17) // 10, 5) for year in range(17, 95))  # 17-26, ..., 57-66, 67 and over
_LEVEL = tuple(
    0 if level < 9 else 1 if level < 10 else 2 if level < 13 else 3 if level < 14 else 4 for level in range(17)
)


def _salary_ages(gender: int) -> list[int]:
    """Earners by single year: rising to 25, level to 45, falling to a thin tail; women a little earlier."""
    shift = gender == _FEMALE
    return [
        400 + 90 * (year - 17)
        if year < 25
        else 1120
        if year < 45 - shift
        else max(1120 - 42 * (year - 45 + shift), 3000 // (year - 40))
        for year in range(17, 95)
    ]


def _salary_schooling(gender: int, decade: int) -> list[int]:
    degrees = 100 if gender != _FEMALE else 105 if decade < 2 else 75
    return [
        weight * (degrees if level >= 13 else 100)
        for level, weight in enumerate(_FIGURES["earners_schooling"][decade])
    ]


def _occupation(gender: int, level: int) -> list[int]:
    return [row[gender] * 1000 // (1 + 3 * (level - row[2]) ** 2) for row in _OCCUPATIONS.values()]


def _salary(gender: int, decade: int, level: int, occupation: int) -> list[int]:
    pay = 10 * tuple(_OCCUPATIONS.values())[occupation][3]
    centre = pay + _FIGURES["decade_pay"][decade] + _FIGURES["level_pay"][level] - pay * (gender == _FEMALE) // 5
    return bell(len(SALARY), max(centre, 20), 35 + max(centre, 20) // 5)


@cache
def salaries_chain() -> Chain:
    """The laws of the generated earners."""
    gender, decade, level = Parent("gender"), Parent("age", _DECADE), Parent("education", _LEVEL)
    return Chain(
        "salaries",
        (
            ConditionalAttribute("gender", GENDER, (), lambda: [541, 459]),
            ConditionalAttribute("age", SALARY_AGE, (gender,), _salary_ages),
            ConditionalAttribute("education", SALARY_EDUCATION, (gender, decade), _salary_schooling),
            ConditionalAttribute("occupation", OCCUPATION, (gender, level), _occupation),
            ConditionalAttribute("salary", SALARY, (gender, decade, level, Parent("occupation")), _salary),
        ),
        published=("age", "gender", "education", "occupation", "salary"),
        sensitive=("salary",),
    )


def salaries(rows: int, seed: int = 1, first: int = 0, threads: int | None = None) -> Population:
    """Rows first .. first+rows-1 of generated earners with paper 3's five attributes; salary is the sensitive one.

    A row depends on the seed and its number alone: any slice, batch or number of threads gives the same people.
    """
    return salaries_chain().draw(rows, seed, first, threads)
