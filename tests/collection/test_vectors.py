"""Kernels and the browser's module follow the published vectors; scripts are what their source builds to."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import needs
from tests.collection.vectors import FILE, content

from pramana.mechanisms.stated import mechanism_from_json

ROOT = Path(__file__).parents[2]
PACKAGE = FILE.parent
CHECKS = Path(__file__).with_name("module_checks.mjs")
COMPILER = needs.NODE_MODULES / ".bin" / "tsc"
BUILT = {  # project -> where its files are kept
    PACKAGE: PACKAGE / "lib",
    ROOT / "src" / "pramana" / "app" / "collector" / "browser": ROOT / "src/pramana/app/collector/static",
    ROOT / "src" / "pramana" / "app" / "studio" / "browser": ROOT / "src/pramana/app/studio/static",
}


class GivenWords:
    """Streams that hold the words of a vector."""

    def __init__(self, words: list[int]) -> None:
        self._words = words

    def fill(self, first: int, out: np.ndarray) -> np.ndarray:
        out[:] = self.words(first, len(out))
        return out

    def words(self, first: int, count: int) -> np.ndarray:
        assert (first, count) == (0, 1)
        return np.array([self._words.pop(0)], np.uint64)


def test_the_stored_vectors_are_those_of_the_reference() -> None:
    assert FILE.read_text() == content(), "python -m tests.collection.vectors writes them again"


def test_the_kernels_follow_the_vectors() -> None:
    stored = json.loads(FILE.read_text())
    assert len(stored["cases"]) > 500
    for case in stored["cases"]:
        columns, law = stored["laws"][case["law"]]["columns"], stored["laws"][case["law"]]["law"]
        ordered = dict(law)
        part = "channels" if law["coin"] == "attribute" else "sizes"
        ordered[part] = {name: law[part][name] for name in columns}
        mechanism = mechanism_from_json(ordered)
        codes = {n: np.array([c], np.uint16) for n, c in zip(columns, case["codes"], strict=True)}
        out = {name: np.zeros(1, np.uint16) for name in columns}
        given = GivenWords([int(word) for word in case["words"]])
        mechanism.publish(lambda *_, given=given: given, 0, codes, out)
        assert [int(out[name][0]) for name in columns] == case["published"], case


def node(check: str) -> Any:
    """What `module_checks.mjs` tells."""
    program = needs.program("node")
    arguments = [CHECKS, check, (PACKAGE / "lib" / "randomise.js").as_uri(), FILE]
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_module_follows_the_vectors_by_itself() -> None:
    told = node("followsVectors")
    assert told["wrong"] == 0 and told["cases"] > 500


def test_what_is_no_law_or_no_record_is_refused() -> None:
    assert set(node("refusesWhatIsNone")) == {"RangeError"}


def test_coins_are_remembered_for_the_same_question_alone() -> None:
    told = node("remembers")
    expected = {
        "same": True, "other": False, "still": True, "forgotten": False, "damaged": True, "none": False,
        "refusing": False, "stored": True,
    }  # fmt: skip
    assert told == {"attribute": expected, "record": expected, "large": False}


@pytest.mark.needs("typescript")
@pytest.mark.parametrize("project", BUILT, ids=lambda p: p.parent.name)
def test_the_committed_scripts_are_what_their_source_builds_to(project: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [str(COMPILER), "-p", str(project), "--outDir", str(tmp_path)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout
    built = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert built
    for name, text in built.items():
        assert (BUILT[project] / name).read_text() == text, f"{name}: `make browser` builds it again"
