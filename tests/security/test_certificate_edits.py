"""Edited certificates, digests made again: no internal error, and no edit of what is promised goes unnoticed."""

from __future__ import annotations

import random
import time
import tracemalloc
from pathlib import Path

import pytest
from tests.security.bundles import (
    CASES,
    certificate_text,
    copied,
    failed,
    made,
    shown_texts,
    statement_of,
    write_report_again,
    write_statement,
)
from tests.security.edits import dotted, edits, may_stay, with_repeated_keys

from pramana.app.main import run

SHARE = 0.02  # of all edits; `make fuzz` tries every one


def unnoticed(
    bundle: Path, copy: Path, share: float, seed: str, until: float = float("inf")
) -> tuple[list[str], int]:
    """The edits that leave a bundle valid and must not, and how many were tried."""
    statement, shown, draw = statement_of(bundle), shown_texts(bundle), random.Random(seed)
    report = (bundle / "report.html").read_bytes()
    kept, tried = [], 0
    chosen = [edit for edit in edits(statement) if draw.random() < share]
    draw.shuffle(chosen)
    for place, what, edited in chosen:
        if time.monotonic() > until:
            break
        tried += 1
        write_statement(copy, edited)
        wrong = failed(copy)
        if wrong == {"report"}:  # a forger writes the report again as well
            write_report_again(copy)
            wrong = failed(copy)
            (copy / "report.html").write_bytes(report)
        if not wrong and not may_stay(place, statement, edited, shown):
            kept.append(f"{dotted(place)} {what}")
    return kept, tried


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_edits_are_noticed(name: str, kind: str, tables: Path, tmp_path: Path) -> None:
    bundle = made(name, kind, tables)
    assert failed(bundle) == set()
    kept, tried = unnoticed(bundle, copied(bundle, tmp_path / "copy"), SHARE, f"{name} {kind}")
    assert kept == [] and tried > 10


@pytest.mark.parametrize("name", ["retention k", "generalize labels"])
def test_a_key_that_occurs_twice_is_no_certificate(name: str, tables: Path, tmp_path: Path) -> None:
    copy = copied(made(name, "csv", tables), tmp_path / "copy")
    tried = 0
    for text in with_repeated_keys((copy / "certificate.json").read_text()):
        (copy / "certificate.json").write_text(text)
        assert failed(copy) == {"refused"}
        tried += 1
    assert tried > 20


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e999", "1" * 5000])
def test_numbers_that_json_does_not_have(
    number: str, tables: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    copy = copied(made("matrix", "csv", tables), tmp_path / "copy")
    text = (copy / "certificate.json").read_text()
    (copy / "certificate.json").write_text(text.replace('"records": 300', f'"records": {number}'))
    assert run(["verify", str(copy)]) == 2
    assert capfd.readouterr().err.count("\n") == 1


def test_each_kind_of_failure_is_said_in_its_own_lines(
    tables: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The command: 1 with a list of checks, or 2 with one line; never a traceback, never "valid"."""
    bundle = made("retention epsilon", "csv", tables)
    statement, copy, draw, codes = statement_of(bundle), copied(bundle, tmp_path / "copy"), random.Random(1), set()
    for place, what, edited in edits(statement):
        if draw.random() >= 0.03 or may_stay(place, statement, edited, shown_texts(bundle)):
            continue
        write_statement(copy, edited)
        code = run(["verify", str(copy)])
        shown = capfd.readouterr()
        codes.add(code)
        assert "Traceback" not in shown.err and "internal error" not in shown.err
        if code == 2:
            assert shown.out == "" and shown.err.count("\n") == 1
        else:
            assert code == 1 and "The bundle is NOT valid." in shown.out.splitlines(), (dotted(place), what)
    assert codes == {1, 2}


LARGE = 1 << 31
HOSTILE = {
    "a channel": ("mechanism.law.channels.sex", {"kind": "retention", "size": LARGE, "step": "1"}),
    "blocks": ("mechanism.law.channels.sex", {"kind": "blocks", "size": LARGE, "blocks": []}),
    "records": ("records", (1 << 53) - 1),
    "levels": ("mechanism.levels", [LARGE]),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_small_certificate_takes_little_memory_and_time(what: str, tables: Path, tmp_path: Path) -> None:
    copy = copied(made("retention k", "parquet", tables), tmp_path / "copy")
    place, value = HOSTILE[what]
    statement = statement_of(copy)
    inner = statement
    for key in place.split(".")[:-1]:
        inner = inner[key]
    inner[place.split(".")[-1]] = value
    (copy / "certificate.json").write_text(certificate_text(statement))
    failed(copy)  # modules load
    tracemalloc.start()
    begun = time.monotonic()
    assert failed(copy)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 << 20 and time.monotonic() - begun < 20
