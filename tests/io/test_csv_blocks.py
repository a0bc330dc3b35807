"""CSV files in blocks: cut anywhere, their rows are those that the reader finds in the whole file."""

from __future__ import annotations

import codecs
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from pramana.errors import SourceError
from pramana.io import csv_blocks, pieces
from pramana.io.csv_blocks import effect_of, is_cuttable, parts_of, scans_of, then
from pramana.io.pieces import Cut, pieces_of
from pramana.io.source import Source

NAMES = ["c1", "c2", "c3"]


def in_turn(work: Sequence[Callable[[], object]]) -> list[object]:
    return [item() for item in work]


def hostile(draw: random.Random) -> tuple[bytes, str, list[str]]:
    """A CSV file as nobody should write it: its bytes, its encoding and its columns."""
    names = NAMES[: draw.randint(1, 3)]
    line_end = draw.choice(["\n", "\r", "\r\n"])
    tokens = ['"', '""', ",", ";", "\n", "\r", "\r\n", "a", "b ", "é", "\ufeff", 'x"y']

    def cell() -> str:
        text = "".join(
            draw.choice(["a", '"', ",", "\n", "\r", "\r\n", "", "é"]) for _ in range(draw.randint(0, 4))
        )
        plain = draw.random() < 0.4 and not set(text) & set(',\r\n"')
        return text if plain else '"' + text.replace('"', '""') + '"'

    if draw.random() < 0.4:
        body = "".join(draw.choice(tokens) for _ in range(draw.randint(1, 25)))
    else:
        ends = [line_end, line_end, "\n", "\r\n", "\r", line_end * 2]
        rows = [",".join(cell() for _ in names) + draw.choice(ends) for _ in range(draw.randint(1, 5))]
        body = "".join(rows)
        if draw.random() < 0.3:
            body = body.rstrip("\r\n")
    encoding = draw.choice(["utf-8", "cp1252"])
    head = ",".join([f'"{names[0]}"', *names[1:]] if draw.random() < 0.3 else names)
    mark = codecs.BOM_UTF8 if encoding == "utf-8" and draw.random() < 0.3 else b""
    return mark + (head + line_end + body).encode(encoding, "replace"), encoding, names


def row_starts(data: bytes) -> tuple[int, set[int]]:
    """Where the rows after the header begin, byte by byte as Arrow's lexer goes (its end is one of them)."""
    at = 3 if data.startswith(codecs.BOM_UTF8) else 0
    inside, begins, starts = False, True, set[int]()
    while at < len(data):
        byte, at = data[at : at + 1], at + 1
        if inside:
            if byte == b'"' and data[at : at + 1] == b'"':
                at += 1
            elif byte == b'"':
                inside, begins = False, False
        elif byte == b'"' and begins:
            inside = True
        elif byte in (b"\n", b"\r"):
            at += byte == b"\r" and data[at : at + 1] == b"\n"
            starts.add(at)
            begins = True
        else:
            begins = byte == b","
    return min(starts, default=len(data)), starts | {len(data)}


def test_blocks_of_every_size_begin_where_rows_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row start is found, and nothing else: blocks of one byte are cut at all of them."""
    draw, path = random.Random(5), tmp_path / "t.csv"
    for number in range(150):
        monkeypatch.setattr(csv_blocks, "_WINDOW", (1, 3, 1 << 22)[number % 3])
        data, _, _ = hostile(draw)
        path.write_bytes(data)
        begin, starts = row_starts(data)
        for block in range(1, len(data) + 1):
            scans = scans_of(path, ",", block)
            if begin == len(data):
                assert scans == []
                continue
            parts = parts_of(scans, [scan() for scan in scans])
            assert [part.stop for part in parts[:-1]] == [part.start for part in parts[1:]]
            assert (parts[0].start, parts[-1].stop) == (begin, len(data))
            assert {part.start for part in parts} <= starts
            if block == 1:
                assert {part.start for part in parts} == starts - {len(data)}


def read(path: Path, names: list[str], encoding: str | None, wanted: int | None) -> list[dict[str, object]] | str:
    """The rows, whole or in pieces, or what is wrong with them."""
    source = Source(path=path, delimiter=",", encoding=encoding, trim=False)
    try:
        if wanted is None:
            table = source.read(names)
            rows: list[dict[str, object]] = pa.table({n: table.column(n) for n in names}).to_pylist()
            return rows
        found = [t for piece in pieces_of(source, names, Cut(wanted), in_turn) for t in piece.read(names)]
        return [row for table in found for row in table.to_pylist()] or "none"
    except SourceError as error:
        return str(error)


def test_the_rows_are_those_of_the_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "LEAST_BLOCK", 1)
    draw, path, readable = random.Random(6), tmp_path / "t.csv", 0
    for _ in range(40):
        data, encoding, names = hostile(draw)
        path.write_bytes(data)
        stated = draw.choice([None, encoding])
        whole = read(path, names, stated, None)
        readable += isinstance(whole, list)
        for wanted in sorted({1, 2, 3, len(data) // 2, len(data)}):
            found = read(path, names, stated, max(1, wanted))
            assert found == whole or (isinstance(whole, str) and isinstance(found, str)), (data, wanted)
    assert readable > 15


def test_a_long_value_and_large_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that begin and end inside one value, and a state that is told from thousands of quotes."""
    monkeypatch.setattr(pieces, "LEAST_BLOCK", 1)
    long = '"' + 'x""\n,"",\r\n' * 3_000 + '"'
    lines = [f'{i},"a ""{i}"" b",{long if i == 500 else i}' for i in range(1_000)]
    path = tmp_path / "t.csv"
    path.write_text("c1,c2,c3\n" + "\n".join(lines) + "\n", newline="")
    whole = read(path, NAMES, None, None)
    assert len(whole) == 1_000
    for wanted in (2, 7, 60):
        assert read(path, NAMES, None, wanted) == whole
    source = Source(path=path)
    assert 20 < len(pieces_of(source, NAMES, Cut(60), in_turn)) < 60  # some lie inside the long value


def test_effects_compose() -> None:
    draw = random.Random(7)
    for _ in range(300):
        data = bytes(draw.choice(b'"",;\n\rab') for _ in range(draw.randint(0, 40)))
        cut = draw.randint(0, len(data))
        assert effect_of(data, ";") == then(effect_of(data[:cut], ";"), effect_of(data[cut:], ";"))


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-32-be", "utf-7", "shift_jis", "gb18030", "iso2022_jp", "cp037"]
)
def test_what_cannot_be_cut_is_one_piece(encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "LEAST_BLOCK", 1)
    assert not is_cuttable(codecs.lookup(encoding).name)
    path = tmp_path / "t.csv"
    path.write_text("c1,c2\n1,2\n3,4\n", encoding=encoding)
    assert len(pieces_of(Source(path=path, encoding=encoding, delimiter=","), ["c1"], Cut(8), in_turn)) == 1


def test_encodings_that_are_cut_have_one_byte_for_what_matters() -> None:
    """No other letter has a byte that looks like a quote, a delimiter or a line end."""
    names = ["cp1250", "cp1252", "latin-1", "iso8859-15", "koi8-r", "mac-roman", "cp437", "cp866", "ascii"]
    special = '",;\t|:^~ \r\n'
    for name in names:
        assert is_cuttable(codecs.lookup(name).name), name
        letters = [bytes([b]).decode(name, "replace") for b in range(256)]
        assert all(len(letter) == 1 for letter in letters)
        assert all([b for b in range(256) if letters[b] == c] == [ord(c)] for c in special), name
    assert is_cuttable(codecs.lookup("utf8").name)


def test_a_packed_file_is_one_piece_and_encodings_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gzip

    monkeypatch.setattr(pieces, "LEAST_BLOCK", 1)
    text = "c1,c2\n" + "é,1\n" * 50
    (tmp_path / "1.csv.gz").write_bytes(gzip.compress(text.encode("cp1252")))
    (tmp_path / "2.csv").write_bytes(text.encode("cp1252"))
    source = Source(path=tmp_path, format="csv")
    found = pieces_of(source, ["c1"], Cut(10), in_turn)
    assert len([p for p in found if p.part is None]) == 1 and len(found) > 4
    assert source.notes.encodings == {"cp1252"}
    assert sum(t.num_rows for p in found for t in p.read(["c1"])) == 100
