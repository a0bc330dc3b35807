"""The wheel on a machine without a compiler: installed, then README's commands and the first guide.

    python -m distribution.tried --dist dist      (by `make try-wheel`)

What the wheel needs is fetched first, as wheels. Then nothing is fetched any more (`--no-index`), and the search
path has the new environment and a few tools of the system, none of which compiles.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "README.md", ROOT / "docs" / "guide" / "release.md")
EXTRAS = "formats,studio"
TOOLS = ("bash", "sh", "env", "cat", "ls", "cp", "mv", "rm", "mkdir", "head", "tail", "grep", "sed", "test")
COMPILERS = ("cc", "gcc", "g++", "clang", "c99", "tcc", "icx")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"\A(?:#|//|<!--) file: (\S+)")


def main() -> int:
    parser = argparse.ArgumentParser(description="Install the wheel without a compiler, and use it.")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist")
    dist = parser.parse_args().dist.absolute()
    wheels = sorted(dist.glob("pramana_privacy-*.whl"))
    if len(wheels) != 1:
        print(f"{dist} must have one pramana_privacy-*.whl, got {len(wheels)}: run `make wheels`", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        house, home = place / "house", place / "home"
        home.mkdir()
        wanted = f"pramana-privacy[{EXTRAS}] @ {wheels[0].as_uri()}"
        _run([sys.executable, "-m", "pip", "download", "-q", "--only-binary", ":all:", "-d", str(house), wanted])
        shutil.copy(wheels[0], house)
        environment = _bare(place)
        venv.create(place / "venv", with_pip=True)
        start = time.monotonic()
        pip = [str(place / "venv/bin/python"), "-m", "pip", "install", "-q", "--no-index"]
        _run([*pip, "--find-links", str(house), f"pramana-privacy[{EXTRAS}]"], home, environment)
        sizes = [file.stat().st_size for file in house.iterdir()]
        print(f"{len(sizes)} wheels, {sum(sizes) >> 20} MiB: installed in {time.monotonic() - start:.0f} s")
        for page in PAGES:
            start = time.monotonic()
            own = home / page.stem
            own.mkdir()
            count = _try(page, own, environment)
            print(f"{page.relative_to(ROOT)}: {count} examples in {time.monotonic() - start:.0f} s")
    return 0


def _bare(place: Path) -> dict[str, str]:
    """An environment whose search path leads to no compiler."""
    tools = place / "tools"
    tools.mkdir()
    for name in TOOLS:
        if (tool := shutil.which(name)) is not None:
            (tools / name).symlink_to(tool)
    path = f"{place}/venv/bin{os.pathsep}{tools}"
    if there := [name for name in COMPILERS if shutil.which(name, path=path)]:
        raise SystemExit(f"there must be no compiler, got {there}")
    return {"PATH": path, "HOME": str(place / "home"), "LC_ALL": "C.UTF-8", "CC": "/nonexistent"}


def _try(page: Path, home: Path, environment: dict[str, str]) -> int:
    """Run the examples of a page in their order, each by itself."""
    count = 0
    for language, content in _examples(page):
        if named := FILE.match(content):
            (home / named.group(1)).write_text(content, "utf-8")
        elif language == "python":
            _run(["python", "-c", content], home, environment)
            count += 1
        elif language in ("sh", "bash"):
            _run(["bash", "-euc", content], home, environment)
            count += 1
    return count


def _examples(page: Path) -> Iterator[tuple[str, str]]:
    for found in BLOCK.finditer(page.read_text("utf-8")):
        yield found.group(1), found.group(2)


def _run(command: list[str], folder: Path | None = None, environment: dict[str, str] | None = None) -> None:
    if environment is not None:
        command = [shutil.which(command[0], path=environment["PATH"]) or command[0], *command[1:]]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)[:400]}\nended with {done.returncode}:\n{done.stdout}\n{done.stderr}")


if __name__ == "__main__":
    sys.exit(main())
