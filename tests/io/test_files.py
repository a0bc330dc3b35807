"""What files are: encodings that can be read, and kinds that are named when they cannot."""

from __future__ import annotations

import bz2
import encodings.aliases
import gzip
import io
import lzma
import sqlite3
import zipfile
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from pramana.errors import SourceError
from pramana.io.source import Source

TEXT = 'sex,name\nF,"x, y"\nM,z\n'
NO_TEXT = {"base64_codec", "bz2_codec", "hex_codec", "quopri_codec", "rot_13", "uu_codec", "zlib_codec"}
OTHERS = [
    "punycode",
    "idna",
    "undefined",
    "unicode_escape",
    "raw_unicode_escape",
    "utf_7",
    "utf-8-sig",
    "no such",
    "",
]
ENCODINGS = sorted({*encodings.aliases.aliases, *encodings.aliases.aliases.values(), *OTHERS})


def test_every_codec_python_knows_reads_the_table_or_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    read = set()
    for encoding in ENCODINGS:
        try:
            path.write_bytes(TEXT.encode(encoding))
        except (LookupError, UnicodeError):
            path.write_text(TEXT)
        source = Source(path=path, encoding=encoding)
        try:
            table = source.read(["name", "sex"])
            batches = list(source.batches(["name", "sex"], 10))
        except SourceError as refusal:
            assert "encoding" in str(refusal), encoding
            continue
        read.add(encodings.aliases.aliases.get(encoding, encoding))
        assert table.column("sex").to_pylist() == ["F", "M"], encoding
        assert table.column("name").to_pylist() == ["x, y", "z"], encoding
        assert [value for batch in batches for value in batch.column("sex").to_pylist()] == ["F", "M"], encoding
    assert not read & (NO_TEXT | {"punycode", "idna", "undefined"})
    assert {"utf_8", "latin_1", "cp1252", "utf_16", "utf_32", "shift_jis", "gb18030", "cp037"} <= read


def zipped(*names: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for name in names:
            file.writestr(name, "x")
    return content.getvalue()


def written(suffix: str, folder: Path) -> bytes:
    """As their libraries write them, where there is one here."""
    path = folder / f"made.{suffix}"
    table = pa.table({"sex": ["F", "M"]})
    if suffix == "dta":
        pd.DataFrame({"sex": ["F", "M"]}).to_stata(path, version=114)
    elif suffix == "dta 118":
        pd.DataFrame({"sex": ["F", "M"]}).to_stata(path, version=118)
    elif suffix == "feather":
        pyarrow.feather.write_feather(table, path)
    elif suffix == "parquet":
        pq.write_table(table, path)
    elif suffix == "zst":
        with pa.output_stream(path, compression="zstd") as stream:
            stream.write(TEXT.encode())
    else:
        with sqlite3.connect(path) as base:
            base.execute("CREATE TABLE t (x)")
        base.close()
    return path.read_bytes()


KINDS: dict[str, tuple[bytes | str, str]] = {
    "xlsx": (zipped("[Content_Types].xml", "xl/workbook.xml"), "an Excel workbook"),
    "ods": (zipped("mimetype", "content.xml"), "an OpenDocument file"),
    "zip": (zipped("people.csv"), "a zip file"),
    "half a zip": (zipped("people.csv")[:20], "a zip file"),
    "xls": (bytes.fromhex("d0cf11e0a1b11ae1") + bytes(40), "an old Excel workbook"),
    "gz": (gzip.compress(TEXT.encode()), "a gzip file"),
    "bz2": (bz2.compress(TEXT.encode()), "a bzip2 file"),
    "xz": (lzma.compress(TEXT.encode()), "an xz file"),
    "zst": ("zst", "a zstd file"),
    "utf-16": (TEXT.encode("utf-16"), "text in UTF-16"),
    "utf-16, other end": ("\ufeff".encode("utf-16-be") + TEXT.encode("utf-16-be"), "text in UTF-16"),
    "utf-32": (TEXT.encode("utf-32"), "text in UTF-32"),
    "sav": (b"$FL2@(#) SPSS DATA FILE" + bytes(60), "an SPSS file"),
    "zsav": (b"$FL3@(#) SPSS DATA FILE" + bytes(60), "a compressed SPSS file"),
    "dta": ("dta", "a Stata file"),
    "dta 118": ("dta 118", "a Stata file"),
    "sas7bdat": (
        bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c181f1011") + bytes(60),
        "a SAS file",
    ),
    "xpt": (b"HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!0000000000000000  ", "a SAS transport file"),
    "feather": ("feather", "an Arrow file"),
    "sqlite": ("sqlite", "an SQLite database"),
}


@pytest.mark.parametrize("content, name", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_of_another_kind_is_named(content: bytes | str, name: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "people"
    path.write_bytes(content if isinstance(content, bytes) else written(content, tmp_path))
    source = Source(path=path, format=kind)
    if kind == "csv" and (name.startswith("text in") or name in ("a gzip file", "a zstd file")):
        assert source.read(["sex"]).column("sex").to_pylist() == ["F", "M"]
        source = Source(path=path, format=kind, encoding="utf-8")
        if name.startswith("a "):  # packed text is read, whatever is said of the text
            return
    for read in (source.read, lambda n: list(source.batches(n, 10))):
        with pytest.raises(
            SourceError, match=f"must be a {kind}".replace("csv", "CSV").replace("par", "Par")
        ) as caught:
            read(["sex"])
        assert caught.value.got == name and caught.value.hint


def test_parquet_is_no_csv_and_csv_no_parquet(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(written("parquet", tmp_path))
    with pytest.raises(SourceError, match=r'a Parquet file\. Set format = "parquet"'):
        Source(path=tmp_path / "a", format="csv").read(["sex"])
    (tmp_path / "a").write_text(TEXT)
    with pytest.raises(SourceError, match="something else or damaged data"):
        Source(path=tmp_path / "a", format="parquet").read(["sex"])


@pytest.mark.parametrize("name", ["PAR1", "ARROW1", "FEA1", "BZh", "12345678DUCK", "PK"])
def test_a_column_may_be_called_like_a_kind_of_file(name: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"{name},sex\n1,F\n")
    assert Source(path=tmp_path / "t.csv").read([name]).column(name).to_pylist() == ["1"]
