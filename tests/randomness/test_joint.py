"""Several columns as one, beside NumPy's own; more combinations than numbers are refused."""

from __future__ import annotations

import math
import os
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pramana.randomness.samplers import available_cores, joint_codes, split_codes


@given(st.lists(st.integers(1, 300), min_size=1, max_size=4), st.integers(0, 40), st.integers(0, 2**32))
def test_joint_codes_are_numpys_and_can_be_split(sizes: list[int], rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = [np.uint8, np.uint16, np.uint32, np.int64, np.uint64]
    columns = [rng.integers(0, s, rows).astype(kinds[(seed + i) % 5] if s <= 256 else np.uint16)
               for i, s in enumerate(sizes)]  # fmt: skip
    before = [column.copy() for column in columns]
    expected = np.ravel_multi_index([c.astype(np.int64) for c in columns], sizes)
    for dtype in (np.int64, np.uint32):
        if math.prod(sizes) > 1 << 32 and dtype is np.uint32:
            continue
        joint = joint_codes(columns, sizes, dtype)
        assert joint.dtype == dtype and joint.tolist() == expected.tolist()
        assert [c.tolist() for c in split_codes(joint, sizes)] == [c.tolist() for c in columns]
    assert all(np.array_equal(a, b) for a, b in zip(before, columns, strict=True))


def test_every_combination_up_to_the_last_has_its_number() -> None:
    last = [np.array([s - 1]) for s in (1 << 31, 1 << 31, 2)]
    assert joint_codes(last, [1 << 31, 1 << 31, 2]).tolist() == [(1 << 63) - 1]
    with pytest.raises(ValueError, match="combinations"):
        joint_codes(last, [1 << 31, 1 << 31, 3])
    assert joint_codes([np.array([65535]), np.array([65535])], [65536, 65536], np.uint32).tolist() == [2**32 - 1]
    with pytest.raises(ValueError, match="combinations"):
        joint_codes([np.array([0]), np.array([0])], [65536, 65537], np.uint32)


def test_cores_where_a_system_does_not_tell_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 1 <= available_cores() <= (os.cpu_count() or 1)
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert available_cores() == (os.cpu_count() or 1)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_cores() == 1
