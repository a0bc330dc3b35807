"""A slice of the random calls of every kernel; `make sanitize` makes more of them, under sanitizers."""

from __future__ import annotations

import numpy as np
import pytest
from tests.security.fuzzing.kernels import KERNELS, attempt

from pramana.methods.generalize import _partition
from pramana.methods.microaggregate import _mdav
from pramana.randomness import _kernels

SEEDS = 40


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_answer_rightly_or_refuse(name: str) -> None:
    for seed in range(SEEDS):
        attempt(name, seed)


def test_weights_that_are_no_whole_rows_are_refused_in_words() -> None:
    with pytest.raises(ValueError, match="whole rows"):
        _kernels.fill_alias(np.zeros(5, np.int64), 3, np.zeros(4, np.uint64), 2)


def test_a_tree_of_one_level_has_no_children_to_cut_into() -> None:
    rows, class_of = np.array([[0], [1], [2]], np.uint16), np.zeros(3, np.uint32)
    labels = np.array([0, 1, 2], np.int32)
    assert _partition.partition(rows, None, np.array([[3, 1]]), labels, np.ones(1), 1, 0, 0, None, class_of) == 1


@pytest.mark.parametrize("k", [4, 2**63, 2**64 - 1])
@pytest.mark.parametrize("mode", [0, 1, 2])
def test_a_k_beyond_the_rows_is_one_class(k: int, mode: int) -> None:
    rows, class_of = np.array([[0], [1], [2]], np.uint16), np.zeros(3, np.uint32)
    found = _partition.partition(
        rows, None, np.array([[3, 0]]), np.zeros(1, np.int32), np.ones(1), k, mode, 0, None, class_of
    )
    assert found == 1


@pytest.mark.parametrize("times", [[1, 0, 1], [1, 1], [2**32 - 1, 1, 1]])
def test_lines_that_stand_for_no_rows_or_too_many_are_refused_in_words(times: list[int]) -> None:
    rows, class_of = np.array([[0], [1], [2]], np.uint16), np.zeros(3, np.uint32)
    shape, counts = np.array([[3, 0]]), np.array(times, np.uint32)
    for mode in (0, 1):
        with pytest.raises(ValueError, match="must stand for rows"):
            _partition.partition(
                rows, counts, shape, np.zeros(1, np.int32), np.ones(1), 1, mode, 0, None, class_of
            )


def test_distances_that_are_no_numbers_find_someone_farthest() -> None:
    class_of = np.full(6, -1, np.int32)
    found = _mdav.mdav(np.full(6, np.nan), np.arange(7), np.ones(1), 2, class_of)
    assert found == 3 and np.bincount(class_of).tolist() == [2, 2, 2]
