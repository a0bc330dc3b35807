"""Peers from PyPI, each in a virtual environment of its own, and the process that runs its work there.

They cannot share one: pure-ldp leaves scikit-learn and statsmodels undeclared, diffprivlib needs a
scikit-learn below 1.9, anonypy leaves pandas undeclared and breaks with pandas 3, and a resolver asked for all
of them at once silently takes old releases.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from benchmarks.harness import Sample

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / ".venv-bench"
REQUIREMENTS = {
    "numpy": ["numpy"],
    "multi-freq-ldpy": ["multi-freq-ldpy"],
    "pure-ldp": ["pure-ldp", "scikit-learn", "statsmodels"],
    "diffprivlib": ["diffprivlib", "scikit-learn<1.9"],
    "pandas": ["pandas"],
    "polars": ["polars"],
    "pycanon": ["pycanon>=1.3"],
    "anonypy": ["anonypy>=0.2.1", "pandas<3"],
    "anjana": ["anjana>=1.2"],
    "dp-accounting": ["dp-accounting>=0.6"],
    "opendp": ["opendp>=0.14"],
    "picture": ["matplotlib"],
    "sdmetrics": ["sdmetrics>=0.20"],
    "syntheval": ["syntheval>=1.5"],
    "anonymeter": ["anonymeter>=1.0"],
}


def python_of(environment: str) -> Path:
    return ENVIRONMENTS / environment / "bin" / "python"


def prepare(names: Sequence[str] = tuple(REQUIREMENTS)) -> None:
    """Create every environment that is not there yet; one that cannot be made is told and left out."""
    for name in names:
        wanted = REQUIREMENTS[name]
        done = ENVIRONMENTS / name / ".installed"
        if done.exists() and done.read_text() == "\n".join(wanted):
            continue
        print(f"preparing {name}: {', '.join(wanted)}", file=sys.stderr)
        venv.create(ENVIRONMENTS / name, with_pip=True, symlinks=True, clear=True)
        pip = [str(python_of(name)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted]
        if subprocess.run(pip, check=False).returncode == 0:
            done.write_text("\n".join(wanted))
        else:
            print(f"{name} could not be installed; its rows will say so", file=sys.stderr)


@dataclass
class Worker:
    """A process in a peer's environment that is told what to do line by line, so that peers can take turns."""

    environment: str
    process: subprocess.Popen[str] | None = None
    version: str = ""
    absent: str = ""

    @classmethod
    def start(cls, environment: str, script: str = "worker.py") -> Worker:
        if not (ENVIRONMENTS / environment / ".installed").exists():
            return cls(environment, absent="not installed (run `python -m benchmarks prepare`)")
        process = subprocess.Popen(
            [python_of(environment), Path(__file__).with_name(script), environment],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        worker = cls(environment, process)
        try:
            worker.version = worker._answer()["version"]
        except RuntimeError as error:
            worker.absent = str(error)
        return worker

    def ask(self, **order: Any) -> Sample:
        if self.process is None:
            raise RuntimeError(self.absent)
        pipe: IO[str] | None = self.process.stdin
        assert pipe is not None
        pipe.write(json.dumps(order) + "\n")
        pipe.flush()
        return Sample(self._answer()["seconds"])

    def stop(self) -> None:
        if self.process is not None:
            self.process.communicate()

    def _answer(self) -> dict[str, Any]:
        assert self.process is not None and self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("its process ended")
        found: dict[str, Any] = json.loads(line)
        if "error" in found:
            raise RuntimeError(found["error"])
        return found
