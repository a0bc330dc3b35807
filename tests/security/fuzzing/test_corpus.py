"""Every kept input, read again: those that were found by fuzzing once, and the seeds it starts from."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.security.fuzzing.readers import CORPUS, READERS

UNWRITABLE = "sas7bdat"  # no library here writes such a file


@pytest.mark.parametrize("name", READERS)
def test_kept_inputs_are_taken_or_refused(name: str, tmp_path: Path) -> None:
    """And one is taken: a reader that refuses everything would be fuzzed in vain."""
    reader = READERS[name]
    inputs = sorted((CORPUS / name).iterdir(), key=lambda path: (path.name.startswith("found"), path.name))
    taken = []
    for path in inputs[: 1 if reader.in_a_process else None]:  # `make fuzz` has all of those
        try:
            taken.append(reader.attempt(path.read_bytes(), tmp_path))
        except Exception as error:
            raise AssertionError(f"{name} {path.name}: {type(error).__name__}") from error
    assert any(taken) or name == UNWRITABLE


def test_the_corpus_is_small_and_every_reader_has_one() -> None:
    sizes = [path.stat().st_size for path in CORPUS.rglob("*") if path.is_file()]
    assert sum(sizes) < 1 << 20 and max(sizes) <= 16_384
    assert {path.name for path in CORPUS.iterdir()} == set(READERS)


def test_a_fault_is_not_taken_for_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def divides(path: object) -> None:
        del path
        raise ZeroDivisionError

    monkeypatch.setattr("tests.security.fuzzing.readers.Filter.parse", divides)
    with pytest.raises(ZeroDivisionError):
        READERS["filter"].attempt(b"sex = F", tmp_path)
