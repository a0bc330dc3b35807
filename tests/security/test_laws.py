"""Laws that a certificate states: integers of one form, summed exactly, and nothing larger made than is stated."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pramana.errors import MatrixError
from pramana.mechanisms.channel import Dense
from pramana.mechanisms.levels import AtLevel, LevelDesign, Uniform, Weighted
from pramana.mechanisms.stated import channel_from_json, mechanism_from_json
from pramana.randomness.samplers import ONE
from pramana.theory.levels import Level

STRANGE = [
    "٣",
    "1_000",
    " 7 ",
    "7\n",
    "+5",
    "-1",
    "007",
    "0x7",
    "7.0",
    "7e0",
    "",
    "½",
    "２",
    7,
    7.0,
    True,
    None,
    [7],
]
STRANGE += [str(ONE + 1), "9" * 19, "9" * 5000]
SIZES = [True, 1.0, "2", None, 0, -1, 10**12, 2**64, [2], "٣"]


def test_rows_that_sum_to_2_to_62_only_in_64_bits_are_no_law() -> None:
    """5 * 2^62 is 2^62 once more where sums wrap around; the law would pass for epsilon 0."""
    row = [ONE] * 5
    assert int(np.array(row, np.int64).sum()) == ONE, "as a machine word has it"
    with pytest.raises(MatrixError, match="sum to"):
        Dense(np.array([row] * 5, np.int64))
    with pytest.raises(MatrixError, match="sum to"):
        channel_from_json({"kind": "dense", "weights": [[str(w) for w in row]] * 5})
    with pytest.raises(MatrixError):
        channel_from_json(
            {
                "kind": "blocks",
                "size": 5,
                "blocks": [{"members": [0, 1, 2, 3, 4], "weights": [[str(ONE)] * 5] * 5}],
            }
        )
    with pytest.raises(MatrixError):
        replacement_from_json({"kind": "weighted", "weights": [str(w) for w in row]})


def replacement_from_json(law: object) -> object:
    return mechanism_from_json({"coin": "levels", "level": "0.4", "joint": False, "laws": {"a": law}})


READERS: dict[str, Callable[[Any], object]] = {
    "step": lambda w: channel_from_json({"kind": "retention", "size": 2, "step": w}),
    "dense": lambda w: channel_from_json({"kind": "dense", "weights": [[w, str(ONE - 7)], ["0", str(ONE)]]}),
    "block": lambda w: channel_from_json(
        {
            "kind": "blocks",
            "size": 2,
            "blocks": [{"members": [0, 1], "weights": [[w, str(ONE - 7)], ["0", str(ONE)]]}],
        }
    ),
    "bound": lambda w: mechanism_from_json({"coin": "record", "sizes": {"a": 2}, "bound": w}),
    "weighted": lambda w: replacement_from_json({"kind": "weighted", "weights": [w, str(ONE - 7)]}),
}


@pytest.mark.parametrize("reader", READERS)
def test_weights_are_ascii_digits_and_nothing_else(reader: str) -> None:
    READERS[reader]("7")
    for strange in STRANGE:
        with pytest.raises(MatrixError):
            READERS[reader](strange)


SIZED: dict[str, Callable[[Any], object]] = {
    "retention": lambda n: channel_from_json({"kind": "retention", "size": n, "step": "1"}),
    "redrawn": lambda n: channel_from_json({"kind": "redrawn", "size": n}),
    "blocks": lambda n: channel_from_json({"kind": "blocks", "size": n, "blocks": []}),
    "record": lambda n: mechanism_from_json({"coin": "record", "sizes": {"a": n}, "bound": "1"}),
    "exchange": lambda n: mechanism_from_json(
        {
            "coin": "exchange",
            "sizes": {"a": n},
            "groups": [{"columns": ["a"], "channel": {"kind": "redrawn", "size": n}}],
        }
    ),
    "uniform": lambda n: replacement_from_json({"kind": "uniform", "size": n}),
}


@pytest.mark.parametrize("reader", SIZED)
def test_sizes_are_whole_numbers_within_bounds(reader: str) -> None:
    SIZED[reader](2)
    for strange in SIZES:
        with pytest.raises(MatrixError):
            SIZED[reader](strange)


def test_levels_are_stated_one_way() -> None:
    stated = AtLevel(LevelDesign({"a": Uniform(3)}), Level.of("0.4")).to_json()
    assert mechanism_from_json(stated).to_json() == stated
    for level in ("0.40", ".4", "4e-1", " 0.4", "٠.٤", 0.4, None, "2/5", "+0.4", "nan", "0_0.4"):
        with pytest.raises(MatrixError):
            mechanism_from_json({**stated, "level": level})
    changes: list[dict[str, Any]] = [{"joint": 0}, {"joint": "false"}, {"laws": []}, {"laws": {}}, {"more": 1}]
    for change in changes:
        with pytest.raises(MatrixError):
            mechanism_from_json({**stated, **change})


@pytest.mark.parametrize("content", [None, [], "law", 5, {}, {"coin": []}, {"coin": "attribute"}, {"kind": {}}])
def test_what_is_no_law_is_refused(content: Any) -> None:
    for read in (channel_from_json, mechanism_from_json, replacement_from_json):
        with pytest.raises(MatrixError):
            read(content)


def test_reading_a_law_takes_memory_in_proportion_to_its_text() -> None:
    """Some bytes that name a size of two thousand million make nothing of that size."""
    large = 1 << 31
    small = [
        {"coin": "attribute", "channels": {"a": {"kind": "retention", "size": large, "step": "1"}}},
        {"coin": "attribute", "channels": {"a": {"kind": "blocks", "size": large, "blocks": []}}},
        {"coin": "levels", "level": "0.4", "joint": False, "laws": {"a": {"kind": "uniform", "size": large}}},
    ]
    tracemalloc.start()
    for statement in small:
        mechanism = mechanism_from_json(statement)
        assert mechanism.sizes == {"a": large}
        _ = mechanism.likelihood_ratio, mechanism.anonymity_ratio
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 << 20


def test_a_long_replacement_law_makes_no_matrix() -> None:
    """Its square would be a thousand million entries for a text of some hundred kilobytes."""
    law = Weighted((ONE - 19_999, *([1] * 19_999)))
    assert AtLevel(LevelDesign({"a": law}), Level.of("0.4")).as_single() is None
    short = Weighted((ONE - 2, 1, 1))
    assert AtLevel(LevelDesign({"a": short}), Level.of("0.4")).as_single() is not None
