"""Bucket by bucket, the keyed order is the one of the whole table; ties are settled by whole tags."""

from __future__ import annotations

import numpy as np
import pytest
from tests.randomness import documented

from pramana.randomness.key import Key
from pramana.randomness.shuffle import bucket_order, bucketed, tag_stream

KEY = Key.from_seed(3)


def by_buckets(rows: int, bits: int, step: int) -> list[int]:
    stream = tag_stream(KEY, "here")
    parts: list[list[tuple[np.ndarray, np.ndarray]]] = [[] for _ in range(1 << bits)]
    for first in range(0, rows, step):
        count = min(step, rows - first)
        entries, starts = bucketed(stream, first, count, bits)
        assert int(starts[-1]) == count
        for b in range(1 << bits):
            mine = entries[int(starts[b]) : int(starts[b + 1])]
            parts[b].append((mine, (mine & np.uint64(2**32 - 1)) + np.uint64(first)))
    found: list[int] = []
    for pieces in parts:
        entries = np.concatenate([e for e, _ in pieces])
        numbers = np.concatenate([r for _, r in pieces])
        found += numbers[bucket_order(stream, entries, numbers)].tolist()
    return found


@pytest.mark.parametrize(("rows", "bits", "step"), [(1, 0, 1), (5, 3, 2), (20_000, 0, 700), (20_000, 6, 20_000)])
def test_the_order_is_that_of_the_whole_table(rows: int, bits: int, step: int) -> None:
    assert by_buckets(rows, bits, step) == documented.order(KEY.secret, "here", rows)


def test_rows_whose_tags_tie_are_ordered_by_the_rest_of_the_tag() -> None:
    """Entries that show none of the tag's bits: every row ties with every other."""
    stream, rows = tag_stream(KEY, "here"), np.arange(40, 90, dtype=np.uint64)
    entries = np.arange(50, dtype=np.uint64)
    expected = [row - 40 for row in documented.order(KEY.secret, "here", 90) if row >= 40]
    assert bucket_order(stream, entries, rows).tolist() == expected
    assert expected != list(range(50))
