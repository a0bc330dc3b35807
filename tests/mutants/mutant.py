"""A mutant: one plausible mistake, as lines of the sources and what becomes of them, and tests that must catch it.

    Wrong: one sentence that says what is wrong once the lines are changed
    Tests: tests/theory/test_pk.py tests/contracts/test_channels.py::test_rows_sum_exactly

    --- was
    as few whole lines as stand exactly once in all of src
    --- becomes
    the lines that take their place

No path is named: lines that move to another file take their mutant with them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

MISTAKES = "tests/mutants/mistakes"
_FORM = re.compile(
    r"Wrong: (?P<wrong>[^\n]+)\nTests: (?P<tests>[^\n]+)\n\n--- was\n(?P<was>.+\n)--- becomes\n(?P<becomes>.*)",
    re.DOTALL,
)
_SOURCES = (".py", ".c", ".h")


class MutantError(Exception):
    """A mutant that says too little, or whose lines are not in the sources exactly once."""


@dataclass(frozen=True)
class Mutant:
    """`was` and `becomes` are whole lines."""

    name: str
    wrong: str
    tests: tuple[str, ...]
    was: str
    becomes: str

    @classmethod
    def read(cls, file: Path) -> Mutant:
        parts = _FORM.fullmatch(file.read_text("utf-8"))
        if parts is None:
            raise MutantError(
                f"{file.name} must have the lines Wrong, Tests, a blank one, '--- was' and '--- becomes'"
            )
        return cls(file.stem, parts["wrong"], tuple(parts["tests"].split()), parts["was"], parts["becomes"])

    def path_in(self, sources: dict[str, str]) -> str:
        """The one file that has the lines, once."""
        paths = [path for path, text in sources.items() for _ in range(_as_lines(text).count("\n" + self.was))]
        if len(paths) != 1:
            where = f"{len(paths)} times ({', '.join(paths)})" if paths else "nowhere"
            raise MutantError(f"{self.name} does not apply: in src its lines must stand once, and stand {where}")
        return paths[0]

    def apply(self, root: Path) -> str:
        """Change the one file of the tree at `root`, and return its path from there."""
        path = self.path_in(sources_of(root))
        changed = _as_lines((root / path).read_text("utf-8")).replace("\n" + self.was, "\n" + self.becomes)
        (root / path).write_text(changed[1:], "utf-8")
        return path


def mutants_of(root: Path) -> list[Mutant]:
    """All of a tree's mutants, by name."""
    return [Mutant.read(file) for file in sorted((root / MISTAKES).glob("*.txt"))]


def sources_of(root: Path) -> dict[str, str]:
    """The text of every source in Python and C, by its path from the root."""
    files = sorted(path for path in (root / "src").rglob("*") if path.suffix in _SOURCES)
    return {str(file.relative_to(root)): file.read_text("utf-8") for file in files}


def is_compiled(path: str) -> bool:
    return path.endswith((".c", ".h"))


def _as_lines(text: str) -> str:
    """The text with a line break before every line, so that only whole lines are found."""
    return "\n" + text
