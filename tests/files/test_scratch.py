"""Scratch room: what is put in comes out, from any thread, and nothing of it can be found afterwards."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pramana.errors import BundleError, RecipeError
from pramana.files.scratch import Scratch
from pramana.rows.engines import BatchEngine


def test_pieces_come_back_whole_and_in_part(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    pieces = [rng.integers(0, 256, size, dtype=np.uint8) for size in (1, 0, 15, 16, 17, 70_001)]
    with Scratch(tmp_path) as room:
        with ThreadPoolExecutor(4) as pool:
            places = list(pool.map(room.append, pieces))
        for place, piece in zip(places, pieces, strict=True):
            assert (room.read(place, len(piece)) == piece).all()
            for start in (1, 3, 16, 33):
                if start < len(piece):
                    assert (room.read(place + start, len(piece) - start) == piece[start:]).all()
        assert list(tmp_path.iterdir()) == []  # it has no name
        hidden = os.pread(room.file.fileno(), 70_001, places[-1])
        assert hidden != pieces[-1].tobytes()
        assert abs(np.frombuffer(hidden, np.uint8).mean() - 127.5) < 2


@pytest.mark.parametrize("held", [0, 20_000, 1 << 20])
def test_the_first_pieces_stay_in_memory_and_never_reach_the_disk(held: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    pieces = [rng.integers(0, 256, size, dtype=np.uint8) for size in rng.integers(1, 9_000, 40)]
    with Scratch(tmp_path, held) as room:
        with ThreadPoolExecutor(4) as pool:
            places = list(pool.map(room.append, pieces))
            for place, piece in zip(places, pieces, strict=True):
                found = list(pool.map(lambda start: room.read(start, 1)[0], range(place, place + len(piece), 7)))
                assert found == piece[::7].tolist()
                assert (room.read(place, len(piece)) == piece).all()
        kept = [len(piece) for place, piece in zip(places, pieces, strict=True) if place in room.kept]
        assert sum(kept) <= held
        assert bool(kept) == (held > 0)
        on_disk = os.fstat(room.file.fileno()).st_blocks * 512
        assert on_disk == 0 if held == 1 << 20 else on_disk >= sum(map(len, pieces)) - sum(kept)
    assert not room.kept


def test_zeros_do_not_show(tmp_path: Path) -> None:
    with Scratch(tmp_path) as first, Scratch(tmp_path) as second:
        seen = []
        for room in (first, second):
            place = room.append(np.zeros(4096, np.uint8))
            seen.append(os.pread(room.file.fileno(), 4096, place))
    assert seen[0] != seen[1]  # a key of its own each time
    assert seen[0].count(0) < 64


def test_a_full_disk_and_a_file_that_lost_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Scratch(tmp_path) as room:
        place = room.append(b"x" * 100)
        os.ftruncate(room.file.fileno(), 50)
        with pytest.raises(BundleError, match="was cut short"):
            room.read(place, 100)

        def full(*_: object) -> int:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "pwrite", full)
        with pytest.raises(BundleError, match="a full disk"):
            room.append(b"y")


def test_more_memory_means_fewer_buckets_and_never_none() -> None:
    small, large = BatchEngine(512 << 20, 2), BatchEngine(8 << 30, 2)
    assert small.bucket_bits(10**8, 7) > large.bucket_bits(10**8, 7) > 0
    assert large.bucket_bits(1, 7) == 0
    assert small.bucket_bits(10**12, 7) <= 20
    assert small.batch_rows(7) <= large.batch_rows(7)
    with pytest.raises(RecipeError, match="at least"):
        BatchEngine(1)
