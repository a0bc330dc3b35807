"""The documentation as a folder of pages that needs no server and no network.

    python -m distribution.site                   (by `make docs`; the pages are in build/docs/site)
    python -m distribution.site --builder mkdocs  (where mkdocs-material and mkdocstrings-python are installed)

The pages of `docs` are brought together with those that live beside what they describe (benchmarks, notes on
proofs, SECURITY.md and so on), their links made to fit, built in the builder's strict mode from `mkdocs.yml`,
and checked: every link and anchor leads somewhere, every page is in the navigation, and nothing comes from
elsewhere.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

from distribution.links import problems_of_site

ROOT = Path(__file__).resolve().parent.parent
CONFIG = "mkdocs.yml"
PLACE = "build/docs"  # as mkdocs.yml has it
FETCHED = "https://unpkg.com/iframe-worker/shim"  # what an offline search would load from elsewhere
BUILDERS = ("zensical", "mkdocs")  # both read mkdocs.yml, and take the same arguments
LOCAL = "assets/search-from-a-folder.js"
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
COLOUR = re.compile("\x1b\\[[0-9;]*m")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the documentation and check it.")
    parser.add_argument("--out", type=Path, default=ROOT / PLACE)
    parser.add_argument("--builder", choices=BUILDERS, default=BUILDERS[0])
    given = parser.parse_args()
    site = build(given.out.resolve(), given.builder)
    problems = [*problems_of_navigation(site.parent / "pages"), *problems_of_site(site)]
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(f"{len(list(site.rglob('*.html')))} pages: {site / 'index.html'}")
    return 1 if problems else 0


def build(out: Path, builder: str = BUILDERS[0]) -> Path:
    """The folder of the built site; whatever was there before is gone."""
    shutil.rmtree(out, ignore_errors=True)
    stage(out / "pages")
    text = (ROOT / CONFIG).read_text("utf-8")
    config = out / CONFIG
    config.write_text(text.replace(f"{PLACE}/", "").replace("[src]", f"[{ROOT / 'src'}]"), "utf-8")
    command = [sys.executable, "-m", builder, "build", "--strict", "--clean", "-f", str(config)]
    # The extension for docstrings is in this package, and nobody need have installed it.
    found_in = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": found_in}
    told = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=out)
    if told.returncode != 0:
        raise SystemExit(COLOUR.sub("", f"{told.stdout}{told.stderr}"))
    site = out / "site"
    for page in site.rglob("*.html"):
        depth = len(page.relative_to(site).parts) - 1
        page.write_text(page.read_text("utf-8").replace(FETCHED, "../" * depth + LOCAL), "utf-8")
    return site


def problems_of_navigation(pages: Path) -> list[str]:
    """Pages that no line of the navigation names; that a named one is missing, the builder says."""
    lines = (ROOT / CONFIG).read_text("utf-8").partition("\nnav:\n")[2].splitlines()
    named = {line.rpartition(": ")[2] for line in lines if not line.lstrip().startswith("#")}
    there = {path.relative_to(pages).as_posix() for path in pages.rglob("*.md")}
    return [f"{page}: add it to the navigation in {CONFIG}" for page in sorted(there - named)]


def pages_of_repository() -> dict[PurePosixPath, PurePosixPath]:
    """Where each file of the repository that the site shows is in it."""
    shown = {path: path.relative_to("docs") for path in _files("docs")}
    shown |= {path: path for path in (*_files("benchmarks/results"), PurePosixPath("benchmarks/README.md"))}
    for path in _files("src", "*.md"):
        shown[path] = PurePosixPath("notes", *path.parts[2:])
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"):
        shown[PurePosixPath(name)] = PurePosixPath(name.lower())
    return shown


def _files(folder: str, pattern: str = "*") -> list[PurePosixPath]:
    found = (path.relative_to(ROOT) for path in sorted((ROOT / folder).rglob(pattern)) if path.is_file())
    return [PurePosixPath(path.as_posix()) for path in found if "__pycache__" not in path.parts]


def stage(pages: Path) -> None:
    """All pages in one folder, each link pointing to where its target now is."""
    shown = pages_of_repository()
    for path, target in shown.items():
        there = pages / target
        there.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            there.write_text(with_links((ROOT / path).read_text("utf-8"), path, shown), "utf-8")
        else:
            shutil.copy(ROOT / path, there)


def with_links(text: str, path: PurePosixPath, shown: dict[PurePosixPath, PurePosixPath]) -> str:
    """The page with the links of its place in the repository turned into those of its place in the site."""
    homes = {**shown, PurePosixPath("README.md"): PurePosixPath("index.md")}

    def linked(match: re.Match[str]) -> str:
        target, mark, anchor = match.group(2).partition("#")
        if not target or "://" in target:
            return match.group(0)
        meant = PurePosixPath(os.path.normpath(path.parent / target))
        if meant not in homes:
            return match.group(0)  # the builder says that it leads nowhere
        found = os.path.relpath(homes[meant], homes[path].parent)
        return f"{match.group(1)}{PurePosixPath(found)}{mark}{anchor}{match.group(3)}"

    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [LINK.sub(linked, text[end : fence.start()]), fence.group(0)]
        end = fence.end()
    return "".join([*parts, LINK.sub(linked, text[end:])])


if __name__ == "__main__":
    sys.exit(main())
