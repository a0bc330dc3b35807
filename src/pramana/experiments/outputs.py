"""Each paper's tables and figures, one module per paper: `run(outputs, quick)` writes them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pramana.errors import InputError
from pramana.pages.figures import Picture, write_figure, write_table

# Where an experiment writes its tables and pictures, and what it returns.


@dataclass
class Outputs:
    """Tables as CSV and Markdown, pictures as SVG and PNG, all in one folder."""

    folder: Path
    tables: list[Path] = field(default_factory=list)
    figures: list[Path] = field(default_factory=list)

    def table(self, rows: Sequence[Mapping[str, Any]], name: str) -> None:
        self.tables += write_table(rows, self.folder / name)

    def figure(self, picture: Picture, name: str) -> None:
        self.figures += write_figure(picture, self.folder / name)

    def to_json(self) -> dict[str, list[str]]:
        return {"tables": [str(p) for p in self.tables], "figures": [str(p) for p in self.figures]}


EXPERIMENTS = ("identification", "pdf", "levels", "pk")  # modules of this room


def run_experiment(name: str, out: str | Path, quick: bool = False) -> Outputs:
    """Run one experiment and write its tables and figures into `out`."""
    if name not in EXPERIMENTS:
        raise InputError(f"The experiment must be one of {', '.join(EXPERIMENTS)}", repr(name))
    outputs = Outputs(Path(out))
    importlib.import_module(f"pramana.experiments.{name}").run(outputs, quick)
    return outputs
