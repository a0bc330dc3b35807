"""CSV files in the plain form, read on every core; texts arrive as dictionaries, as the library's reader has them.

A file is cut into blocks at the ends of lines, quotes seen, and each block is read into numbers of the texts that
occur in it. What is not plain (a quote in the middle of a cell, a line with too few cells, bytes that are no text)
is told, and left to the library's reader: it knows what to make of it, or how to refuse it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from pramana.randomness import available_cores, translated
from pramana.sources.arrays import numbers
from pramana.sources.lines import _lines

_BLOCK = 1 << 22
_MARK = b"\xef\xbb\xbf"  # at the beginning of some files in UTF-8


class UnusualLinesError(Exception):
    """The lines are not in the plain form. Nobody but a reader of CSV sees this."""


@dataclass(frozen=True)
class PlainCsv:
    """How lines are read: the columns of the file, those that are wanted, and which texts stand for none."""

    present: Sequence[str]
    wanted: Sequence[str]
    delimiter: str
    missing: frozenset[bytes]
    block: int = _BLOCK

    def batches(self, file: BinaryIO) -> Iterator[pa.RecordBatch]:
        """The rows after the header; raises UnusualLinesError where they are not plain."""
        workers = available_cores()
        with ThreadPoolExecutor(workers) as pool:
            under_way: deque[Future[pa.RecordBatch]] = deque()
            try:
                for lines in self._blocks(file):
                    under_way.append(pool.submit(self._batch, lines))
                    if len(under_way) > workers:
                        yield under_way.popleft().result()
                while under_way:
                    yield under_way.popleft().result()
            finally:
                for future in under_way:
                    future.cancel()

    def _blocks(self, file: BinaryIO) -> Iterator[memoryview]:
        """Whole lines, some megabytes at a time."""
        rest, first = memoryview(b""), True
        while (data := self._longer(rest, file)) is not None:
            end = _lines.last_end(data)
            if not end and len(data) > 2 * self.block:
                raise UnusualLinesError
            start = 0
            if first and end:
                start, first = _end_of_header(data), False
            if end > start:
                yield data[start:end]
            rest = data[end:]
        if rest:
            if first:
                raise UnusualLinesError
            yield rest

    def _longer(self, rest: memoryview, file: BinaryIO) -> memoryview | None:
        """A line that was cut and what follows it; None at the end of the file."""
        data = memoryview(np.empty(len(rest) + self.block, np.uint8))  # type: ignore[arg-type] # has a buffer
        data[: len(rest)] = rest
        count = file.readinto(data[len(rest) :])  # type: ignore[attr-defined] # every file that we open has it
        return data[: len(rest) + count] if count else None

    def _batch(self, lines: memoryview) -> pa.RecordBatch:
        places = np.array([self._place(name) for name in self.present], np.int32)
        found = _lines.read_lines(lines, ord(self.delimiter), places, len(self.present) > 1)
        if found is None:
            raise UnusualLinesError
        columns = [self._column(np.frombuffer(codes, np.uint16), entries) for codes, entries in found[1]]
        return pa.RecordBatch.from_arrays(columns, names=list(self.wanted))

    def _place(self, name: str) -> int:
        return self.wanted.index(name) if name in self.wanted else -1

    def _column(self, codes: np.ndarray, entries: Sequence[bytes]) -> pa.DictionaryArray:
        cells = [entry.replace(b'""', b'"') if b'"' in entry else entry for entry in entries]
        valid = None
        if not self.missing.isdisjoint(cells):
            told = np.array([cell not in self.missing for cell in cells], np.bool_)
            valid, places = told[codes], np.maximum(np.cumsum(told) - 1, 0).astype(np.uint16)
            cells = [cell for cell in cells if cell not in self.missing]
            renumbered = np.empty_like(codes)
            translated(codes, places, renumbered)
            codes = renumbered
        return pa.DictionaryArray.from_arrays(numbers(codes, valid), _texts(cells))


def _end_of_header(lines: memoryview) -> int:
    """Where the first line ends; it may hold line ends within quotes."""
    data = bytes(lines)
    end = data.find(b"\n")
    while data.count(b'"', 0, end) % 2:
        end = data.find(b"\n", end + 1)
    if b"\r" in data[:end].removesuffix(b"\r") or (data.startswith(_MARK) and b'"' in data[:end]):
        raise UnusualLinesError
    return end + 1


def _texts(cells: Sequence[bytes]) -> pa.StringArray:
    try:
        for cell in cells:
            cell.decode()
    except UnicodeDecodeError:
        raise UnusualLinesError from None
    ends = np.cumsum([0, *map(len, cells)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(cells), pa.py_buffer(ends), pa.py_buffer(b"".join(cells)))
