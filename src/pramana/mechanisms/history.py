"""multi-pert as printed (paper 3, Figure 3), with the corrected history(t) in compact columns.

For holders who want versions that no key can ever explain: every coin is fresh entropy, used once and
forgotten, and what must be remembered is where the versions of each row change. The price is that memory.
Every chance of Eqs 3 and 4 is tossed as a product of exact coins, so the law is the paper's without rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pramana.errors import MatrixError
from pramana.mechanisms import _levels
from pramana.mechanisms.levels import LevelDesign, Rows
from pramana.mechanisms.table import Columns
from pramana.randomness.key import fresh_words
from pramana.randomness.samplers import Codes, code_dtype, joint_codes, split_codes
from pramana.theory.levels import GRID, Level

Words = Callable[[int], NDArray[np.uint64]]  # how many -> that many uniform words never used before
Marks = Callable[[Rows], Codes]  # rows -> a fresh replacement for each

_MOST_CODES = 1 << 32
_WORD = 1 << 64


@dataclass(frozen=True, eq=False)
class History:
    """history(t) of every row: where its version changes from one issued level to the next lower one.

    Row i has counts[i] entries in descending order of level, the rows after each other; an entry is the number
    of a level (its place in `steps`, the order of issue) and the value from there on down.
    """

    COLUMNS: ClassVar = ("levels", "counts", "numbers", "values")  # as they are kept

    steps: NDArray[np.uint64]
    counts: NDArray[np.uint16]
    numbers: NDArray[np.uint32]
    values: Codes

    def __post_init__(self) -> None:
        if len(set(self.steps.tolist())) != len(self.steps):
            raise MatrixError("Every level must stand once in a history")
        if len(self.numbers) != len(self.values) or int(self.counts.sum(dtype=np.int64)) != len(self.numbers):
            raise MatrixError("The columns of a history must fit together")

    @classmethod
    def empty(cls, rows: int, size: int) -> History:
        nothing = np.zeros(0, code_dtype(size))
        return cls(np.zeros(0, np.uint64), np.zeros(rows, np.uint16), np.zeros(0, np.uint32), nothing)

    @property
    def levels(self) -> tuple[Level, ...]:
        """Every level issued, in the order of issue."""
        return tuple(Level(int(k)) for k in self.steps)

    @property
    def rows(self) -> int:
        return len(self.counts)

    @property
    def entries_per_row(self) -> float:
        """Lemma 2 bounds its expectation by 1 + ((s-1)/s) ln(p_max/p_min)."""
        return len(self.numbers) / self.rows if self.rows else 0.0

    @property
    def nbytes(self) -> int:
        return self.counts.nbytes + self.numbers.nbytes + self.values.nbytes

    def look_up(self, level: Level) -> Codes:
        """The version at a level that was issued."""
        if not self._has(level):
            raise MatrixError("A version must have been issued to be looked up", str(level))
        out = np.empty(self.rows, self.values.dtype)
        _levels.look_up(self.counts, self.numbers, self.values, self.steps, level.steps, out)
        return out

    def insert(self, level: Level, true: Codes, words: Words, marks: Marks) -> tuple[History, Codes]:
        """Issue a level (Figure 3): the history that remembers it, and its version."""
        if self._has(level):
            return self, self.look_up(level)
        if level.steps == GRID:
            return self, true.copy()
        higher, lower_ones = self.steps[self.steps > level.steps], self.steps[self.steps < level.steps]
        top = int(higher.min()) if len(higher) else GRID
        upper = self.look_up(Level(top)) if len(higher) else true.astype(self.values.dtype)
        if not len(lower_ones):
            version = _copied(upper, level.steps, top, words, marks)
            return self._with(level, version, None, version), version
        below = Level(int(lower_ones.max()))
        lower = self.look_up(below)
        version = _bridged(upper, lower, (level.steps, top, below.steps), words, marks)
        return self._with(level, version, below, lower), version

    def _has(self, level: Level) -> bool:
        return bool((self.steps == level.steps).any())

    def _with(self, level: Level, version: Codes, below: Level | None, lower: Codes) -> History:
        steps = np.append(self.steps, np.uint64(level.steps))
        room = len(self.numbers) + 2 * self.rows
        counts = np.empty_like(self.counts)
        numbers, values = np.empty(room, np.uint32), np.empty(room, self.values.dtype)
        entries = _levels.insert(
            self.counts,
            self.numbers,
            self.values,
            steps,
            len(self.steps),
            version,
            below is not None,
            0 if below is None else int(np.flatnonzero(self.steps == below.steps)[0]),
            lower,
            counts,
            numbers,
            values,
        )
        return History(steps, counts, numbers[:entries].copy(), values[:entries].copy())

    def to_columns(self) -> dict[str, NDArray[Any]]:
        """Plain arrays, for whoever keeps them."""
        return dict(zip(self.COLUMNS, (self.steps, self.counts, self.numbers, self.values), strict=True))

    @classmethod
    def from_columns(cls, columns: Mapping[str, NDArray[Any]]) -> History:
        try:
            kinds = zip(cls.COLUMNS, (np.uint64, np.uint16, np.uint32, None), strict=True)
            return cls(*(np.ascontiguousarray(columns[name], kind) for name, kind in kinds))
        except (KeyError, TypeError, ValueError):
            raise MatrixError("A history must hold levels, counts, numbers and values") from None


# ---------------------------------------------------------------- the coins of Figure 3


def coins(top: int, bottom: int, count: int, words: Words) -> NDArray[np.bool_]:
    """`count` coins that show heads with probability exactly top/bottom.

    A word is compared with the first 64 bits of top/bottom, and where they are equal the next word with the
    next 64 bits, for as long as it takes.
    """
    if top >= bottom:
        return np.ones(count, np.bool_)
    digit, rest = divmod(top * _WORD, bottom)
    drawn = words(count)
    heads: NDArray[np.bool_] = drawn < np.uint64(digit)
    tied = np.flatnonzero(drawn == np.uint64(digit))
    if len(tied) and rest:
        heads[tied] = coins(rest, bottom, len(tied), words)
    return heads


def _copied(upper: Codes, level: int, top: int, words: Words, marks: Marks) -> Codes:
    """Lines 7-9: nothing issued below. Keep the version above with probability p/p_l, else redraw."""
    out = upper.copy()
    redrawn = np.flatnonzero(~coins(level, top, len(upper), words)).astype(np.uint32)
    out[redrawn] = marks(redrawn)
    return out


def _bridged(upper: Codes, lower: Codes, steps: tuple[int, int, int], words: Words, marks: Marks) -> Codes:
    """Lines 11-14: copy the version above (u), the one below (v), or redraw (1-u-v).

    Where they differ, u = (p-p_r)/(p_l-p_r), and of the rest p_r/p goes to the one below. Where they agree,
    u = p/p_l, and of the rest a share (1-p_r/p) * q/(p_r/p_l + (1-p_r/p_l) q) is redrawn, q = law[y].
    """
    level, top, bottom = steps
    out, equal = upper.copy(), upper == lower
    apart = np.flatnonzero(~equal).astype(np.uint32)
    apart = apart[~coins(level - bottom, top - bottom, len(apart), words)]
    tails = coins(bottom, level, len(apart), words)
    out[apart[tails]] = lower[apart[tails]]
    same = np.flatnonzero(equal).astype(np.uint32)
    same = same[~coins(level, top, len(same), words)]
    same = same[coins(level - bottom, level, len(same), words)]
    same = same[_drawn_twice(upper[same], same, bottom, top, words, marks)]
    redrawn = np.concatenate([apart[~tails], same])
    out[redrawn] = marks(redrawn)
    return out


def _drawn_twice(
    values: Codes, rows: Rows, bottom: int, top: int, words: Words, marks: Marks
) -> NDArray[np.bool_]:
    """Coins of probability q/(q + (1-q) p_r/p_l), q = law[value], without ever computing q.

    Draw a replacement: if it is the value, heads; otherwise tails with probability p_r/p_l, else again.
    """
    heads = np.zeros(len(values), np.bool_)
    undecided = np.arange(len(values))
    while len(undecided):
        hit = marks(rows[undecided]) == values[undecided]
        heads[undecided[hit]] = True
        missed = undecided[~hit]
        undecided = missed[~coins(bottom, top, len(missed), words)]
    return heads


# ---------------------------------------------------------------- tables


@dataclass
class RecordedLevels:
    """multi-pert as a source of versions. It changes with every new level: keep `histories` after each."""

    design: LevelDesign
    rows: int
    words: Words = fresh_words
    histories: dict[tuple[str, ...], History] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for group in self.design.groups:
            size = math.prod(self.design.sizes[name] for name in group)
            if size > _MOST_CODES:
                raise MatrixError("A joint domain with a history must have at most 2^32 values", str(size))
            known = self.histories.setdefault(group, History.empty(self.rows, size))
            if known.rows != self.rows:
                raise MatrixError(
                    f"A history must have one list for each of the {self.rows} rows", str(known.rows)
                )

    def version(self, level: Level, codes: Columns) -> dict[str, Codes]:
        """Lines 1-15 of Figure 3 for each group: look it up, or issue and remember it."""
        out: dict[str, Codes] = {}
        for group in self.design.groups:
            sizes = [self.design.sizes[name] for name in group]
            true = _encoded([codes[name] for name in group], sizes)
            if len(true) != self.rows:
                raise MatrixError(f"The table must have the history's {self.rows} rows", str(len(true)))
            history = self.histories[group]
            self.histories[group], version = history.insert(level, true, self.words, self._marks(group, sizes))
            for name, column in zip(group, split_codes(version.astype(np.uint32), sizes), strict=True):
                out[name] = column.astype(codes[name].dtype)
        return out

    def _marks(self, group: tuple[str, ...], sizes: Sequence[int]) -> Marks:
        def marks(rows: Rows) -> Codes:
            columns = []
            for name in group:
                law, found = self.design.laws[name], np.empty(len(rows), code_dtype(self.design.sizes[name]))
                places = np.arange(len(rows), dtype=np.uint32)
                law.draw(lambda wanted, _: self.words(2 * len(wanted)).reshape(-1, 2), places, found)
                columns.append(found)
            return _encoded(columns, sizes)

        return marks


def _encoded(columns: Sequence[Codes], sizes: Sequence[int]) -> Codes:
    """One code for a combination of values, the last attribute fastest."""
    dtype = code_dtype(math.prod(sizes))
    if len(columns) == 1:
        return columns[0].astype(dtype, copy=False)
    return np.asarray(joint_codes(columns, sizes, np.uint32).astype(dtype, copy=False))
