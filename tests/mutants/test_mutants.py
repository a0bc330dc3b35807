"""Every mistake of the list still fits the sources, and the runner tells which of them nobody noticed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.mutants.__main__ import TABLE, main
from tests.mutants.injecting import inject
from tests.mutants.mutant import PATCHES, Mutant, PatchError, mutants_of
from tests.mutants.table import renewed

ROOT = Path(__file__).parents[2]
MUTANTS = mutants_of(ROOT)


def test_every_patch_applies_to_the_sources() -> None:
    for mutant in MUTANTS:
        mutant.apply(ROOT, check=True)


def test_the_list_is_long_and_of_both_languages() -> None:
    assert len(MUTANTS) >= 60
    assert sum(mutant.compiled for mutant in MUTANTS) >= 10
    assert sum(any(path.endswith(".py") for path in mutant.changed) for mutant in MUTANTS) >= 40
    assert {path.partition("/")[0] for mutant in MUTANTS for path in mutant.changed} == {"src"}


def test_every_mutant_says_what_is_wrong_and_names_tests_that_exist() -> None:
    assert len({mutant.wrong for mutant in MUTANTS}) == len(MUTANTS)
    for mutant in MUTANTS:
        assert mutant.wrong.endswith(".") and len(mutant.wrong) < 160, mutant.name
        for test in mutant.tests:
            file, _, name = test.partition("::")
            text = (ROOT / file).read_text("utf-8")
            function = name.partition("[")[0]
            assert not name or re.search(rf"^def {function}\(", text, re.MULTILINE), f"{mutant.name}: {test}"


def test_the_stored_table_is_of_these_mutants_and_none_survived() -> None:
    page = (ROOT / TABLE).read_text("utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ") and "`" in line]
    assert [row[0].removeprefix("| ") for row in rows] == [mutant.name for mutant in MUTANTS]
    assert "**" not in page and f"{len(MUTANTS)} mutants, " in page and "; 0 not caught." in page


# ---------------------------------------------------------------- the runner, on a tree of two functions

SOURCE = """\
def larger(a, b):
    return a if a > b else b


def sign(a):
    return -1 if a < 0 else 1
"""
CHECK = """\
import extremes


def test_larger():
    assert extremes.larger(1, 2) == 2


def test_sign():
    assert extremes.sign(-5) == -1
"""
PATCH = """\
Wrong: {wrong}
Tests: {tests}

--- a/src/extremes.py
+++ b/src/extremes.py
@@ -1,5 +1,5 @@
 def larger(a, b):
-    return {was}
+    return {now}
 
 
 def sign(a):
"""  # noqa: W293 - a blank line of a patch begins with a blank
WAS = "a if a > b else b"


def tree(folder: Path, **patches: str) -> Path:
    """The sources, their tests, and a patch of `larger` for each name."""
    for place, text in {"src/extremes.py": SOURCE, "tests/test_extremes.py": CHECK, "pyproject.toml": ""}.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text)
    (folder / PATCHES).mkdir(parents=True)
    (folder / TABLE).parent.mkdir(parents=True)
    for name, now in patches.items():
        text = PATCH.format(wrong=f"It is {name}.", tests="tests/test_extremes.py", was=WAS, now=now)
        (folder / PATCHES / f"{name}.patch").write_text(text)
    return folder


def test_a_survivor_is_told_as_one_and_the_tree_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tree(tmp_path, smaller="a if a < b else b", at_least="a if a >= b else b", broken="1 +")
    assert main(["--jobs", "1"], root) == 1
    told = capsys.readouterr().out
    assert "1 of 3 mutants were caught." in told
    assert re.search(r"caught +smaller +tests/test_extremes.py::test_larger\n", told)
    assert "survived: at_least (It is at_least.) 2 passed" in told
    assert "does not run: broken (It is broken.)" in told
    page = (root / TABLE).read_text()
    assert "| smaller | It is smaller. | `src/extremes.py` | `test_extremes.py::test_larger` | 2" in page
    assert "| at_least | It is at_least. | `src/extremes.py` | **survived** | 2" in page
    assert "3 mutants, 0 of them in C; 2 not caught." in page
    assert (root / "src/extremes.py").read_text() == SOURCE
    (root / PATCHES / "broken.patch").unlink()
    again = renewed(root, mutants_of(root), [])
    assert "`test_extremes.py::test_larger` | 2" in again and "2 mutants, 0 of them in C; 1 not caught." in again


def test_a_patch_that_does_not_apply_and_a_test_that_fails_anyway_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tree(tmp_path, smaller="a if a < b else b")
    (root / "src/extremes.py").write_text(SOURCE.replace("a > b", "b < a"))
    (mutant,) = mutants_of(root)
    with pytest.raises(PatchError, match="smaller does not apply"):
        mutant.apply(root, check=True)
    assert [outcome.verdict for outcome in inject(root, [mutant], 1)] == ["does not apply"]
    (root / "src/extremes.py").write_text(SOURCE.replace("a < 0", "a < -9"))
    assert main(["smaller"], root) == 1
    assert "without any mutant these must pass: tests/test_extremes.py::test_sign" in capsys.readouterr().out


@pytest.mark.parametrize("head", ["", "Wrong: a\n\n", "Tests: a\nWrong: b\n\n"])
def test_a_patch_without_its_words_is_refused(tmp_path: Path, head: str) -> None:
    file = tmp_path / "some.patch"
    file.write_text(head + "--- a/src/extremes.py\n")
    with pytest.raises(PatchError, match="must begin with"):
        Mutant.read(file)
