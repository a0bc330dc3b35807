"""Each paper's tables and figures, one module per paper: `run(outputs, quick)` writes them."""

from __future__ import annotations

import importlib
from pathlib import Path

from pramana.errors import InputError
from pramana.experiments.outputs import Outputs

EXPERIMENTS = {  # name -> module of this room
    "identification": "identification",
    "pdf": "pdf",
    "levels": "levels",
    "pk": "pk",
}
__all__ = ["EXPERIMENTS", "Outputs", "run_experiment"]


def run_experiment(name: str, out: str | Path, quick: bool = False) -> Outputs:
    """Run one experiment and write its tables and figures into `out`."""
    if name not in EXPERIMENTS:
        raise InputError(f"The experiment must be one of {', '.join(EXPERIMENTS)}", repr(name))
    outputs = Outputs(Path(out))
    importlib.import_module(f"pramana.experiments.{EXPERIMENTS[name]}").run(outputs, quick)
    return outputs
