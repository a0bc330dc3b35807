"""How large a certificate may be: what a hostile one takes of memory is bounded, and honest ones are read."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import pramana
from pramana.bundle import certificate as form
from pramana.bundle.certificate import MOST_BYTES, MOST_VALUES, Certificate, check_json_size
from pramana.bundle.parts import MOST_PARTS, Part, PartSet, part_name
from pramana.errors import BundleError

MEASURED = """
import resource, sys
import pramana
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    pramana.Bundle.open(sys.argv[1])
except pramana.PramanaError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""


@pytest.fixture
def published(desk: Path) -> Path:
    pramana.release("recipe.toml", "published", even_if_useless=True)
    return desk / "published"


def rewritten(published: Path, mechanism: bytes) -> None:
    path = published / "certificate.json"
    statement = json.loads(path.read_text())
    statement["mechanism"] = {"x": "@"}
    path.write_bytes(json.dumps(statement).encode().replace(b'"@"', mechanism))


@pytest.mark.parametrize("piece", [b"[]", b'{"a":[{"b":1}]}', b"1.5", b'""'])
def test_a_hostile_certificate_is_refused_before_it_is_decoded(piece: bytes, published: Path) -> None:
    """60 MB took 2.9 GB."""
    rewritten(published, b"[" + b",".join([piece] * (60_000_000 // (len(piece) + 1))) + b"]")
    command = [sys.executable, "-c", MEASURED, str(published)]
    told, megabytes = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert f"must have at most {MOST_VALUES:,} values, got at least" in told
    assert int(megabytes) < 400


def test_the_command_says_so_in_a_line(published: Path, refused: Callable[..., str]) -> None:
    rewritten(published, b"[" + b"1," * MOST_VALUES + b"1]")
    assert "values, got at least" in refused("verify", str(published))
    with (published / "certificate.json").open("r+b") as file:
        file.truncate(MOST_BYTES + 1)
    assert f"must have at most {MOST_BYTES:,} bytes, got at least" in refused("verify", str(published))


def test_texts_are_no_values_however_they_are_written() -> None:
    label = rb'"[10, 20), [\"{, \\", '
    honest = label * (MOST_VALUES // 2)
    check_json_size(honest, "x")
    with pytest.raises(BundleError, match="values"):
        check_json_size(honest + b'"' + b"," * MOST_VALUES, "x")  # a text that does not end hides nothing
    with pytest.raises(BundleError, match="values"):
        check_json_size(b'"a","b",' * MOST_VALUES, "x")


def test_signs_outside_of_texts_are_counted_as_a_reader_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text of six of the signs that matter, in blocks of any size."""
    for size in (1, 2, 5):
        monkeypatch.setattr(form, "_BLOCK", size)
        for letters in itertools.product(b'"\\,[', repeat=6):
            written, within, escaped, outside = bytes(letters), False, False, 0
            for letter in written:
                if within and not escaped and letter == ord("\\"):
                    escaped = True
                    continue
                if letter == ord('"') and not escaped:
                    within = not within
                elif not within and letter == ord("\\"):
                    break  # no JSON: whoever decodes it gets no further
                elif not within:
                    outside += 1
                escaped = False
            else:
                expected = written.count(b",") + written.count(b"[") if within else outside
                assert form._signs_outside_texts(written) == expected, written


def test_another_encoding_is_refused(published: Path, refused: Callable[..., str]) -> None:
    """In UTF-16 a letter may look like a quote, and hide what follows it."""
    path = published / "certificate.json"
    path.write_bytes(path.read_text().encode("utf-16"))
    assert "must be JSON" in refused("verify", str(published))


def test_a_set_of_the_most_parts_is_read(published: Path, tmp_path: Path) -> None:
    certificate = Certificate.read(published / "certificate.json")
    files = tuple(Part(part_name(n, "parquet"), 1 << 20, 1 << 30, "f" * 64) for n in range(MOST_PARTS))
    parts = PartSet(1 << 20, files)
    many = replace(certificate, parts=parts, records=parts.records, content=parts.root, output="parquet")
    path = tmp_path / "certificate.json"
    path.write_text(many.text())
    assert path.stat().st_size < MOST_BYTES // 8
    assert Certificate.read(path) == many


def test_a_certificate_that_nobody_could_read_is_not_written(
    published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = Certificate.read(published / "certificate.json")
    monkeypatch.setattr(form, "MOST_VALUES", 10)
    with pytest.raises(BundleError, match="The certificate must have at most 10 values"):
        certificate.text()


@pytest.mark.parametrize("name", ["../x", "/x", "..", ".", "a/b", "x\n", "certificate.json", "y" * 101, ""])
def test_files_of_a_certificate_have_plain_names(name: str, published: Path, refused: Callable[..., str]) -> None:
    path = published / "certificate.json"
    statement = json.loads(path.read_text())
    statement["files"][name] = statement["files"]["report.html"]
    path.write_text(json.dumps(statement))
    assert "must have plain names of their own, got 1 that" in refused("verify", str(published))
