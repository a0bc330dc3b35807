"""Every example of the README and of the pages runs, page by page, in its order, and prints what the page shows.

A block that starts with a comment `file: NAME` is written to NAME. Python blocks of a page share their names. A
block of `output` is what the block before it prints, or some lines of it; `...` stands for anything, alone in a
line for any lines. A block of `chance` is the same of what coins under a fresh key decide: its numbers may differ.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests import needs
from tests.docs.pictures import DRAWINGS, check_drawing

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    DOCS / "start.md",
    *(page for part in ("guide", "jobs", "coming-from") for page in sorted((DOCS / part).glob("*.md"))),
    DOCS / "understanding" / "corrections.md",
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"\A(?:#|//|<!--) file: (\S+)")
NUMBER = re.compile(r"(?:\\ )*(?<![\w-])\d(?:[\d,]|\\\.\d)*")  # in an escaped pattern, with the blanks before it
GAP = re.compile(r"(?:\\ ){2,}")  # between columns, in an escaped pattern
NOT_RUN = {"text", "json", "console", "make"}  # shown, not run: results, and the two commands that install
OTHERS = re.compile(
    r"^<!-- other tools -->\n\n```\w+\n.*?^```$", re.MULTILINE | re.DOTALL
)  # how it is said elsewhere


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(OTHERS.sub("", page.read_text()))


def pattern_of(shown: str, by_chance: bool = False) -> re.Pattern[str]:
    """What a block of `output`, or of `chance`, may stand for."""
    parts = []
    for line in shown.rstrip("\n").split("\n"):
        words = ".*?".join(re.escape(part) for part in line.rstrip().split("..."))
        if by_chance:
            words = NUMBER.sub(lambda _: r" *[\d.,]*\d", words)
            words = GAP.sub(lambda _: " {2,}", words)  # a column is as wide as its numbers
        parts.append(r"(?:.*\n)*?" if line.strip() == "..." else rf"{words}[ ]*\n")
    return re.compile("^" + "".join(parts), re.MULTILINE)


def run_python(content: str, page: Path, names: dict[str, object]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(content, page.name, "exec"), names)
    return said.getvalue()


def run_in_shell(content: str) -> str:
    done = subprocess.run(["bash", "-euc", content], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, f"{content}\n{done.stdout}"
    return done.stdout


def run_in_r(content: str, folder: Path) -> None:
    program = needs.program("Rscript")
    shutil.copy(ROOT / "docs" / "r" / "pramana.R", folder)
    done = subprocess.run([program, "-e", content], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr


def page_named(page: Path) -> object:
    """A page that needs a store runs where the others that need one do."""
    return pytest.param(page, marks=pytest.mark.xdist_group("s3") if page.name == "object-stores.md" else ())


@pytest.mark.parametrize("page", [page_named(page) for page in PAGES], ids=lambda p: p.name)
def test_the_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if page.name == "spark.md":
        needs.require("java")
    if page.name == "object-stores.md":
        request.getfixturevalue("bucket").server.ask("PUT", "statistics")
    monkeypatch.chdir(tmp_path)
    # The command is where this Python is, also where nobody has activated its environment.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    names: dict[str, object] = {"__name__": page.stem}
    ran, printed = 0, ""
    for language, content in blocks(page):
        if named := FILE.match(content):
            (tmp_path / named.group(1)).write_text(content)
        elif language == "python":
            ran, printed = ran + 1, run_python(content, page, names)
        elif language in ("sh", "bash"):
            ran, printed = ran + 1, run_in_shell(content)
        elif language in ("output", "chance"):
            assert pattern_of(content, language == "chance").search(printed), (
                f"{page.name} shows\n{content}\nand got\n{printed}"
            )
        elif language == "r":
            run_in_r(content, tmp_path)
        else:
            assert language in NOT_RUN, f"{page.name}: a block of {language} is neither run nor known"
    assert ran, f"{page.name} has no example that runs"
    for drawn, name in DRAWINGS.get(page.name, {}).items():
        check_drawing(tmp_path / drawn, name)


def test_shown_output_must_be_what_was_printed() -> None:
    printed = "one  1\ntwo  2\nthree  3\n"
    for right in ("one  1\ntwo  2\n", "two  2\n", "one  1\n...\nthree  3\n", "one ...\ntwo  2\n"):
        assert pattern_of(right).search(printed)
    for wrong in ("one  2\n", "one  1\nthree  3\n", "wo  2\n", "two  \n", "three  3\n...\none  1\n"):
        assert not pattern_of(wrong).search(printed)
    table = "sex     estimate  95% from      to\nfemale    25,316    24,826  25,806\n"
    shown = "sex     estimate  95% from       to\nfemale     5,317    124,826  9.5\n"
    assert pattern_of(shown, by_chance=True).search(table) and not pattern_of(shown).search(table)
    assert not pattern_of(shown.replace("female", "male"), by_chance=True).search(table)
    assert not pattern_of(shown.replace("  9.5", ""), by_chance=True).search(table)


@pytest.mark.parametrize("page", [*PAGES, *sorted((ROOT / "docs").glob("*.md"))], ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"
