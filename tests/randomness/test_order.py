"""The keyed order is the documented one, on any number of threads; gathering and counting are NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.randomness import documented

from pramana.randomness import _order, shuffle
from pramana.randomness.key import Key
from pramana.randomness.shuffle import counted, gathered, shuffled_order
from pramana.rows.engines import LocalEngine

KEY = Key.from_seed(7)


@pytest.mark.parametrize("rows", [0, 1, 2, 7, 8, 9, 63, 64, 1_000, 16_384, 16_385, 200_000])
def test_the_order_is_the_documented_one_on_any_number_of_threads(rows: int) -> None:
    wanted = np.array(documented.order(KEY.secret, "table", rows), np.uint32)
    for threads in (1, 2, 3):
        assert (shuffled_order(KEY, "table", rows, threads) == wanted).all()
    assert (LocalEngine(2).order(KEY, "table", rows) == wanted).all()


def test_another_key_or_context_is_another_order() -> None:
    rows = 2_000
    known = [shuffled_order(KEY, "table", rows), shuffled_order(KEY, "other", rows)]
    known += [shuffled_order(Key.from_seed(8), "table", rows), np.arange(rows, dtype=np.uint32)]
    for i, one in enumerate(known):
        assert sorted(one.tolist()) == list(range(rows))
        assert all((one == other).mean() < 0.01 for other in known[:i])


def test_rows_whose_upper_bits_tie_are_ordered_by_the_whole_tag(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tags made alike in their first word, so that only the second can tell the rows apart."""
    rows = 500
    tags = np.random.default_rng(1).integers(0, 1 << 64, (rows, 2), np.uint64)
    tags[100:140, 0] = tags[100, 0]
    tags[200:203, 0] = tags[200, 0]
    tags[300, 0] = tags[301, 0] ^ np.uint64(1)  # differ in the last bit of the first word

    class Made:
        def fill(self, first: int, out: np.ndarray) -> np.ndarray:
            out[:] = tags.reshape(-1)[first : first + len(out)]
            return out

        def blocks(self, first: int, count: int) -> np.ndarray:
            return tags[first : first + count]

    monkeypatch.setattr(shuffle, "tag_stream", lambda *_: Made())
    wanted = np.lexsort((tags[:, 1], tags[:, 0]))
    for threads in (1, 2):
        assert (shuffled_order(KEY, "table", rows, threads) == wanted).all()
    monkeypatch.setattr(shuffle, "_order_ties", lambda *_: None)
    assert not (shuffled_order(KEY, "table", rows) == wanted).all()  # without it the test above would fail


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_gathering_and_counting(dtype: type[np.unsignedinteger[Any]]) -> None:
    rng = np.random.default_rng(3)
    values: np.ndarray = rng.integers(0, 200, 10_001).astype(dtype)
    order = rng.permutation(10_001).astype(np.uint32)
    assert (gathered(values, order) == values[order]).all()
    assert counted(values, 300).tolist() == np.bincount(values, minlength=300).tolist()
    assert counted(values[:0], 3).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="below the number of counts"):
        counted(values, 150)
    table = np.arange(300, dtype=np.uint16)[::-1].copy()
    assert (_translated(values, table) == table[values]).all()
    with pytest.raises(ValueError, match="below the length"):
        _translated(values, table[:150].copy())


def _translated(codes: np.ndarray, table: np.ndarray) -> np.ndarray:
    out = np.empty(len(codes), table.dtype)
    _order.translate(codes, table, out)
    return out


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_are_put_in_order_whole_and_where_they_are(threads: int) -> None:
    """Columns of every width, more than fit into one packed row."""
    rng, rows = np.random.default_rng(4), 3_001
    order = rng.permutation(rows).astype(np.uint32)
    kinds = [np.uint8, np.uint32, np.uint16, np.uint16, np.uint8, np.uint32, np.uint8]
    columns = {f"c{i}": rng.integers(0, 200, rows).astype(kind) for i, kind in enumerate(kinds)}
    before = {name: column.copy() for name, column in columns.items()}
    found = LocalEngine(threads).reorder(columns, order, {"c1", "c6"}, np.empty(rows, np.uint64))
    for name, column in columns.items():
        assert found[name].dtype == column.dtype and (found[name] == before[name][order]).all()
        assert (found[name] is column) == (name in ("c1", "c6"))
        assert name in ("c1", "c6") or (column == before[name]).all()


def test_packed_rows_outside_the_buffers_are_refused() -> None:
    codes, rows, order = np.zeros(3, np.uint32), np.zeros(3, np.uint64), np.zeros(3, np.uint32)
    with pytest.raises(ValueError, match="at most 8 bytes"):
        _order.pack_rows([codes, codes, codes], rows)
    with pytest.raises(ValueError, match="3 entries"):
        _order.pack_rows([codes[:2]], rows)
    with pytest.raises(ValueError, match="row numbers of rows"):
        _order.gather_rows(rows, order + np.uint32(3), [codes])
    with pytest.raises(ValueError, match="row numbers of rows"):
        _order.gather_rows(rows[:0], order, [codes])


def test_places_outside_the_buffers_are_refused() -> None:
    tags, entries, order = np.zeros((4, 2), np.uint64), np.empty(4, np.uint64), np.empty(4, np.uint32)
    with pytest.raises(ValueError, match="within entries"):
        _order.place_tags(tags, 0, np.array([2], np.uint64), entries)
    with pytest.raises(ValueError, match="power of two"):
        _order.count_tags(tags, np.zeros(3, np.uint64))
    with pytest.raises(ValueError, match="stand in order"):
        _order.sort_buckets(entries, np.array([0, 5], np.uint64), 0, 1, 0, order)
    with pytest.raises(ValueError, match="row numbers"):
        gathered(np.zeros(2, np.uint8), np.array([0, 2], np.uint32))
