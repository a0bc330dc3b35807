"""Mutants injected one at a time into a copy of the tree, and the tests that catch them.

The tree itself is never touched. A run that is stopped leaves nothing but a temporary folder.
"""

from __future__ import annotations

import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path

from tests.mutants.mutant import Mutant, MutantError, is_compiled, sources_of

LONGEST = 600  # seconds that the tests of a mutant may take; without one all of them may take as long as they do
_NOT_COPIED = shutil.ignore_patterns(
    ".*", "__pycache__", "node_modules", "build", "dist", "demo-output*", "*.egg-info"
)
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", re.MULTILINE)
_BUILD = ("setup.py", "-q", "build_ext", "--inplace")
_ALL_PASSED, _SOME_FAILED = 0, 1  # pytest's exit codes; others are neither


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant. Only `caught` is good; `by` is the first test that failed."""

    mutant: Mutant
    verdict: str  # caught, survived, does not apply, does not run
    by: str = ""
    seconds: float = 0.0
    detail: str = ""


class Copy:
    """A copy of the tree that mistakes are put into and taken out of again."""

    def __init__(self, pristine: Path, folder: Path) -> None:
        self.pristine, self.folder = pristine, folder
        shutil.copytree(pristine, folder)

    def try_mutant(self, mutant: Mutant) -> Outcome:
        start = time.monotonic()
        try:
            path = mutant.apply(self.folder)
        except MutantError as error:
            return Outcome(mutant, "does not apply", detail=str(error))
        try:
            verdict, by, detail = self._verdict(mutant, path)
        except subprocess.TimeoutExpired:
            verdict, by, detail = "does not run", "", f"not done after {LONGEST} seconds"
        finally:
            self._restore(path)
        return Outcome(mutant, verdict, by, time.monotonic() - start, detail)

    def _verdict(self, mutant: Mutant, path: str) -> tuple[str, str, str]:
        if path.endswith(".py"):  # else one of the same size and second would be taken for it
            Path(cache_from_source(str(self.folder / path))).unlink(missing_ok=True)
        if is_compiled(path):
            built = self._run([sys.executable, *_BUILD], LONGEST)
            if built.returncode:
                return "does not run", "", _last_line(built.stderr)
        done = self.run_tests(mutant.tests, "-x", longest=LONGEST)
        failed = _FAILED.findall(done.stdout)
        if done.returncode == _SOME_FAILED and failed:
            return "caught", failed[0], ""
        if done.returncode == _ALL_PASSED:
            return "survived", "", _last_line(done.stdout)
        return "does not run", "", _last_line(done.stdout + done.stderr)

    def run_tests(
        self, tests: Sequence[str], *options: str, longest: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        always = ["-p", "xdist.plugin", "-p", "no:cacheprovider", "--tb=no", "--color=no", "-rfE"]
        return self._run([sys.executable, "-m", "pytest", *always, *options, *tests], longest)

    def _run(self, command: list[str], longest: float | None) -> subprocess.CompletedProcess[str]:
        own = {
            **os.environ,
            "PYTHONPATH": str(self.folder / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # loading them takes longer than most of these tests
            "HYPOTHESIS_PROFILE": "any failure",  # as tests/conftest.py has it
            "COLUMNS": "200",
        }
        return subprocess.run(
            command, cwd=self.folder, env=own, capture_output=True, text=True, timeout=longest, check=False
        )

    def _restore(self, changed: str) -> None:
        paths = [Path(changed)]
        if is_compiled(changed):
            paths += [path.relative_to(self.pristine) for path in self.pristine.rglob("*.so")]
        for path in paths:
            shutil.copy2(self.pristine / path, self.folder / path)


def inject(
    root: Path, mutants: Sequence[Mutant], jobs: int, tell: Callable[[Outcome], None] = lambda _: None
) -> list[Outcome]:
    """Try every mutant, `jobs` at a time, each in a copy of its own."""
    with tempfile.TemporaryDirectory(prefix="mutants-", ignore_cleanup_errors=True) as temporary:
        pristine = Path(temporary) / "pristine"
        shutil.copytree(root, pristine, ignore=_NOT_COPIED)
        if any(
            is_compiled(path) for path in sources_of(pristine)
        ):  # once, so that a mutant builds only what it changes
            subprocess.run([sys.executable, *_BUILD], cwd=pristine, check=True, stdout=subprocess.DEVNULL)
        subprocess.run([sys.executable, "-m", "compileall", "-q", "src", "tests"], cwd=pristine, check=False)
        free: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for number in range(jobs):
            free.put(Copy(pristine, Path(temporary) / str(number)))

        def tried(mutant: Mutant) -> Outcome:
            copy = free.get()
            try:
                outcome = copy.try_mutant(mutant)
            finally:
                free.put(copy)
            tell(outcome)
            return outcome

        def passing(tests: Sequence[str]) -> list[str]:
            copy = free.get()
            try:
                done = copy.run_tests(tests)
            finally:
                free.put(copy)
            if done.returncode == _ALL_PASSED:
                return []
            return _FAILED.findall(done.stdout) or [_last_line(done.stdout + done.stderr)]

        with ThreadPoolExecutor(jobs) as pool:
            try:
                failing = [name for names in pool.map(passing, _shares(mutants, jobs)) for name in names]
                if failing:
                    raise MutantError("without any mutant these must pass: " + ", ".join(failing))
                return list(pool.map(tried, mutants))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise


def _shares(mutants: Sequence[Mutant], jobs: int) -> list[list[str]]:
    """The tests of all mutants, each once, those of a file together, in as many lists as can run at once."""
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    files = sorted({test.partition("::")[0] for test in tests})
    shares = [[t for t in tests if files.index(t.partition("::")[0]) % jobs == job] for job in range(jobs)]
    return [share for share in shares if share]


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip("= ") if lines else "nothing said"
