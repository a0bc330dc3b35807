"""A bundle that was just made is valid, whatever its columns hold, in both formats, and is made again."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pramana import Recipe, release, verify
from pramana.errors import SourceError
from pramana.methods.recipe import AnyRecipe

DAY, MOMENT = datetime.date(2020, 2, 29), datetime.datetime(2020, 2, 29, 12, 30)
COLUMNS = {
    "whole": pa.array([1, 2, None, 4]),
    "real": pa.array([1.5, float("nan"), None, -0.0]),
    "text": pa.array(["a", "", None, 'x,"y"\n']),
    "category": pa.array(["b", None, "b", "a"]).dictionary_encode(),
    "truth": pa.array([True, None, False, True]),
    "day": pa.array([DAY, None, DAY, DAY]),
    "moment": pa.array([MOMENT, None, MOMENT, MOMENT]),
    "zoned": pa.array([MOMENT] * 4, pa.timestamp("us", tz="UTC")),
    "duration": pa.array([1, 2, None, 4], pa.duration("s")),
    "decimal": pa.array([decimal.Decimal("1.10"), None, decimal.Decimal("2.25"), decimal.Decimal("0.00")]),
    "long text": pa.array(["a", None, "é", ""], pa.large_string()),
    "nothing": pa.nulls(4),
    "large": pa.array([2**64 - 1] * 4, pa.uint64()),
    "chunks": pa.chunked_array([["a"], [], ["b", None], ["c"]]),
}


def recipe(name: str, format_: str, **attribute: str) -> AnyRecipe:
    return Recipe.parse(
        {
            "release": {"retention": 0.5},
            "output": {"format": format_},
            # "zz" sorts after every column, so that the certificate has them in another order than the table
            "attributes": {"zz": {"role": "quasi-identifying", "domain": ["F", "M"]}, name: attribute},
        }
    )


@pytest.mark.parametrize("format_", ["parquet", "csv"])
@pytest.mark.parametrize("name", COLUMNS)
def test_a_fresh_bundle_is_valid(tmp_path: Path, name: str, format_: str) -> None:
    table = pa.table({"zz": ["F", "M", "F", "M"], name: COLUMNS[name]})
    roles = [{"role": "insensitive"}]
    if name != "nothing":
        roles.append({"role": "quasi-identifying", "domain": "from-data"})
    for number, attribute in enumerate(roles):
        made = release(
            recipe(name, format_, **attribute), tmp_path / str(number), data=table, seed=1, even_if_useless=True
        )
        found = verify(made.bundle, source=table, seed=1)
        assert found.valid, [check for check in found.checks if not check.ok]


def test_many_laws_in_another_order_than_their_names(tmp_path: Path) -> None:
    """Sums of floats feel the order of the columns; a certificate, which sorts them, must not."""
    rng = np.random.default_rng(1)
    sizes = {"f": 2, "b": 7, "e": 3, "a": 11, "d": 5, "c": 4}
    table = pa.table({name: rng.integers(0, size, 50) for name, size in sizes.items()})
    for coin in ("attribute", "record"):
        stated = {"release": {"epsilon": 3, "coin": coin}, "attributes": {
            name: {"role": "quasi-identifying", "domain": list(range(size))} for name, size in sizes.items()
        }}  # fmt: skip
        made = release(Recipe.parse(stated), tmp_path / coin, data=table, seed=1, even_if_useless=True)
        assert verify(made.bundle, source=table, seed=1).valid


@pytest.mark.parametrize(
    "name, column, format_",
    [
        ("bytes", pa.array([b"\xff"] * 2), "csv"),
        ("far", pa.array([2**62] * 2, pa.timestamp("s")), "parquet"),
        ("interval", pa.array([pa.MonthDayNano([1, 2, 3])] * 2), "parquet"),
        ("nested", pa.array([[1]] * 2), "parquet"),
    ],
)
def test_what_a_file_cannot_hold_leaves_nothing(tmp_path: Path, name: str, column: pa.Array, format_: str) -> None:
    with pytest.raises(SourceError):
        release(
            recipe(name, format_, role="insensitive"),
            tmp_path / "out",
            data=pa.table({"zz": ["F", "M"], name: column}),
            even_if_useless=True,
        )
    assert not list(tmp_path.iterdir())
