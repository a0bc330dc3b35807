"""All C kernels under the address and the undefined-behaviour sanitizer, in a temporary copy of the sources.

    python -m tests.security.fuzzing.sanitized [--seconds 120]

First the tests that call kernels, then random calls of each (`kernels.py`). Python's own allocator is switched
off, so that arrays have borders the sanitizer knows. Leaks are not looked for: the interpreter leaks at its end.
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
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tests.security.fuzzing.figures import ROOT, Figures, store

FLAGS = "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer -g"
# Every test module that ends up in a kernel by more than a few rows.
TESTS = (
    "tests/randomness",
    "tests/mechanisms",
    "tests/contracts/test_channels.py",
    "tests/contracts/test_level_sources.py",
    "tests/contracts/test_order_of_rows.py",
    "tests/theory/test_positive_part.py",
    "tests/theory/test_shuffling.py",
    "tests/generalize/test_anonymity.py",
    "tests/generalize/test_cells.py",
    "tests/generalize/test_lattice.py",
    "tests/generalize/test_local.py",
    "tests/generalize/test_microaggregate.py",
    "tests/generalize/test_partition.py",
    "tests/golden/test_published_cells.py",
    "tests/security/fuzzing/test_kernels.py",
)
# The interpreter ends without tidying up: some libraries free what is not theirs when it does (msgspec 0.22).
_ENDING = "import os, sys; sys.stdout.flush(); sys.stderr.flush(); os._exit({status})"
RUN_TESTS = "import sys, pytest; status = int(pytest.main(sys.argv[1:])); " + _ENDING.format(status="status")
RUN_KERNELS = "from tests.security.fuzzing.kernels import main; main([]); " + _ENDING.format(status="0")
REPORT = re.compile(r"ERROR: AddressSanitizer|runtime error:|ERROR: UndefinedBehaviorSanitizer")


def compiled(folder: Path) -> None:
    """A copy of sources and tests with the kernels compiled for the sanitizers."""
    for name in ("src", "tests", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.so", "__pycache__", "build"))
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder / name)
    environment = {**os.environ, "CFLAGS": FLAGS, "LDFLAGS": FLAGS}
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)


def environment_of(folder: Path) -> dict[str, str]:
    runtime = [_runtime(name) for name in ("libasan.so", "libubsan.so", "libstdc++.so")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder / "src"), str(folder)]),
        "LD_PRELOAD": " ".join(runtime),
        "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "OPENBLAS_NUM_THREADS": "1",
    }


def _runtime(name: str) -> str:
    found = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    path = found.stdout.strip()
    if not Path(path).is_absolute():
        raise SystemExit(f"The sanitizers need gcc's {name}, and it is not installed")
    return path


def _ran(folder: Path, command: list[str]) -> tuple[str, int]:
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment_of(folder), capture_output=True, text=True
    )
    return done.stdout + done.stderr, done.returncode


def is_armed(folder: Path) -> bool:
    """Whether a kernel that reads beyond its buffer is reported: sanitizers that are not there report nothing."""
    source = folder / "armed.c"
    source.write_text(
        "#include <stdlib.h>\nint beyond(int n) { volatile int *p = malloc(4 * n); int x = p[n]; return x; }\n"
    )
    built = ["gcc", *FLAGS.split(), "-shared", "-fPIC", str(source), "-o", str(folder / "armed.so")]
    subprocess.run(built, check=True)
    told, status = _ran(folder, ["-c", "import ctypes; ctypes.CDLL('./armed.so').beyond(5)"])
    return status != 0 and "heap-buffer-overflow" in told


def tested(folder: Path, tests: str) -> tuple[str, dict[str, int], str]:
    """One module or folder of tests: its counts, and what it said if it failed."""
    told, status = _ran(folder, ["-c", RUN_TESTS, "-x", "-n", "0", "-p", "no:cacheprovider", tests])
    counted = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|skipped|error)", told)}
    numbers = {
        "passed": counted.get("passed", 0),
        "skipped": counted.get("skipped", 0),
        "failed": counted.get("failed", 0) + counted.get("error", 0),
        "findings": len(REPORT.findall(told)),
    }
    return tests, numbers, told[-8000:] if status else ""


def called(folder: Path) -> tuple[dict[str, int], str]:
    """Random calls of every kernel: how many cases of each, and what was said if one failed."""
    told, status = _ran(folder, ["-c", RUN_KERNELS])
    cases = {name: int(number) for name, number in re.findall(r"^(.*): (\d+) cases$", told, re.M)}
    return cases, told[-8000:] if status else ""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.security.fuzzing.sanitized")
    parser.add_argument("--seconds", type=float, default=120, help="for the random calls")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    os.environ["FUZZ_SECONDS"] = str(given.seconds)
    gcc = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(given.jobs) as pool:
        folder = Path(place)
        compiled(folder)
        if not is_armed(folder):
            raise SystemExit("a read beyond a buffer was not reported: the sanitizers are not at work")
        random_calls = pool.submit(called, folder)
        outcomes = list(pool.map(partial(tested, folder), TESTS))
        cases, told = random_calls.result()
    tests = Figures("sanitized", "make sanitize", time.monotonic() - start, {"gcc": gcc})
    calls = Figures("kernels", "make sanitize", given.seconds, {"gcc": gcc})
    for name, numbers, _ in outcomes:
        tests.add(name, **numbers)
    for name, number in cases.items():
        calls.add(name, executions=number, findings=0)
    failures = [said for *_, said in outcomes if said] + [told] * bool(told)
    if failures:
        raise SystemExit("\n".join([*failures, "the kernels failed under the sanitizers"]))
    store(tests, calls)
    sys.stdout.write(f"{tests.lines}\n{calls.lines}\n")


if __name__ == "__main__":
    main()
