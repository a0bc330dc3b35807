"""A mutant: one plausible mistake, kept as a patch that must apply, and the tests that must catch it.

The file's first lines say it in words, as `git apply` and `patch` skip what stands before the first `---`:

    Wrong: one sentence that says what is wrong once the patch is applied
    Tests: tests/theory/test_pk.py tests/contracts/test_channels.py::test_rows_sum_exactly
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

PATCHES = "tests/mutants/patches"
_HEAD = re.compile(r"Wrong: (?P<wrong>[^\n]+)\nTests: (?P<tests>[^\n]+)\n\n(?P<patch>--- a/.*)", re.DOTALL)
_CHANGED = re.compile(r"^\+\+\+ b/(\S+)$", re.MULTILINE)


class PatchError(Exception):
    """A patch that says too little, or does not apply."""


@dataclass(frozen=True)
class Mutant:
    """`file` is the patch; `changed` are the paths it changes, from the root of the tree."""

    name: str
    file: Path
    wrong: str
    tests: tuple[str, ...]
    changed: tuple[str, ...]

    @classmethod
    def read(cls, file: Path) -> Mutant:
        head = _HEAD.fullmatch(file.read_text("utf-8"))
        if head is None:
            raise PatchError(f"{file.name} must begin with the lines Wrong and Tests, a blank one and the patch")
        changed = tuple(_CHANGED.findall(head["patch"]))
        return cls(file.stem, file, head["wrong"], tuple(head["tests"].split()), changed)

    @property
    def compiled(self) -> bool:
        """Whether something must be built before the mistake is there."""
        return any(path.endswith((".c", ".h")) for path in self.changed)

    def apply(self, root: Path, check: bool = False) -> None:
        """Change the tree at `root`; with `check` only see whether it could be changed."""
        # no repository around the tree may have a say: git would skip what lies outside of its own folder
        alone = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        alone["GIT_CEILING_DIRECTORIES"] = str(root.absolute().parent)
        command = ["git", "apply", *(["--check"] if check else []), str(self.file.absolute())]
        done = subprocess.run(command, cwd=root, env=alone, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PatchError(f"{self.name} does not apply: {done.stderr.strip()}")


def mutants_of(root: Path) -> list[Mutant]:
    """All of a tree's mutants, by name."""
    return [Mutant.read(file) for file in sorted((root / PATCHES).glob("*.patch"))]
