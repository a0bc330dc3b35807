"""A generated panel survey, and files of it as statistical offices write them.

Households of several people, asked again year after year; codes with labels, 99 for an answer that was refused,
weights, postcodes with leading zeros, dates as 01.03.2024. Every figure below is invented.
"""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pramana.datasets.population import needs, written_whole
from pramana.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa


WAVES = 5
FIRST_YEAR = 2019
REFUSED = 99
_WORDS = tomllib.loads(Path(__file__).with_name("survey.toml").read_text("utf-8"))
LABELS: dict[str, str] = _WORDS["labels"]
CODES: dict[str, dict[int, str]] = {
    name: {int(code): label for code, label in labels.items()} for name, labels in _WORDS["codes"].items()
}
ORDERED = ("education", "health")
_WITH_REFUSED = {  # and how often
    "marital": 0.01, "education": 0.02, "hours": 0.02, "income": 0.08, "satisfaction": 0.03, "health": 0.01,
}  # fmt: skip
_DECIMALS = ("income", "rent", "weight")
_DATES = ("interviewed", "born")


@dataclass(frozen=True)
class OfficeSurvey:
    """Columns of numbers, days and texts, a row for each interview; codes are numbers, and 99 is refused."""

    columns: Mapping[str, NDArray[Any]] = field(repr=False)

    def __len__(self) -> int:
        return len(self.columns["person"])

    def to_arrow(self) -> pa.Table:
        """Labels for codes, ordered where answers have an order; what was refused is null."""
        import pyarrow as pa

        return pa.table({name: self._arrow(name) for name in self.columns})

    def _arrow(self, name: str) -> Any:
        import pyarrow as pa

        values = self.columns[name]
        gone = values == REFUSED if name in _WITH_REFUSED else None
        if name in CODES:
            codes = [code for code in CODES[name] if code != REFUSED]
            places = np.searchsorted(codes, np.where(values == REFUSED, codes[0], values)).astype(np.int8)
            indices = pa.array(places, mask=gone)
            texts = pa.array([CODES[name][code] for code in codes])
            return pa.DictionaryArray.from_arrays(indices, texts, ordered=name in ORDERED)
        return pa.array(values, mask=gone) if name not in _DATES else pa.array(values.astype("datetime64[D]"))

    def to_pandas(self) -> Any:
        """A pandas frame with categorical columns."""
        needs("pandas")
        return self.to_arrow().to_pandas()

    def write_csv(self, path: str | Path, encoding: str = "cp1252") -> None:
        """As offices write it: semicolons, decimal commas, codes, dates as 01.03.2024, blanks after texts."""
        columns = [_written(name, values) for name, values in self.columns.items()]
        lines = [";".join(self.columns), *map(";".join, zip(*columns, strict=True))]
        with written_whole(path) as part:
            Path(part).write_text("\r\n".join([*lines, ""]), encoding, newline="")

    def write_sav(self, path: str | Path) -> None:
        """An SPSS file with labels, measures and 99 declared missing."""
        needs("pyreadstat")
        import pyreadstat

        with written_whole(path, ".sav") as part:
            pyreadstat.write_sav(
                self._frame(),
                part,
                column_labels={**LABELS},
                variable_value_labels=_codes_with_labels(),
                missing_ranges={name: [REFUSED] for name in _WITH_REFUSED},
                variable_measure=dict.fromkeys(CODES, "nominal") | dict.fromkeys(ORDERED, "ordinal"),
                row_compress=True,
            )

    def write_dta(self, path: str | Path) -> None:
        """A Stata file with labels; its codes are those of the CSV file."""
        needs("pyreadstat")
        import pyreadstat

        with written_whole(path, ".dta") as part:
            pyreadstat.write_dta(
                self._frame(), part, column_labels={**LABELS}, variable_value_labels=_codes_with_labels()
            )

    def _frame(self) -> Any:
        needs("pandas")
        import pandas

        columns: dict[str, Any] = {}
        for name, values in self.columns.items():
            columns[name] = values.astype("datetime64[D]").astype(object) if name in _DATES else values
        return pandas.DataFrame(columns)


def _codes_with_labels() -> dict[str, dict[int | float, str]]:
    return {name: dict(codes.items()) for name, codes in CODES.items()}


def _written(name: str, values: NDArray[Any]) -> list[str]:
    if name in _DATES:
        days: list[datetime.date] = values.astype("datetime64[D]").astype(object).tolist()
        return [day.strftime("%d.%m.%Y") for day in days]
    if name in _DECIMALS:
        return [_decimal(value) for value in values.tolist()]
    if name == "region":
        return [f"{CODES[name][code]:<16}" for code in values.tolist()]
    if name in ("postcode", "person", "household"):
        return [f"{text:<10}" for text in values.tolist()]
    return [str(value) for value in values.tolist()]


def _decimal(value: float) -> str:
    if value == REFUSED:
        return str(REFUSED)
    return f"{value:,.2f}".replace(",", " ").replace(".", ",").replace(" ", ".")


def survey(rows: int = 60_000, seed: int = 1) -> OfficeSurvey:
    """So many interviews of a generated panel, the households in the order of their numbers.

    >>> import pramana
    >>> panel = pramana.datasets.survey(1000)
    >>> len(panel), len(set(panel.columns["person"])) < 1000
    (1000, True)
    """
    if rows < 1:
        raise InputError("A survey must have at least one row", str(rows))
    draw = np.random.Generator(np.random.PCG64(seed))
    households = _households(draw, rows)
    people = _people(draw, households)
    waves = _interviews(draw, people)
    columns = {name: waves[name][:rows] for name in LABELS}
    for values in columns.values():
        values.flags.writeable = False
    return OfficeSurvey(columns)


Columns = dict[str, NDArray[Any]]


def _pick(draw: np.random.Generator, weights: list[float], size: int) -> NDArray[np.int64]:
    """Numbers from 1 on, by weights."""
    ends = np.cumsum(weights) / sum(weights)
    return np.minimum(np.searchsorted(ends, draw.random(size), side="right"), len(weights) - 1) + 1


def _households(draw: np.random.Generator, rows: int) -> Columns:
    count = rows // 4 + 10  # each gives more than four interviews, on average
    people = _pick(draw, [34, 33, 15, 12, 6], count)
    region = _pick(draw, [22, 14, 30, 20, 14], count)
    district = (draw.random(count) ** 2 * 40).astype(np.int64)
    codes = (region - 1) * 9_000 + 1_000 + district * 37  # the first regions' begin with a zero
    return {
        "household": np.array([f"H{number:06d}" for number in range(1, count + 1)]),
        "people": people,
        "region": region,
        "postcode": np.array([f"{code:05d}" for code in codes.tolist()]),
        "wealth": draw.normal(0, 0.5, count),
        "weight": np.round(0.4 + draw.gamma(4.0, 0.2, count), 2),
    }


def _people(draw: np.random.Generator, households: Columns) -> Columns:
    household = np.repeat(np.arange(len(households["people"])), households["people"])
    first = np.concatenate([[True], household[1:] != household[:-1]])
    count = len(household)
    age = np.where(first, 22 + draw.beta(1.6, 2.2, count) * 70, draw.beta(1.2, 1.6, count) * 85)
    born = (FIRST_YEAR - 1970) * 365.25 - age * 365.25
    schooled = np.clip(np.round(draw.normal(3.2, 1.1, count) + households["wealth"][household]), 1, 5)
    return {
        "person": np.array([f"P{number:07d}" for number in range(1, count + 1)]),
        "sex": _pick(draw, [49, 51], count),
        "born": born.astype(np.int64),
        "schooled": schooled.astype(np.int64),
        "waves": _pick(draw, [10, 12, 18, 25, 35], count),
        "temper": draw.normal(0, 1, count),
    } | {
        name: households[name][household]
        for name in ("household", "people", "region", "postcode", "wealth", "weight")
    }


def _interviews(draw: np.random.Generator, people: Columns) -> Columns:
    who = np.repeat(np.arange(len(people["person"])), people["waves"])
    start = np.concatenate([[0], np.cumsum(people["waves"])[:-1]])
    wave = np.arange(len(who)) - start[who] + 1
    count = len(who)
    answers: Columns = {name: values[who] for name, values in people.items()}
    day = (FIRST_YEAR - 1970 + wave - 1) * 365.25 + draw.integers(40, 150, count)
    age = (day - answers["born"]) / 365.25
    answers |= {"wave": wave, "interviewed": day.astype(np.int64)}
    answers["marital"] = np.where(age < 18, 1, _by_age(draw, age, count))
    so_far = np.where(age < 22, np.minimum(answers["schooled"], 3), answers["schooled"])
    answers["education"] = np.where(age < 16, 1, so_far)
    answers["employment"] = _employment(draw, age, answers["sex"])
    working = np.isin(answers["employment"], (1, 2))
    hours = np.where(answers["employment"] == 1, draw.normal(40, 4, count), draw.normal(20, 6, count))
    answers["hours"] = np.where(working, np.clip(np.round(hours), 1, 80), 0).astype(np.int64)
    money = np.exp(7.4 + answers["wealth"] + 0.12 * answers["education"] + 0.15 * (answers["people"] - 1))
    answers["income"] = np.round(money * np.exp(draw.normal(0, 0.15, count)), 2)
    answers["rent"] = np.round(answers["income"] * (0.18 + 0.2 * draw.random(count)), 2)
    mood = (
        7 + answers["temper"] + 0.8 * answers["wealth"] - (answers["employment"] == 3) + draw.normal(0, 1, count)
    )
    answers["satisfaction"] = np.clip(np.round(mood), 0, 10).astype(np.int64)
    ill = 1.2 + age / 35 - 0.3 * answers["temper"] + draw.normal(0, 0.6, count)
    answers["health"] = np.clip(np.round(ill), 1, 5).astype(np.int64)
    for name, share in _WITH_REFUSED.items():
        answers[name] = np.where(draw.random(count) < share, REFUSED, answers[name])
    return answers


def _by_age(draw: np.random.Generator, age: NDArray[Any], count: int) -> NDArray[np.int64]:
    chance = draw.random(count)
    married = np.clip((age - 18) / 40, 0, 0.65)
    widowed = np.clip((age - 60) / 100, 0, 0.3)
    divorced = np.clip((age - 25) / 200, 0, 0.15)
    ends = np.cumsum([married, widowed, divorced], axis=0)
    return np.select([chance < end for end in ends], [2, 4, 3], 1)


def _employment(draw: np.random.Generator, age: NDArray[Any], sex: NDArray[Any]) -> NDArray[np.int64]:
    count = len(age)
    grown = _pick(draw, [60, 22, 5, 0.001, 3, 10], count)
    women = _pick(draw, [40, 38, 5, 0.001, 3, 14], count)
    adult = np.where(sex == 2, women, grown)
    return np.where(age < 17, 5, np.where(age > 66, np.where(draw.random(count) < 0.92, 4, 2), adult))
