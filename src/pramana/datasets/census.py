"""A generated census with the seven attributes and category counts of paper 1, Table 1.

Every figure below is invented: chosen to look like a census of a large country around 1990 and to tie the
attributes together, taken from no person's record and from no published table.
"""

from __future__ import annotations

from functools import cache

from pramana.datasets.population import Chain, ConditionalAttribute, Parent, Population, bell

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
EDUCATION = (
    "under 3 years",
    "no school",
    "nursery",
    "kindergarten",
    "grades 1-4",
    "grades 5-8",
    "grade 9",
    "grade 10",
    "grade 11",
    "grade 12 no diploma",
    "high school",
    "some college",
    "associate occupational",
    "associate academic",
    "bachelor",
    "master",
    "professional",
    "doctorate",
)
TRAVEL_TIME = ("none", "1-4", *(f"{low}-{low + 4}" for low in range(5, 90, 5)), "90+")

_UNDER_16, _WORKED, _IDLE = range(3)
_FEMALE = 1

# people per thousand of each sex, by age
_AGES = (
    (76, 75, 72, 71, 77, 88, 90, 82, 73, 57, 46, 42, 41, 38, 29, 22, 13, 8),
    (70, 69, 66, 65, 72, 83, 86, 79, 71, 57, 47, 44, 44, 44, 36, 31, 21, 15),
)
# schooling of each age band: weights of the 18 levels; the last six bands are 25-34, 35-44, ..., 75 and over
_SCHOOLING = (
    (600, 220, 175, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    (0, 40, 60, 260, 630, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    (0, 8, 0, 2, 210, 700, 75, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    (0, 8, 0, 0, 4, 90, 190, 210, 200, 70, 150, 75, 2, 1, 0, 0, 0, 0),
    (0, 8, 0, 0, 6, 30, 22, 30, 35, 45, 300, 340, 30, 30, 115, 7, 2, 0),
    (0, 9, 1, 1, 10, 35, 22, 30, 35, 35, 310, 220, 45, 42, 155, 38, 11, 4),
    (0, 10, 1, 1, 12, 40, 22, 30, 30, 28, 290, 215, 44, 40, 160, 70, 20, 10),
    (0, 12, 1, 1, 18, 70, 32, 42, 36, 30, 340, 170, 32, 26, 105, 68, 20, 11),
    (0, 14, 1, 1, 28, 120, 48, 56, 42, 32, 345, 140, 22, 16, 75, 40, 14, 6),
    (0, 20, 1, 1, 45, 200, 60, 62, 44, 32, 305, 120, 16, 10, 52, 22, 9, 4),
    (0, 30, 1, 1, 80, 300, 60, 55, 40, 30, 225, 95, 12, 8, 42, 14, 6, 2),
)
# per thousand who worked last year, by sex, for the ages from 15-19 on; before schooling shifts it
_WORKING = (
    (560, 860, 930, 940, 940, 940, 940, 910, 840, 620, 330, 210, 120, 60, 20),
    (520, 790, 790, 770, 780, 790, 770, 720, 600, 410, 190, 100, 50, 25, 8),
)
# centre of a worker's income by schooling, in tenths of an income band; then what age adds
_PAY = (30, 30, 30, 30, 33, 36, 38, 39, 40, 42, 49, 53, 58, 60, 73, 83, 97, 94)
_PAY_AGE = (-25, -25, -25, -24, -12, -3, 3, 7, 9, 9, 8, 6, 3, -12, -15, -17, -18, -20)
# weights of the minutes to work, from 1-4 on, for a man of middling income
_MINUTES = (30, 115, 155, 160, 145, 60, 130, 28, 38, 60, 14, 10, 35, 4, 5, 6, 3, 2, 12)


def _ages(sex: int) -> list[int]:
    return list(_AGES[sex])


def _schooling(sex: int, age: int) -> list[int]:
    band = age if age < 5 else min(5 + (age - 5) // 2, 10)
    degrees = 100 if sex != _FEMALE or age < 4 else 94 if age < 9 else 62
    return [weight * (degrees if level >= 14 else 100) for level, weight in enumerate(_SCHOOLING[band])]


def _worked_last_year(sex: int, age: int, education: int) -> list[int]:
    if age < 3:
        return [1000, 0, 0]
    young = 200 if age == 3 else 0  # one in five of those aged 15 to 19 is 15
    base = _WORKING[sex][age - 3]
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
        centre = _PAY[education] + _PAY_AGE[age] - 13 * (sex == _FEMALE)
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
    minutes = [weight * max(100 + longer * (place - 5), 15) for place, weight in enumerate(_MINUTES)]
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
# 17 are our choice. Every figure below is invented, taken from no person's record and from no published
# table.


SALARY_AGE = tuple(str(year) for year in range(17, 95))
GENDER = ("male", "female")
SALARY_EDUCATION = EDUCATION[1:]
SALARY = (*(f"{low}-{low + 1999}" for low in range(0, 98000, 2000)), "98000+")

# occupation: weight of a man, of a woman; schooling it asks for (0 none .. 4 higher degree); pay, in salary bands
_OCCUPATIONS = {
    "executive": (90, 60, 3, 23),
    "public administration": (12, 11, 3, 19),
    "management support": (30, 38, 3, 17),
    "engineering": (38, 4, 3, 24),
    "mathematics and computing": (16, 9, 3, 22),
    "natural science": (9, 4, 4, 21),
    "health diagnosis": (13, 5, 4, 33),
    "health treatment": (6, 38, 3, 17),
    "college teaching": (10, 7, 4, 21),
    "school teaching": (20, 62, 3, 14),
    "law": (11, 4, 4, 30),
    "arts and sport": (19, 17, 2, 14),
    "technician": (38, 32, 2, 15),
    "sales supervision": (48, 28, 2, 17),
    "sales representation": (42, 26, 2, 18),
    "retail sales": (32, 78, 1, 7),
    "clerical supervision": (6, 9, 2, 16),
    "secretarial": (3, 82, 1, 11),
    "records and mail": (52, 108, 1, 11),
    "household service": (1, 14, 0, 4),
    "protective service": (28, 6, 1, 14),
    "other service": (72, 128, 0, 6),
    "farming and fishing": (40, 9, 0, 7),
    "repair": (74, 4, 1, 14),
    "construction": (82, 2, 0, 13),
    "machine operation": (84, 58, 0, 11),
    "transport and labour": (112, 22, 0, 10),
}
OCCUPATION = tuple(_OCCUPATIONS)

_DECADE = tuple(min((year - 17) // 10, 5) for year in range(17, 95))  # 17-26, ..., 57-66, 67 and over
_LEVEL = tuple(
    0 if place < 9 else 1 if place < 10 else 2 if place < 13 else 3 if place < 14 else 4 for place in range(17)
)
# weights of the 17 schooling levels among earners, by decade of age
_SCHOOLED = (
    (4, 1, 1, 6, 40, 40, 50, 60, 45, 320, 290, 30, 30, 75, 6, 2, 1),
    (5, 1, 1, 8, 28, 18, 24, 28, 26, 320, 225, 48, 46, 170, 38, 11, 4),
    (6, 1, 1, 9, 30, 18, 24, 24, 22, 290, 215, 48, 44, 172, 70, 19, 10),
    (7, 1, 1, 14, 55, 26, 34, 30, 25, 325, 180, 36, 30, 125, 80, 22, 12),
    (8, 1, 1, 22, 95, 40, 48, 38, 28, 335, 150, 25, 19, 92, 58, 19, 9),
    (12, 1, 1, 38, 160, 50, 54, 40, 30, 295, 130, 18, 12, 75, 38, 20, 8),
)
_DECADE_PAY = (-60, -10, 20, 32, 22, -35)  # tenths of a salary band
_LEVEL_PAY = (-20, -5, 8, 40, 75)


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
    return [weight * (degrees if place >= 13 else 100) for place, weight in enumerate(_SCHOOLED[decade])]


def _occupation(gender: int, level: int) -> list[int]:
    return [row[gender] * 1000 // (1 + 3 * (level - row[2]) ** 2) for row in _OCCUPATIONS.values()]


def _salary(gender: int, decade: int, level: int, occupation: int) -> list[int]:
    pay = 10 * tuple(_OCCUPATIONS.values())[occupation][3]
    centre = pay + _DECADE_PAY[decade] + _LEVEL_PAY[level] - pay * (gender == _FEMALE) // 5
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
