"""Digests see contents and order, and nothing of blocks, chunks or formats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pramana.randomness.key import Key
from pramana.rows.digest import LEAF, Column, ContentDigest, commitment_to, commitment_to_pieces

KEY = Key.from_seed(8)
ROWS = 3 * LEAF + 77


def digest_of_columns(columns: Mapping[str, Column]) -> str:
    digest = ContentDigest()
    digest.update(columns)
    return digest.hexdigest()


def table(rows: int = ROWS) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    words = pa.array(rng.choice(["", "a", "bc", "déf"], rows).tolist())
    return {
        "sex": rng.integers(0, 2, rows).astype(np.uint8),
        "job": rng.integers(0, 900, rows).astype(np.uint16),
        "note": pa.chunked_array([words[: rows // 3], words[rows // 3 :]]),
    }


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, ROWS - 1), max_size=6, unique=True))
def test_blocks_of_any_size_give_the_digests_of_the_whole(cuts: list[int]) -> None:
    whole = table()
    content, parts = ContentDigest(), []
    for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), ROWS], strict=True):
        parts.append({name: column[start:stop] for name, column in whole.items()})
        content.update(parts[-1])
    assert commitment_to_pieces(parts, ROWS, KEY) == commitment_to(whole, KEY)
    assert content.hexdigest() == digest_of_columns(whole)


@pytest.mark.parametrize("name", ["sex", "job", "note"])
@pytest.mark.parametrize("row", [0, LEAF - 1, LEAF, ROWS - 1])
def test_one_cell_changes_both(name: str, row: int) -> None:
    first, second = table(), table()
    column = second[name]
    if isinstance(column, np.ndarray):
        column[row] ^= 1
    else:
        values = column.to_pylist()
        values[row] += "x"
        second[name] = pa.chunked_array([values])
    assert commitment_to(first, KEY) != commitment_to(second, KEY)
    assert digest_of_columns(first) != digest_of_columns(second)


def test_nothing_slides_from_row_to_row_or_column_to_column() -> None:
    """The same characters at other places are another table."""
    tables = [
        {"a": pa.array(["xy", ""]), "b": pa.array(["", "z"])},
        {"a": pa.array(["x", "y"]), "b": pa.array(["", "z"])},
        {"a": pa.array(["xy", ""]), "b": pa.array(["z", ""])},
        {"b": pa.array(["xy", ""]), "a": pa.array(["", "z"])},
        {"a": pa.array(["xy", "", ""]), "b": pa.array(["", "z", ""])},
    ]
    assert len({digest_of_columns(t) for t in tables}) == len({commitment_to(t, KEY) for t in tables}) == 5


def test_the_commitment_is_keyed() -> None:
    assert commitment_to(table(), KEY) != commitment_to(table(), Key.from_seed(9))
