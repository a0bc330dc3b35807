"""Every example of the README and the guide runs, page by page, in the order of the page.

A block that starts with a comment `file: NAME` is written to NAME. Python blocks of a page share their names.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"\A(?:#|//|<!--) file: (\S+)")
NOT_RUN = {"text", "json", "console", "make"}  # shown, not run: results, and the two commands that install


def blocks(page: Path) -> list[tuple[str, str]]:
    return BLOCK.findall(page.read_text())


def run_in_r(content: str, folder: Path) -> None:
    if shutil.which("Rscript") is None:
        pytest.skip("Rscript is not installed: the block of R is not run")
    shutil.copy(ROOT / "docs" / "r" / "pramana.R", folder)
    done = subprocess.run(["Rscript", "-e", content], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0 or "jsonlite" in done.stderr, done.stderr


def page_named(page: Path) -> object:
    """A page that needs a store runs where the others that need one do."""
    return pytest.param(page, marks=pytest.mark.xdist_group("s3") if page.name == "object-stores.md" else ())


@pytest.mark.parametrize("page", [page_named(page) for page in PAGES], ids=lambda p: p.name)
def test_the_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if page.name == "spark.md" and shutil.which("java") is None:
        pytest.skip("Java is not installed: the page on Spark is not run")
    if page.name == "object-stores.md":
        request.getfixturevalue("bucket").server.ask("PUT", "statistics")
    monkeypatch.chdir(tmp_path)
    # The command is where this Python is, also where nobody has activated its environment.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    names: dict[str, object] = {"__name__": page.stem}
    ran = 0
    for language, content in blocks(page):
        if named := FILE.match(content):
            (tmp_path / named.group(1)).write_text(content)
        elif language == "python":
            exec(compile(content, f"{page.name}", "exec"), names)
            ran += 1
        elif language in ("sh", "bash"):
            done = subprocess.run(["bash", "-euc", content], capture_output=True, text=True)
            assert done.returncode == 0, f"{content}\n{done.stdout}\n{done.stderr}"
            ran += 1
        elif language == "r":
            run_in_r(content, tmp_path)
        else:
            assert language in NOT_RUN, f"{page.name}: a block of {language} is neither run nor known"
    assert ran, f"{page.name} has no example that runs"


@pytest.mark.parametrize("page", [*PAGES, *sorted((ROOT / "docs").glob("*.md"))], ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"
