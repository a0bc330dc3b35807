"""The Adult table (UCI "Census Income", both halves together) as a CSV with a header.

Domains are those of the table's documentation, declared in adult.toml and not read from the file. An empty field
or a question mark is a missing value, a category of its own in the three columns that have any.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pramana.datasets.census import AGE, EDUCATION, INCOME, SEX, TRAVEL_TIME, WORKED_LAST_WEEK, WORKED_LAST_YEAR
from pramana.datasets.population import MISSING, Population
from pramana.errors import SourceError
from pramana.files.atomic import open_regular
from pramana.randomness.samplers import Codes, code_dtype

if TYPE_CHECKING:
    import pyarrow as pa


_TABLES = tomllib.loads(Path(__file__).with_name("adult.toml").read_text("utf-8"))
DOMAINS: dict[str, tuple[str, ...]] = {
    name: tuple(domain) if isinstance(domain, list) else tuple(map(str, range(domain["from"], domain["to"] + 1)))
    for name, domain in _TABLES["domains"].items()
}
MAY_BE_MISSING = ("workclass", "occupation", "native-country")


def adult(path: str | Path, complete: bool = False) -> Population:
    """The eleven attributes of the Adult CSV; with `complete`, only the records that lack nothing.

    Columns that are not among the eleven (the split into train and test, say) are left out.
    """
    table = _read(path)
    codes: dict[str, Codes] = {name: _coded(path, name, table.column(name)) for name in DOMAINS}
    chosen = np.ones(len(table), bool)
    if complete:
        for name in MAY_BE_MISSING:
            chosen &= codes[name] < len(DOMAINS[name])
    return Population(
        names=tuple(DOMAINS),
        labels=tuple(
            (*domain, MISSING) if name in MAY_BE_MISSING and not complete else domain
            for name, domain in DOMAINS.items()
        ),
        codes=tuple(codes[name][chosen] for name in DOMAINS),
        sensitive=("salary-class",),
    )


def _read(path: str | Path) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    try:
        with open_regular(path) as file:
            header = file.readline(1 << 16).decode("utf-8", "replace").strip().split(",")
        lacking = [name for name in DOMAINS if header.count(name) != 1]
        if lacking:
            raise SourceError(
                f"{path} must begin with a header that names each of {', '.join(DOMAINS)} once",
                f"a first line without {', '.join(lacking)}",
            )
        table = csv.read_csv(
            path,
            convert_options=csv.ConvertOptions(
                include_columns=list(DOMAINS), column_types=dict.fromkeys(DOMAINS, pa.string())
            ),
        )
    except OSError as error:
        raise SourceError(f"{path} must be a readable file", error.strerror) from None
    except pa.ArrowException:  # its message quotes the record
        raise SourceError(f"{path} must be UTF-8 with the same number of fields in every line") from None
    if not len(table):
        raise SourceError(f"{path} must hold at least one record")
    return table


def _coded(path: str | Path, name: str, column: Any) -> Codes:
    """Places in the domain, and the number after the last for a missing value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    domain = DOMAINS[name]
    trimmed = pc.utf8_trim_whitespace(column)
    missing = ["", "?"] if name in MAY_BE_MISSING else []
    gone = pc.is_in(trimmed, pa.array(missing, pa.string()))
    places = pc.index_in(trimmed, pa.array(domain))
    outside = pc.sum(pc.and_(pc.is_null(places), pc.invert(gone))).as_py() or 0
    if outside:
        raise SourceError(
            f"Values of {name} in {path} must lie in the domain the Adult table's documentation gives",
            f"{outside} rows outside it",
        )
    return np.asarray(pc.fill_null(places, len(domain))).astype(code_dtype(len(domain) + 1))


# The UCI "US Census Data (1990)" files, read as the seven attributes of paper 1, Table 1.
#
# Two files carry that name, each of 2,458,285 records. The raw one (USCensus1990raw.data.txt: no header,
# tabs, 125 columns in alphabetical order of their names) is what the paper must have used: its category
# counts can be had from no other. The coded one (USCensus1990.data.txt: header, commas, 69 columns) groups
# age, income and travel time more coarsely, and is given as it is: 8, 6 and 7 categories instead of 18, 12
# and 20. The paper names the three rounded attributes and their category counts but not the edges; the edges
# here are ours.


RAW_COLUMNS = tuple(_TABLES["raw_columns"].split())
_INCOME_EDGES = np.array([0, 1, *range(5000, 30001, 5000), 40000, 50000, 75000])

Values = NDArray[np.int64]


@dataclass(frozen=True)
class _Column:
    """Where an attribute stands in a file, the values it may hold there, and how they become codes."""

    name: str
    source: str
    labels: tuple[str, ...]
    low: int
    high: int
    code: Callable[[Values], Values]


def _raw(name: str, source: str, labels: tuple[str, ...]) -> _Column:
    return _Column(name, source, labels, 0, len(labels) - 1, lambda values: values)


_RAW = (
    _raw("sex", "SEX", SEX),
    _Column("age", "AGE", AGE, 0, 90, lambda years: np.minimum(years // 5, 17)),
    _Column(
        "income", "RPINCOME", INCOME, -(10**7), 10**8, lambda v: np.searchsorted(_INCOME_EDGES, v, side="right")
    ),
    _raw("worked_last_year", "WORK89", WORKED_LAST_YEAR),
    _raw("worked_last_week", "WORKLWK", WORKED_LAST_WEEK),
    _raw("education", "YEARSCH", EDUCATION),
    # 0: no journey; then 1-4, 5-9, ..., 85-89, 90 and more
    _Column(
        "travel_time", "TRAVTIME", TRAVEL_TIME, 0, 99, lambda m: np.where(m == 0, 0, np.minimum(m // 5, 18) + 1)
    ),
)
_CODED = (
    _raw("sex", "iSex", SEX),
    _raw("age", "dAge", ("0", "1-12", "13-19", "20-29", "30-39", "40-49", "50-64", "65+")),
    _raw("income", "dRpincome", ("none", "loss", "1-14999", "15000-29999", "30000-59999", "60000+")),
    _raw("worked_last_year", "iWork89", WORKED_LAST_YEAR),
    _raw("worked_last_week", "iWorklwk", WORKED_LAST_WEEK),
    _raw("education", "iYearsch", EDUCATION),
    _raw("travel_time", "dTravtime", ("none", "1-9", "10-14", "15-19", "20-29", "30-59", "60+")),
)


def uci_census(path: str | Path) -> Population:
    """The seven attributes of paper 1 from either UCI file; which of the two it is, its first line tells."""
    columns, raw = _layout(path)
    parts: list[list[Codes]] = [[] for _ in columns]
    for batch in _batches(path, columns, raw):
        for column, values, codes in zip(columns, batch, parts, strict=True):
            codes.append(_coded_columns(path, column, values))
    if not parts[0]:
        raise SourceError(f"{path} must hold at least one record")
    return Population(
        names=tuple(column.name for column in columns),
        labels=tuple(column.labels for column in columns),
        codes=tuple(np.concatenate(codes) for codes in parts),
    )


def _layout(path: str | Path) -> tuple[tuple[_Column, ...], bool]:
    try:
        with open_regular(path) as file:
            line = file.readline(1 << 16)
    except OSError as error:
        raise SourceError(f"{path} must be a readable file", error.strerror) from None
    if len(line.split(b"\t")) == len(RAW_COLUMNS):
        return _RAW, True
    header = line.decode("ascii", "replace").strip().split(",")
    if {column.source for column in _CODED} <= set(header):
        return _CODED, False
    raise SourceError(
        f"{path} must be USCensus1990raw.data.txt ({len(RAW_COLUMNS)} columns between tabs, no header) or "
        "USCensus1990.data.txt (a header and commas)",
        f"a first line of {len(header)} fields between commas",
        "Both come in the archive of UCI's US Census Data (1990).",
    )


def _batches(path: str | Path, columns: tuple[_Column, ...], raw: bool) -> Iterator[list[Values]]:
    import pyarrow as pa
    from pyarrow import csv

    names = [column.source for column in columns]
    reading = csv.ReadOptions(column_names=list(RAW_COLUMNS) if raw else None, block_size=1 << 24)
    try:
        with csv.open_csv(
            path,
            read_options=reading,
            parse_options=csv.ParseOptions(delimiter="\t" if raw else ",", quote_char=False),
            convert_options=csv.ConvertOptions(
                include_columns=names, column_types=dict.fromkeys(names, pa.int64()), null_values=[]
            ),
        ) as reader:
            for batch in reader:
                yield [np.asarray(batch.column(name)) for name in names]
    except pa.ArrowException:  # its message quotes the record
        raise SourceError(
            f"{path} must have the same number of fields in every line and whole numbers in {', '.join(names)}",
            hint="The file may be damaged or cut short: fetch it again.",
        ) from None


def _coded_columns(path: str | Path, column: _Column, values: Values) -> Codes:
    outside = int(np.count_nonzero((values < column.low) | (values > column.high)))
    if outside:
        raise SourceError(
            f"{column.source} in {path} must lie between {column.low} and {column.high}",
            f"{outside} values outside in one block of lines",
        )
    return column.code(values).astype(np.uint8)
