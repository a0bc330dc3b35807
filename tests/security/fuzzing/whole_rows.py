"""Random calls of the kernels that move whole rows: packed into words, as CSV lines, and as pages of Parquet."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.security.fuzzing.calls import Array, Draw, codes, hostile, length

from pramana.randomness import _order
from pramana.sources.lines import _lines
from pramana.sources.parquet import _pages


def rows_packed(draw: Draw) -> None:
    n = length(draw)
    kinds: list[Any] = draw.choice([[np.uint8] * 8, [np.uint16, np.uint32, np.uint8], [np.uint32] * 2, []])
    given = [codes(draw, n, 200, kind) for kind in kinds]
    rows, out = np.zeros(n, np.uint64), [np.empty(n, kind) for kind in kinds]
    _order.pack_rows(given, rows)
    chosen = np.array([draw.randrange(n) for _ in range(n)], np.uint32)
    _order.gather_rows(rows, chosen, out)
    assert all((found == column[chosen]).all() for found, column in zip(out, given, strict=True))
    hostile(draw, _order.pack_rows, [given, rows])
    hostile(draw, _order.gather_rows, [rows, chosen, out])
    table = codes(draw, 256, 200)
    for column in given:
        translated = np.empty(n, table.dtype)
        _order.translate(column, table, translated)
        assert (translated == table[column]).all()
        hostile(draw, _order.translate, [column, table, translated])


# ---------------------------------------------------------------- lines of CSV


def lines(draw: Draw) -> None:
    """Cells that are written, cut and read are the cells; other bytes are refused or read, and nothing else."""
    n, texts = length(draw), ["", "a", 'q"q', "x" * 15, "y" * 16, "z" * 17, "line\nend", "a,b", "12345678"]
    columns = [codes(draw, n, len(texts)) for _ in range(draw.choice([1, 2, 5]))]
    given = [_cells(texts, b"\n" if column is columns[-1] else b",") for column in columns]
    arguments = [(column, *cells) for column, cells in zip(columns, given, strict=True)]
    out = np.zeros(sum(int(np.diff(ends)[column].sum()) for column, _, ends in arguments) + 16, np.uint8)
    data = bytes(out[: _lines.write_lines(arguments, out)])
    expected = [
        ",".join('"' + texts[code].replace('"', '""') + '"' for code in row) for row in zip(*columns, strict=True)
    ]
    assert data == "".join(line + "\n" for line in expected).encode()
    assert _lines.last_end(data) == len(data)
    wanted = np.array([draw.choice([-1, place]) for place in range(len(columns))], np.int32)
    wanted = np.cumsum(wanted >= 0, dtype=np.int32) * (wanted >= 0) - 1
    read = _lines.read_lines(data, ord(","), wanted.astype(np.int32), True)
    assert read is not None and read[0] == n
    for place, column in zip(wanted.tolist(), columns, strict=True):
        if place >= 0:
            numbers, entries = read[1][place]
            shown = [entry.replace(b'""', b'"').decode() for entry in entries]
            assert [shown[number] for number in np.frombuffer(numbers, np.uint16)] == [
                texts[code] for code in column
            ]
    torn = bytearray(data)
    for _ in range(draw.randrange(4)):
        torn[draw.randrange(len(torn) + 1) :] = draw.choice([b"", b'"', b",\r\n", b"\n\n", draw.randbytes(9)])
    _lines.read_lines(bytes(torn), ord(","), wanted.astype(np.int32), draw.random() < 0.5)
    hostile(draw, _lines.read_lines, [bytes(torn), ord(","), wanted.astype(np.int32), True])
    hostile(draw, _lines.last_end, [bytes(torn)])
    hostile(draw, _lines.write_lines, [arguments, out])


def _cells(texts: list[str], after: bytes) -> tuple[bytes, Array]:
    cells = [b'"' + text.encode().replace(b'"', b'""') + b'"' + after for text in texts]
    return b"".join(cells) + bytes(16), np.cumsum([0, *map(len, cells)], dtype=np.int64)


# ---------------------------------------------------------------- pages of Parquet


def pages(draw: Draw) -> None:
    """What is packed is unpacked to the codes, page by page; no byte is written beyond the last page's room."""
    n, size = length(draw), draw.choice([1, 2, 3, 8, 18, 200, 256])
    width = draw.choice([max(1, (size - 1).bit_length()), 8, 9, 17, 32])
    kind = draw.choice([np.uint8, np.uint16, np.uint32])
    given = np.repeat(codes(draw, n, size, kind), [draw.choice([1, 1, 2, 7, 8, 9, 30]) for _ in range(n)])
    cuts = sorted(draw.randrange(len(given) + 1) for _ in range(draw.randrange(3)))
    ends, lengths = np.array([*cuts, len(given)], np.int64), np.arange(size, dtype=np.int64)
    out, sizes = np.zeros(len(given) * 5 + 64 * len(ends), np.uint8), np.zeros(len(ends), np.int64)
    assert _pages.pack(given, width, ends, lengths, out, sizes) == int(given.sum(dtype=np.int64))
    first = place = 0
    for end, held in zip(ends.tolist(), sizes.tolist(), strict=True):
        assert unpacked(out[place : place + held].tobytes(), width, end - first) == given[first:end].tolist()
        first, place = end, place + held
    hostile(draw, _pages.pack, [given, width, ends, lengths, out, sizes])


def unpacked(data: bytes, width: int, count: int) -> list[int]:
    """Runs and packed groups of eight, as apache/parquet-format's Encodings.md has them."""
    values: list[int] = []
    at = 0
    while at < len(data):
        head = shift = 0
        while True:
            byte, at = data[at], at + 1
            head |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        held = (head >> 1) * width if head & 1 else -(-width // 8)
        bits, at = int.from_bytes(data[at : at + held], "little"), at + held
        if head & 1:
            values += [bits >> width * i & (1 << width) - 1 for i in range(8 * (head >> 1))]
        else:
            values += [bits] * (head >> 1)
    assert at == len(data) and 0 <= len(values) - count < 8 and not any(values[count:])
    return values[:count]
