"""The Adult table (UCI "Census Income", both halves together) as a CSV with a header.

Domains are those of the table's documentation, declared here and not read from the file. An empty field or a
question mark is a missing value, a category of its own in the three columns that have any.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pramana.datasets.population import MISSING, Population
from pramana.errors import SourceError
from pramana.randomness import Codes, code_dtype
from pramana.stores import open_regular

if TYPE_CHECKING:
    import pyarrow as pa

_NAMED = {
    "workclass": """
        Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked""",
    "education": """
        Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th HS-grad Some-college Assoc-voc Assoc-acdm Bachelors
        Masters Prof-school Doctorate""",
    "marital-status": """
        Never-married Married-civ-spouse Married-AF-spouse Married-spouse-absent Separated Divorced Widowed""",
    "occupation": """
        Adm-clerical Armed-Forces Craft-repair Exec-managerial Farming-fishing Handlers-cleaners Machine-op-inspct
        Other-service Priv-house-serv Prof-specialty Protective-serv Sales Tech-support Transport-moving""",
    "relationship": "Husband Wife Own-child Other-relative Unmarried Not-in-family",
    "race": "White Black Asian-Pac-Islander Amer-Indian-Eskimo Other",
    "sex": "Female Male",
    "native-country": """
        United-States Cambodia Canada China Columbia Cuba Dominican-Republic Ecuador El-Salvador England France
        Germany Greece Guatemala Haiti Holand-Netherlands Honduras Hong Hungary India Iran Ireland Italy Jamaica
        Japan Laos Mexico Nicaragua Outlying-US(Guam-USVI-etc) Peru Philippines Poland Portugal Puerto-Rico
        Scotland South Taiwan Thailand Trinadad&Tobago Vietnam Yugoslavia""",
    "salary-class": "<=50K >50K",
}
_COUNTED = {"age": range(17, 91), "hours-per-week": range(1, 100)}
_ORDER = """age workclass education marital-status occupation relationship race sex hours-per-week native-country
    salary-class"""
DOMAINS: dict[str, tuple[str, ...]] = {
    name: tuple(map(str, _COUNTED[name])) if name in _COUNTED else tuple(_NAMED[name].split())
    for name in _ORDER.split()
}
MAY_BE_MISSING = ("workclass", "occupation", "native-country")


def adult(path: str | Path, complete: bool = False) -> Population:
    """The eleven attributes of the Adult CSV; with `complete`, only the records that lack nothing.

    Columns that are not among the eleven (the split into train and test, say) are left out.
    """
    table = _read(path)
    codes: dict[str, Codes] = {name: _coded(path, name, table.column(name)) for name in DOMAINS}
    kept = np.ones(len(table), bool)
    if complete:
        for name in MAY_BE_MISSING:
            kept &= codes[name] < len(DOMAINS[name])
    return Population(
        names=tuple(DOMAINS),
        labels=tuple(
            (*domain, MISSING) if name in MAY_BE_MISSING and not complete else domain
            for name, domain in DOMAINS.items()
        ),
        codes=tuple(codes[name][kept] for name in DOMAINS),
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
