"""A generated population of earners with the five attributes of paper 3, Section 6.

The paper prints two of the five domain sizes, occupation 27 and salary 50; age 78, gender 2 and education 17 are
our choice. Every figure below is invented, taken from no person's record and from no published table.
"""

from __future__ import annotations

from functools import cache

from pramana.datasets.census import EDUCATION as SCHOOLING
from pramana.datasets.chain import Chain, ConditionalAttribute, Parent, bell
from pramana.datasets.population import Population

AGE = tuple(str(year) for year in range(17, 95))
GENDER = ("male", "female")
EDUCATION = SCHOOLING[1:]
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

_FEMALE = 1
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


def _ages(gender: int) -> list[int]:
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


def _schooling(gender: int, decade: int) -> list[int]:
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
            ConditionalAttribute("age", AGE, (gender,), _ages),
            ConditionalAttribute("education", EDUCATION, (gender, decade), _schooling),
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
