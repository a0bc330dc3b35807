"""The loaders, on files written here in the public files' formats, and on the real Adult CSV where at hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.datasets.adult import DOMAINS, RAW_COLUMNS, adult, uci_census
from pramana.datasets.census import census
from pramana.errors import SourceError

ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult.csv"

# the coded file's columns, in its order; only the seven used are ever read
CODED_HEADER = "caseid,dAge,iClass,dRpincome,iSex,dTravtime,iWork89,iWorklwk,iYearsch"


def raw_line(**values: int) -> str:
    """A line of the raw file: RECTYPE is a letter, SERIALNO a number, whatever is not given a 0."""
    row = {"RECTYPE": "P", "SERIALNO": "8000123", **{name: str(value) for name, value in values.items()}}
    assert set(row) <= set(RAW_COLUMNS)
    return "\t".join(row.get(name, "0") for name in RAW_COLUMNS)


def labels_of(path: Path) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = uci_census(path).to_arrow().to_pylist()
    return rows


def test_the_raw_files_columns() -> None:
    assert len(RAW_COLUMNS) == 125
    assert list(RAW_COLUMNS) == sorted(RAW_COLUMNS)  # as the archive's attribute list has them
    places = {"AGE": 12, "RPINCOME": 104, "SEX": 112, "YEARSCH": 122}  # as users of the file count them, from 0
    assert {name: RAW_COLUMNS.index(name) for name in places} == places


def test_the_raw_file_gives_paper_1s_attributes(tmp_path: Path) -> None:
    path = tmp_path / "USCensus1990raw.data.txt"
    lines = [
        raw_line(SEX=0, AGE=41, RPINCOME=32500, WORK89=1, WORKLWK=1, YEARSCH=14, TRAVTIME=25),
        raw_line(SEX=1, AGE=90, RPINCOME=-250, WORK89=2, WORKLWK=2, YEARSCH=5, TRAVTIME=0),
        raw_line(SEX=1, AGE=0, RPINCOME=0, WORK89=0, WORKLWK=0, YEARSCH=0, TRAVTIME=0),
    ]
    path.write_text("\n".join(lines) + "\n")
    people = uci_census(path)
    assert people.sizes == census(0).sizes  # 2, 18, 12, 3, 3, 18, 20
    assert people.labels == census(0).labels
    assert labels_of(path) == [
        {
            "sex": "male",
            "age": "40-44",
            "income": "30000-39999",
            "worked_last_year": "worked",
            "worked_last_week": "worked",
            "education": "bachelor",
            "travel_time": "25-29",
        },
        {
            "sex": "female",
            "age": "85+",
            "income": "loss",
            "worked_last_year": "did not work",
            "worked_last_week": "did not work",
            "education": "grades 5-8",
            "travel_time": "none",
        },
        {
            "sex": "female",
            "age": "0-4",
            "income": "none",
            "worked_last_year": "under 16",
            "worked_last_week": "not asked",
            "education": "under 3 years",
            "travel_time": "none",
        },
    ]


def test_padded_numbers_are_read(tmp_path: Path) -> None:
    """The raw file's documentation gives widths with leading zeros; a file that keeps them reads the same."""
    path = tmp_path / "raw"
    line = raw_line(AGE=7, RPINCOME=-9995, YEARSCH=4)
    path.write_text(line.replace("-9995", "-09995").replace("\t7\t", "\t07\t") + "\n")
    (found,) = labels_of(path)
    assert (found["age"], found["income"], found["education"]) == ("5-9", "loss", "grades 1-4")


def inside(label: str, value: int) -> bool:
    """What a label says, read by its words alone."""
    if label == "none":
        return value == 0
    if label == "loss":
        return value < 0
    if label.endswith("+"):
        return value >= int(label[:-1])
    low, high = label.split("-")
    return int(low) <= value <= int(high)


def test_every_value_lies_in_its_label(tmp_path: Path) -> None:
    path = tmp_path / "raw"
    incomes = sorted({edge + step for edge in (0, 1, *range(5000, 80000, 2500), 300000) for step in (-1, 0, 1)})
    rows = [(age, minutes, 0) for age in range(91) for minutes in (0,)]
    rows += [(30, minutes, 0) for minutes in range(100)] + [(30, 0, income) for income in incomes]
    path.write_text("\n".join(raw_line(AGE=a, TRAVTIME=t, RPINCOME=i) for a, t, i in rows) + "\n")
    people = uci_census(path)
    for (age, minutes, income), labels in zip(rows, people.to_arrow().to_pylist(), strict=True):
        assert inside(labels["age"], age)
        assert inside(labels["travel_time"], minutes)
        assert inside(labels["income"], income)
    for name in ("age", "travel_time", "income"):
        assert len(np.unique(people.column(name))) == people.sizes[name]


def test_the_coded_file_keeps_its_coarser_groups(tmp_path: Path) -> None:
    path = tmp_path / "USCensus1990.data.txt"
    path.write_text(f"{CODED_HEADER}\n10000,5,5,4,0,4,1,1,11\n10001,1,0,0,1,0,0,0,4\n")
    people = uci_census(path)
    assert list(people.sizes.values()) == [2, 8, 6, 3, 3, 18, 7]
    first, second = labels_of(path)
    assert (first["age"], first["income"], first["travel_time"]) == ("40-49", "30000-59999", "20-29")
    assert (second["sex"], second["age"], second["education"]) == ("female", "1-12", "grades 1-4")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "must be USCensus1990raw.data.txt"),
        ("a,b,c\n1,2,3\n", "must be USCensus1990raw.data.txt"),
        (f"{CODED_HEADER}\n", "at least one record"),
        (f"{CODED_HEADER}\n1,2,3\n", "same number of fields"),
        (f"{CODED_HEADER}\n10000,5,5,4,0,4,1,1,secret\n", "whole numbers"),
        (f"{CODED_HEADER}\n10000,5,5,4,0,4,1,1,\n", "whole numbers"),
        (f"{CODED_HEADER}\n10000,55555,5,4,0,4,1,1,11\n", "dAge .* must lie between 0 and 7, got 1 value"),
        (raw_line(AGE=91) + "\n", "AGE .* must lie between 0 and 90"),
        (raw_line() + "\n0\t0\n", "same number of fields"),
    ],
)
def test_wrong_census_files_are_one_line_without_values(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(SourceError, match=says) as caught:
        uci_census(path)
    assert "\n" not in str(caught.value)
    assert not {"secret", "55555", "91"} & set(str(caught.value).replace(",", " ").split())


@pytest.mark.parametrize("load", [uci_census, adult])
def test_no_file_is_said(load: object, tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(SourceError, match="must be a readable file"):
            load(path)  # type: ignore[operator]


@pytest.mark.parametrize("load", [uci_census, adult])
@settings(max_examples=60, deadline=None)
@given(
    head=st.sampled_from([b"", CODED_HEADER.encode() + b"\n", ",".join(DOMAINS).encode() + b"\n"]),
    body=st.binary(),
)
def test_rubbish_never_breaks_a_loader(
    load: object, head: bytes, body: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("rubbish") / "file"
    path.write_bytes(head + body)
    with pytest.raises(SourceError) as caught:
        load(path)  # type: ignore[operator]
    assert "\n" not in str(caught.value)


def adult_line(**changed: str) -> str:
    return ",".join(changed.get(name.replace("-", "_"), domain[0]) for name, domain in DOMAINS.items())


def test_adult_domains_and_missing_values(tmp_path: Path) -> None:
    path = tmp_path / "adult.csv"
    lines = [
        ",".join(DOMAINS),
        adult_line(age="90"),
        adult_line(workclass="", occupation="?"),
        adult_line(sex="Male"),
    ]
    path.write_text("\n".join(lines) + "\n")
    people = adult(path)
    assert people.to_arrow().column("workclass").to_pylist() == ["Private", None, "Private"]
    assert people.to_arrow().column("occupation").to_pylist()[1] is None
    whole = adult(path, complete=True)
    assert whole.to_arrow().column("sex").to_pylist() == ["Female", "Male"]
    assert [people.sizes[n] - whole.sizes[n] for n in ("workclass", "occupation", "native-country", "age")] == [
        1,
        1,
        1,
        0,
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "header"),
        ("age,sex\n1,2\n", "without workclass"),
        (",".join(DOMAINS) + "\n", "at least one record"),
        (",".join(DOMAINS) + "\n" + adult_line(race="secret") + "\n", "race .* got 1 rows outside"),
        (",".join(DOMAINS) + "\n" + adult_line(age="") + "\n", "age .* got 1 rows outside"),
        (",".join(DOMAINS) + "\n1,2\n", "same number of fields"),
    ],
)
def test_wrong_adult_files_are_one_line_without_values(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "adult.csv"
    path.write_text(text)
    with pytest.raises(SourceError, match=says) as caught:
        adult(path)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.skipif(not ADULT.exists(), reason=f"the Adult CSV is not at {ADULT}")
def test_the_real_adult_table() -> None:
    """48,842 records, 45,222 of them complete, as the table's documentation has it."""
    people, whole = adult(ADULT), adult(ADULT, complete=True)
    assert (len(people), len(whole)) == (48_842, 45_222)
    for name in DOMAINS:
        if name != "hours-per-week":  # no one worked 93 hours, for one
            assert len(np.unique(people.column(name))) == people.sizes[name], name
