"""A CSV file in blocks that can be read apart: cut at line ends that are not inside quotes.

Whether a line end is inside quotes depends on all bytes before it, but little of them: at any byte a reader is in
one of four states. So each block is scanned by itself, wherever that is done, for what it makes of each of the
states it may begin in; composed one after the other these tell the state at every block's beginning, and from
there the next line end is looked for. The states are those of Arrow's reader, which reads the blocks afterwards: a
quote opens a value only where the value begins, and two quotes inside are one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from pramana.files.store_path import AnyPath
from pramana.io.text_file import ByteReader

START, VALUE, QUOTED, AFTER_QUOTE = range(
    4
)  # a value begins; inside a plain one; inside quotes; after a quote there
Effect = tuple[int, int, int, int]  # the state at the end for each of them at the beginning
NOTHING: Effect = (START, VALUE, QUOTED, AFTER_QUOTE)
_QUOTE: Effect = (QUOTED, VALUE, AFTER_QUOTE, QUOTED)
_TO_START: Effect = (START, START, QUOTED, START)  # any other bytes, the last of them a delimiter or a line end
_TO_VALUE: Effect = (VALUE, VALUE, QUOTED, VALUE)  # the last of them something else
_MARK, _LF, _CR = b'"'[0], b"\n"[0], b"\r"[0]
_BOM = b"\xef\xbb\xbf"
_WINDOW = 1 << 22  # bytes that are looked at together
# one byte a letter, and those of ASCII as in ASCII: no byte of another letter looks like a quote or a line end
_CUTTABLE = re.compile(
    r"utf-8|ascii|iso8859-\d+|cp125\d|cp(437|720|737|775|85[0258]|86[0-69]|874)|koi8-[rtu]|mac-\w+"
)


def is_cuttable(encoding: str) -> bool:
    """Whether files in an encoding (by its codec's own name) can be cut between any two bytes."""
    return _CUTTABLE.fullmatch(encoding) is not None


def then(first: Effect, second: Effect) -> Effect:
    """One effect after the other."""
    a, b, c, d = (second[state] for state in first)
    return a, b, c, d


def _closed() -> tuple[list[Effect], NDArray[np.uint8]]:
    """All effects that bytes can have, and by number what one after another comes to."""
    effects = [NOTHING, _QUOTE, _TO_START, _TO_VALUE]
    for one in effects:  # which grows
        effects += [e for e in dict.fromkeys(then(one, step) for step in effects[1:4]) if e not in effects]
    table = [[effects.index(then(one, other)) for other in effects] for one in effects]
    return effects, np.array(table, np.uint8)


_EFFECTS, _THEN = _closed()
# the effect of a quote by what is before it: something else, the end of a value, a quote
_QUOTES = np.array([_EFFECTS.index(then(before, _QUOTE)) for before in (_TO_VALUE, _TO_START, NOTHING)], np.uint8)


def effect_of(data: bytes, delimiter: str) -> Effect:
    """What some bytes make of each state. Between quotes only the last byte counts."""
    if not data:
        return NOTHING
    array = np.frombuffer(data, np.uint8)
    kinds = np.zeros(256, np.uint8)
    kinds[[_LF, _CR, ord(delimiter)]], kinds[_MARK] = 1, 2
    last = (_TO_VALUE, _TO_START, NOTHING)[int(kinds[array[-1]])]
    if b'"' not in data:
        return last
    quotes = np.flatnonzero(array == _MARK)
    before = kinds[array[quotes - 1]]
    if quotes[0] == 0:  # what is before it is not among these bytes
        before[0] = 2
    composed = _QUOTES[before]
    while len(composed) > 1:
        odd = composed[-1:] if len(composed) % 2 else composed[:0]
        pairs = composed[: len(composed) - len(odd)].reshape(-1, 2).astype(np.intp)
        composed = np.concatenate([_THEN.reshape(-1)[pairs[:, 0] * len(_EFFECTS) + pairs[:, 1]], odd])
    return then(_EFFECTS[int(composed[0])], last)


@dataclass(frozen=True)
class BlockScan:
    """A block of a file, to be scanned on any machine that has the file."""

    path: AnyPath
    start: int
    stop: int
    delimiter: str

    def __call__(self) -> Effect:
        effect = NOTHING
        with self.path.open("rb") as file:
            for window in _windows(file, self.start, self.stop):
                effect = then(effect, effect_of(window, self.delimiter))
        return effect


@dataclass(frozen=True)
class CsvPart:
    """Some whole rows of a file, which are read behind its header."""

    header: bytes
    start: int
    stop: int

    def open(self, path: AnyPath) -> BinaryIO:
        return cast(BinaryIO, _Part(path, self))


Do = Callable[[Sequence[Callable[[], object]]], list[object]]


def scans_of(path: AnyPath, delimiter: str, block: int) -> list[BlockScan]:
    """The rows of a file in blocks of about so many bytes; none where there is nothing after the header."""
    size, begin = path.stat().st_size, _header_end(path, delimiter)
    if begin is None:
        return []
    bounds = [*range(begin, size, max(1, block)), size]
    return [BlockScan(path, start, stop, delimiter) for start, stop in pairwise(bounds)]


def parts_of(scans: Sequence[BlockScan], effects: Iterable[Effect]) -> list[CsvPart]:
    """The blocks, their ends moved to the next line end that is not inside quotes; none of them empty."""
    path, delimiter, begin, size = scans[0].path, scans[0].delimiter, scans[0].start, scans[-1].stop
    with path.open("rb") as file:
        header = file.read(begin).rstrip(b"\r\n") + b"\n"  # a lone CR would take an LF after it for its own
        cuts, state = [begin], START
        for scan, effect in zip(scans, effects, strict=True):
            state = effect[state]
            if scan.stop < size and scan.stop > cuts[-1]:
                cuts.append(_next_row(file, scan.stop, size, state, delimiter))
    bounds = dict.fromkeys([*cuts, size])
    return [CsvPart(header, start, stop) for start, stop in pairwise(bounds)]


def _header_end(path: AnyPath, delimiter: str) -> int | None:
    size = path.stat().st_size
    with path.open("rb") as file:
        begin = len(_BOM) if file.read(len(_BOM)) == _BOM else 0
        end = _line_end(_windows(file, begin, size), START, delimiter)
    return None if end is None or begin + end >= size else begin + end


def _next_row(file: BinaryIO, at: int, size: int, state: int, delimiter: str) -> int:
    """Where the first row begins that begins at a place or after it; the end of the file where none does."""
    file.seek(at - 1)
    before, here = file.read(2)
    if state == START and before in (_LF, _CR):
        return at + (before == _CR and here == _LF)
    end = _line_end(_windows(file, at, size), state, delimiter)
    return size if end is None else at + end


def _line_end(windows: Iterable[bytes], state: int, delimiter: str) -> int | None:
    """How many bytes there are up to the next row, from a state on; None where no line ends."""
    ends, done, waiting = re.compile(b"[\r\n" + re.escape(delimiter.encode()) + b"]"), 0, False
    for window in windows:
        if waiting:  # for the LF that may belong to a CR
            return done + (window[0] == _LF)
        at = 0
        while at < len(window):
            if state == QUOTED:
                if (at := window.find(b'"', at) + 1) == 0:
                    break
                state = AFTER_QUOTE
                continue
            if window[at] == _MARK and state != VALUE:
                state, at = QUOTED, at + 1
                continue
            match = ends.search(window, at) if state == VALUE else None
            if state == VALUE and match is None:
                break
            at = at if match is None else match.start()
            byte, at = window[at], at + 1
            if byte == _LF:
                return done + at
            if byte == _CR and at < len(window):
                return done + at + (window[at] == _LF)
            waiting = byte == _CR
            state = START if byte == ord(delimiter) else VALUE
        done += len(window)
    return done if waiting else None


def _windows(file: BinaryIO, start: int, stop: int) -> Iterator[bytes]:
    file.seek(start)
    while start < stop and (window := file.read(min(_WINDOW, stop - start))):
        start += len(window)
        yield window


class _Part(ByteReader):
    """The bytes of a part behind those of the header."""

    def __init__(self, path: AnyPath, part: CsvPart) -> None:
        self._file = cast(BinaryIO, path.open("rb"))
        self._file.seek(part.start)
        self._head, self._left = part.header, part.stop - part.start

    def readall(self) -> bytes:
        return self.read(len(self._head) + self._left)

    def read(self, size: int = -1) -> bytes:
        """As many as are asked for, as long as there are: where a reader's buffers end is not decided here."""
        size = len(self._head) + self._left if size < 0 else size
        head, self._head = self._head[:size], self._head[size:]
        rows = self._file.read(min(size - len(head), self._left))
        self._left -= len(rows)
        return head + rows

    def close(self) -> None:
        self._file.close()
        super().close()
