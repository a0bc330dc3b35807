"""Every mistake of the list still fits the sources, and the runner tells which of them nobody noticed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.mutants.__main__ import TABLE, main
from tests.mutants.injecting import inject
from tests.mutants.mutant import MISTAKES, Mutant, MutantError, is_compiled, mutants_of, sources_of
from tests.mutants.table import renewed
from tests.tiers import is_a_test

ROOT = Path(__file__).parents[2]
MUTANTS = mutants_of(ROOT)


def test_the_lines_of_every_mutant_stand_once_in_the_sources() -> None:
    sources, compiled, lost = sources_of(ROOT), 0, []
    for mutant in MUTANTS:
        assert mutant.was != mutant.becomes, mutant.name
        try:
            compiled += is_compiled(mutant.path_in(sources))
        except MutantError as error:
            lost.append(str(error))
    assert not lost, "\n".join(lost)
    assert compiled >= 10 and len(MUTANTS) - compiled >= 100


def test_every_mutant_says_what_is_wrong_and_names_tests_that_exist() -> None:
    assert len({mutant.wrong for mutant in MUTANTS}) == len(MUTANTS)
    for mutant in MUTANTS:
        assert mutant.wrong.endswith(".") and len(mutant.wrong) < 160, mutant.name
        for test in mutant.tests:
            assert is_a_test(ROOT, test), f"{mutant.name}: {test}"


def test_the_stored_table_is_of_these_mutants_and_none_survived() -> None:
    page = (ROOT / TABLE).read_text("utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ") and "`" in line]
    assert [row[0].removeprefix("| ") for row in rows] == [mutant.name for mutant in MUTANTS]
    assert "**" not in page and f"{len(MUTANTS)} mutants; " in page and "; 0 not caught." in page


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
MUTANT = """\
Wrong: {wrong}
Tests: {tests}

--- was
    return a if a > b else b
--- becomes
    return {now}
"""


def tree(folder: Path, **mutants: str) -> Path:
    """The sources, their tests, and a mutant of `larger` for each name."""
    for place, text in {"src/extremes.py": SOURCE, "tests/test_extremes.py": CHECK, "pyproject.toml": ""}.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text)
    (folder / MISTAKES).mkdir(parents=True)
    (folder / TABLE).parent.mkdir(parents=True)
    for name, now in mutants.items():
        text = MUTANT.format(wrong=f"It is {name}.", tests="tests/test_extremes.py", now=now)
        (folder / MISTAKES / f"{name}.txt").write_text(text)
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
    assert "| smaller | It is smaller. | `test_extremes.py::test_larger` | 2" in page
    assert "| at_least | It is at_least. | **survived** | 2" in page
    assert "3 mutants; 2 not caught." in page
    assert (root / "src/extremes.py").read_text() == SOURCE
    (root / MISTAKES / "broken.txt").unlink()
    again = renewed(root, mutants_of(root), [])
    assert "`test_extremes.py::test_larger` | 2" in again and "2 mutants; 1 not caught." in again


def test_a_mutant_that_does_not_apply_and_a_test_that_fails_anyway_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tree(tmp_path, smaller="a if a < b else b")
    (root / "src/extremes.py").write_text(SOURCE.replace("a > b", "b < a"))
    (mutant,) = mutants_of(root)
    with pytest.raises(MutantError, match=r"smaller does not apply: .* stand nowhere"):
        mutant.apply(root)
    (root / "src/again.py").write_text(SOURCE + SOURCE)
    with pytest.raises(MutantError, match=r"stand 2 times \(src/again\.py, src/again\.py\)"):
        mutant.apply(root)
    (root / "src/again.py").unlink()
    assert [outcome.verdict for outcome in inject(root, [mutant], 1)] == ["does not apply"]
    (root / "src/extremes.py").write_text(SOURCE.replace("a < 0", "a < -9"))
    assert main(["smaller"], root) == 1
    assert "without any mutant these must pass: tests/test_extremes.py::test_sign" in capsys.readouterr().out


@pytest.mark.parametrize("head", ["", "Wrong: a\n\n", "Tests: a\nWrong: b\n\n"])
def test_a_mutant_without_its_words_is_refused(tmp_path: Path, head: str) -> None:
    file = tmp_path / "some.txt"
    file.write_text(head + "--- was\na\n--- becomes\nb\n")
    with pytest.raises(MutantError, match="must have the lines"):
        Mutant.read(file)
